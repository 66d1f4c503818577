// All threads of a block compute one long row. Each reduction uses one slot of shared memory per warp, and one barrier.
// RUN: tilewright compile %s --target=cuda --emit=tiled | FileCheck %s --check-prefix=TILED
// RUN: tilewright compile %s --target=cuda --emit=ptx | FileCheck %s
// RUN: tilewright run %s --target=cuda --device=emulated | FileCheck %s --check-prefix=RESULT

// TILED: tw.schedule = #tw_gpu.schedule<kind = rows, threads = 512, vector = 4, group = 512>

// CHECK: .entry softmax_2x8192(
// CHECK: .shared .align 16 .b8 softmax_0_shared[256];
// CHECK-COUNT-4: ld.global.nc.v4.b32
// CHECK-COUNT-2: bar.sync
// CHECK-NOT: bar.sync
// CHECK-COUNT-4: st.global.v4.b32

// RESULT: f32[2, 8192] sum 2
func.func @main(%x: tensor<2x8192xf32>) -> tensor<2x8192xf32> {
  %s = tw.softmax %x {dim = 1 : i64} : tensor<2x8192xf32> -> tensor<2x8192xf32>
  return %s : tensor<2x8192xf32>
}
