// The gradient of attention on tensor cores is one launch. Each of its thread blocks computes the gradients of a
// tile of keys and values, or of a tile of queries.
// RUN: tilewright compile %s --target=cuda --emit=tiled | FileCheck %s --check-prefix=TILED
// RUN: tilewright compile %s --target=cuda --emit=ptx | FileCheck %s
// RUN: tilewright run %s --target=cuda --device=emulated --check | FileCheck %s --check-prefix=RESULT
// In the first kernel, 70 keys and 70 queries take two thread blocks each, for each of four heads. In the second
// kernel, 40 keys take one block and 100 queries take two blocks.
// TILED: tw.schedule = #tw_gpu.schedule<kind = attention, threads = 128, block = [64, 32], stages = 2>
// TILED: tw.schedule = #tw_gpu.schedule<kind = attention, threads = 128, block = [64, 32], stages = 2>
// In the third kernel, queries and keys have a different head size than values.
// TILED: tw.schedule = #tw_gpu.schedule<kind = attention, threads = 128, block = [64, 32], stages = 2>
// With heads of 256 elements, the accumulators of the last gradient (128 per thread for keys, and 128 for values) do
// not fit in registers. Therefore this gradient is decomposed into products and elementwise kernels.
// TILED-NOT: kind = attention

// Scores are not stored in memory. The only stores to shared memory are those of the rows' statistics.
// CHECK: .entry attention_gradient_1x4x70x128(
// CHECK: .reqntid 128
// CHECK-NOT: st.shared
// CHECK: cp.async.cg.shared.global
// CHECK-COUNT-2: st.shared.b32
// CHECK-NOT: st.shared.b
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// CHECK: ex2.approx
// CHECK: cvt.rn.bf16x2.f32
// CHECK: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK: .entry attention_gradient_2x1x100x64(

// RESULT: 4 operations
func.func @main(%q: tensor<1x4x70x128xbf16>, %l: tensor<1x4x70xf32>, %p: tensor<2x1x100x64xf16>, %k: tensor<2x1x40x64xf16>, %m: tensor<100x40xf32>,
                %s: tensor<2x1x100xf32>, %w: tensor<1x1x33x96xbf16>, %v: tensor<1x1x33x128xbf16>, %t: tensor<1x1x33xf32>,
                %x: tensor<1x1x9x256xbf16>, %y: tensor<1x1x9xf32>)
    -> (tensor<1x4x70x128xbf16>, tensor<1x4x70x128xbf16>, tensor<1x4x70x128xbf16>, tensor<2x1x100x64xf16>, tensor<2x1x40x64xf16>, tensor<2x1x40x64xf16>,
        tensor<1x1x33x96xbf16>, tensor<1x1x33x96xbf16>, tensor<1x1x33x128xbf16>, tensor<1x1x9x256xbf16>, tensor<1x1x9x256xbf16>, tensor<1x1x9x256xbf16>) {
  %q0, %k0, %v0 = tw.attention_gradient %q, %q, %q, %q, %q, %l {scale = 0.125 : f64, causal} : tensor<1x4x70x128xbf16>, tensor<1x4x70x128xbf16>, tensor<1x4x70x128xbf16>, tensor<1x4x70x128xbf16>, tensor<1x4x70x128xbf16>, tensor<1x4x70xf32> -> tensor<1x4x70x128xbf16>, tensor<1x4x70x128xbf16>, tensor<1x4x70x128xbf16>
  %q1, %k1, %v1 = tw.attention_gradient %p, %k, %k, %p, %p, %s mask(%m : tensor<100x40xf32>) {scale = 0.25 : f64} : tensor<2x1x100x64xf16>, tensor<2x1x40x64xf16>, tensor<2x1x40x64xf16>, tensor<2x1x100x64xf16>, tensor<2x1x100x64xf16>, tensor<2x1x100xf32> -> tensor<2x1x100x64xf16>, tensor<2x1x40x64xf16>, tensor<2x1x40x64xf16>
  %q2, %k2, %v2 = tw.attention_gradient %w, %w, %v, %v, %v, %t {scale = 0.125 : f64} : tensor<1x1x33x96xbf16>, tensor<1x1x33x96xbf16>, tensor<1x1x33x128xbf16>, tensor<1x1x33x128xbf16>, tensor<1x1x33x128xbf16>, tensor<1x1x33xf32> -> tensor<1x1x33x96xbf16>, tensor<1x1x33x96xbf16>, tensor<1x1x33x128xbf16>
  %q3, %k3, %v3 = tw.attention_gradient %x, %x, %x, %x, %x, %y {scale = 0.125 : f64} : tensor<1x1x9x256xbf16>, tensor<1x1x9x256xbf16>, tensor<1x1x9x256xbf16>, tensor<1x1x9x256xbf16>, tensor<1x1x9x256xbf16>, tensor<1x1x9xf32> -> tensor<1x1x9x256xbf16>, tensor<1x1x9x256xbf16>, tensor<1x1x9x256xbf16>
  return %q0, %k0, %v0, %q1, %k1, %v1, %q2, %k2, %v2, %q3, %k3, %v3 : tensor<1x4x70x128xbf16>, tensor<1x4x70x128xbf16>, tensor<1x4x70x128xbf16>, tensor<2x1x100x64xf16>, tensor<2x1x40x64xf16>, tensor<2x1x40x64xf16>,
        tensor<1x1x33x96xbf16>, tensor<1x1x33x96xbf16>, tensor<1x1x33x128xbf16>, tensor<1x1x9x256xbf16>, tensor<1x1x9x256xbf16>, tensor<1x1x9x256xbf16>
}
