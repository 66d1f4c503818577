// RUN: tilewright-opt %s --tw-lower-graph --tw-decompose-tile | FileCheck %s

// CHECK: #[[$GROUPED:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 floordiv 2, d3, d4)>

// CHECK-LABEL: func @scan
// CHECK: scf.for
// CHECK: scf.for
// CHECK: tensor.extract
// CHECK: arith.addf
// CHECK: tensor.insert
func.func @scan(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tw.scan sum %x {dim = 1 : i64} : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func @sort
// CHECK: scf.for
// CHECK: scf.for
// CHECK: arith.cmpf uno
// CHECK: tensor.insert
// CHECK: tensor.insert
func.func @sort(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xi64>) {
  %v, %i = tw.sort %x {dim = 0 : i64} : tensor<8xf32> -> tensor<8xf32>, tensor<8xi64>
  return %v, %i : tensor<8xf32>, tensor<8xi64>
}

// CHECK-LABEL: func @scatter
// CHECK: tw_tile.place
// CHECK: tensor.insert
func.func @scatter(%x: tensor<8xf32>, %i: tensor<4xi64>, %s: tensor<4xf32>) -> tensor<8xf32> {
  %0 = tw.scatter set %x [%i], %s {dim = 0 : i64} : (tensor<8xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func @attention
// CHECK: indexing_maps = [#{{.*}}, #[[$GROUPED]], #{{.*}}]
// CHECK: math.exp
// CHECK: math.log
// CHECK-NOT: tw_tile
func.func @attention(%q: tensor<2x4x8x16xf32>, %k: tensor<2x2x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %r, %l = tw.attention %q, %k, %k {scale = 0.25 : f64} : tensor<2x4x8x16xf32>, tensor<2x2x8x16xf32>, tensor<2x2x8x16xf32>
    -> tensor<2x4x8x16xf32>, tensor<2x4x8xf32>
  return %r : tensor<2x4x8x16xf32>
}

// The gradient of attention becomes five products with the whole matrix of scores.
// CHECK-LABEL: func @attention_gradient
// CHECK-COUNT-2: iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]
// CHECK-COUNT-3: iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]
// CHECK-NOT: tw_tile
// CHECK: return
func.func @attention_gradient(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %l: tensor<2x4x8xf32>) -> tensor<2x4x8x16xf32> {
  %dq, %dk, %dv = tw.attention_gradient %q, %k, %k, %q, %q, %l {scale = 0.25 : f64} : tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8xf32>
    -> tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>
  %0 = tw.add %dq, %dk : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  %1 = tw.add %0, %dv : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %1 : tensor<2x4x8x16xf32>
}

// A convolution skips taps outside of the image.
// CHECK-LABEL: func @grouped_convolution
// CHECK-COUNT-7: scf.for
// CHECK: scf.if
// CHECK-DAG: tensor.extract %arg0
// CHECK-DAG: tensor.extract %arg1
// CHECK: tensor.insert
func.func @grouped_convolution(%x: tensor<1x8x8x4xf32>, %w: tensor<3x3x2x4xf32>) -> tensor<1x8x8x4xf32> {
  %0 = tw.convolution %x, %w {tw.channels_last, stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>,
    output_padding = array<i64: 0, 0>, groups = 2 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x2x4xf32>) -> tensor<1x8x8x4xf32>
  return %0 : tensor<1x8x8x4xf32>
}

// CHECK-LABEL: func @depthwise_gradient
// CHECK-COUNT-7: scf.for
// CHECK: scf.if
// CHECK-DAG: tensor.extract %arg0
// CHECK-DAG: tensor.extract %arg1
// CHECK: tensor.insert
func.func @depthwise_gradient(%x: tensor<2x8x8x4xf32>, %g: tensor<2x6x6x4xf32>) -> tensor<3x3x1x4xf32> {
  %0 = tw.convolution_weight_grad %x, %g {tw.channels_last, stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 4 : i64}
    : (tensor<2x8x8x4xf32>, tensor<2x6x6x4xf32>) -> tensor<3x3x1x4xf32>
  return %0 : tensor<3x3x1x4xf32>
}
