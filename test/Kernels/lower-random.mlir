// RUN: tilewright-opt %s --tw-lower-graph | FileCheck %s

// CHECK: #[[$SEED:.*]] = affine_map<(d0, d1) -> (0)>

// CHECK-LABEL: func @uniform
// CHECK: linalg.generic {indexing_maps = [#[[$SEED]]
// CHECK-SAME: ins(%arg0 : tensor<1xi64>)
// CHECK: linalg.index 0
// CHECK: linalg.index 1
// CHECK-COUNT-20: arith.muli %{{.*}} : i64
// CHECK: arith.shrui %{{.*}}, %c8_i32 : i32
// CHECK: arith.sitofp
// CHECK: 5.96046448E-8
func.func @uniform(%seed: tensor<1xi64>) -> tensor<4x8xf32> {
  %0 = tw.random uniform %seed {stream = 3 : i64} : tensor<1xi64> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func @normal
// CHECK: math.log
// CHECK: math.sqrt
// CHECK: math.cos
func.func @normal(%seed: tensor<1xi64>) -> tensor<4x8xf32> {
  %0 = tw.random normal %seed {stream = 3 : i64} : tensor<1xi64> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
