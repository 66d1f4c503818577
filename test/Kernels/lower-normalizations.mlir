// RUN: tilewright-opt %s --tw-lower-graph | FileCheck %s

// CHECK-DAG: #[[$ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[$ROW:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG: #[[$COL:.*]] = affine_map<(d0, d1) -> (d1)>

// CHECK-LABEL: func @softmax
// CHECK: %[[M:.*]] = linalg.generic {indexing_maps = [#[[$ID]], #[[$ROW]]]
// CHECK: arith.maxnumf
// CHECK: %[[E:.*]] = linalg.generic {indexing_maps = [#[[$ID]], #[[$ROW]], #[[$ID]]]{{.*}} ins(%arg0, %[[M]]
// CHECK: math.exp
// CHECK: %[[S:.*]] = linalg.generic {indexing_maps = [#[[$ID]], #[[$ROW]]]{{.*}} ins(%[[E]]
// CHECK: arith.addf
// CHECK: linalg.generic {indexing_maps = [#[[$ID]], #[[$ROW]], #[[$ID]]]{{.*}} ins(%[[E]], %[[S]]
// CHECK: arith.divf
// CHECK-NOT: tensor.expand_shape
func.func @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tw.softmax %x {dim = 1 : i64} : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// A softmax along a dimension other than the last has different indexing maps, and no transposition.
// CHECK-LABEL: func @softmax_first
// CHECK: linalg.generic {indexing_maps = [#[[$ID]], #[[$COL]]], iterator_types = ["reduction", "parallel"]}
func.func @softmax_first(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tw.softmax %x {dim = 0 : i64} : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func @safe_log
// CHECK: arith.select
// CHECK: math.log %
func.func @safe_log(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tw.softmax %x {dim = 1 : i64, log, safe} : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// No op is created for a statistic result without consumers. A returned statistic gets its dimension of size 1 by a
// reshape. Three ops read the rows of the input. They compute the mean, then the mean's rounding error and the sum of
// squared differences from the mean, and then the result.
// CHECK-LABEL: func @layer_norm
// CHECK: arith.divf
// CHECK: %{{.*}}:2 = linalg.generic {{.*}} outs(%{{.*}}, %{{.*}} : tensor<{{.*}}>, tensor<{{.*}}>)
// CHECK: arith.subf
// CHECK: arith.mulf
// CHECK: arith.divf
// CHECK: arith.cmpf uno
// CHECK: arith.maximumf
// CHECK: %[[M:.*]] = linalg.generic
// CHECK: math.rsqrt
// CHECK: %[[Y:.*]] = linalg.generic {indexing_maps = [#[[$ID]], #[[$ROW]], #[[$ROW]], #[[$COL]], #[[$COL]], #[[$ID]]]
// CHECK: tensor.expand_shape
// CHECK-NOT: tensor.expand_shape
// CHECK: return %[[Y]]
func.func @layer_norm(%x: tensor<4x8xbf16>, %w: tensor<8xbf16>, %b: tensor<8xbf16>) -> (tensor<4x8xbf16>, tensor<4x1xf32>) {
  %y, %m, %r = tw.layer_norm %x weight(%w : tensor<8xbf16>) bias(%b : tensor<8xbf16>) {rank = 1 : i64, eps = 1.0e-5 : f64}
    : tensor<4x8xbf16> -> tensor<4x8xbf16>, tensor<4x1xf32>, tensor<4x1xf32>
  return %y, %m : tensor<4x8xbf16>, tensor<4x1xf32>
}

// CHECK-LABEL: func @rms_norm
// CHECK: arith.mulf %[[X:.*]], %[[X]]
// CHECK: math.rsqrt
func.func @rms_norm(%x: tensor<4x8xf32>, %w: tensor<8xf32>) -> tensor<4x8xf32> {
  %y, %r = tw.rms_norm %x weight(%w : tensor<8xf32>) {rank = 1 : i64, eps = 1.0e-5 : f64} : tensor<4x8xf32> -> tensor<4x8xf32>, tensor<4x1xf32>
  return %y : tensor<4x8xf32>
}
