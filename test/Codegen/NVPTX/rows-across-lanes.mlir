// A sum over the outer dimension of a tensor: adjacent elements in memory belong to different rows, so each lane of a
// warp computes its own row, and the warps of a block share the rows. Each thread stores its partial sum in shared
// memory. After one barrier, each thread reads the partial sums of the threads that have its lane number.
// RUN: tilewright compile %s --target=cuda --emit=tiled | FileCheck %s --check-prefix=TILED
// RUN: tilewright compile %s --target=cuda --emit=ptx | FileCheck %s
// RUN: tilewright run %s --target=cuda --device=emulated | FileCheck %s --check-prefix=RESULT
// RUN: tilewright run %s | FileCheck %s --check-prefix=RESULT

// TILED: tw.schedule = #tw_gpu.schedule<kind = rows, threads = 1024, vector = 1, group = 32, rows_across_lanes = true>

// CHECK: .entry reduce_33(
// CHECK: .shared .align 16 .b8 reduce_0_shared[16384];
// CHECK-NOT: shfl
// CHECK-COUNT-63: ld.global.nc.b32
// CHECK-NOT: ld.global
// CHECK-NOT: shfl
// CHECK: st.shared.b32
// CHECK: bar.sync
// CHECK-COUNT-32: ld.shared.b32
// CHECK-NOT: bar.sync
// CHECK: st.global.b32

// RESULT: f32[33] sum -171.14 magnitude 682.05
func.func @main(%x: tensor<2000x33xf32>) -> tensor<33xf32> {
  %s = tw.reduce sum %x {dims = array<i64: 0>} : tensor<2000x33xf32> -> tensor<33xf32>
  return %s : tensor<33xf32>
}
