// Some of these kernels pass their results in blocks to the next kernel. Other kernels pass whole results.
// RUN: tilewright-opt %s --split-input-file --tw-hls-select-schedules="budget=dsp=200 blocks=true" | FileCheck %s
// RUN: tilewright-opt %s --split-input-file --tw-hls-select-schedules="budget=dsp=200" | FileCheck %s --check-prefix=WHOLE
// WHOLE-NOT: block =

#ik = affine_map<(i, j, k) -> (i, k)>
#kj = affine_map<(i, j, k) -> (k, j)>
#ij = affine_map<(i, j, k) -> (i, j)>
#none = affine_map<() -> ()>
#bytes = affine_map<() -> (4096)>

// The result of the first product is the left operand of the second, so both products are computed in blocks of rows.
// CHECK-LABEL: func.func private @first
// CHECK: block = [0, [[ROWS:[0-9]+]]]
// CHECK-LABEL: func.func private @second
// CHECK: block = [0, [[ROWS]]]
func.func private @first(%a: memref<64x48xf32>, %b: memref<48x32xf32>, %c: memref<64x32xf32>) {
  linalg.contract indexing_maps = [#ik, #kj, #ij] ins(%a, %b : memref<64x48xf32>, memref<48x32xf32>) outs(%c : memref<64x32xf32>)
  return
}
func.func private @second(%a: memref<64x32xf32>, %b: memref<32x40xf32>, %c: memref<64x40xf32>) {
  linalg.contract indexing_maps = [#ik, #kj, #ij] ins(%a, %b : memref<64x32xf32>, memref<32x40xf32>) outs(%c : memref<64x40xf32>)
  return
}
tw_plan.program @main_plan [] in [] to [] {
  tw_plan.buffer 0 input 0 bytes #bytes
  tw_plan.buffer 1 input 1 bytes #bytes
  tw_plan.buffer 2 arena 0 bytes #bytes
  tw_plan.buffer 3 input 2 bytes #bytes
  tw_plan.buffer 4 output 0 bytes #bytes
  tw_plan.launch @first [0, 1, 2] writes 4 sizes #none
  tw_plan.launch @second [2, 3, 4] writes 4 sizes #none
}

// -----

#ik = affine_map<(i, j, k) -> (i, k)>
#kj = affine_map<(i, j, k) -> (k, j)>
#ij = affine_map<(i, j, k) -> (i, j)>
#none = affine_map<() -> ()>
#bytes = affine_map<() -> (4096)>

// Both operands of the last product are results of other products. The last product sums over k in blocks. Therefore
// its left operand is computed in blocks of columns, and its right operand in blocks of rows.
// CHECK-LABEL: func.func private @left
// CHECK: block = [1, [[TERMS:[0-9]+]]]
// CHECK-LABEL: func.func private @right
// CHECK: block = [0, [[TERMS]]]
// CHECK-LABEL: func.func private @both
// CHECK: block = [2, [[TERMS]]]
func.func private @left(%a: memref<64x48xf32>, %b: memref<48x32xf32>, %c: memref<64x32xf32>) {
  linalg.contract indexing_maps = [#ik, #kj, #ij] ins(%a, %b : memref<64x48xf32>, memref<48x32xf32>) outs(%c : memref<64x32xf32>)
  return
}
func.func private @right(%a: memref<32x48xf32>, %b: memref<48x40xf32>, %c: memref<32x40xf32>) {
  linalg.contract indexing_maps = [#ik, #kj, #ij] ins(%a, %b : memref<32x48xf32>, memref<48x40xf32>) outs(%c : memref<32x40xf32>)
  return
}
func.func private @both(%a: memref<64x32xf32>, %b: memref<32x40xf32>, %c: memref<64x40xf32>) {
  linalg.contract indexing_maps = [#ik, #kj, #ij] ins(%a, %b : memref<64x32xf32>, memref<32x40xf32>) outs(%c : memref<64x40xf32>)
  return
}
tw_plan.program @main_plan [] in [] to [] {
  tw_plan.buffer 0 input 0 bytes #bytes
  tw_plan.buffer 1 input 1 bytes #bytes
  tw_plan.buffer 2 arena 0 bytes #bytes
  tw_plan.buffer 3 input 2 bytes #bytes
  tw_plan.buffer 4 input 3 bytes #bytes
  tw_plan.buffer 5 arena 1 bytes #bytes
  tw_plan.buffer 6 output 0 bytes #bytes
  tw_plan.launch @left [0, 1, 2] writes 4 sizes #none
  tw_plan.launch @right [3, 4, 5] writes 4 sizes #none
  tw_plan.launch @both [2, 5, 6] writes 4 sizes #none
}

// -----

#square = affine_map<(i, j) -> (i, j)>
#rotated = affine_map<(i, j) -> (i - j + 31, j)>
#none = affine_map<() -> ()>
#bytes = affine_map<() -> (4096)>

// In the consumer @skew, loop j indexes both dimensions of the array, and no dimension is indexed only by loop i.
// Therefore the array is not passed in blocks.
// CHECK-LABEL: func.func private @make
// CHECK-NOT: block =
// CHECK-LABEL: func.func private @skew
// CHECK-NOT: block =
// CHECK: tw_plan.program
func.func private @make(%a: memref<63x32xf32>, %b: memref<63x32xf32>) {
  linalg.generic {indexing_maps = [#square, #square], iterator_types = ["parallel", "parallel"]} ins(%a : memref<63x32xf32>) outs(%b : memref<63x32xf32>) {
  ^bb0(%x: f32, %out: f32):
    %p = arith.mulf %x, %x : f32
    linalg.yield %p : f32
  }
  return
}
func.func private @skew(%a: memref<63x32xf32>, %b: memref<32x32xf32>) {
  linalg.generic {indexing_maps = [#rotated, #square], iterator_types = ["parallel", "parallel"]} ins(%a : memref<63x32xf32>) outs(%b : memref<32x32xf32>) {
  ^bb0(%x: f32, %out: f32):
    %p = arith.mulf %x, %x : f32
    linalg.yield %p : f32
  }
  return
}
tw_plan.program @main_plan [] in [] to [] {
  tw_plan.buffer 0 input 0 bytes #bytes
  tw_plan.buffer 1 arena 0 bytes #bytes
  tw_plan.buffer 2 output 0 bytes #bytes
  tw_plan.launch @make [0, 1] writes 2 sizes #none
  tw_plan.launch @skew [1, 2] writes 2 sizes #none
}
