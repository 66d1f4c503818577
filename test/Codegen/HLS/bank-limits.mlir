// Two ops of a kernel sum squares along the last and along the second dimension of one array. If both ops were unrolled
// as far as the multipliers allow, they would need 4 x 64 x 1 and 4 x 1 x 64 banks, together 4 x 64 x 64 = 16384. HLS
// tools support at most 4096 banks per array, so one op is unrolled less.
// RUN: tilewright-opt %s --tw-hls-select-schedules=budget=dsp=9000 | FileCheck %s
// If the schedules of the input request the full unrolling, an error is reported at the array.
// RUN: not tilewright-opt %s -pass-pipeline='builtin.module(func.func(tw-hls-apply-schedules),tw-hls-build-design)' 2>&1 | FileCheck %s --check-prefix=ERROR

#x = affine_map<(h, i, j) -> (h, i, j)>
#rows = affine_map<(h, i, j) -> (h, i)>
#columns = affine_map<(h, i, j) -> (h, j)>
// CHECK-LABEL: func.func private @two
// CHECK: tw_hls.schedule = #tw_hls.schedule<order = {{.*}}, unroll = [1, 16, 1], ii =
// CHECK: tw_hls.schedule = #tw_hls.schedule<order = {{.*}}, unroll = [4, 1, 64], ii =
module attributes {tw_hls.inputs = [["x", tensor<4x64x64xf32>]], tw_hls.outputs = [["r", tensor<4x64xf32>], ["c", tensor<4x64xf32>]]} {
func.func private @two(%x: memref<4x64x64xf32>, %r: memref<4x64xf32>, %c: memref<4x64xf32>) {
  linalg.generic {indexing_maps = [#x, #rows], iterator_types = ["parallel", "parallel", "reduction"], tw_hls.schedule = #tw_hls.schedule<order = [2, 0, 1], unroll = [4, 64, 1], ii = 8>} ins(%x : memref<4x64x64xf32>) outs(%r : memref<4x64xf32>) {
  ^bb0(%e: f32, %out: f32):
    %p = arith.mulf %e, %e : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#x, #columns], iterator_types = ["parallel", "reduction", "parallel"], tw_hls.schedule = #tw_hls.schedule<order = [1, 0, 2], unroll = [4, 1, 64], ii = 8>} ins(%x : memref<4x64x64xf32>) outs(%c : memref<4x64xf32>) {
  ^bb0(%e: f32, %out: f32):
    %p = arith.mulf %e, %e : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  }
  return
}
tw_plan.program @main_plan [] in [] to [] {
  tw_plan.buffer 0 input 0 bytes affine_map<() -> (65536)>
  tw_plan.buffer 1 output 0 bytes affine_map<() -> (1024)>
  tw_plan.buffer 2 output 1 bytes affine_map<() -> (1024)>
  tw_plan.launch @two [0, 1, 2] writes 6 sizes affine_map<() -> ()>
}
}
// ERROR: error: array 'x_chip' of 'memref<4x64x64xf32>' would need 16384 banks for the parallel accesses of the unrolled loops, but vendors' tools support at most 4096; fewer multipliers need fewer banks: lower --budget dsp
