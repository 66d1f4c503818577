// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

// Equal kernels become one function, whose ops have the source locations of all of these kernels.
func.func @main(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %a = tw.matmul %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> loc("model.py":1:0)
  %b = tw.matmul %a, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> loc("model.py":2:0)
  %c = tw.matmul %b, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> loc("model.py":3:0)
  return %c : tensor<64x64xf32>
}
// CHECK-LABEL: func.func @main
// CHECK: call @matmul_0{{.*}}loc({{.*}}"model.py":1:0
// CHECK: call @matmul_0{{.*}}loc({{.*}}"model.py":2:0
// CHECK: call @matmul_0{{.*}}loc({{.*}}"model.py":3:0
// CHECK-LABEL: func.func private @matmul_0
// CHECK: linalg.{{(matmul|contract|generic)}}
// CHECK: loc(fused["model.py":{{[1-3]}}:0, "model.py":{{[1-3]}}:0, "model.py":{{[1-3]}}:0])
// CHECK-NOT: @kernel_1
