// RUN: tilewright-opt %s --tw-lower-graph | FileCheck %s

// CHECK-DAG: #[[$TIMES4:.*]] = affine_map<()[s0] -> (s0 * 4)>
// CHECK-DAG: #[[$LESS3:.*]] = affine_map<()[s0] -> (s0 - 3)>
// CHECK-DAG: #[[$SWAP:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-DAG: #[[$ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>

// A permute becomes an indexing map of its consumer. It becomes an op only if a consumer, here the return, needs the
// tensor.
// CHECK-LABEL: func @permute(
// CHECK: %[[E:.*]] = linalg.generic {indexing_maps = [#[[$SWAP]], #[[$ID]]]{{.*}}ins(%arg0
// CHECK-SAME: tw.op = "exp"
// CHECK: %[[P:.*]] = linalg.generic {indexing_maps = [#[[$SWAP]], #[[$ID]]]{{.*}}ins(%arg0
// CHECK-SAME: tw.op = "permute"
// CHECK: return %[[E]], %[[P]]
func.func @permute(%x: tensor<4x8xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %0 = tw.permute %x {permutation = array<i64: 1, 0>} : tensor<4x8xf32> -> tensor<8x4xf32>
  %1 = tw.exp %0 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %1, %0 : tensor<8x4xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: func @reshape_symbolic(%arg0: index
// CHECK: %[[M:.*]] = tensor.collapse_shape %arg1 {{\[\[}}0, 1], [2]] : tensor<?x4x8xf32> into tensor<?x8xf32>
// CHECK: %[[N:.*]] = affine.apply #[[$TIMES4]]()[%arg0]
// CHECK: tensor.empty(%[[N]])
// CHECK: linalg.generic
// CHECK: %[[R:.*]] = tensor.expand_shape %{{.*}} {{\[\[}}0, 1], [2, 3]] output_shape [%arg0, 4, 2, 4] : tensor<?x8xf32> into tensor<?x4x2x4xf32>
func.func @reshape_symbolic(%n: index {tw.symbol = "n"}, %x: tensor<?x4x8xf32, affine_map<()[s0] -> (s0, 4, 8)>>)
    -> tensor<?x4x2x4xf32, affine_map<()[s0] -> (s0, 4, 2, 4)>> {
  %0 = tw.reshape %x : tensor<?x4x8xf32, affine_map<()[s0] -> (s0, 4, 8)>> -> tensor<?x8xf32, affine_map<()[s0] -> (s0 * 4, 8)>>
  %1 = tw.exp %0 : (tensor<?x8xf32, affine_map<()[s0] -> (s0 * 4, 8)>>) -> tensor<?x8xf32, affine_map<()[s0] -> (s0 * 4, 8)>>
  %2 = tw.reshape %1 : tensor<?x8xf32, affine_map<()[s0] -> (s0 * 4, 8)>> -> tensor<?x4x2x4xf32, affine_map<()[s0] -> (s0, 4, 2, 4)>>
  return %2 : tensor<?x4x2x4xf32, affine_map<()[s0] -> (s0, 4, 2, 4)>>
}

// The reshape neither splits nor merges dimensions, so the tensor is first collapsed to one dimension.
// CHECK-LABEL: func @reshape_any
// CHECK: tensor.collapse_shape %arg0 {{\[\[}}0, 1]] : tensor<4x6xf32> into tensor<24xf32>
// CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0, 1]] output_shape [3, 8] : tensor<24xf32> into tensor<3x8xf32>
func.func @reshape_any(%x: tensor<4x6xf32>) -> tensor<3x8xf32> {
  %0 = tw.reshape %x : tensor<4x6xf32> -> tensor<3x8xf32>
  return %0 : tensor<3x8xf32>
}

// CHECK-LABEL: func @slice(%arg0: index
// CHECK: %[[O:.*]] = affine.apply #[[$LESS3]]()[%arg0]
// CHECK: tensor.extract_slice %arg1[%[[O]], 1] [2, 4] [1, 2] : tensor<?x9xf32> to tensor<2x4xf32>
func.func @slice(%n: index {tw.symbol = "n"}, %x: tensor<?x9xf32, affine_map<()[s0] -> (s0, 9)>>) -> tensor<2x4xf32> {
  %0 = tw.slice %x {offsets = affine_map<()[s0] -> (s0 - 3, 1)>, strides = array<i64: 1, 2>}
    : tensor<?x9xf32, affine_map<()[s0] -> (s0, 9)>> -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: func @pad_concat_flip
// CHECK: %[[S:.*]] = tensor.extract_slice %arg0[0, 1] [2, 3] [1, 1]
// CHECK: %[[P:.*]] = tensor.pad %[[S]] low[1, 0] high[0, 0]
// CHECK: %[[A:.*]] = tensor.insert_slice %[[P]] into %{{.*}}[0, 0] [3, 3] [1, 1]
// CHECK: %[[B:.*]] = tensor.insert_slice %[[P]] into %[[A]][3, 0] [3, 3] [1, 1]
// CHECK: linalg.generic
// CHECK: %[[I:.*]] = linalg.index 0
// CHECK: %[[J:.*]] = arith.subi %{{.*}}, %[[I]]
// CHECK: tensor.extract %[[B]][%[[J]]
func.func @pad_concat_flip(%x: tensor<2x4xf32>) -> tensor<6x3xf32> {
  %0 = tw.pad %x {low = array<i64: 1, -1>, high = array<i64: 0, 0>, value = 1.0 : f32} : tensor<2x4xf32> -> tensor<3x3xf32>
  %1 = tw.concat %0, %0 {dim = 0 : i64} : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<6x3xf32>
  %2 = tw.flip %1 {dims = array<i64: 0>} : tensor<6x3xf32> -> tensor<6x3xf32>
  return %2 : tensor<6x3xf32>
}

// A concatenation of a few tensors with size 1 in the last dimension becomes one linalg.generic that selects the
// operand by index.
// CHECK-LABEL: func @interleaved
// CHECK-NOT: tensor.insert_slice
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<5x1xf32>, tensor<5x1xf32>) outs(%{{.*}} : tensor<5x2xf32>)
// CHECK: %[[J:.*]] = linalg.index 1
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[J]], %c0
// CHECK: arith.select %[[FIRST]]
func.func @interleaved(%x: tensor<5x1xf32>, %y: tensor<5x1xf32>) -> tensor<5x2xf32> {
  %0 = tw.concat %x, %y {dim = 1 : i64} : (tensor<5x1xf32>, tensor<5x1xf32>) -> tensor<5x2xf32>
  return %0 : tensor<5x2xf32>
}
