// In attention on sm_90a, one warp group loads by TMA, and one or two warp groups multiply by wgmma. The softmax
// weights are left operands in registers.
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=tiled | FileCheck %s --check-prefix=TILED
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=target | FileCheck %s --check-prefix=TARGET
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=ptx | FileCheck %s
// RUN: tilewright compile %s --target=cuda --emit=ptx | FileCheck %s --check-prefix=OLDER
// RUN: tilewright run %s --target=cuda --arch=sm_90a --device=emulated --check | FileCheck %s --check-prefix=RESULT
// RUN: bash -c 'echo "{\"attention_0\": {\"consumers\": 1}, \"attention_1\": {\"consumers\": 0}}" > %t.json'
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --schedule-file=%t.json --emit=tiled | FileCheck %s --check-prefix=CHOSEN
// RUN: tilewright run %s --target=cuda --arch=sm_90a --device=emulated --schedule-file=%t.json --check | FileCheck %s --check-prefix=RESULT
// RUN: not tilewright compile %s --target=cuda --schedule-file=%t.json --emit=tiled 2>&1 | FileCheck %s --check-prefix=NO-WGMMA
// RUN: bash -c 'echo "{\"attention_0\": {\"consumers\": 1, \"n\": 72}}" > %t.knob.json'
// RUN: not tilewright compile %s --target=cuda --arch=sm_90a --schedule-file=%t.knob.json --emit=tiled 2>&1 | FileCheck %s --check-prefix=KNOB

// CHOSEN: @attention_0({{.*}}tw.schedule = #tw_gpu.schedule<kind = attention, {{.*}}block = [64, 128], consumers = 1
// CHOSEN: @attention_1({{.*}}tw.schedule = #tw_gpu.schedule<kind = attention, {{.*}}block = [64, 64]
// NO-WGMMA: does not fit attention_0 {{.*}}: sm_80 has no wgmma, so consumers must be 0
// KNOB: does not fit attention_0 {{.*}}: n, the number of keys per step, is 72, but must be a multiple of 16 up to 256

// The first attention is causal, has fewer key heads than query heads, and returns log-sum-exp. The second has 64
// queries, the rows of one wgmma, so only one warp group multiplies. In the third, the head size of values differs from
// that of keys.
// TILED: tw.schedule = #tw_gpu.schedule<kind = attention, threads = 384, block = [128, 128], consumers = 2, stages = 3>
// TILED: tw.schedule = #tw_gpu.schedule<kind = attention, threads = 256, block = [64, 64], consumers = 1, stages = 4>
// TILED: tw.schedule = #tw_gpu.schedule<kind = attention, threads = 384, block = [128, 64], consumers = 2, stages = 4>
// A decoding step, and attention with fewer queries than the 64 rows of a wgmma, use mma.sync.
// TILED: tw.schedule = #tw_gpu.schedule<kind = attention, {{.*}}block = [16, 64]
// TILED: tw.schedule = #tw_gpu.schedule<kind = attention, {{.*}}block = [64, 64]

// A TMA box has 64 elements of a head and all rows of a tile. In @attention_0, keys and values are the same buffer.
// TARGET: @attention_0({{.*}}tw_cuda.maps = ["0:bf16:128:64*128,128*150,1*4,1*1", "1:bf16:128:64*128,128*150,1*2,1*1", "1:bf16:128:64*128,128*150,1*2,1*1"]
// Shared memory contains 128 rows of queries of 256 bytes, three slots, each with 128 rows of keys and 128 rows of
// values, and 13 mbarriers.
// TARGET-SAME: tw_cuda.shared = 229480
// TARGET: @attention_2({{.*}}tw_cuda.maps = ["0:f16:128:64*192,128*70,1*1,1*1", "1:f16:128:64*192,64*90,1*1,1*1", "2:f16:128:64*128,64*90,1*1,1*1"]

