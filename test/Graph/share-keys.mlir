// Attention reads keys and values that are repeated for the query heads of a group without the repetition.
// RUN: tilewright-opt %s --tw-share-keys --canonicalize --cse | FileCheck %s

// CHECK-LABEL: func @repeated
// CHECK-NOT: tw.broadcast
// CHECK: tw.attention %arg0, %arg1, %arg2 {{.*}} : tensor<1x8x1x64xbf16>, tensor<1x2x40x64xbf16>, tensor<1x2x40x64xbf16>
func.func @repeated(%q: tensor<1x8x1x64xbf16>, %k: tensor<1x2x40x64xbf16>, %v: tensor<1x2x40x64xbf16>) -> tensor<1x8x1x64xbf16> {
  %0 = tw.reshape %k : tensor<1x2x40x64xbf16> -> tensor<1x2x1x40x64xbf16>
  %1 = tw.broadcast %0 : tensor<1x2x1x40x64xbf16> -> tensor<1x2x4x40x64xbf16>
  %2 = tw.reshape %1 : tensor<1x2x4x40x64xbf16> -> tensor<1x8x40x64xbf16>
  %3 = tw.reshape %v : tensor<1x2x40x64xbf16> -> tensor<1x2x1x40x64xbf16>
  %4 = tw.broadcast %3 : tensor<1x2x1x40x64xbf16> -> tensor<1x2x4x40x64xbf16>
  %5 = tw.reshape %4 : tensor<1x2x4x40x64xbf16> -> tensor<1x8x40x64xbf16>
  %r, %l = tw.attention %q, %2, %5 {scale = 0.125 : f64} : tensor<1x8x1x64xbf16>, tensor<1x8x40x64xbf16>, tensor<1x8x40x64xbf16> -> tensor<1x8x1x64xbf16>, tensor<1x8x1xf32>
  return %r : tensor<1x8x1x64xbf16>
}

// The number of keys may be symbolic.
// CHECK-LABEL: func @symbolic
// CHECK-NOT: tw.broadcast
// CHECK: tw.attention %arg1, %arg2, %arg2 {{.*}} : tensor<1x8x1x64xbf16>, tensor<1x2x?x64xbf16, #{{.*}}>, tensor<1x2x?x64xbf16, #{{.*}}>
#keys = affine_map<()[s0] -> (1, 2, s0, 64)>
#one = affine_map<()[s0] -> (1, 2, 1, s0, 64)>
#four = affine_map<()[s0] -> (1, 2, 4, s0, 64)>
#all = affine_map<()[s0] -> (1, 8, s0, 64)>
func.func @symbolic(%n: index {tw.symbol = "s0", tw.min = 2 : i64}, %q: tensor<1x8x1x64xbf16>, %k: tensor<1x2x?x64xbf16, #keys>) -> tensor<1x8x1x64xbf16> {
  %0 = tw.reshape %k : tensor<1x2x?x64xbf16, #keys> -> tensor<1x2x1x?x64xbf16, #one>
  %1 = tw.broadcast %0 : tensor<1x2x1x?x64xbf16, #one> -> tensor<1x2x4x?x64xbf16, #four>
  %2 = tw.reshape %1 : tensor<1x2x4x?x64xbf16, #four> -> tensor<1x8x?x64xbf16, #all>
  %r, %l = tw.attention %q, %2, %2 {scale = 0.125 : f64} : tensor<1x8x1x64xbf16>, tensor<1x8x?x64xbf16, #all>, tensor<1x8x?x64xbf16, #all> -> tensor<1x8x1x64xbf16>, tensor<1x8x1xf32>
  return %r : tensor<1x8x1x64xbf16>
}

// Heads that are repeated in another order (head h of the result is key head h mod 2), and values without a repetition,
// are not changed.
// CHECK-LABEL: func @unchanged
// CHECK-COUNT-2: tw.attention {{.*}} tensor<1x8x40x64xbf16>, tensor<1x8x40x64xbf16>
func.func @unchanged(%q: tensor<1x8x1x64xbf16>, %k: tensor<1x2x40x64xbf16>, %v: tensor<1x8x40x64xbf16>) -> (tensor<1x8x1x64xbf16>, tensor<1x8x1x64xbf16>) {
  %0 = tw.reshape %k : tensor<1x2x40x64xbf16> -> tensor<1x1x2x40x64xbf16>
  %1 = tw.broadcast %0 : tensor<1x1x2x40x64xbf16> -> tensor<1x4x2x40x64xbf16>
  %2 = tw.reshape %1 : tensor<1x4x2x40x64xbf16> -> tensor<1x8x40x64xbf16>
  %r, %l = tw.attention %q, %2, %2 {scale = 0.125 : f64} : tensor<1x8x1x64xbf16>, tensor<1x8x40x64xbf16>, tensor<1x8x40x64xbf16> -> tensor<1x8x1x64xbf16>, tensor<1x8x1xf32>
  %3 = tw.reshape %k : tensor<1x2x40x64xbf16> -> tensor<1x2x1x40x64xbf16>
  %4 = tw.broadcast %3 : tensor<1x2x1x40x64xbf16> -> tensor<1x2x4x40x64xbf16>
  %5 = tw.reshape %4 : tensor<1x2x4x40x64xbf16> -> tensor<1x8x40x64xbf16>
  %s, %m = tw.attention %q, %5, %v {scale = 0.125 : f64} : tensor<1x8x1x64xbf16>, tensor<1x8x40x64xbf16>, tensor<1x8x40x64xbf16> -> tensor<1x8x1x64xbf16>, tensor<1x8x1xf32>
  return %r, %s : tensor<1x8x1x64xbf16>, tensor<1x8x1x64xbf16>
}
