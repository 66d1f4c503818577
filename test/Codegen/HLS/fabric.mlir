// With the option `fabric`, additions in kernels with products use lookup tables (LUTs) instead of DSPs, if the part has
// enough LUTs. A term of a sum of products then takes 3 DSPs instead of 5. An addition has a latency of 5 cycles instead
// of 7, so the initiation interval of the sum is 6 cycles instead of 8. Additions in other kernels still use DSPs.
// RUN: tilewright-opt %s --tw-hls-select-schedules="budget=dsp=12 fabric=true" | FileCheck %s
// RUN: tilewright-opt %s --tw-hls-select-schedules="budget=dsp=12" | FileCheck %s --check-prefix=PLAIN
// RUN: tilewright-opt %s --tw-hls-select-schedules="budget=dsp=12 fabric=true" --tw-hls-apply-schedules | FileCheck %s --check-prefix=LOOPS
// PLAIN-NOT: tw_hls.fabric

#m = affine_map<(i, k) -> (i, k)>
#v = affine_map<(i, k) -> (k)>
#r = affine_map<(i, k) -> (i)>
// CHECK-LABEL: func.func private @products
// CHECK: attrs = {tw_hls.fabric, tw_hls.schedule = #tw_hls.schedule<order = [1, 0], unroll = [12, 1], ii = 6>}
// PLAIN-LABEL: func.func private @products
// PLAIN: tw_hls.schedule = #tw_hls.schedule<order = [1, 0], unroll = [12, 1], ii = 8>
// LOOPS-LABEL: func.func private @products
// LOOPS: arith.addf %{{.*}} {tw_hls.fabric} : f32
func.func private @products(%a: memref<12x64xf32>, %b: memref<64xf32>, %c: memref<12xf32>) {
  linalg.generic {indexing_maps = [#m, #v, #r], iterator_types = ["parallel", "reduction"]} ins(%a, %b : memref<12x64xf32>, memref<64xf32>) outs(%c : memref<12xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  }
  return
}
// CHECK-LABEL: func.func private @sum
// CHECK-NOT: tw_hls.fabric
func.func private @sum(%a: memref<12x64xf32>, %c: memref<12xf32>) {
  linalg.generic {indexing_maps = [#m, #r], iterator_types = ["parallel", "reduction"]} ins(%a : memref<12x64xf32>) outs(%c : memref<12xf32>) {
  ^bb0(%x: f32, %out: f32):
    %s = arith.addf %x, %out : f32
    linalg.yield %s : f32
  }
  return
}