// CHECK: .entry attention_1x4x150x128(
// CHECK: .reqntid 384
// There is one mbarrier for the queries. Each of three slots for keys and three for values has an mbarrier `full`, which
// completes when its bytes have arrived, and an mbarrier `empty`, which completes when eight warps have arrived.
// CHECK: mbarrier.init.shared::cta.b64 [%r{{[0-9]+}}], 1;
// CHECK: mbarrier.init.shared::cta.b64 [%r{{[0-9]+}}], 1;
// CHECK: mbarrier.init.shared::cta.b64 [%r{{[0-9]+}}], 8;
// CHECK-COUNT-10: mbarrier.init.shared::cta.b64
// CHECK: fence.mbarrier_init.release.cluster;
// CHECK: setmaxnreg.dec.sync.aligned.u32 40;
// CHECK: mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r{{[0-9]+}}], 32768;
// CHECK-COUNT-2: cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes
// CHECK: mbarrier.try_wait.parity.shared::cta.b64
// CHECK: mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r{{[0-9]+}}], 32768;
// CHECK-COUNT-2: cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes
// CHECK: mbarrier.try_wait.parity.shared::cta.b64
// CHECK: mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r{{[0-9]+}}], 32768;
// CHECK-COUNT-2: cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes
// CHECK: setmaxnreg.inc.sync.aligned.u32 232;
// CHECK: mbarrier.try_wait.parity.shared::cta.b64
// In the product that computes scores, both operands are in shared memory, and k is contiguous.
// CHECK-DAG: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {{.*}}}, %rd{{[0-9]+}}, %rd{{[0-9]+}}, {{.*}}, 1, 1, 0, 0;
// In the product with the values, the weights are in registers, and the values are transposed.
// CHECK-DAG: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {{.*}}}, {%r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}}, %rd{{[0-9]+}}, adds, 1, 1, 1;
// CHECK: mbarrier.arrive.shared::cta.b64
// CHECK: .entry attention_2x2x64x64(
// CHECK: .reqntid 256
// CHECK-NOT: setmaxnreg
// CHECK: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16
// CHECK: .entry attention_1x8x1x64(
// CHECK-NOT: wgmma.mma_async
// CHECK: mma.sync.aligned.m16n8k16

// OLDER-NOT: wgmma
// OLDER: mma.sync.aligned.m16n8k16

// RESULT: check: every kernel agrees with the reference
func.func @main(%q: tensor<1x4x150x128xbf16>, %k: tensor<1x2x150x128xbf16>, %p: tensor<2x2x64x64xf16>,
                %a: tensor<1x1x70x192xf16>, %b: tensor<1x1x90x192xf16>, %v: tensor<1x1x90x128xf16>,
                %d: tensor<1x8x1x64xbf16>, %c: tensor<1x2x90x64xbf16>, %f: tensor<1x2x40x64xbf16>)
    -> (tensor<1x4x150x128xbf16>, tensor<1x4x150xf32>, tensor<2x2x64x64xf16>, tensor<1x1x70x128xf16>, tensor<1x8x1x64xbf16>, tensor<1x2x40x64xbf16>) {
  %r0, %l0 = tw.attention %q, %k, %k {scale = 0.125 : f64, causal} : tensor<1x4x150x128xbf16>, tensor<1x2x150x128xbf16>, tensor<1x2x150x128xbf16> -> tensor<1x4x150x128xbf16>, tensor<1x4x150xf32>
  %r1, %l1 = tw.attention %p, %p, %p {scale = 0.25 : f64} : tensor<2x2x64x64xf16>, tensor<2x2x64x64xf16>, tensor<2x2x64x64xf16> -> tensor<2x2x64x64xf16>, tensor<2x2x64xf32>
  %r2, %l2 = tw.attention %a, %b, %v {scale = 0.125 : f64} : tensor<1x1x70x192xf16>, tensor<1x1x90x192xf16>, tensor<1x1x90x128xf16> -> tensor<1x1x70x128xf16>, tensor<1x1x70xf32>
  %r3, %l3 = tw.attention %d, %c, %c {scale = 0.125 : f64} : tensor<1x8x1x64xbf16>, tensor<1x2x90x64xbf16>, tensor<1x2x90x64xbf16> -> tensor<1x8x1x64xbf16>, tensor<1x8x1xf32>
  %r4, %l4 = tw.attention %f, %f, %f {scale = 0.125 : f64} : tensor<1x2x40x64xbf16>, tensor<1x2x40x64xbf16>, tensor<1x2x40x64xbf16> -> tensor<1x2x40x64xbf16>, tensor<1x2x40xf32>
  return %r0, %l0, %r1, %r2, %r3, %r4 : tensor<1x4x150x128xbf16>, tensor<1x4x150xf32>, tensor<2x2x64x64xf16>, tensor<1x1x70x128xf16>, tensor<1x8x1x64xbf16>, tensor<1x2x40x64xbf16>
}
