// RUN: not tilewright compile %s --emit=vector 2>&1 | FileCheck %s
// RUN: not tilewright compile %s --emit=asm 2>&1 | FileCheck %s

// A module without @main, such as a part of a compiler test, is an error and does not crash.
// CHECK: the module has no function @main: expected a model's graph of tw ops
func.func private @kernel(%a: memref<64x128xf32>, %b: memref<1x128x32xf32>, %c: memref<64x32xf32>) attributes {tw.kernel} {
  tw_tile.matmul {group = 1 : i64, lhs_permutation = array<i64: 0, 1>, panel = 32 : i64} ins(%a, %b : memref<64x128xf32>, memref<1x128x32xf32>) outs(%c : memref<64x32xf32>)
  return
}
