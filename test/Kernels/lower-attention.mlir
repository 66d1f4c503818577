// RUN: tilewright-opt %s --tw-lower-graph | FileCheck %s
// RUN: tilewright-opt %s --tw-lower-graph=attention-delta | FileCheck %s --check-prefix=DELTA

// Permutes of the operands, and the permute that reads the result, become an attribute of the op.
// CHECK-LABEL: func @permuted
// CHECK: %[[R:.*]] = tensor.empty() : tensor<2x8x4x16xf32>
// CHECK: %[[A:.*]]:2 = tw_tile.attention {causal, permutations = array<i64: 0, 2, 1, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 2, 1, 3>, scale = 2.500000e-01 : f64} ins(%arg0, %arg1, %arg2 : {{.*}}) outs(%[[R]], %{{.*}} : tensor<2x8x4x16xf32>, tensor<2x4x8xf32>)
// CHECK: tensor.collapse_shape %[[A]]#0 {{\[\[}}0], [1], [2, 3]]
func.func @permuted(%x: tensor<2x8x4x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x8x64xf32> {
  %q = tw.permute %x {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
  %r, %l = tw.attention %q, %k, %v {scale = 0.25 : f64, causal} : tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>
    -> tensor<2x4x8x16xf32>, tensor<2x4x8xf32>
  %0 = tw.permute %r {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x4x8x16xf32> -> tensor<2x8x4x16xf32>
  %1 = tw.reshape %0 : tensor<2x8x4x16xf32> -> tensor<2x8x64xf32>
  return %1 : tensor<2x8x64xf32>
}

// The mask of tw_tile.attention has rank 4 and elements of i8 or f32, so other masks are expanded and converted.
// CHECK-LABEL: func @masked
// CHECK: arith.extf
// CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0, 1, 2], [3]] output_shape [1, 1, 8, 8]
// CHECK: tw_tile.attention
func.func @masked(%q: tensor<2x4x8x16xbf16>, %m: tensor<8x8xbf16>) -> tensor<2x4x8x16xbf16> {
  %r, %l = tw.attention %q, %q, %q mask(%m : tensor<8x8xbf16>) {scale = 0.25 : f64} : tensor<2x4x8x16xbf16>, tensor<2x4x8x16xbf16>, tensor<2x4x8x16xbf16>
    -> tensor<2x4x8x16xbf16>, tensor<2x4x8xf32>
  return %r : tensor<2x4x8x16xbf16>
}

// f16 operands are not widened, and are read in the order in which they are stored.
// CHECK-LABEL: func @half
// CHECK-NOT: arith.extf
// CHECK: tw_tile.attention {permutations = array<i64: 0, 2, 1, 3, {{.*}}} ins({{.*}} : tensor<2x8x4x16xf16>, tensor<2x4x8x16xf16>, tensor<2x4x8x16xf16>) outs({{.*}} : tensor<2x4x8x16xf16>,
// CHECK: return {{.*}} : tensor<2x4x8x16xf16>
func.func @half(%x: tensor<2x8x4x16xf16>, %k: tensor<2x4x8x16xf16>) -> tensor<2x4x8x16xf16> {
  %q = tw.permute %x {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x8x4x16xf16> -> tensor<2x4x8x16xf16>
  %r, %l = tw.attention %q, %k, %k {scale = 0.25 : f64} : tensor<2x4x8x16xf16>, tensor<2x4x8x16xf16>, tensor<2x4x8x16xf16>
    -> tensor<2x4x8x16xf16>, tensor<2x4x8xf32>
  return %r : tensor<2x4x8x16xf16>
}

// The gradient is also one op; permutes of its operands and of its results become an attribute.
// CHECK-LABEL: func @gradient
// CHECK: tw_tile.attention_gradient {permutations = array<i64: 0, 2, 1, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 2, 1, 3, 0, 1, 2, 3, 0, 1, 2, 3>, scale = 2.500000e-01 : f64} ins(%arg0, %arg1, %arg1, %arg2, %arg2, %arg3 :
// CHECK-SAME: outs({{.*}} : tensor<2x8x4x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>)
// With the option attention-delta, a separate op computes sum(dO * O) for each row, and the gradient op reads these
// sums.
// DELTA-LABEL: func @gradient
// DELTA: %[[D:.*]] = linalg.contract {{.*}} ins(%arg2, %arg2 : tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) outs({{.*}} : tensor<2x4x8xf32>)
// DELTA: tw_tile.attention_gradient {{.*}} ins(%arg0, %arg1, %arg1, %[[D]], %arg2, %arg3 :
func.func @gradient(%x: tensor<2x8x4x16xf32>, %k: tensor<2x4x8x16xf32>, %o: tensor<2x4x8x16xf32>, %l: tensor<2x4x8xf32>) -> (tensor<2x8x64xf32>, tensor<2x4x8x16xf32>) {
  %q = tw.permute %x {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
  %dq, %dk, %dv = tw.attention_gradient %q, %k, %k, %o, %o, %l {scale = 0.25 : f64} : tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8xf32>
    -> tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>
  %0 = tw.permute %dq {permutation = array<i64: 0, 2, 1, 3>} : tensor<2x4x8x16xf32> -> tensor<2x8x4x16xf32>
  %1 = tw.reshape %0 : tensor<2x8x4x16xf32> -> tensor<2x8x64xf32>
  return %1, %dv : tensor<2x8x64xf32>, tensor<2x4x8x16xf32>
}

// Rows must precede columns: operands and results with columns first are permuted by separate ops.
// CHECK-LABEL: func @columns_first
// CHECK: %[[Q:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<2x4x16x8xf32>) outs(%{{.*}} : tensor<2x4x8x16xf32>)
// CHECK: tw_tile.attention {scale = 2.500000e-01 : f64} ins(%[[Q]], %arg1, %arg1 : {{.*}}) outs(%{{.*}} : tensor<2x4x8x16xf32>, tensor<2x4x8xf32>)
func.func @columns_first(%x: tensor<2x4x16x8xf32>, %k: tensor<2x4x8x16xf32>) -> tensor<2x4x16x8xf32> {
  %q = tw.permute %x {permutation = array<i64: 0, 1, 3, 2>} : tensor<2x4x16x8xf32> -> tensor<2x4x8x16xf32>
  %r, %l = tw.attention %q, %k, %k {scale = 0.25 : f64} : tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>
    -> tensor<2x4x8x16xf32>, tensor<2x4x8xf32>
  %0 = tw.permute %r {permutation = array<i64: 0, 1, 3, 2>} : tensor<2x4x8x16xf32> -> tensor<2x4x16x8xf32>
  return %0 : tensor<2x4x16x8xf32>
}
