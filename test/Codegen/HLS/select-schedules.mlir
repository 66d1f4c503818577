// RUN: tilewright-opt %s --tw-hls-select-schedules=budget=dsp=20 -split-input-file | FileCheck %s
// RUN: tilewright-opt %s --tw-hls-select-schedules=budget=dsp=5 -split-input-file | FileCheck %s --check-prefix=LEAST
// RUN: not tilewright-opt %s --tw-hls-select-schedules=budget=dsp=0 -split-input-file 2>&1 | FileCheck %s --check-prefix=BUDGET
// RUN: not tilewright-opt %s --tw-hls-select-schedules=part=abacus -split-input-file 2>&1 | FileCheck %s --check-prefix=PART
// The reduction loop is outside of the loops over the result. Twenty DSPs suffice for four multiplications and
// additions per cycle.

// BUDGET: the budget cannot be met: this model needs dsp={{[0-9]+}} with one copy of every operator, and the budget has dsp=0; the smallest sufficient budget is --budget dsp=
// PART: unknown part 'abacus'; known parts: xcu280

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
// CHECK-LABEL: func.func private @product
// LEAST-LABEL: func.func private @product
func.func private @product(%a: memref<20x24xf32>, %b: memref<24x16xf32>, %c: memref<20x16xf32>) {
  // The fill becomes the initial value of the contraction.
  // CHECK-NOT: linalg.fill
  // CHECK: linalg.contract
  // CHECK-SAME: tw_hls.initial = 0.000000e+00 : f32
  // CHECK-SAME: tw_hls.schedule = #tw_hls.schedule<order = [2, 0, 1], unroll = [{{2, 2|1, 4|4, 1}}, 1], ii = 1>
  // LEAST: tw_hls.schedule = #tw_hls.schedule<order = [2, 0, 1], unroll = [1, 1, 1], ii = 1>
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<20x16xf32>)
  linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : memref<20x24xf32>, memref<24x16xf32>) outs(%c : memref<20x16xf32>)
  return
}

// -----

// In a sum with one result, each addition depends on the previous one, so an iteration begins when the previous one is
// complete.
// CHECK-LABEL: func.func private @sum
// CHECK: ii = 8
func.func private @sum(%x: memref<64xf32>, %s: memref<f32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x : memref<64xf32>) outs(%s : memref<f32>) {
  ^bb0(%in: f32, %out: f32):
    %r = arith.addf %in, %out : f32
    linalg.yield %r : f32
  }
  return
}

// -----

#m = affine_map<(i, k) -> (i, k)>
#v = affine_map<(i, k) -> (k)>
#r = affine_map<(i, k) -> (i)>
// The result has only one loop, of 62 rows, which is not divisible by 4. Therefore the reduction is unrolled, too. With
// two rows and two terms per iteration, the latency of the sum is 15 cycles, and there are 31 iterations between two
// additions to an element. With one row and four terms, the latency is 29 cycles, and there are 62 iterations.
// CHECK-LABEL: func.func private @rows
// CHECK: tw_hls.schedule = #tw_hls.schedule<order = [1, 0], unroll = [{{2, 2|1, 4}}], ii = 1>
func.func private @rows(%a: memref<62x64xf32>, %b: memref<64xf32>, %c: memref<62xf32>) {
  linalg.generic {indexing_maps = [#m, #v, #r], iterator_types = ["parallel", "reduction"]} ins(%a, %b : memref<62x64xf32>, memref<64xf32>) outs(%c : memref<62xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#m = affine_map<(i, k) -> (i, k)>
#v = affine_map<(i, k) -> (k)>
#r = affine_map<(i, k) -> (i)>
// Ten rows are too few to hide the latency of two terms in one iteration, so the reduction is not unrolled.
// CHECK-LABEL: func.func private @few_rows
// CHECK: unroll = [{{[0-9]+}}, 1], ii =
func.func private @few_rows(%a: memref<10x64xf32>, %b: memref<64xf32>, %c: memref<10xf32>) {
  linalg.generic {indexing_maps = [#m, #v, #r], iterator_types = ["parallel", "reduction"]} ins(%a, %b : memref<10x64xf32>, memref<64xf32>) outs(%c : memref<10xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  }
  return
}
