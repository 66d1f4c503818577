// Two launches run in parallel. The longer one determines the time of the design, so the schedule of the shorter one
// uses few multipliers.
// RUN: tilewright-opt %s --tw-hls-select-schedules | FileCheck %s

#m = affine_map<(i, k) -> (i, k)>
#v = affine_map<(i, k) -> (k)>
#r = affine_map<(i, k) -> (i)>
// CHECK-LABEL: func.func private @long
// CHECK: unroll = [{{[1-9][0-9]+, [0-9]+}}], ii = 1
// CHECK-LABEL: func.func private @short
// CHECK: unroll = [1, 1], ii = 1
func.func private @long(%a: memref<640x64xf32>, %b: memref<64xf32>, %c: memref<640xf32>) {
  linalg.generic {indexing_maps = [#m, #v, #r], iterator_types = ["parallel", "reduction"]} ins(%a, %b : memref<640x64xf32>, memref<64xf32>) outs(%c : memref<640xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  }
  return
}
func.func private @short(%a: memref<16x8xf32>, %b: memref<8xf32>, %c: memref<16xf32>) {
  linalg.generic {indexing_maps = [#m, #v, #r], iterator_types = ["parallel", "reduction"]} ins(%a, %b : memref<16x8xf32>, memref<8xf32>) outs(%c : memref<16xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  }
  return
}
#none = affine_map<() -> ()>
#bytes = affine_map<() -> (64)>
tw_plan.program @main_plan [] in [] to [] {
  tw_plan.buffer 0 input 0 bytes #bytes
  tw_plan.buffer 1 input 1 bytes #bytes
  tw_plan.buffer 2 input 2 bytes #bytes
  tw_plan.buffer 3 input 3 bytes #bytes
  tw_plan.buffer 4 output 0 bytes #bytes
  tw_plan.buffer 5 output 1 bytes #bytes
  tw_plan.launch @long [0, 1, 4] writes 4 sizes #none
  tw_plan.launch @short [2, 3, 5] writes 4 sizes #none
}
