// This test checks the schedule and the PTX of a product on tensor cores with its fused epilogue.
// RUN: tilewright compile %s --target=cuda --emit=tiled | FileCheck %s --check-prefix=TILED
// RUN: tilewright compile %s --target=cuda --emit=ptx | FileCheck %s
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=ptx | FileCheck %s --check-prefix=HOPPER
// RUN: tilewright run %s --target=cuda --device=emulated | FileCheck %s --check-prefix=RESULT
// RUN: tilewright run %s --target=cuda --arch=sm_90a --device=emulated --check | FileCheck %s --check-prefix=RESULT

// TILED: tw.schedule = #tw_gpu.schedule<kind = mma, threads = 32, block = [16, 16, 64], warps = [1, 1], stages = 3>

// CHECK: .target sm_80
// CHECK: .entry matmul_add_128x96x64(
// CHECK-COUNT-4: .align 16
// CHECK: .reqntid 32
// CHECK: cp.async.cg.shared.global
// CHECK: cp.async.commit_group
// CHECK: cp.async.wait_group
// CHECK: bar.sync
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// After the loop, no copy is in flight, so the code does not wait.
// CHECK-NOT: cp.async.wait_group
// Lanes exchange elements, so that each lane stores four adjacent columns of bf16.
// CHECK: shfl.sync.bfly
// CHECK: st.global.v2.b32
// CHECK-NOT: call

// HOPPER: // wgmma and TMA for attention and for products of bf16, f16, tf32, int8 and fp8
// HOPPER: .target sm_90a

// RESULT: 4 operations, 1 kernels
func.func @main(%x: tensor<128x64xbf16>, %w: tensor<96x64xbf16> {tw.static}, %b: tensor<96xbf16> {tw.static}, %r: tensor<128x96xbf16>) -> tensor<128x96xbf16> {
  %wt = tw.permute %w {permutation = array<i64: 1, 0>} : tensor<96x64xbf16> -> tensor<64x96xbf16>
  %m = tw.matmul %x, %wt : (tensor<128x64xbf16>, tensor<64x96xbf16>) -> tensor<128x96xbf16>
  %a = tw.add %m, %b : (tensor<128x96xbf16>, tensor<96xbf16>) -> tensor<128x96xbf16>
  %o = tw.add %a, %r : (tensor<128x96xbf16>, tensor<128x96xbf16>) -> tensor<128x96xbf16>
  return %o : tensor<128x96xbf16>
}
