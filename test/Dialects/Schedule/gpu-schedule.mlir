// This test prints and parses the attribute of the dialect tw_gpu, and tests its verifier.
// RUN: tilewright-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK: @elements() attributes {tw.schedule = #tw_gpu.schedule<kind = elements, threads = 256, vector = 4>}
func.func private @elements() attributes {tw.schedule = #tw_gpu.schedule<kind = elements, threads = 256, vector = 4>}
// CHECK: @rows() attributes {tw.schedule = #tw_gpu.schedule<kind = rows, threads = 1024, vector = 4, group = 1024, cluster = 4>}
func.func private @rows() attributes {tw.schedule = #tw_gpu.schedule<kind = rows, threads = 1024, vector = 4, group = 1024, cluster = 4>}
// CHECK: @lanes() attributes {tw.schedule = #tw_gpu.schedule<kind = rows, threads = 128, vector = 1, group = 4, rows_across_lanes = true>}
func.func private @lanes() attributes {tw.schedule = #tw_gpu.schedule<kind = rows, threads = 128, vector = 1, group = 4, rows_across_lanes = true>}
// CHECK: @mma() attributes {tw.schedule = #tw_gpu.schedule<kind = mma, threads = 128, block = [128, 64, 32], warps = [2, 2], stages = 3, tile_rows_per_band = 8>}
func.func private @mma() attributes {tw.schedule = #tw_gpu.schedule<kind = mma, threads = 128, block = [128, 64, 32], warps = [2, 2], stages = 3, tile_rows_per_band = 8>}
// CHECK: @wgmma() attributes {tw.schedule = #tw_gpu.schedule<kind = wgmma, threads = 384, block = [128, 256, 64], consumers = 2, stages = 4, tiles_per_block = 4, cluster = 2>}
func.func private @wgmma() attributes {tw.schedule = #tw_gpu.schedule<kind = wgmma, threads = 384, block = [128, 256, 64], consumers = 2, stages = 4, tiles_per_block = 4, cluster = 2>}
// CHECK: @split() attributes {tw.schedule = #tw_gpu.schedule<kind = wgmma, threads = 256, block = [64, 8, 64], consumers = 1, stages = 4, split_k = 8, swapped = true>}
func.func private @split() attributes {tw.schedule = #tw_gpu.schedule<kind = wgmma, threads = 256, block = [64, 8, 64], consumers = 1, stages = 4, split_k = 8, swapped = true>}
// CHECK: @fma() attributes {tw.schedule = #tw_gpu.schedule<kind = fma, threads = 256, block = [64, 64, 16], tile = [4, 4]>}
func.func private @fma() attributes {tw.schedule = #tw_gpu.schedule<kind = fma, threads = 256, block = [64, 64, 16], tile = [4, 4]>}
// CHECK: @attention() attributes {tw.schedule = #tw_gpu.schedule<kind = attention, threads = 384, block = [128, 128], consumers = 2, stages = 3>}
func.func private @attention() attributes {tw.schedule = #tw_gpu.schedule<kind = attention, threads = 384, block = [128, 128], consumers = 2, stages = 3>}

// -----

// expected-error @+1 {{(schedule_c1) it has 100 threads; warps have 32 threads, and a block at most 1024}}
func.func private @half_a_warp() attributes {tw.schedule = #tw_gpu.schedule<kind = elements, threads = 100, vector = 4>}

// -----

// expected-error @+1 {{(schedule_c2) elements has a positive vector, not 0}}
func.func private @no_vector() attributes {tw.schedule = #tw_gpu.schedule<kind = elements, threads = 128>}

// -----

// expected-error @+1 {{(schedule_c2) mma has 3 positive sizes of block}}
func.func private @no_k() attributes {tw.schedule = #tw_gpu.schedule<kind = mma, threads = 128, block = [128, 64], warps = [2, 2], stages = 3>}

// -----

// expected-error @+1 {{(schedule_c2) fma has no stages}}
func.func private @stages_of_fma() attributes {tw.schedule = #tw_gpu.schedule<kind = fma, threads = 256, block = [64, 64, 16], tile = [4, 4], stages = 2>}

// -----

// expected-error @+1 {{(schedule_c3) a vector of 64 elements}}
func.func private @wide_vector() attributes {tw.schedule = #tw_gpu.schedule<kind = elements, threads = 128, vector = 64>}

// -----

// expected-error @+1 {{(schedule_c4) a group of 64 threads in a block of 128}}
func.func private @half_a_block() attributes {tw.schedule = #tw_gpu.schedule<kind = rows, threads = 128, vector = 4, group = 64>}

// -----

// expected-error @+1 {{(schedule_c5) mma with tile_rows_per_band = 1, tiles_per_block = 4}}
func.func private @tiles_of_mma() attributes {tw.schedule = #tw_gpu.schedule<kind = mma, threads = 128, block = [128, 64, 32], warps = [2, 2], stages = 3, tiles_per_block = 4>}

// -----

// expected-error @+1 {{(schedule_c5) a cluster of 3 blocks}}
func.func private @three_blocks() attributes {tw.schedule = #tw_gpu.schedule<kind = rows, threads = 128, vector = 4, group = 128, cluster = 3>}

// -----

// expected-error @+2 {{failed to parse GpuSchedule_ScheduleAttr parameter 'kind'}}
// expected-error @+1 {{to be one of: elements, rows, scatter, mma, wgmma, fma, attention, windows}}
func.func private @no_kind() attributes {tw.schedule = #tw_gpu.schedule<kind = tensor, threads = 128>}

// -----

// expected-error @+1 {{(schedule_c5) mma has no swapped operands}}
func.func private @swapped() attributes {tw.schedule = #tw_gpu.schedule<kind = mma, threads = 128, block = [128, 64, 32], warps = [2, 2], stages = 3, swapped = true>}

// -----

// expected-error @+1 {{(schedule_c5) mma with split_k = 2, cluster = 1, tiles_per_block = 1; wgmma with one tile per block may have a split_k of 2, 4 or 8 instead of a cluster}}
func.func private @split_mma() attributes {tw.schedule = #tw_gpu.schedule<kind = mma, threads = 128, block = [128, 64, 32], warps = [2, 2], stages = 3, split_k = 2>}

// -----

// expected-error @+1 {{(schedule_c5) wgmma with split_k = 3}}
func.func private @split_by_three() attributes {tw.schedule = #tw_gpu.schedule<kind = wgmma, threads = 256, block = [64, 64, 64], consumers = 1, stages = 4, split_k = 3>}

// -----

// expected-error @+1 {{(schedule_c5) wgmma with split_k = 2, cluster = 2}}
func.func private @split_in_cluster() attributes {tw.schedule = #tw_gpu.schedule<kind = wgmma, threads = 256, block = [64, 64, 64], consumers = 1, stages = 4, cluster = 2, split_k = 2>}
