// RUN: tilewright-opt %s --tw-build-plan --split-input-file | FileCheck %s

// The kernel overwrites its operand, and runs after the kernel that reads the old values.
// CHECK: tw_plan.buffer 0 input 0 in_place
// CHECK-NEXT: tw_plan.buffer 1 output 0
// CHECK-NEXT: tw_plan.launch @reads [0, 1] writes 2
// CHECK-NEXT: tw_plan.launch @step [0, 0] writes 2
// CHECK-NOT: tw_plan.copy
func.func private @step(%p: tensor<8xf32>, %o: tensor<8xf32> {tw.over = array<i64: 0>}) -> tensor<8xf32>
func.func private @reads(%p: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
func.func @main(%p: tensor<8xf32> {tw.sizes = affine_map<() -> (8)>}) -> (tensor<8xf32>, tensor<8xf32> {tw.into = 0 : i64}) {
  %e = tensor.empty() : tensor<8xf32>
  %0 = call @step(%p, %e) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %f = tensor.empty() : tensor<8xf32>
  %1 = call @reads(%p, %f) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %1, %0 : tensor<8xf32>, tensor<8xf32>
}

// -----

// The kernel cannot overwrite its operand, because a tile reads other elements than it writes. Therefore the kernel
// writes to the arena, and its result is copied to the argument at the end.
// CHECK: tw_plan.buffer 0 input 0 in_place
// CHECK-NEXT: tw_plan.buffer 1 arena 0
// CHECK-NEXT: tw_plan.launch @transposes [0, 1] writes 2
// CHECK-NEXT: tw_plan.copy 1 to 0
func.func private @transposes(%p: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32>
func.func @main(%p: tensor<8xf32> {tw.sizes = affine_map<() -> (8)>}) -> (tensor<8xf32> {tw.into = 0 : i64}) {
  %e = tensor.empty() : tensor<8xf32>
  %0 = call @transposes(%p, %e) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// The program exchanges the values of two arguments. The old values of the first argument are also a result.
// CHECK: tw_plan.copy 0 to 2
// CHECK-NEXT: tw_plan.copy 0 to 3
// CHECK-NEXT: tw_plan.copy 1 to 4
// CHECK-NEXT: tw_plan.copy 3 to 1
// CHECK-NEXT: tw_plan.copy 4 to 0
func.func @main(%p: tensor<8xf32> {tw.sizes = affine_map<() -> (8)>}, %q: tensor<8xf32> {tw.sizes = affine_map<() -> (8)>})
    -> (tensor<8xf32>, tensor<8xf32> {tw.into = 1 : i64}, tensor<8xf32> {tw.into = 0 : i64}) {
  return %p, %p, %q : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// The new values of the argument are also a result, so the kernel writes to the result. Then the result is copied to
// the argument.
// CHECK: tw_plan.launch @step [0, 1] writes 2
// CHECK-NEXT: tw_plan.copy 1 to 0
func.func private @step(%p: tensor<8xf32>, %o: tensor<8xf32> {tw.over = array<i64: 0>}) -> tensor<8xf32>
func.func @main(%p: tensor<8xf32> {tw.sizes = affine_map<() -> (8)>}) -> (tensor<8xf32>, tensor<8xf32> {tw.into = 0 : i64}) {
  %e = tensor.empty() : tensor<8xf32>
  %0 = call @step(%p, %e) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0, %0 : tensor<8xf32>, tensor<8xf32>
}
