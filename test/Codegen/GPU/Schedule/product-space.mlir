// Schedules of a product on tensor cores can be listed, ranked by the cost model without a GPU, sampled at random, and
// read from a file.
// RUN: tilewright tune --list --target=cuda %s | FileCheck %s --check-prefix=LIST
// LIST: matmul_0 (matmul+matmul), 1 call, key {{[0-9a-f]+}}, {{[0-9]+}} schedules
// LIST-NEXT: warp_m: 16 32 64 (default {{[0-9]+}})
// LIST-NEXT: warp_n: 16 32 64 128 (default {{[0-9]+}})
// LIST: stages: 2 3 4 5 (default {{[0-9]+}})
// LIST: at most 49152: 2 * warp_m * warps_m * k * stages + 2 * warp_n * warps_n * k * stages (the stages fit a block's shared memory)
// LIST: the cost model ranks first: warp_m=
// LIST: relu_1 (relu), 1 call, key {{[0-9a-f]+}}, 5 schedules
// LIST-NEXT: threads: 64 128 256 512 1024 (default 256)

// RUN: tilewright tune --target=cuda --arch=sm_90a %s | FileCheck %s --check-prefix=RANKED
// RANKED: default consumer_rows={{.*}}: the cost model ranks the default first; nothing was measured
// RANKED: default threads=256 vector=1: there is no cost model for its kind of schedule; nothing was measured
// RANKED: the whole model: ranked by the cost model of sm_90a, because there is no GPU for measurements; no record is written
// RUN: tilewright tune --list --target=cuda --arch=sm_90a %s | FileCheck %s --check-prefix=GROUPS
// GROUPS: consumer_rows: 64 128 (default {{[0-9]+}})
// GROUPS-NEXT: consumers: 1 2 (default {{[0-9]+}})
// GROUPS-NEXT: n: 64 128 192 256 (default {{[0-9]+}})
// GROUPS-NEXT: stages: 2 3 4 (default {{[0-9]+}})
// GROUPS: at most 232448: 128 * consumer_rows * consumers * stages + 128 * n * stages + 16 * stages (the stages fit a block's shared memory)
// RUN: bash -c 'echo "{\"matmul_0\": {\"consumer_rows\": 128, \"consumers\": 2, \"n\": 256, \"stages\": 2}}" > %t.sums.json'
// RUN: not tilewright compile %s --target=cuda --arch=sm_90a --schedule-file=%t.sums.json --emit=tiled 2>&1 | FileCheck %s --check-prefix=SUMS
// SUMS: does not fit matmul_0 (matmul+matmul): it needs about 352 registers, and a thread has 232
// RUN: bash -c 'echo "{\"matmul_0\": {\"n\": 72}}" > %t.line.json'
// RUN: not tilewright compile %s --target=cuda --arch=sm_90a --schedule-file=%t.line.json --emit=tiled 2>&1 | FileCheck %s --check-prefix=LINE
// LINE: a block has 72 columns, but the number must be a multiple of 64 if columns are contiguous in memory
// RUN: not tilewright tune --target=cuda %s --record-tables=%t 2>&1 | FileCheck %s --check-prefix=TABLES
// TABLES: target 'cuda' cannot be measured here, but a table consists of measurements

// RUN: tilewright tune --draw=1 --seed=3 --target=cuda %s | head -n 1 > %t.json
// RUN: FileCheck %s --check-prefix=DRAWN < %t.json
// DRAWN: {"matmul_0": {"warp_m": {{[0-9]+}}, "warp_n":
// RUN: tilewright compile %s --target=cuda --schedule-file=%t.json --emit=ptx | FileCheck %s --check-prefix=PTX
// PTX: .entry matmul_512x384x256(

// RUN: bash -c 'echo "{\"matmul*\": {\"warp_m\": 32, \"warp_n\": 64, \"warps_m\": 4, \"warps_n\": 1, \"k\": 32, \"stages\": 3}}" > %t.given.json'
// RUN: tilewright compile %s --target=cuda --schedule-file=%t.given.json --emit=tiled | FileCheck %s --check-prefix=GIVEN
// GIVEN: tw.schedule = #tw_gpu.schedule<kind = mma, threads = 128, block = [128, 64, 32], warps = [4, 1], stages = 3>
// RUN: bash -c 'echo "{\"matmul_0\": {\"warp_m\": 64, \"warp_n\": 128}}" > %t.large.json'
// RUN: not tilewright compile %s --target=cuda --schedule-file=%t.large.json --emit=tiled 2>&1 | FileCheck %s --check-prefix=LARGE
// LARGE: schedule file '{{.*}}' entry 'matmul_0' does not fit matmul_0 (matmul+matmul): it needs {{[0-9]+}} bytes of shared memory
// RUN: bash -c 'echo "{\"matmul_0\": {\"tiles\": [4]}}" > %t.knob.json'
// RUN: not tilewright compile %s --target=cuda --schedule-file=%t.knob.json --emit=tiled 2>&1 | FileCheck %s --check-prefix=KNOB
// KNOB: it has no knob tiles with this value; its knobs are
// RUN: bash -c 'echo "{\"relu_1\": {\"k\": 16}}" > %t.relu.json'
// RUN: not tilewright compile %s --target=cuda --schedule-file=%t.relu.json --emit=tiled 2>&1 | FileCheck %s --check-prefix=ONE
// ONE: does not fit relu_1 (relu): it has no knob k with this value; its knobs are
// RUN: bash -c 'echo "{\"softmax\": {\"k\": 16}}" > %t.name.json'
// RUN: not tilewright compile %s --target=cuda --schedule-file=%t.name.json --emit=tiled 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: names 'softmax', but the graph's kernels are matmul_0 (matmul+matmul), relu_1 (relu)
func.func @main(%x: tensor<512x256xbf16> {tw.name = "x"}, %w: tensor<256x384xbf16> {tw.name = "w"}, %v: tensor<99xf32> {tw.name = "v"})
    -> (tensor<512x384xbf16> {tw.name = "y"}, tensor<99xf32> {tw.name = "z"}) {
  %h = tw.matmul %x, %w : (tensor<512x256xbf16>, tensor<256x384xbf16>) -> tensor<512x384xbf16>
  %r = tw.relu %v : (tensor<99xf32>) -> tensor<99xf32>
  return %h, %r : tensor<512x384xbf16>, tensor<99xf32>
}
