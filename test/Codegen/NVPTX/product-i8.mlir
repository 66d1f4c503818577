// Products of 8-bit integers on tensor cores have 32-bit accumulators, which wrap around on overflow.
// RUN: tilewright compile %s --target=cuda --emit=tiled | FileCheck %s --check-prefix=TILED
// RUN: tilewright compile %s --target=cuda --emit=ptx | FileCheck %s
// RUN: tilewright run %s --target=cuda --device=emulated | FileCheck %s --check-prefix=RESULT

// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=ptx | FileCheck %s --check-prefix=HOPPER
// RUN: tilewright run %s --target=cuda --arch=sm_90a --device=emulated --check | FileCheck %s --check-prefix=RESULT

// HOPPER-COUNT-4: wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {{{.*}}}, {{%rd[0-9]+, %rd[0-9]+}}, adds;
// TILED: tw.schedule = #tw_gpu.schedule<kind = mma, {{.*}}block = [16, 16, 64]
// CHECK: cp.async.cg.shared.global
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32
// CHECK-NOT: satfinite

// RESULT: result 0: i8[100, 96]
func.func @main(%x: tensor<100x64xi8>, %w: tensor<96x64xi8>) -> tensor<100x96xi8> {
  %t = tw.permute %w {permutation = array<i64: 1, 0>} : tensor<96x64xi8> -> tensor<64x96xi8>
  %m = tw.matmul %x, %t : (tensor<100x64xi8>, tensor<64x96xi8>) -> tensor<100x96xi8>
  return %m : tensor<100x96xi8>
}
