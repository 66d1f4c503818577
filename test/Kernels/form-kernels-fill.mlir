// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured | FileCheck %s

// The product's kernel fills its own destination with zeros; it does not share the zeros that @main returns.
// CHECK: func.func @main
// CHECK-DAG: %[[ZEROS:.*]] = call @[[FILL:[a-z_]+_[0-9]+]]({{.*}}tw.ops = "fill"
// CHECK-DAG: %[[PRODUCT:.*]] = call @[[MATMUL:[a-z_]+_[0-9]+]](%arg0, %arg1, %{{[^,]*}}) {tw.ops = "matmul"}
// CHECK: return %[[PRODUCT]], %[[ZEROS]]
// CHECK: func.func private @[[MATMUL]]
// CHECK: %[[BEGIN:.*]] = linalg.fill
// CHECK: linalg.contract {{.*}} outs(%[[BEGIN]]
func.func @main(%x: tensor<33x8xf32>, %y: tensor<8x65xf32>) -> (tensor<33x65xf32>, tensor<33x65xf32>) {
  %0 = tw.matmul %x, %y : (tensor<33x8xf32>, tensor<8x65xf32>) -> tensor<33x65xf32>
  %1 = tw.constant dense<0.0> : tensor<33x65xf32>
  return %0, %1 : tensor<33x65xf32>, tensor<33x65xf32>
}
