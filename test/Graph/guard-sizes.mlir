// RUN: tilewright-opt %s --tw-guard-sizes --split-input-file --verify-diagnostics | FileCheck %s
// The pass proves an op's condition on symbolic sizes, reports an error if it cannot hold, or creates a guard for it.

// The condition on the sizes of concatenated inputs becomes a guard, whose text contains the user's names of the
// symbols.
// CHECK: #[[ROWS:map[0-9]*]] = affine_map<()[s0] -> (s0, 17)>
// CHECK: func.func @main
// CHECK-SAME: tw.guards = [{sizes = #[[ROWS]], text = "tw.concat at {{.*}}guard-sizes.mlir:{{[0-9]+}}: rows must be 17"}]
func.func @main(%n: index {tw.symbol = "rows", tw.min = 1 : i64}, %x: tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>, %w: tensor<17x8xf32>) -> tensor<?x16xf32, affine_map<()[s0] -> (s0, 16)>> {
  %0 = tw.concat %x, %w {dim = 1 : i64} : (tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>, tensor<17x8xf32>) -> tensor<?x16xf32, affine_map<()[s0] -> (s0, 16)>>
  return %0 : tensor<?x16xf32, affine_map<()[s0] -> (s0, 16)>>
}

// -----

// A reshape must not drop elements. Two ops have the same condition, for which the pass creates only one guard.
// CHECK: #[[COUNTS:map[0-9]*]] = affine_map<()[s0] -> (s0 * 8, ((s0 * 8) floordiv 7) * 7)>
// CHECK: func.func @main
// CHECK-SAME: tw.guards = [{sizes = #[[COUNTS]], text = "tw.reshape at {{.*}}: n * 8 must be ((n * 8) // 7) * 7"}]
func.func @main(%n: index {tw.symbol = "n", tw.min = 1 : i64}, %x: tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>) -> (tensor<?x7xf32, affine_map<()[s0] -> ((s0 * 8) floordiv 7, 7)>>, tensor<?x7xf32, affine_map<()[s0] -> ((s0 * 8) floordiv 7, 7)>>) {
  %0 = tw.reshape %x : tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>> -> tensor<?x7xf32, affine_map<()[s0] -> ((s0 * 8) floordiv 7, 7)>>
  %1 = tw.reshape %x : tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>> -> tensor<?x7xf32, affine_map<()[s0] -> ((s0 * 8) floordiv 7, 7)>>
  return %0, %1 : tensor<?x7xf32, affine_map<()[s0] -> ((s0 * 8) floordiv 7, 7)>>, tensor<?x7xf32, affine_map<()[s0] -> ((s0 * 8) floordiv 7, 7)>>
}

// -----

// The range of the symbol proves that the sliced elements exist, so there is no guard.
// CHECK: func.func @main
// CHECK-NOT: tw.guards
// CHECK: tw.slice
func.func @main(%n: index {tw.symbol = "n", tw.min = 8 : i64}, %x: tensor<?xf32, affine_map<()[s0] -> (s0)>>) -> tensor<4xf32> {
  %0 = tw.slice %x {offsets = affine_map<()[s0] -> (3)>, strides = array<i64: 1>} : tensor<?xf32, affine_map<()[s0] -> (s0)>> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// The range of the symbol allows fewer elements than the slice reads, so a guard checks the size at each call.
// CHECK: #[[LEAST:map[0-9]*]] = affine_map<()[s0] -> (s0, 7)>
// CHECK: func.func @main
// CHECK-SAME: tw.guards = [{at_least, sizes = #[[LEAST]], text = "tw.slice at {{.*}}: n must be at least 7"}]
func.func @main(%n: index {tw.symbol = "n", tw.min = 2 : i64}, %x: tensor<?xf32, affine_map<()[s0] -> (s0)>>) -> tensor<4xf32> {
  %0 = tw.slice %x {offsets = affine_map<()[s0] -> (3)>, strides = array<i64: 1>} : tensor<?xf32, affine_map<()[s0] -> (s0)>> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%n: index {tw.symbol = "n", tw.min = 2 : i64, tw.max = 6 : i64}, %x: tensor<?xf32, affine_map<()[s0] -> (s0)>>) -> tensor<4xf32> {
  // expected-error @below {{has sizes that are never valid within the ranges of the symbolic sizes: tw.slice at}}
  %0 = tw.slice %x {offsets = affine_map<()[s0] -> (3)>, strides = array<i64: 1>} : tensor<?xf32, affine_map<()[s0] -> (s0)>> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
