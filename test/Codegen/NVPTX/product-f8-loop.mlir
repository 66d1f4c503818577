// RUN: tilewright compile %s --target=cuda --arch=sm_89 --emit=ptx | FileCheck %s

// A directive prevents ptxas from unrolling the loop over k. An iteration has two sets of accumulators, so unrolled
// iterations would need more registers than a thread has.
// CHECK-DAG: .pragma "nounroll";
// Each step along k adds its partial sums to the accumulators, so the size of a step determines the order of sums.
// RUN: tilewright tune --list %s --target=cuda --arch=sm_89 | FileCheck %s --check-prefix=SPACE
// SPACE: k: {{.*}}changes the order of sums
// CHECK-DAG: mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32
func.func @main(%x: tensor<1024x4096xf8E4M3FN>, %w: tensor<1024x4096xf8E5M2>) -> tensor<1024x1024xbf16> {
  %t = tw.permute %w {permutation = array<i64: 1, 0>} : tensor<1024x4096xf8E5M2> -> tensor<4096x1024xf8E5M2>
  %h = tw.matmul %x, %t : (tensor<1024x4096xf8E4M3FN>, tensor<4096x1024xf8E5M2>) -> tensor<1024x1024xbf16>
  return %h : tensor<1024x1024xbf16>
}
