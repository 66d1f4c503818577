// RUN: tilewright-opt %s --tw-hls-select-schedules=budget=dsp=10 | FileCheck %s
// RUN: tilewright-opt %s "--tw-hls-select-schedules=budget=dsp=10 shares=0" | FileCheck %s --check-prefix=APART
// If an iteration begins every two cycles, one multiplier can compute two of the twenty products, so ten multipliers
// suffice. The Verilog output has a separate multiplier for each product, so the budget allows an unrolling by ten.
// CHECK: unroll = [1, 20, 1], ii = 2
// APART: unroll = [1, 10, 1], ii = 1

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
func.func private @row(%x: memref<1x40xi16>, %w: memref<40x20xi16>, %y: memref<1x20xi32>) {
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<1x40xi16>, memref<40x20xi16>) outs(%y : memref<1x20xi32>) {
  ^bb0(%p: i16, %q: i16, %s: i32):
    %p1 = arith.extsi %p : i16 to i32
    %q1 = arith.extsi %q : i16 to i32
    %m = arith.muli %p1, %q1 : i32
    %t = arith.addi %s, %m : i32
    linalg.yield %t : i32
  }
  return
}
