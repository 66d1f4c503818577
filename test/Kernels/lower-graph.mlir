// RUN: tilewright-opt %s --tw-lower-graph --tw-verify-stage=stage=structured | FileCheck %s

// CHECK: #[[$DOUBLE:.*]] = affine_map<()[s0] -> (s0 * 2)>

// Attributes of arguments do not change, encodings are dropped, and each symbolic size is computed once at the
// beginning of the function.
// CHECK-LABEL: func @main(%arg0: index {tw.symbol = "n"}, %arg1: tensor<?x8xf32> {tw.name = "x"}, %arg2: tensor<8xi8> {tw.static}) -> (tensor<?x8xf32> {tw.name = "y"}, tensor<8xi8>)
// CHECK-NEXT: %[[N:.*]] = affine.apply #[[$DOUBLE]]()[%arg0]
// CHECK-NOT: affine.apply
// CHECK-NOT: tensor.dim
// CHECK: tensor.empty(%[[N]]) : tensor<?x8xf32>
// CHECK: tensor.empty(%[[N]]) : tensor<?x8xf32>
// CHECK: return %{{.*}}, %arg2
func.func @main(%n: index {tw.symbol = "n"}, %x: tensor<?x8xf32, affine_map<()[s0] -> (s0 * 2, 8)>> {tw.name = "x"}, %m: tensor<8xi1> {tw.static})
    -> (tensor<?x8xf32, affine_map<()[s0] -> (s0 * 2, 8)>> {tw.name = "y"}, tensor<8xi1>) {
  %0 = tw.exp %x : (tensor<?x8xf32, affine_map<()[s0] -> (s0 * 2, 8)>>) -> tensor<?x8xf32, affine_map<()[s0] -> (s0 * 2, 8)>>
  %1 = tw.neg %0 : (tensor<?x8xf32, affine_map<()[s0] -> (s0 * 2, 8)>>) -> tensor<?x8xf32, affine_map<()[s0] -> (s0 * 2, 8)>>
  return %1, %m : tensor<?x8xf32, affine_map<()[s0] -> (s0 * 2, 8)>>, tensor<8xi1>
}

// CHECK-LABEL: func @sources(%arg0: index
// CHECK: arith.constant dense<[1, 0]> : tensor<2xi8>
// CHECK: linalg.index 0
// CHECK: arith.index_cast %{{.*}} : index to i64
func.func @sources(%n: index {tw.symbol = "n"}) -> (tensor<2xi1>, tensor<4xi64>, tensor<i64>) {
  %0 = tw.constant dense<[true, false]> : tensor<2xi1>
  %1 = tw.iota {dim = 0 : i64} : tensor<4xi64>
  %2 = tw.from_index affine_map<()[s0] -> (s0 + 1)> : tensor<i64>
  return %0, %1, %2 : tensor<2xi1>, tensor<4xi64>, tensor<i64>
}
