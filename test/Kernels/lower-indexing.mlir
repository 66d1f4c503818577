// RUN: tilewright-opt %s --tw-lower-graph | FileCheck %s

// CHECK-DAG: #[[$ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[$ROW:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG: #[[$DEST:.*]] = affine_map<(d0, d1)[s0] -> (s0, d1)>

// A negative index counts from the end. An index out of range makes the call fail with an error.
// CHECK-LABEL: func @embedding
// CHECK: linalg.generic {{.*}} ins(%arg1 : tensor<4xi64>)
// CHECK: %[[I:.*]] = arith.index_cast %{{.*}} : i64 to index
// CHECK: %[[K:.*]] = tw_tile.place %[[I]] below %c100 from_end : index
// CHECK: %[[J:.*]] = linalg.index 1
// CHECK: tensor.extract %arg0[%[[K]], %[[J]]] : tensor<100x8xbf16>
func.func @embedding(%table: tensor<100x8xbf16>, %i: tensor<4xi64>) -> tensor<4x8xbf16> {
  %0 = tw.take %table [%i] {dim = 0 : i64} : (tensor<100x8xbf16>, tensor<4xi64>) -> tensor<4x8xbf16>
  return %0 : tensor<4x8xbf16>
}

// CHECK-LABEL: func @gather
// CHECK: linalg.index 0
// CHECK: tensor.extract %arg0[
func.func @gather(%x: tensor<4x8xf32>, %i: tensor<4x2xi64>) -> tensor<4x2xf32> {
  %0 = tw.gather %x [%i] {dim = 1 : i64} : (tensor<4x8xf32>, tensor<4x2xi64>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// Sums of bf16 and f16 are accumulated in f32, in a copy of the input.
// CHECK-LABEL: func @scatter_add
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%arg2 : tensor<2x8xbf16>) outs(%{{.*}} : tensor<2x8xf32>)
// CHECK: %[[D:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<4x8xbf16>) outs(%{{.*}} : tensor<4x8xf32>)
// CHECK: tw_tile.scatter add {dest_map = #[[$DEST]], index_maps = [#[[$ID]]]} ins(%[[S]], %arg1 : tensor<2x8xf32>, tensor<2x8xi64>) outs(%[[D]] : tensor<4x8xf32>)
// CHECK: arith.truncf
func.func @scatter_add(%x: tensor<4x8xbf16>, %i: tensor<2x8xi64>, %s: tensor<2x8xbf16>) -> tensor<4x8xbf16> {
  %0 = tw.scatter add %x [%i], %s {dim = 0 : i64} : (tensor<4x8xbf16>, tensor<2x8xi64>, tensor<2x8xbf16>) -> tensor<4x8xbf16>
  return %0 : tensor<4x8xbf16>
}

// Booleans are stored as the bytes 0 and 1. Their logical sum is the maximum: a sum of 256 ones would wrap around to 0.
// CHECK-LABEL: func @scatter_add_booleans
// CHECK: tw_tile.scatter max {{.*}} outs(%{{.*}} : tensor<4xi8>)
func.func @scatter_add_booleans(%x: tensor<4xi1>, %i: tensor<512xi64>, %s: tensor<512xi1>) -> tensor<4xi1> {
  %0 = tw.scatter add %x [%i], %s {dim = 0 : i64} : (tensor<4xi1>, tensor<512xi64>, tensor<512xi1>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// CHECK-LABEL: func @put_product_of_booleans
// CHECK: tw_tile.scatter min {{.*}} outs(%{{.*}} : tensor<4xi8>)
func.func @put_product_of_booleans(%x: tensor<4xi1>, %i: tensor<512xi64>, %s: tensor<512xi1>) -> tensor<4xi1> {
  %0 = tw.put mul %x [%i], %s {dim = 0 : i64} : (tensor<4xi1>, tensor<512xi1>, tensor<512xi64>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// A scatter into zeros begins with a fill instead of a copy.
// CHECK-LABEL: func @put_into_zeros
// CHECK: %[[Z:.*]] = linalg.fill {{.*}} -> tensor<100x8xf32>
// CHECK: tw_tile.scatter add {dest_map = #[[$DEST]], index_maps = [#[[$ROW]]]} ins(%arg0, %arg1 : tensor<4x8xf32>, tensor<4xi64>) outs(%[[Z]] : tensor<100x8xf32>)
func.func @put_into_zeros(%s: tensor<4x8xf32>, %i: tensor<4xi64>) -> tensor<100x8xf32> {
  %z = tw.constant dense<0.0> : tensor<100x8xf32>
  %0 = tw.put add %z [%i], %s {dim = 0 : i64} : (tensor<100x8xf32>, tensor<4x8xf32>, tensor<4xi64>) -> tensor<100x8xf32>
  return %0 : tensor<100x8xf32>
}
