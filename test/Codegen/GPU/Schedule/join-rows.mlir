// A normalization is fused into the kernel of the product whose result it reads, if the tile of a thread block has
// whole rows. Values that only the fused kernel reads are not stored.
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=tiled | FileCheck %s --check-prefixes=TILED,HOPPER
// RUN: tilewright compile %s --target=cuda --arch=sm_80 --emit=tiled | FileCheck %s --check-prefixes=TILED,AMPERE
// RUN: tilewright compile %s --target=cuda --arch=sm_80 --emit=ptx | FileCheck %s
// RUN: tilewright run %s --target=cuda --arch=sm_90a --device=emulated --check
// RUN: tilewright run %s --target=cuda --arch=sm_80 --device=emulated --check
// RUN: tilewright tune --list --target=cuda --arch=sm_90a %s | FileCheck %s --check-prefix=LIST
// RUN: bash -c 'echo "{\"*\": {\"consumer_rows\": 64, \"consumers\": 1, \"n\": 64}}" > %t.json'
// RUN: not tilewright compile %s --target=cuda --arch=sm_90a --schedule-file=%t.json --emit=tiled 2>&1 | FileCheck %s --check-prefix=CUT

// TILED: func.func @main
// TILED-NOT: call
// TILED: call @matmul_add_0_rows(
// TILED-NOT: call
// TILED: func.func private @matmul_add_0_rows(
// HOPPER-SAME: tw.schedule = #tw_gpu.schedule<kind = wgmma, {{.*}}block = [64, 128, 64]
// AMPERE-SAME: tw.schedule = #tw_gpu.schedule<kind = mma, {{.*}}block = [16, 128, {{[0-9]+}}], warps = [1, 1]
// There is one result, because x w + r has no other consumer.
// TILED: return %{{[0-9]+}} : tensor<300x128xbf16>

// There is one kernel. Its lanes sum the squares of a row between the product and the stores.
// CHECK-COUNT-1: .visible .entry
// CHECK: mma.sync.aligned.m16n8k16
// CHECK: shfl.sync.bfly.b32
// CHECK: sqrt.rn.f32
// CHECK: st.global
// CHECK-NOT: .visible .entry

// LIST: matmul_add_0_rows (matmul+matmul+add+rms_norm+rms_norm+rms_norm), 1 call, key {{[0-9a-f]+}}, {{[0-9]+}} schedules
// LIST-NOT: matmul_add_0 

// CUT: row reductions require whole rows
func.func @main(%x: tensor<300x256xbf16>, %w: tensor<256x128xbf16>, %r: tensor<300x128xbf16>, %g: tensor<128xbf16>) -> tensor<300x128xbf16> {
  %m = tw.matmul %x, %w : (tensor<300x256xbf16>, tensor<256x128xbf16>) -> tensor<300x128xbf16>
  %h = tw.add %m, %r : (tensor<300x128xbf16>, tensor<300x128xbf16>) -> tensor<300x128xbf16>
  %n, %rstd = tw.rms_norm %h weight(%g : tensor<128xbf16>) {eps = 1.0e-5 : f64, rank = 1 : i64} : tensor<300x128xbf16> -> tensor<300x128xbf16>, tensor<300x1xf32>
  return %n : tensor<300x128xbf16>
}
