// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured --split-input-file | FileCheck %s

// An embedding bag (a sum of weighted rows of a table) becomes one kernel. The weighted rows are not stored.
// CHECK-LABEL: func.func @main
// CHECK: call @[[BAGS:[a-z_]+_[0-9]+]]({{.*}}tw.ops = "take+mul+scatter"
// CHECK-NOT: call @
// CHECK: return
// CHECK: func.func private @[[BAGS]]
// CHECK: linalg.generic
// CHECK: tw_tile.scatter
func.func @main(%table: tensor<500x64xf32>, %i: tensor<90xi64>, %bag: tensor<90xi64>, %w: tensor<90x1xf32>, %into: tensor<20x64xf32>) -> tensor<20x64xf32> {
  %rows = tw.take %table[%i] {dim = 0 : i64} : (tensor<500x64xf32>, tensor<90xi64>) -> tensor<90x64xf32>
  %weighted = tw.mul %rows, %w : (tensor<90x64xf32>, tensor<90x1xf32>) -> tensor<90x64xf32>
  %0 = tw.put add %into[%bag], %weighted {dim = 0 : i64} : (tensor<20x64xf32>, tensor<90x64xf32>, tensor<90xi64>) -> tensor<20x64xf32>
  return %0 : tensor<20x64xf32>
}

// -----

// exp is an expensive function, so a separate kernel computes and stores the rows of exp, and the threads share its
// work.
// CHECK-LABEL: func.func @main
// CHECK: call @{{.*}}tw.ops = "exp"
// CHECK: call @{{.*}}tw.ops = "scatter"
// CHECK: return
func.func @main(%x: tensor<90x64xf32>, %bag: tensor<90xi64>, %into: tensor<20x64xf32>) -> tensor<20x64xf32> {
  %rows = tw.exp %x : (tensor<90x64xf32>) -> tensor<90x64xf32>
  %0 = tw.put add %into[%bag], %rows {dim = 0 : i64} : (tensor<20x64xf32>, tensor<90x64xf32>, tensor<90xi64>) -> tensor<20x64xf32>
  return %0 : tensor<20x64xf32>
}
