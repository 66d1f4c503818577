// RUN: tilewright-opt %s --tw-hls-embed-weights | FileCheck %s
// @layer multiplies sums by its zero point. The only call of @layer has a zero point of zero, so the sums and the
// multiplication are removed. One call of @other has a zero point that is not zero, so @other is unchanged.

#line = affine_map<(i) -> (i)>
// CHECK-LABEL: func.func @main
// CHECK-NOT: call @sums
// CHECK: %[[A:.*]] = call @layer(%[[X:[a-z0-9]+]], %[[INTO:[a-z0-9]+]]) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
// CHECK: %[[B:.*]] = call @other(%[[A]], %[[A]], %{{.*}}, %[[INTO]])
// CHECK: call @other(%[[X]], %[[B]], %{{.*}}, %[[INTO]])
// CHECK-NOT: @sums
// CHECK: func.func private @layer(%[[IN:.*]]: tensor<4xi32>, %[[OUT:.*]]: tensor<4xi32>)
// CHECK-NOT: arith.muli
// CHECK: func.func private @other
// CHECK: arith.muli
func.func @main(%x: tensor<4xi32> {tw.name = "x"},
                %z: tensor<4xi32> {tw.name = "z", tw_hls.value = dense<0> : tensor<4xi32>},
                %n: tensor<4xi32> {tw.name = "n", tw_hls.value = dense<[0, 0, 1, 0]> : tensor<4xi32>}) -> tensor<4xi32> {
  %0 = tensor.empty() : tensor<4xi32>
  %1 = call @sums(%x, %0) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %2 = call @layer(%x, %1, %z, %0) : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %3 = call @other(%2, %2, %z, %0) : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %4 = call @other(%x, %3, %n, %0) : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return %4 : tensor<4xi32>
}
func.func private @sums(%x: tensor<4xi32>, %into: tensor<4xi32>) -> tensor<4xi32> {
  %0 = linalg.generic {indexing_maps = [#line, #line], iterator_types = ["parallel"]} ins(%x : tensor<4xi32>) outs(%into : tensor<4xi32>) {
  ^bb0(%in: i32, %out: i32):
    %1 = arith.addi %in, %in : i32
    linalg.yield %1 : i32
  } -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
func.func private @layer(%x: tensor<4xi32>, %s: tensor<4xi32>, %z: tensor<4xi32>, %into: tensor<4xi32>) -> tensor<4xi32> {
  %0 = linalg.generic {indexing_maps = [#line, #line, #line, #line], iterator_types = ["parallel"]} ins(%x, %s, %z : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) outs(%into : tensor<4xi32>) {
  ^bb0(%in: i32, %sum: i32, %zero: i32, %out: i32):
    %1 = arith.muli %sum, %zero : i32
    %2 = arith.subi %in, %1 : i32
    linalg.yield %2 : i32
  } -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
func.func private @other(%x: tensor<4xi32>, %s: tensor<4xi32>, %z: tensor<4xi32>, %into: tensor<4xi32>) -> tensor<4xi32> {
  %0 = linalg.generic {indexing_maps = [#line, #line, #line, #line], iterator_types = ["parallel"]} ins(%x, %s, %z : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) outs(%into : tensor<4xi32>) {
  ^bb0(%in: i32, %sum: i32, %zero: i32, %out: i32):
    %1 = arith.muli %sum, %zero : i32
    %2 = arith.subi %in, %1 : i32
    linalg.yield %2 : i32
  } -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
