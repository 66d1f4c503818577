// RUN: tilewright-opt %s --tw-lower-graph | FileCheck %s

// CHECK-DAG: #[[$MK:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[$NK:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #[[$MN:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[$BMK:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
// CHECK-DAG: #[[$KN:.*]] = affine_map<(d0, d1, d2, d3) -> (d3, d2)>

// The weight's permute becomes an indexing map; products of bf16 accumulate in f32.
// CHECK-LABEL: func @transposed_weight
// CHECK: %[[Z:.*]] = linalg.fill {{.*}} -> tensor<4x8xf32>
// CHECK: %[[C:.*]] = linalg.contract indexing_maps = [#[[$MK]], #[[$NK]], #[[$MN]]] {tw.op = "matmul"} ins(%arg0, %arg1 : tensor<4x16xbf16>, tensor<8x16xbf16>) outs(%[[Z]] : tensor<4x8xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[C]] : tensor<4x8xf32>)
// CHECK: arith.truncf %{{.*}} fastmath<contract> : f32 to bf16
func.func @transposed_weight(%x: tensor<4x16xbf16>, %w: tensor<8x16xbf16>) -> tensor<4x8xbf16> {
  %0 = tw.permute %w {permutation = array<i64: 1, 0>} : tensor<8x16xbf16> -> tensor<16x8xbf16>
  %1 = tw.matmul %x, %0 : (tensor<4x16xbf16>, tensor<16x8xbf16>) -> tensor<4x8xbf16>
  return %1 : tensor<4x8xbf16>
}

// A weight that the batch shares is read without a batch index.
// CHECK-LABEL: func @shared_weight
// CHECK: linalg.contract indexing_maps = [#[[$BMK]], #[[$KN]], #{{.*}}] {tw.op = "matmul"} ins(%arg0, %arg1 : tensor<2x4x16xf32>, tensor<16x8xf32>)
func.func @shared_weight(%x: tensor<2x4x16xf32>, %w: tensor<16x8xf32>) -> tensor<2x4x8xf32> {
  %0 = tw.broadcast %w : tensor<16x8xf32> -> tensor<2x16x8xf32>
  %1 = tw.matmul %x, %0 : (tensor<2x4x16xf32>, tensor<2x16x8xf32>) -> tensor<2x4x8xf32>
  return %1 : tensor<2x4x8xf32>
}

// If k of one operand is broadcast, an indexing map could not express the size of k. Therefore the broadcast is
// materialized.
// CHECK-LABEL: func @broadcast_k
// CHECK: %[[B:.*]] = linalg.generic {{.*}}tw.op = "broadcast"
// CHECK: linalg.contract {{.*}} ins(%[[B]], %arg1
func.func @broadcast_k(%x: tensor<4x1xf32>, %w: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %0 = tw.broadcast %x : tensor<4x1xf32> -> tensor<4x16xf32>
  %1 = tw.matmul %0, %w : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// If the result is only one tile and k is long, products of 32 parts of k are computed, and then their sum.
// CHECK-LABEL: func @long_depth
// CHECK: %[[P:.*]] = linalg.contract {{.*}} ins(%{{.*}}, %{{.*}} : tensor<32x392x64xf32>, tensor<32x392x64xf32>) outs(%{{.*}} : tensor<32x64x64xf32>)
// CHECK: linalg.generic {{.*}}["reduction", "parallel", "parallel"]{{.*}} ins(%[[P]]
func.func @long_depth(%x: tensor<12544x64xf32>, %g: tensor<12544x64xf32>) -> tensor<64x64xf32> {
  %0 = tw.permute %x {permutation = array<i64: 1, 0>} : tensor<12544x64xf32> -> tensor<64x12544xf32>
  %1 = tw.matmul %0, %g : (tensor<64x12544xf32>, tensor<12544x64xf32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}
