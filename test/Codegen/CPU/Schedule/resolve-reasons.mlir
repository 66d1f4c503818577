// For each contraction that reads an unpacked operand, the reason is reported as a remark and in the module's
// tw.decisions.
// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured --tw-resolve-layouts --split-input-file --remarks-filter-missed=pack --remark-policy=all 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured --tw-resolve-layouts --split-input-file | FileCheck %s

// REMARK: [Missed] ResolveLayouts | Category:pack {{.*}}products of f64 with sums of f64 have no micro-kernel{{.*}}matmul
// CHECK: tw.decisions = [{done = false, kind = "pack", reason = "products of f64 with sums of f64 have no micro-kernel; vectorized loops compute them", subject = "matmul"
func.func @main(%x: tensor<64x32xf64>, %w: tensor<32x48xf64>) -> tensor<64x48xf64> {
  %0 = tw.matmul %x, %w : (tensor<64x32xf64>, tensor<32x48xf64>) -> tensor<64x48xf64>
  return %0 : tensor<64x48xf64>
}

// -----

// REMARK: [Missed] ResolveLayouts | Category:pack {{.*}}the graph computes its right-hand side, and packing it takes longer than the product with the few rows{{.*}}matmul
// CHECK: kind = "pack", reason = "the graph computes its right-hand side, and packing it takes longer than the product with the few rows of the left-hand side", subject = "matmul"
func.func @main(%x: tensor<5x64xf32>, %w: tensor<64x96xf32>) -> tensor<5x96xf32> {
  %0 = tw.matmul %x, %w : (tensor<5x64xf32>, tensor<64x96xf32>) -> tensor<5x96xf32>
  return %0 : tensor<5x96xf32>
}

// -----

// No reason is reported for a packed operand.
// CHECK-NOT: kind = "pack"
// CHECK: call @pack_0
func.func @main(%x: tensor<64x64xf32>, %w: tensor<64x96xf32>) -> tensor<64x96xf32> {
  %0 = tw.matmul %x, %w : (tensor<64x64xf32>, tensor<64x96xf32>) -> tensor<64x96xf32>
  return %0 : tensor<64x96xf32>
}
