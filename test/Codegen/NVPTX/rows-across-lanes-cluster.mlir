// A sum over the rows of a matrix with so few columns that one block for each 32 columns would leave multiprocessors idle.
// On sm_90, two blocks of a cluster share the rows. Each block combines the partial sums of its warps, and then each thread
// reads the results of both blocks. The result of bf16 is not split into two kernels. On sm_80, there are no clusters.
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=tiled | FileCheck %s --check-prefix=TILED
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=ptx | FileCheck %s
// RUN: tilewright run %s --target=cuda --arch=sm_90a --device=emulated --check | FileCheck %s --check-prefix=RESULT
// RUN: tilewright tune --list --target=cuda --arch=sm_90a %s | FileCheck %s --check-prefix=LIST
// RUN: bash -c 'echo "{\"reduce*\": {\"group\": 4, \"cluster\": 8}}" > %t.json'
// RUN: tilewright run %s --target=cuda --arch=sm_90a --device=emulated --schedule-file=%t.json --check | FileCheck %s --check-prefix=RESULT
// RUN: tilewright compile %s --target=cuda --arch=sm_80 --emit=tiled | FileCheck %s --check-prefix=AMPERE

// TILED: tw.schedule = #tw_gpu.schedule<kind = rows, threads = 256, vector = 1, group = 8, cluster = 2, rows_across_lanes = true>

// CHECK: .reqnctapercluster 2
// CHECK-COUNT-32: ld.global.nc.b16
// CHECK: st.shared.b32
// CHECK: bar.sync
// CHECK-COUNT-8: ld.shared.b32
// CHECK: st.shared
// CHECK: barrier.cluster.arrive
// CHECK: barrier.cluster.wait
// CHECK-COUNT-2: mapa
// CHECK: st.global.b16

// LIST: group: 2 4 8 16 32 (default 8, changes the order of sums)
// LIST: cluster: 1 2 4 8 (default 2, changes the order of sums)
// RESULT: check: every kernel agrees with the reference
// AMPERE-NOT: cluster =
func.func @main(%x: tensor<512x1590xbf16>) -> tensor<1590xbf16> {
  %s = tw.reduce sum %x {dims = array<i64: 0>} : tensor<512x1590xbf16> -> tensor<1590xbf16>
  return %s : tensor<1590xbf16>
}
