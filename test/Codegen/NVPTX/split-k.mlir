// With `split_k`, all blocks of a cluster compute the same tile. Each block sums over a part of k, and the blocks add
// their partial sums.
// RUN: bash -c 'echo "{\"*\": {\"consumer_rows\": 64, \"consumers\": 2, \"n\": 64, \"stages\": 3, \"split_k\": 4}}" > %t.json'
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --schedule-file=%t.json --emit=tiled | FileCheck %s --check-prefix=TILED
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --schedule-file=%t.json --emit=target | FileCheck %s --check-prefix=TARGET
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --schedule-file=%t.json --emit=ptx | FileCheck %s
// RUN: tilewright run %s --target=cuda --arch=sm_90a --device=emulated --schedule-file=%t.json --check
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=tiled | FileCheck %s --check-prefix=DEFAULT
// RUN: tilewright tune --list --target=cuda --arch=sm_90a %s | FileCheck %s --check-prefix=LIST
// RUN: bash -c 'echo "{\"*\": {\"consumer_rows\": 64, \"consumers\": 1, \"n\": 64, \"stages\": 3, \"split_k\": 3}}" > %t.three.json'
// RUN: not tilewright compile %s --target=cuda --arch=sm_90a --schedule-file=%t.three.json --emit=tiled 2>&1 | FileCheck %s --check-prefix=THREE

// TILED: tw.schedule = #tw_gpu.schedule<kind = wgmma, threads = 384, block = [128, 64, 64], consumers = 2, stages = 3, split_k = 4>
// DEFAULT: split_k = 8
// LIST: split_k: 1 2 4 8 (default 8, changes the order of sums)
// LIST: split_k is 2 only if cluster < 2 (the blocks of a cluster compute one tile)
// THREE: split_k

// TARGET: tw_cuda.cluster = 4
// The ring of slots takes 73776 bytes of shared memory. The sums of a tile are stored in the same memory and take less.
// TARGET-SAME: tw_cuda.shared = 73776

// CHECK: .reqntid 384
// CHECK: .reqnctapercluster 4
// The warp group that loads tiles also arrives and waits at both barriers of the cluster.
// CHECK: cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [
// CHECK: barrier.cluster.arrive;
// CHECK: barrier.cluster.wait;
// CHECK: barrier.cluster.arrive;
// CHECK: barrier.cluster.wait;
// A thread of a consumer warp group stores 32 sums to its block's shared memory, and then loads eight sums of each of
// the four blocks.
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: bar.sync %r{{[0-9]+}}, 256;
// CHECK-COUNT-8: st.shared.v4.b32
// CHECK: barrier.cluster.arrive;
// CHECK: barrier.cluster.wait;
// CHECK: mapa.shared::cluster.u32 there, %r{{[0-9]+}}, 0;
// CHECK: ld.shared::cluster.v4.b32
// CHECK: mapa.shared::cluster.u32 there, %r{{[0-9]+}}, 3;
// CHECK: ld.shared::cluster.v4.b32
// A block must not exit before the other blocks have loaded the sums from its shared memory. The wait at this barrier
// is after the stores of results.
// CHECK: barrier.cluster.arrive;
// CHECK-NOT: barrier.cluster
// CHECK: st.global
// CHECK: barrier.cluster.wait;
// CHECK: ret;
func.func @main(%x: tensor<120x3072xbf16>, %w: tensor<136x3072xbf16>) -> tensor<120x136xbf16> {
  %t = tw.permute %w {permutation = array<i64: 1, 0>} : tensor<136x3072xbf16> -> tensor<3072x136xbf16>
  %m = tw.matmul %x, %t : (tensor<120x3072xbf16>, tensor<3072x136xbf16>) -> tensor<120x136xbf16>
  return %m : tensor<120x136xbf16>
}
