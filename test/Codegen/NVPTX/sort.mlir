// A sort returns the first four elements of each row. One thread computes one rank: it determines the bits of the
// element one by one, and then the element's index, which both results use.
// RUN: tilewright compile %s --target=cuda --emit=vector | FileCheck %s
// RUN: tilewright run %s --target=cuda --device=emulated --check | FileCheck %s --check-prefix=RESULT

// CHECK: func.func {{.*}}@sort_0
// CHECK: scf.for
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: llvm.store
// CHECK: llvm.store
// CHECK: return

// RESULT: result 0: f32[5, 4]
// RESULT: result 1: i64[5, 4]
func.func @main(%x: tensor<5x33xf32>) -> (tensor<5x4xf32>, tensor<5x4xi64>) {
  %v, %i = tw.sort %x {dim = 1 : i64, descending, k = 4 : i64} : tensor<5x33xf32> -> tensor<5x4xf32>, tensor<5x4xi64>
  return %v, %i : tensor<5x4xf32>, tensor<5x4xi64>
}
