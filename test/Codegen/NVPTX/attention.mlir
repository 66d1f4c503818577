// This test checks the schedule and the PTX of attention on tensor cores. Weights remain in registers between the two
// products.
// RUN: tilewright compile %s --target=cuda --emit=tiled | FileCheck %s --check-prefix=TILED
// RUN: tilewright compile %s --target=cuda --emit=ptx | FileCheck %s
// RUN: tilewright run %s --target=cuda --device=emulated | FileCheck %s --check-prefix=RESULT

// The first attention is causal and has fewer key heads than query heads. The second has an additive mask. The third is
// a decoding step, in which the four query heads of a key head are the rows of a block.
// TILED: tw.schedule = #tw_gpu.schedule<kind = attention, threads = 128, block = [64, 32], stages = 2>
// TILED: tw.schedule = #tw_gpu.schedule<kind = attention, threads = 128, block = [64, 64], stages = 2>
// TILED: tw.schedule = #tw_gpu.schedule<kind = attention, threads = 32, block = [16, 64], stages = 2>
// If a head has 256 elements, the queries are read from shared memory, because they do not fit in registers.
// TILED: tw.schedule = #tw_gpu.schedule<kind = attention, threads = 128, block = [64, 16], stages = 2>
// For heads of 20 elements, attention has the schedule kind rows, in which a group of eight lanes computes one row of
// queries.
// TILED: tw.schedule = #tw_gpu.schedule<kind = rows, {{.*}}group = 8

// CHECK: .entry attention_1x4x70x128(
// CHECK: .reqntid 128
// CHECK-NOT: st.shared
// CHECK: cp.async.cg.shared.global
// CHECK-NOT: st.shared
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK-NOT: st.shared
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// CHECK-NOT: st.shared
// CHECK: shfl.sync.bfly
// CHECK-NOT: st.shared
// CHECK: ex2.approx
// CHECK-NOT: st.shared
// CHECK: cvt.rn.bf16x2.f32
// CHECK-NOT: st.shared
// CHECK: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK-NOT: st.shared
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// CHECK-NOT: st.shared
// CHECK: .entry attention_1x1x70x256(
// CHECK: cp.async.cg.shared.global
// CHECK: cp.async.commit_group
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16

// RESULT: 5 operations
func.func @main(%q: tensor<1x4x70x128xbf16>, %k: tensor<1x2x70x128xbf16>, %p: tensor<2x2x64x64xf16>, %m: tensor<64x64xf32>,
                %d: tensor<1x8x1x64xbf16>, %c: tensor<1x2x90x64xbf16>, %l: tensor<1x1x70x256xbf16>,
                %s: tensor<1x2x8x20xbf16>)
    -> (tensor<1x4x70x128xbf16>, tensor<2x2x64x64xf16>, tensor<1x8x1x64xbf16>, tensor<1x1x70x256xbf16>, tensor<1x2x8x20xbf16>) {
  %r0, %l0 = tw.attention %q, %k, %k {scale = 0.125 : f64, causal} : tensor<1x4x70x128xbf16>, tensor<1x2x70x128xbf16>, tensor<1x2x70x128xbf16> -> tensor<1x4x70x128xbf16>, tensor<1x4x70xf32>
  %r1, %l1 = tw.attention %p, %p, %p mask(%m : tensor<64x64xf32>) {scale = 0.25 : f64} : tensor<2x2x64x64xf16>, tensor<2x2x64x64xf16>, tensor<2x2x64x64xf16> -> tensor<2x2x64x64xf16>, tensor<2x2x64xf32>
  %r2, %l2 = tw.attention %d, %c, %c {scale = 0.125 : f64} : tensor<1x8x1x64xbf16>, tensor<1x2x90x64xbf16>, tensor<1x2x90x64xbf16> -> tensor<1x8x1x64xbf16>, tensor<1x8x1xf32>
  %rl, %ll = tw.attention %l, %l, %l {scale = 0.125 : f64} : tensor<1x1x70x256xbf16>, tensor<1x1x70x256xbf16>, tensor<1x1x70x256xbf16> -> tensor<1x1x70x256xbf16>, tensor<1x1x70xf32>
  %r3, %l3 = tw.attention %s, %s, %s {scale = 0.25 : f64} : tensor<1x2x8x20xbf16>, tensor<1x2x8x20xbf16>, tensor<1x2x8x20xbf16> -> tensor<1x2x8x20xbf16>, tensor<1x2x8xf32>
  return %r0, %r1, %r2, %rl, %r3 : tensor<1x4x70x128xbf16>, tensor<2x2x64x64xf16>, tensor<1x8x1x64xbf16>, tensor<1x1x70x256xbf16>, tensor<1x2x8x20xbf16>
}
