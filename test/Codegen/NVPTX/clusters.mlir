// The two blocks of a cluster compute tiles that are adjacent along the rows. Each block loads half of B's tile to the
// shared memory of both blocks.
// RUN: bash -c 'echo "{\"*\": {\"consumer_rows\": 64, \"consumers\": 2, \"n\": 128, \"stages\": 3, \"cluster\": 2, \"tiles_per_block\": 2}}" > %t.json'
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --schedule-file=%t.json --emit=tiled | FileCheck %s --check-prefix=TILED
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --schedule-file=%t.json --emit=target | FileCheck %s --check-prefix=TARGET
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --schedule-file=%t.json --emit=ptx | FileCheck %s
// RUN: tilewright run %s --target=cuda --arch=sm_90a --device=emulated --schedule-file=%t.json --check
// RUN: tilewright tune --list --target=cuda --arch=sm_90a %s | FileCheck %s --check-prefix=LIST
// RUN: bash -c 'echo "{\"*\": {\"consumer_rows\": 64, \"consumers\": 2, \"n\": 192, \"stages\": 3, \"cluster\": 2}}" > %t.parts.json'
// RUN: not tilewright compile %s --target=cuda --arch=sm_90a --schedule-file=%t.parts.json --emit=tiled 2>&1 | FileCheck %s --check-prefix=PARTS

// TILED: tw.schedule = #tw_gpu.schedule<kind = wgmma, threads = 384, block = [128, 128, 64], consumers = 2, stages = 3, tiles_per_block = 2, cluster = 2>
// 600 rows are five tiles, and therefore three pairs, of which the last has one tile. Four columns of tiles have 12
// pairs. Each cluster of two blocks computes two pairs, so there are 12 blocks.
// TARGET: tw_cuda.cluster = 2
// A TMA box of B has 64 columns, so a tile of 128 columns consists of two boxes.
// TARGET-SAME: tw_cuda.maps = ["0:bf16:128:64*256,128*600", "1:bf16:128:64*512,64*256"]

// CHECK: .reqntid 384
// CHECK: .reqnctapercluster 2
// A slot is empty when eight warps of each of the two blocks have arrived.
// CHECK: mbarrier.init.shared::cta.b64 [%r{{[0-9]+}}], 1;
// CHECK: mbarrier.init.shared::cta.b64 [%r{{[0-9]+}}], 16;
// CHECK: fence.mbarrier_init.release.cluster;
// CHECK: barrier.cluster.arrive.relaxed;
// CHECK: barrier.cluster.wait;
// CHECK: mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r{{[0-9]+}}], 32768;
// CHECK: cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [
// CHECK: cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [
// CHECK: mapa.shared::cluster.u32
// An arrival with `.release.cluster` would be a fence of the whole GPU in each step (decision 0030).
// CHECK: mbarrier.arrive.shared::cluster.b64 _, [there];
// CHECK: barrier.cluster.arrive;
// CHECK: barrier.cluster.wait;
// CHECK: ret;

// LIST: cluster: 1 2 (default

// PARTS: a block has 192 columns, but the number must be a multiple of 128 if columns are contiguous in memory
func.func @main(%x: tensor<600x256xbf16>, %w: tensor<256x512xbf16>) -> tensor<600x512xbf16> {
  %m = tw.matmul %x, %w : (tensor<600x256xbf16>, tensor<256x512xbf16>) -> tensor<600x512xbf16>
  return %m : tensor<600x512xbf16>
}
