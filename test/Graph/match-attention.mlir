// RUN: tilewright-opt %s "--tw-match-attention" --canonicalize | FileCheck %s
// RUN: tilewright-opt %s "--tw-match-attention=tensor-cores-only" --canonicalize | FileCheck %s --check-prefix=CORES
// RUN: tilewright-opt %s "--tw-match-attention" --remarks-filter-missed=fusion --remark-policy=all 2>&1 | FileCheck %s --check-prefix=REMARK

// The products have rank 3, and the softmax has rank 4. The softmax is computed in f32.
// CHECK-LABEL: func @reshaped
// CHECK: %[[R:.*]], %{{.*}} = tw.attention %arg0, %arg1, %arg2 {nan_rows, scale = 1.250000e-01 : f64} : tensor<2x4x8x64xbf16>, tensor<2x4x16x64xbf16>, tensor<2x4x16x64xbf16>
// CHECK-SAME: -> tensor<2x4x8x64xbf16>, tensor<2x4x8xf32>
// CHECK-NEXT: return %[[R]]
// CORES-LABEL: func @reshaped
// CORES: tw.attention
func.func @reshaped(%q: tensor<2x4x8x64xbf16>, %k: tensor<2x4x16x64xbf16>, %v: tensor<2x4x16x64xbf16>) -> tensor<2x4x8x64xbf16> {
  %t = tw.permute %k {permutation = array<i64: 0, 1, 3, 2>} : tensor<2x4x16x64xbf16> -> tensor<2x4x64x16xbf16>
  %q3 = tw.reshape %q : tensor<2x4x8x64xbf16> -> tensor<8x8x64xbf16>
  %t3 = tw.reshape %t : tensor<2x4x64x16xbf16> -> tensor<8x64x16xbf16>
  %s = tw.matmul %q3, %t3 : (tensor<8x8x64xbf16>, tensor<8x64x16xbf16>) -> tensor<8x8x16xbf16>
  %s4 = tw.reshape %s : tensor<8x8x16xbf16> -> tensor<2x4x8x16xbf16>
  %c = tw.constant dense<8.0> : tensor<bf16>
  %d = tw.div %s4, %c : (tensor<2x4x8x16xbf16>, tensor<bf16>) -> tensor<2x4x8x16xbf16>
  %w = tw.cast %d : (tensor<2x4x8x16xbf16>) -> tensor<2x4x8x16xf32>
  %p = tw.softmax %w {dim = 3 : i64} : tensor<2x4x8x16xf32> -> tensor<2x4x8x16xf32>
  %n = tw.cast %p : (tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xbf16>
  %n3 = tw.reshape %n : tensor<2x4x8x16xbf16> -> tensor<8x8x16xbf16>
  %v3 = tw.reshape %v : tensor<2x4x16x64xbf16> -> tensor<8x16x64xbf16>
  %o = tw.matmul %n3, %v3 : (tensor<8x8x16xbf16>, tensor<8x16x64xbf16>) -> tensor<8x8x64xbf16>
  %o4 = tw.reshape %o : tensor<8x8x64xbf16> -> tensor<2x4x8x64xbf16>
  return %o4 : tensor<2x4x8x64xbf16>
}

// A bias is added to the scores, and then masked scores are replaced by the lowest number. In the attention op, the
// same numbers of the bias are replaced instead.
// CHECK-LABEL: func @masked
// CHECK: %[[C:.*]] = tw.constant dense<-3.389530e+38> : tensor<bf16>
// CHECK: %[[B:.*]] = tw.reshape %arg3 : tensor<8x8x16xbf16> -> tensor<2x4x8x16xbf16>
// CHECK: %[[M:.*]] = tw.where %arg4, %[[C]], %[[B]] : (tensor<2x1x8x16xi1>, tensor<bf16>, tensor<2x4x8x16xbf16>) -> tensor<2x4x8x16xbf16>
// CHECK: tw.attention {{.*}} mask(%[[M]] : tensor<2x4x8x16xbf16>) {scale = 1.000000e+00 : f64}
func.func @masked(%q: tensor<8x8x64xbf16>, %t: tensor<8x64x16xbf16>, %v: tensor<8x16x64xbf16>, %bias: tensor<8x8x16xbf16>,
                  %mask: tensor<2x1x8x16xi1>) -> tensor<8x8x64xbf16> {
  %s = tw.matmul %q, %t : (tensor<8x8x64xbf16>, tensor<8x64x16xbf16>) -> tensor<8x8x16xbf16>
  %a = tw.add %s, %bias : (tensor<8x8x16xbf16>, tensor<8x8x16xbf16>) -> tensor<8x8x16xbf16>
  %a4 = tw.reshape %a : tensor<8x8x16xbf16> -> tensor<2x4x8x16xbf16>
  %c = tw.constant dense<-3.389530e+38> : tensor<bf16>
  %m = tw.where %mask, %c, %a4 : (tensor<2x1x8x16xi1>, tensor<bf16>, tensor<2x4x8x16xbf16>) -> tensor<2x4x8x16xbf16>
  %p = tw.softmax %m {dim = 3 : i64, safe} : tensor<2x4x8x16xbf16> -> tensor<2x4x8x16xbf16>
  %p3 = tw.reshape %p : tensor<2x4x8x16xbf16> -> tensor<8x8x16xbf16>
  %o = tw.matmul %p3, %v : (tensor<8x8x16xbf16>, tensor<8x16x64xbf16>) -> tensor<8x8x64xbf16>
  return %o : tensor<8x8x64xbf16>
}

// If scores are only replaced by -inf, and no bias is added, the mask is boolean. It is true for the keys to which a
// row attends.
// CHECK-LABEL: func @boolean
// CHECK: %[[M:.*]] = tw.logical_not %arg2
// CHECK: tw.attention {{.*}} mask(%[[M]] : tensor<8x8xi1>) {nan_rows, scale = 1.000000e+00 : f64} : tensor<1x1x8x64xf32>
// CORES-LABEL: func @boolean
// CORES-NOT: tw.attention
// CORES: return
func.func @boolean(%q: tensor<8x64xf32>, %k: tensor<64x8xf32>, %mask: tensor<8x8xi1>) -> tensor<8x64xf32> {
  %s = tw.matmul %q, %k : (tensor<8x64xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
  %c = tw.constant dense<0xFF800000> : tensor<f32>
  %m = tw.where %mask, %c, %s : (tensor<8x8xi1>, tensor<f32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %p = tw.softmax %m {dim = 1 : i64} : tensor<8x8xf32> -> tensor<8x8xf32>
  %o = tw.matmul %p, %q : (tensor<8x8xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  return %o : tensor<8x64xf32>
}

// Attention is also recognized if sizes are symbolic.
// CHECK-LABEL: func @symbolic
// CHECK: tw.attention {{.*}} -> tensor<?x4x?x64xf32, #{{.*}}>
#q = affine_map<()[s0, s1] -> (s0, 4, s1, 64)>
#t = affine_map<()[s0, s1] -> (s0, 4, 64, s1)>
#s = affine_map<()[s0, s1] -> (s0, 4, s1, s1)>
func.func @symbolic(%q: tensor<?x4x?x64xf32, #q>, %t: tensor<?x4x64x?xf32, #t>) -> tensor<?x4x?x64xf32, #q> {
  %s = tw.matmul %q, %t : (tensor<?x4x?x64xf32, #q>, tensor<?x4x64x?xf32, #t>) -> tensor<?x4x?x?xf32, #s>
  %p = tw.softmax %s {dim = 3 : i64} : tensor<?x4x?x?xf32, #s> -> tensor<?x4x?x?xf32, #s>
  %o = tw.matmul %p, %q : (tensor<?x4x?x?xf32, #s>, tensor<?x4x?x64xf32, #q>) -> tensor<?x4x?x64xf32, #q>
  return %o : tensor<?x4x?x64xf32, #q>
}

// The backward graph reads the weights (the results of the softmax), so the products and the softmax are not replaced.
// CHECK-LABEL: func @shared
// CHECK-NOT: tw.attention
// CHECK: return
// REMARK: the scores or the weights have other users
func.func @shared(%q: tensor<8x64xf32>, %k: tensor<64x8xf32>) -> (tensor<8x64xf32>, tensor<8x8xf32>) {
  %s = tw.matmul %q, %k : (tensor<8x64xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
  %p = tw.softmax %s {dim = 1 : i64} : tensor<8x8xf32> -> tensor<8x8xf32>
  %o = tw.matmul %p, %q : (tensor<8x8xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  return %o, %p : tensor<8x64xf32>, tensor<8x8xf32>
}

// If a mask contains -10000, masked scores may still affect the result, so the result depends on how the mask is added.
// CHECK-LABEL: func @soft_replacement
// CHECK-NOT: tw.attention
// CHECK: return
// REMARK: masked scores are replaced by a number above -1e30
func.func @soft_replacement(%q: tensor<8x64xf32>, %k: tensor<64x8xf32>, %mask: tensor<8x8xi1>) -> tensor<8x64xf32> {
  %s = tw.matmul %q, %k : (tensor<8x64xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
  %c = tw.constant dense<-1.0e+04> : tensor<f32>
  %m = tw.where %mask, %c, %s : (tensor<8x8xi1>, tensor<f32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %p = tw.softmax %m {dim = 1 : i64} : tensor<8x8xf32> -> tensor<8x8xf32>
  %o = tw.matmul %p, %q : (tensor<8x8xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  return %o : tensor<8x64xf32>
}

// CHECK-LABEL: func @scaled_after_mask
// CHECK-NOT: tw.attention
// CHECK: return
// REMARK: the scores are scaled after they are masked
func.func @scaled_after_mask(%q: tensor<8x64xf32>, %k: tensor<64x8xf32>, %mask: tensor<8x8xf32>) -> tensor<8x64xf32> {
  %s = tw.matmul %q, %k : (tensor<8x64xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
  %a = tw.add %s, %mask : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %c = tw.constant dense<5.0e-01> : tensor<f32>
  %m = tw.mul %a, %c : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
  %p = tw.softmax %m {dim = 1 : i64} : tensor<8x8xf32> -> tensor<8x8xf32>
  %o = tw.matmul %p, %q : (tensor<8x8xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  return %o : tensor<8x64xf32>
}
