// RUN: tilewright-opt %s --tw-build-plan | FileCheck %s

// The kernel writes its result directly to output 0. The returned argument is copied to output 1.
// CHECK: tw_plan.program @main_plan []
// CHECK: tw_plan.buffer 0 input 0
// CHECK: tw_plan.buffer 1 output 0
// CHECK: tw_plan.buffer 2 output 1
// CHECK: tw_plan.launch @kernel_0 [0, 1] writes 2
// CHECK: tw_plan.copy 0 to 2
func.func @main(%x: tensor<8xf32> {tw.sizes = affine_map<() -> (8)>}) -> (tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %0 = call @kernel_0(%x, %e) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0, %x : tensor<8xf32>, tensor<8xf32>
}
func.func private @kernel_0(tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> attributes {tw.kernel}
