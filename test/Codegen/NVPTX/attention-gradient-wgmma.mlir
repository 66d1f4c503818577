// In the gradient of attention on sm_90a, one warp group loads by TMA, and one or two warp groups multiply by wgmma.
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=tiled | FileCheck %s --check-prefix=TILED
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=target | FileCheck %s --check-prefix=TARGET
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=ptx | FileCheck %s
// RUN: tilewright run %s --target=cuda --arch=sm_90a --device=emulated --check | FileCheck %s --check-prefix=RESULT
// RUN: bash -c 'echo "{\"attention_gradient_1\": {\"consumers\": 1, \"n\": 32, \"stages\": 2}, \"attention_gradient_3\": {\"consumers\": 0}}" > %t.json'
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --schedule-file=%t.json --emit=tiled | FileCheck %s --check-prefix=CHOSEN
// RUN: tilewright run %s --target=cuda --arch=sm_90a --device=emulated --schedule-file=%t.json --check | FileCheck %s --check-prefix=RESULT
// RUN: bash -c 'echo "{\"attention_gradient_1\": {\"n\": 48}}" > %t.knob.json'
// RUN: not tilewright compile %s --target=cuda --arch=sm_90a --schedule-file=%t.knob.json --emit=tiled 2>&1 | FileCheck %s --check-prefix=KNOB

// CHOSEN: @attention_gradient_1({{.*}}block = [64, 32], consumers = 1, stages = 2>
// CHOSEN: @attention_gradient_3({{.*}}threads = 128, block = [64, 32], stages = 2>
// KNOB: n, the number of rows per step, is 48, but must be a multiple of 16 that divides m, which is 128

// The sums over a row of results times their gradients are computed by separate kernels (attention_delta). The last
// gradient has 40 keys, fewer than the 64 rows of a wgmma instruction, and does not use wgmma.
// TILED: @attention_delta_0({{.*}}kind = rows
// TILED: @attention_gradient_1({{.*}}tw.schedule = #tw_gpu.schedule<kind = attention, threads = 384, block = [128, 64], consumers = 2, stages = 3>
// TILED: @attention_gradient_3({{.*}}tw.schedule = #tw_gpu.schedule<kind = attention, threads = 384, block = [128, 64], consumers = 2, stages = 3>
// TILED: @attention_gradient_5({{.*}}tw.schedule = #tw_gpu.schedule<kind = attention, threads = 128, block = [64, 32], stages = 2>

// There are tensor maps of the queries, the keys, the values and the result's gradient, with boxes of 64 rows.
// TARGET: @attention_gradient_1({{.*}}tw_cuda.maps = ["0:bf16:128:64*128,64*150,1*4,1*1", "0:bf16:128:64*128,64*150,1*4,1*1", "0:bf16:128:64*128,64*150,1*4,1*1", "0:bf16:128:64*128,64*150,1*4,1*1"]

// CHECK: .entry attention_gradient_1x4x150x128(
// CHECK: .reqntid 384
// The following code is that of blocks that own keys. Each mbarrier `full` also waits for the 32 threads that copy the
// statistics of rows.
// CHECK: mbarrier.init.shared::cta.b64 [%r{{[0-9]+}}], 1;
// CHECK: mbarrier.init.shared::cta.b64 [%r{{[0-9]+}}], 33;
// CHECK: mbarrier.init.shared::cta.b64 [%r{{[0-9]+}}], 8;
// CHECK: setmaxnreg.dec.sync.aligned.u32 40;
// CHECK: setmaxnreg.inc.sync.aligned.u32 232;
// The loop begins with the softmax (ex2.approx), and ends with the start of the next tile's products. The product that
// computes dV starts before the wait for the products with the values.
// CHECK: ex2.approx
// CHECK: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {{.*}}}, {%r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}}, %rd{{[0-9]+}}, adds, 1, 1, 1;
// CHECK: wgmma.wait_group.sync.aligned 1;
// CHECK: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {{.*}}}, {%r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}}, %rd{{[0-9]+}}, adds, 1, 1, 1;
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: bar.warp.sync -1;
// In the products that compute scores and in those with the values, both operands are in shared memory and contiguous
// along k.
// CHECK-COUNT-16: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{.*}}}, %rd{{[0-9]+}}, %rd{{[0-9]+}}, {{.*}}, 1, 1, 0, 0;
// CHECK: wgmma.wait_group.sync.aligned 1;
// CHECK: .entry attention_gradient_2x1x100x64(

// RESULT: check: every kernel agrees with the reference
func.func @main(%q: tensor<1x4x150x128xbf16>, %l: tensor<1x4x150xf32>, %p: tensor<2x1x100x64xf16>, %k: tensor<2x1x70x64xf16>, %m: tensor<100x70xf32>,
                %s: tensor<2x1x100xf32>, %w: tensor<1x1x80x96xbf16>, %u: tensor<1x1x40x96xbf16>, %v: tensor<1x1x40x128xbf16>, %o: tensor<1x1x80x128xbf16>,
                %t: tensor<1x1x80xf32>)
    -> (tensor<1x4x150x128xbf16>, tensor<1x4x150x128xbf16>, tensor<1x4x150x128xbf16>, tensor<2x1x100x64xf16>, tensor<2x1x70x64xf16>, tensor<2x1x70x64xf16>,
        tensor<1x1x80x96xbf16>, tensor<1x1x40x96xbf16>, tensor<1x1x40x128xbf16>) {
  %q0, %k0, %v0 = tw.attention_gradient %q, %q, %q, %q, %q, %l {scale = 0.125 : f64, causal} : tensor<1x4x150x128xbf16>, tensor<1x4x150x128xbf16>, tensor<1x4x150x128xbf16>, tensor<1x4x150x128xbf16>, tensor<1x4x150x128xbf16>, tensor<1x4x150xf32> -> tensor<1x4x150x128xbf16>, tensor<1x4x150x128xbf16>, tensor<1x4x150x128xbf16>
  %q1, %k1, %v1 = tw.attention_gradient %p, %k, %k, %p, %p, %s mask(%m : tensor<100x70xf32>) {scale = 0.25 : f64} : tensor<2x1x100x64xf16>, tensor<2x1x70x64xf16>, tensor<2x1x70x64xf16>, tensor<2x1x100x64xf16>, tensor<2x1x100x64xf16>, tensor<2x1x100xf32> -> tensor<2x1x100x64xf16>, tensor<2x1x70x64xf16>, tensor<2x1x70x64xf16>
  %q2, %k2, %v2 = tw.attention_gradient %w, %u, %v, %o, %o, %t {scale = 0.125 : f64} : tensor<1x1x80x96xbf16>, tensor<1x1x40x96xbf16>, tensor<1x1x40x128xbf16>, tensor<1x1x80x128xbf16>, tensor<1x1x80x128xbf16>, tensor<1x1x80xf32> -> tensor<1x1x80x96xbf16>, tensor<1x1x40x96xbf16>, tensor<1x1x40x128xbf16>
  return %q0, %k0, %v0, %q1, %k1, %v1, %q2, %k2, %v2 : tensor<1x4x150x128xbf16>, tensor<1x4x150x128xbf16>, tensor<1x4x150x128xbf16>, tensor<2x1x100x64xf16>, tensor<2x1x70x64xf16>, tensor<2x1x70x64xf16>,
        tensor<1x1x80x96xbf16>, tensor<1x1x40x96xbf16>, tensor<1x1x40x128xbf16>
}
