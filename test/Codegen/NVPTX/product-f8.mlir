// Products of 8-bit floats on tensor cores use mma from sm_89 on, and wgmma on sm_90a.
// RUN: tilewright compile %s --target=cuda --arch=sm_89 --emit=tiled | FileCheck %s --check-prefix=TILED
// RUN: tilewright compile %s --target=cuda --arch=sm_89 --emit=ptx | FileCheck %s
// RUN: tilewright run %s --target=cuda --arch=sm_89 --device=emulated --check | FileCheck %s --check-prefix=RESULT
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=ptx | FileCheck %s --check-prefix=HOPPER
// RUN: tilewright run %s --target=cuda --arch=sm_90a --device=emulated --check | FileCheck %s --check-prefix=RESULT

// TILED: tw.schedule = #tw_gpu.schedule<kind = mma, {{.*}}block = {{\[[0-9]+, [0-9]+, [0-9]+\]}}
// CHECK: .version 8.4
// CHECK: cp.async.cg.shared.global
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32
// CHECK-NOT: call
// HOPPER: wgmma.mma_async.sync.aligned.m64n{{[0-9]+}}k32.f32.e4m3.e5m2 {{{.*}}}, {{%rd[0-9]+, %rd[0-9]+}}, adds, 1, 1;

// RESULT: result 0: bf16[128, 128]
func.func @main(%x: tensor<128x128xf8E4M3FN>, %w: tensor<128x128xf8E5M2>) -> tensor<128x128xbf16> {
  %t = tw.permute %w {permutation = array<i64: 1, 0>} : tensor<128x128xf8E5M2> -> tensor<128x128xf8E5M2>
  %m = tw.matmul %x, %t : (tensor<128x128xf8E4M3FN>, tensor<128x128xf8E5M2>) -> tensor<128x128xf32>
  %r = tw.relu %m : (tensor<128x128xf32>) -> tensor<128x128xf32>
  %o = tw.cast %r : (tensor<128x128xf32>) -> tensor<128x128xbf16>
  return %o : tensor<128x128xbf16>
}
