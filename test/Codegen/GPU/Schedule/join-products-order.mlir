// A product is not joined with a product that it depends on, also if they read the same operand as a third product (@gated:
// two branches, of which one has a gate. The weight of the gated product is transposed, so the two products of this branch
// are not a pair). Joining one group of products does not change the order of another group
// (@chain). A product of two parameters remains a call that is computed once (@parameters).
// RUN: split-file %s %t
// RUN: tilewright compile %t/gated.mlir --target=cuda --arch=sm_90a --emit=tiled | FileCheck %s --check-prefix=GATED
// RUN: tilewright run %t/gated.mlir --target=cuda --arch=sm_90a --device=emulated --check | FileCheck %s --check-prefix=RESULT
// RUN: tilewright compile %t/chain.mlir --target=cuda --arch=sm_90a --emit=tiled | FileCheck %s --check-prefix=CHAIN
// RUN: tilewright run %t/chain.mlir --target=cuda --arch=sm_90a --device=emulated --check | FileCheck %s --check-prefix=RESULT
// RUN: tilewright compile %t/parameters.mlir --target=cuda --arch=sm_90a --emit=tiled | FileCheck %s --check-prefix=ONCE

// GATED: %[[ALL:.*]]:2 = call @{{[a-z0-9_]*}}_joined(%arg0, %arg1, %arg2,
// GATED: call @{{[a-z0-9_]*}}({{.*}}%[[ALL]]#1
// GATED-NOT: call

// CHAIN: %[[FIRST:.*]] = call @{{[a-z0-9_]*}}(%arg0, %arg2,
// CHAIN: %[[Z:.*]]:2 = call @{{[a-z0-9_]*}}_joined(%arg1, %arg3, %arg4,
// CHAIN: call @{{[a-z0-9_]*}}(%arg0, %[[Z]]#1,

// ONCE: call @{{[a-z0-9_]*}}(%arg0, %arg1, {{.*}}tw.once
// ONCE-NOT: joined

// RESULT: check: every kernel agrees with the reference

//--- gated.mlir
func.func @main(%x: tensor<64x256xbf16>, %wq: tensor<256x128xbf16>, %g: tensor<256x256xbf16>, %u: tensor<256x256xbf16>) -> (tensor<64x128xbf16>, tensor<64x256xbf16>) {
  %q = tw.matmul %x, %wq : (tensor<64x256xbf16>, tensor<256x128xbf16>) -> tensor<64x128xbf16>
  %a = tw.matmul %x, %g : (tensor<64x256xbf16>, tensor<256x256xbf16>) -> tensor<64x256xbf16>
  %s = tw.relu %a : (tensor<64x256xbf16>) -> tensor<64x256xbf16>
  %t = tw.permute %u {permutation = array<i64: 1, 0>} : tensor<256x256xbf16> -> tensor<256x256xbf16>
  %b = tw.matmul %x, %t : (tensor<64x256xbf16>, tensor<256x256xbf16>) -> tensor<64x256xbf16>
  %c = tw.mul %b, %s : (tensor<64x256xbf16>, tensor<64x256xbf16>) -> tensor<64x256xbf16>
  return %q, %c : tensor<64x128xbf16>, tensor<64x256xbf16>
}
//--- chain.mlir
func.func @main(%x: tensor<256x256xbf16>, %z: tensor<256x256xbf16>, %w: tensor<256x256xbf16>, %u: tensor<256x256xbf16>, %v: tensor<256x256xbf16>)
    -> (tensor<256x256xbf16>, tensor<256x256xbf16>, tensor<256x256xbf16>) {
  %c = tw.matmul %x, %w : (tensor<256x256xbf16>, tensor<256x256xbf16>) -> tensor<256x256xbf16>
  %a = tw.matmul %z, %u : (tensor<256x256xbf16>, tensor<256x256xbf16>) -> tensor<256x256xbf16>
  %b = tw.matmul %z, %v : (tensor<256x256xbf16>, tensor<256x256xbf16>) -> tensor<256x256xbf16>
  %d = tw.matmul %x, %b : (tensor<256x256xbf16>, tensor<256x256xbf16>) -> tensor<256x256xbf16>
  return %c, %a, %d : tensor<256x256xbf16>, tensor<256x256xbf16>, tensor<256x256xbf16>
}
//--- parameters.mlir
func.func @main(%x: tensor<256x256xbf16> {tw.static}, %w: tensor<256x256xbf16> {tw.static}, %u: tensor<64x256xbf16>, %v: tensor<256x256xbf16>)
    -> (tensor<64x256xbf16>, tensor<256x256xbf16>) {
  %a = tw.matmul %x, %w : (tensor<256x256xbf16>, tensor<256x256xbf16>) -> tensor<256x256xbf16>
  %c = tw.matmul %u, %a : (tensor<64x256xbf16>, tensor<256x256xbf16>) -> tensor<64x256xbf16>
  %b = tw.matmul %x, %v : (tensor<256x256xbf16>, tensor<256x256xbf16>) -> tensor<256x256xbf16>
  return %c, %b : tensor<64x256xbf16>, tensor<256x256xbf16>
}
