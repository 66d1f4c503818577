// RUN: tilewright-opt %s --tw-widen-integers | FileCheck %s

// CHECK-LABEL: func.func @main(%arg0: tensor<4x64xi16>, %arg1: tensor<64x10xi16>) -> tensor<4x10xi16>
// CHECK-DAG: %[[A:.*]] = tw.cast %arg0 : (tensor<4x64xi16>) -> tensor<4x64xi32>
// CHECK-DAG: %[[B:.*]] = tw.cast %arg1 : (tensor<64x10xi16>) -> tensor<64x10xi32>
// CHECK: %[[M:.*]] = tw.matmul %[[A]], %[[B]] : (tensor<4x64xi32>, tensor<64x10xi32>) -> tensor<4x10xi32>
// The value of a negative constant does not change.
// CHECK: %[[C:.*]] = tw.constant dense<-5> : tensor<i32>
// CHECK: %[[S:.*]] = tw.add %[[M]], %[[C]]
// The shifts sign-extend the low ten bits, as the conversion to i10 does.
// CHECK: %[[N:.*]] = tw.cast %[[S]] : (tensor<4x10xi32>) -> tensor<4x10xi16>
// CHECK: %[[SIX:.*]] = tw.constant dense<6> : tensor<i16>
// CHECK: %[[L:.*]] = tw.shift_left %[[N]], %[[SIX]]
// CHECK: %[[R:.*]] = tw.shift_right %[[L]], %[[SIX]]
// CHECK: return %[[R]] : tensor<4x10xi16>
func.func @main(%x: tensor<4x64xi10>, %w: tensor<64x10xi10>) -> tensor<4x10xi10> {
  %m = tw.matmul %x, %w : (tensor<4x64xi10>, tensor<64x10xi10>) -> tensor<4x10xi27>
  %c = tw.constant dense<-5> : tensor<i27>
  %s = tw.add %m, %c : (tensor<4x10xi27>, tensor<i27>) -> tensor<4x10xi27>
  %y = tw.cast %s : (tensor<4x10xi27>) -> tensor<4x10xi10>
  return %y : tensor<4x10xi10>
}
