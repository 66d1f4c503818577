// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured | FileCheck %s
// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured --remarks-filter-missed=fusion --remark-policy=all 2>&1 | FileCheck %s --check-prefix=MISSED

// Two equal layers become one kernel, which is called twice. The layer norm after them forms one kernel with the
// computation of its statistics.
// CHECK: func.func @main
// CHECK: %[[A:.*]] = call @[[LAYER:[a-z_]+_[0-9]+]]({{.*}}tw.ops = "matmul+relu"
// CHECK: %[[B:.*]] = call @[[LAYER]](%[[A]]
// CHECK: call @[[NORM:[a-z_]+_[0-9]+]](%[[B]]
// CHECK-NOT: call @
// CHECK: return

// MISSED: [Missed] FormKernels {{.*}}a tile of matmul would have to span whole rows{{.*}}separate from layer_norm
func.func @main(%x: tensor<64x64xf32>, %v: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = tw.matmul %x, %v : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = tw.relu %0 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = tw.matmul %1, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = tw.relu %2 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %4, %m, %r = tw.layer_norm %3 {eps = 1.0e-5 : f64, rank = 1 : i64} : tensor<64x64xf32> -> tensor<64x64xf32>, tensor<64x1xf32>, tensor<64x1xf32>
  return %4 : tensor<64x64xf32>
}
