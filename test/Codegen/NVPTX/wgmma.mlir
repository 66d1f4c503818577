// In products on sm_90a, TMA loads tiles into a ring buffer with mbarriers. One warp group loads, and the other warp
// groups multiply by wgmma.
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=tiled | FileCheck %s --check-prefix=TILED
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=target | FileCheck %s --check-prefix=TARGET
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=ptx | FileCheck %s
// RUN: tilewright compile %s --target=cuda --emit=ptx | FileCheck %s --check-prefix=OLDER

// TILED: @matmul_add_0({{.*}}tw.schedule = #tw_gpu.schedule<kind = wgmma, threads = 384, block = [128, 192, 64], consumers = 2, stages = 4>
// TILED: @matmul_1({{.*}}tw.schedule = #tw_gpu.schedule<kind = wgmma, threads = 256, block = [64, 64, 64], consumers = 1, stages = {{[0-9]+}}>
// TILED: @matmul_2({{.*}}kind = mma

// Shared memory has four stages, each with 16 KB of A and 24 KB of B, and their mbarriers. A TMA box has 64 elements of
// k, which are one line of shared memory, and all rows of the tile.
// TARGET: @matmul_add_0({{.*}}tw_cuda.maps = ["0:bf16:128:64*256,128*2048", "1:bf16:128:64*256,192*1536"]
// TARGET-SAME: tw_cuda.shared = 163904
// If A is stored as [k, m] and B as [k, n], a box has 64 x 64 elements. The symbolic size k is size 0 of the launch.
// TARGET: @matmul_1({{.*}}tw_cuda.maps = ["0:f16:128:64*72,64*1*s0", "1:f16:128:64*64,64*1*s0"]

// CHECK: .target sm_90a
// CHECK: .extern .shared .align 1024 .b8 matmul_add_0_dynamic[];
// CHECK: .entry matmul_add_2048x1536x256(
// CHECK: .param .align 64 .b8 matmul_add_2048x1536x256_param_5[128],
// CHECK: .param .align 64 .b8 matmul_add_2048x1536x256_param_6[128]
// CHECK: .reqntid 384
// Each of four slots has the mbarriers `full` (the bytes have arrived) and `empty` (eight warps have arrived).
// CHECK: mbarrier.init.shared::cta.b64 [%r{{[0-9]+}}], 1;
// CHECK: mbarrier.init.shared::cta.b64 [%r{{[0-9]+}}], 8;
// CHECK-COUNT-6: mbarrier.init.shared::cta.b64
// CHECK: fence.mbarrier_init.release.cluster;
// CHECK: bar.sync
// CHECK: setmaxnreg.dec.sync.aligned.u32 40;
// CHECK: mbarrier.try_wait.parity.shared::cta.b64
// CHECK: mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r{{[0-9]+}}], 40960;
// CHECK: cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes
// CHECK: cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes
// CHECK: setmaxnreg.inc.sync.aligned.u32 232;
// CHECK: mbarrier.try_wait.parity.shared::cta.b64
// CHECK: wgmma.fence.sync.aligned;
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16 {{.*}}, adds, 1, 1, 0, 0;
// CHECK-NOT: wgmma.mma_async
// CHECK: wgmma.commit_group.sync.aligned;
// CHECK: wgmma.wait_group.sync.aligned 1;
// CHECK: mbarrier.arrive.shared::cta.b64 _,
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: st.global.v4.b32
// CHECK: .entry matmul_72x64xn(
// CHECK: .reqntid 256
// CHECK-NOT: setmaxnreg
// CHECK: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{.*}}, adds, 1, 1, 1, 1;
// CHECK: .entry matmul_40x20x36(
// CHECK: mma.sync.aligned

// OLDER: .target sm_80
// OLDER-NOT: wgmma
// OLDER: ret;

// A product with few rows is computed with swapped operands: a tile has 64 columns and 8 or 16 rows of the product.
// TILED: @matmul_3({{.*}}kind = wgmma, threads = 256, block = [64, {{8|16}}, 64], {{.*}}, swapped = true>
// TARGET: @matmul_3({{.*}}tw_cuda.maps = ["1:bf16:128:64*512,64*1024", "0:bf16:128:64*512,{{8|16}}*12"]
// CHECK: .entry matmul_12x1024x512(
// CHECK: wgmma.mma_async.sync.aligned.m64n{{8|16}}k16.f32.bf16.bf16

#s = affine_map<()[s0] -> (s0, 72)>
#t = affine_map<()[s0] -> (s0, 64)>
#st = affine_map<()[s0] -> (72, s0)>
func.func @main(%k: index {tw.symbol = "k", tw.min = 1 : i64, tw.max = 1024 : i64},
                %x: tensor<2048x256xbf16>, %w: tensor<1536x256xbf16> {tw.static}, %b: tensor<1536xbf16> {tw.static}, %r: tensor<2048x1536xbf16>,
                %s: tensor<?x72xf16, #s>, %t: tensor<?x64xf16, #t>,
                %u: tensor<40x36xbf16>, %v: tensor<36x20xbf16>, %f: tensor<12x512xbf16>, %g: tensor<1024x512xbf16>)
    -> (tensor<2048x1536xbf16>, tensor<72x64xf16>, tensor<40x20xbf16>, tensor<12x1024xbf16>) {
  %wt = tw.permute %w {permutation = array<i64: 1, 0>} : tensor<1536x256xbf16> -> tensor<256x1536xbf16>
  %m = tw.matmul %x, %wt : (tensor<2048x256xbf16>, tensor<256x1536xbf16>) -> tensor<2048x1536xbf16>
  %a = tw.add %m, %b : (tensor<2048x1536xbf16>, tensor<1536xbf16>) -> tensor<2048x1536xbf16>
  %o = tw.add %a, %r : (tensor<2048x1536xbf16>, tensor<2048x1536xbf16>) -> tensor<2048x1536xbf16>
  %st = tw.permute %s {permutation = array<i64: 1, 0>} : tensor<?x72xf16, #s> -> tensor<72x?xf16, #st>
  %p = tw.matmul %st, %t : (tensor<72x?xf16, #st>, tensor<?x64xf16, #t>) -> tensor<72x64xf16>
  %q = tw.matmul %u, %v : (tensor<40x36xbf16>, tensor<36x20xbf16>) -> tensor<40x20xbf16>
  %gt = tw.permute %g {permutation = array<i64: 1, 0>} : tensor<1024x512xbf16> -> tensor<512x1024xbf16>
  %few = tw.matmul %f, %gt : (tensor<12x512xbf16>, tensor<512x1024xbf16>) -> tensor<12x1024xbf16>
  return %o, %p, %q, %few : tensor<2048x1536xbf16>, tensor<72x64xf16>, tensor<40x20xbf16>, tensor<12x1024xbf16>
}
