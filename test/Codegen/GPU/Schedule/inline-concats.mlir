// Rotary position embeddings: the permutation of the heads, the negated half and the concatenation are computed in the kernel
// that reads the concatenation (@rotary). Eight adjacent elements of a thread have one branch. A concatenation is not inlined
// if its parts begin within eight adjacent elements, if the kernel that reads it is a product or has a reduction, or if two
// kernels read it (@separate).
// RUN: split-file %s %t
// RUN: tilewright compile %t/rotary.mlir --target=cuda --arch=sm_90a --emit=tiled | FileCheck %s --check-prefix=ROTARY
// RUN: tilewright compile %t/rotary.mlir --target=cuda --arch=sm_90a --emit=ptx | FileCheck %s --check-prefix=PTX
// RUN: tilewright run %t/rotary.mlir --target=cuda --device=emulated --check | FileCheck %s --check-prefix=RESULT
// RUN: tilewright compile %t/separate.mlir --target=cuda --arch=sm_90a --emit=tiled | FileCheck %s --check-prefix=SEPARATE
// RUN: tilewright run %t/separate.mlir --target=cuda --device=emulated --check | FileCheck %s --check-prefix=RESULT

// ROTARY: call @mul_add_broadcast_{{[0-9]}}(%arg0, %arg1, %arg2, %{{[0-9]+}}) {tw.ops = "permute+neg+insert_slice+insert_slice+mul+mul+add+broadcast"}
// ROTARY-NOT: call
// ROTARY: func.func private @mul_add_broadcast
// ROTARY-NOT: func.func

// PTX: bra
// PTX-COUNT-5: ld.global.nc.v4.b32
// PTX-NOT: ld.global
// PTX: st.global.v4.b32

// SEPARATE-NOT: insert_slice+{{exp|matmul|reduce}}
// SEPARATE: func.func private
// RESULT: check: every kernel agrees with the reference

//--- rotary.mlir
func.func @main(%x: tensor<1x24x8x128xbf16>, %c: tensor<24x128xbf16>, %s: tensor<24x128xbf16>) -> tensor<1x8x4x24x128xbf16> {
  %h = tw.permute %x {permutation = array<i64: 0, 2, 1, 3>} : tensor<1x24x8x128xbf16> -> tensor<1x8x24x128xbf16>
  %a = tw.slice %h {offsets = affine_map<() -> (0, 0, 0, 0)>, strides = array<i64: 1, 1, 1, 1>} : tensor<1x8x24x128xbf16> -> tensor<1x8x24x64xbf16>
  %b = tw.slice %h {offsets = affine_map<() -> (0, 0, 0, 64)>, strides = array<i64: 1, 1, 1, 1>} : tensor<1x8x24x128xbf16> -> tensor<1x8x24x64xbf16>
  %n = tw.neg %b : (tensor<1x8x24x64xbf16>) -> tensor<1x8x24x64xbf16>
  %r = tw.concat %n, %a {dim = 3 : i64} : (tensor<1x8x24x64xbf16>, tensor<1x8x24x64xbf16>) -> tensor<1x8x24x128xbf16>
  %p = tw.mul %h, %c : (tensor<1x8x24x128xbf16>, tensor<24x128xbf16>) -> tensor<1x8x24x128xbf16>
  %q = tw.mul %r, %s : (tensor<1x8x24x128xbf16>, tensor<24x128xbf16>) -> tensor<1x8x24x128xbf16>
  %o = tw.add %p, %q : (tensor<1x8x24x128xbf16>, tensor<1x8x24x128xbf16>) -> tensor<1x8x24x128xbf16>
  %e = tw.reshape %o : tensor<1x8x24x128xbf16> -> tensor<1x8x1x24x128xbf16>
  %f = tw.broadcast %e : tensor<1x8x1x24x128xbf16> -> tensor<1x8x4x24x128xbf16>
  return %f : tensor<1x8x4x24x128xbf16>
}
//--- separate.mlir
func.func @main(%x: tensor<24x12xf32>, %y: tensor<24x20xf32>, %z: tensor<24x16xf32>, %w: tensor<32x24xf32>) -> (tensor<24x32xf32>, tensor<24x24xf32>, tensor<24xf32>, tensor<24x32xf32>, tensor<24x32xf32>) {
  %a = tw.concat %x, %y {dim = 1 : i64} : (tensor<24x12xf32>, tensor<24x20xf32>) -> tensor<24x32xf32>
  %b = tw.exp %a : (tensor<24x32xf32>) -> tensor<24x32xf32>
  %c = tw.concat %z, %z {dim = 1 : i64} : (tensor<24x16xf32>, tensor<24x16xf32>) -> tensor<24x32xf32>
  %d = tw.matmul %c, %w : (tensor<24x32xf32>, tensor<32x24xf32>) -> tensor<24x24xf32>
  %n = tw.neg %z : (tensor<24x16xf32>) -> tensor<24x16xf32>
  %e = tw.concat %z, %n {dim = 1 : i64} : (tensor<24x16xf32>, tensor<24x16xf32>) -> tensor<24x32xf32>
  %f = tw.reduce sum %e {dims = array<i64: 1>} : tensor<24x32xf32> -> tensor<24xf32>
  %g = tw.concat %n, %z {dim = 1 : i64} : (tensor<24x16xf32>, tensor<24x16xf32>) -> tensor<24x32xf32>
  %h = tw.exp %g : (tensor<24x32xf32>) -> tensor<24x32xf32>
  return %b, %d, %f, %g, %h : tensor<24x32xf32>, tensor<24x24xf32>, tensor<24xf32>, tensor<24x32xf32>, tensor<24x32xf32>
}
