// On sm_90a, the blocks of a cluster compute one row that does not fit in the registers of one block, so that the row
// is read once. Each warp stores its partial result in a slot of its block's shared memory. After a barrier, each warp
// of the cluster reads all slots.
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=tiled | FileCheck %s --check-prefix=TILED
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=ptx | FileCheck %s
// RUN: tilewright compile %s --target=cuda --arch=sm_80 --emit=tiled | FileCheck %s --check-prefix=SM80
// RUN: tilewright run %s --target=cuda --arch=sm_90a --device=emulated | FileCheck %s --check-prefix=RESULT

// TILED: func.func private @softmax_0(
// TILED-SAME: tw.schedule = #tw_gpu.schedule<kind = rows, threads = 512, vector = 4, group = 512, cluster = 8>
// SM80-NOT: cluster = 

// CHECK: .entry softmax_8x65536(
// CHECK: .reqnctapercluster 8
// CHECK-COUNT-4: ld.global.nc.v4.b32
// CHECK-NOT: ld.global
// CHECK: st.shared.b32
// CHECK: barrier.cluster.arrive;
// CHECK-NEXT: // end inline asm
// CHECK-NEXT: // begin inline asm
// CHECK-NEXT: barrier.cluster.wait;
// CHECK-COUNT-8: ld.shared::cluster.b32
// CHECK: barrier.cluster.arrive;
// CHECK-NEXT: // end inline asm
// CHECK-NEXT: // begin inline asm
// CHECK-NEXT: barrier.cluster.wait;
// CHECK-COUNT-8: ld.shared::cluster.b32
// CHECK: barrier.cluster.arrive;
// CHECK-NOT: bar.sync
// CHECK-COUNT-4: st.global.v4.b32
// CHECK: barrier.cluster.wait;
// CHECK: ret;

// RESULT: f32[8, 65536] sum 8
func.func @main(%x: tensor<8x65536xf32>) -> tensor<8x65536xf32> {
  %s = tw.softmax %x {dim = 1 : i64} : tensor<8x65536xf32> -> tensor<8x65536xf32>
  return %s : tensor<8x65536xf32>
}
