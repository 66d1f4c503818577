// RUN: tilewright-opt %s "--tw-split-k-attention=threads=2" | FileCheck %s
// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured | FileCheck %s --check-prefix=VIEWS

// With two threads, the 4096 keys of an attention with eight query heads and two key heads are split into four parts.
// Keys and values are not copied.
// CHECK-LABEL: func @heads_first
// CHECK: tw.broadcast %arg0 : tensor<1x8x1x64xbf16> -> tensor<4x8x1x64xbf16>
// CHECK: %[[K:.*]] = tw.reshape %arg1 : tensor<1x2x4096x64xbf16> -> tensor<2x4x1024x64xbf16>
// CHECK: tw.permute %[[K]] {permutation = array<i64: 1, 0, 2, 3>}
// CHECK: %[[M:.*]] = tw.reshape %arg2 : tensor<1x4096xi1> -> tensor<1x1x4x1024xi1>
// CHECK: tw.permute %[[M]] {permutation = array<i64: 2, 0, 1, 3>}
// CHECK: %[[R:.*]], %[[L:.*]] = tw.attention {{.*}} -> tensor<4x8x1x64xf32>, tensor<4x8x1xf32>
// CHECK: tw.softmax %[[L]] {dim = 0 : i64, safe}
// CHECK: tw.reduce sum {{.*}}{dims = array<i64: 0>, keepdim}
// CHECK: tw.cast
// VIEWS-LABEL: func.func @heads_first
// VIEWS: tw_tile.attention {permutations = array<i64: 0, 1, 2, 3, 1, 0, 2, 3, 1, 0, 2, 3, 0, 1, 2, 3>, {{.*}} : tensor<8x8x1x64xbf16>, tensor<2x8x512x64xbf16>, tensor<2x8x512x64xbf16>, tensor<8x1x1x512xi8>)
func.func @heads_first(%q: tensor<1x8x1x64xbf16>, %k: tensor<1x2x4096x64xbf16>, %m: tensor<1x4096xi1>) -> tensor<1x8x1x64xbf16> {
  %r, %l = tw.attention %q, %k, %k mask(%m : tensor<1x4096xi1>) {scale = 0.125 : f64} : tensor<1x8x1x64xbf16>, tensor<1x2x4096x64xbf16>, tensor<1x2x4096x64xbf16>
    -> tensor<1x8x1x64xbf16>, tensor<1x8x1xf32>
  return %r : tensor<1x8x1x64xbf16>
}

// CHECK-LABEL: func @tokens_first
// CHECK: %[[K:.*]] = tw.reshape %arg1 : tensor<1x4096x2x64xf32> -> tensor<4x1024x2x64xf32>
// CHECK: tw.permute %[[K]] {permutation = array<i64: 0, 2, 1, 3>}
func.func @tokens_first(%q: tensor<1x2x2x64xf32>, %x: tensor<1x4096x2x64xf32>) -> tensor<1x2x2x64xf32> {
  %k = tw.permute %x {permutation = array<i64: 0, 2, 1, 3>} : tensor<1x4096x2x64xf32> -> tensor<1x2x4096x64xf32>
  %r, %l = tw.attention %q, %k, %k {scale = 0.125 : f64} : tensor<1x2x2x64xf32>, tensor<1x2x4096x64xf32>, tensor<1x2x4096x64xf32>
    -> tensor<1x2x2x64xf32>, tensor<1x2x2xf32>
  return %r : tensor<1x2x2x64xf32>
}

// The pass does not change attention that has enough heads for the threads, few keys, a prime number of keys, or a
// log-sum-exp that is read.
// CHECK-LABEL: func @unchanged
// CHECK-COUNT-4: tw.attention {{.*}} -> tensor<1x
// CHECK-NOT: tw.attention
func.func @unchanged(%a: tensor<1x32x1x64xf32>, %ka: tensor<1x32x4096x64xf32>, %b: tensor<1x2x1x64xf32>, %kb: tensor<1x2x1000x64xf32>, %kc: tensor<1x2x4099x64xf32>, %kd: tensor<1x2x4096x64xf32>)
    -> (tensor<1x32x1x64xf32>, tensor<1x2x1x64xf32>, tensor<1x2x1x64xf32>, tensor<1x2x1xf32>) {
  %r0, %l0 = tw.attention %a, %ka, %ka {scale = 0.125 : f64} : tensor<1x32x1x64xf32>, tensor<1x32x4096x64xf32>, tensor<1x32x4096x64xf32> -> tensor<1x32x1x64xf32>, tensor<1x32x1xf32>
  %r1, %l1 = tw.attention %b, %kb, %kb {scale = 0.125 : f64} : tensor<1x2x1x64xf32>, tensor<1x2x1000x64xf32>, tensor<1x2x1000x64xf32> -> tensor<1x2x1x64xf32>, tensor<1x2x1xf32>
  %r2, %l2 = tw.attention %b, %kc, %kc {scale = 0.125 : f64} : tensor<1x2x1x64xf32>, tensor<1x2x4099x64xf32>, tensor<1x2x4099x64xf32> -> tensor<1x2x1x64xf32>, tensor<1x2x1xf32>
  %r3, %l3 = tw.attention %b, %kd, %kd {scale = 0.125 : f64} : tensor<1x2x1x64xf32>, tensor<1x2x4096x64xf32>, tensor<1x2x4096x64xf32> -> tensor<1x2x1x64xf32>, tensor<1x2x1xf32>
  return %r0, %r1, %r2, %l3 : tensor<1x32x1x64xf32>, tensor<1x2x1x64xf32>, tensor<1x2x1x64xf32>, tensor<1x2x1xf32>
}
