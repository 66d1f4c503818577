// The parts of a concatenation begin and end at multiples of eight elements, so a thread has one branch for its eight
// adjacent elements, and loads them with one instruction. If a part ends within eight elements, a thread has fewer elements.
// RUN: split-file %s %t
// RUN: tilewright compile %t/aligned.mlir --target=cuda --arch=sm_90a --emit=ptx | FileCheck %s
// RUN: tilewright run %t/aligned.mlir --target=cuda --arch=sm_90a --device=emulated --check | FileCheck %s --check-prefix=RESULT
// RUN: tilewright compile %t/odd.mlir --target=cuda --arch=sm_90a --emit=tiled | FileCheck %s --check-prefix=ODD
// RUN: tilewright run %t/odd.mlir --target=cuda --arch=sm_90a --device=emulated --check | FileCheck %s --check-prefix=RESULT

// CHECK: .entry insert_slice_24x96(
// CHECK-NOT: ld.global.nc.b16
// CHECK: ld.global.nc.v4.b32
// CHECK-NOT: st.global.b16
// CHECK: st.global.v4.b32

// ODD: tw.schedule = #tw_gpu.schedule<kind = elements, threads = 256, vector = 2>
// RESULT: check: every kernel agrees with the reference

//--- aligned.mlir
func.func @main(%x: tensor<24x16xbf16>, %y: tensor<24x48xbf16>, %z: tensor<24x32xbf16>) -> tensor<24x96xbf16> {
  %r = tw.concat %x, %y, %z {dim = 1 : i64} : (tensor<24x16xbf16>, tensor<24x48xbf16>, tensor<24x32xbf16>) -> tensor<24x96xbf16>
  return %r : tensor<24x96xbf16>
}
//--- odd.mlir
func.func @main(%x: tensor<24x16xbf16>, %y: tensor<24x46xbf16>, %z: tensor<24x34xbf16>) -> tensor<24x96xbf16> {
  %r = tw.concat %x, %y, %z {dim = 1 : i64} : (tensor<24x16xbf16>, tensor<24x46xbf16>, tensor<24x34xbf16>) -> tensor<24x96xbf16>
  return %r : tensor<24x96xbf16>
}
