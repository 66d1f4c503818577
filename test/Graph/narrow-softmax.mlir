// RUN: tilewright-opt %s --tw-narrow-softmax | FileCheck %s

// CHECK-LABEL: func @cross_entropy
// CHECK: %[[M:.*]] = tw.reduce max %arg0 {dims = array<i64: 1>, keepdim} : tensor<64x320xbf16> -> tensor<64x1xbf16>
// CHECK: %[[MAX:.*]] = tw.cast %[[M]]
// CHECK: tw.sub %{{.*}}, %[[MAX]]
// CHECK: tw.exp
// CHECK: tw.reduce sum {{.*}} : tensor<64x320xf32> -> tensor<64x1xf32>
// CHECK: %[[LOG:.*]] = tw.log
// CHECK: %[[G:.*]] = tw.gather %arg0[%arg1] {dim = 1 : i64, tw.from_start}
// CHECK: %[[WIDE:.*]] = tw.cast %[[G]]
// CHECK: %[[D:.*]] = tw.sub %[[WIDE]], %[[MAX]]
// CHECK: %[[E:.*]] = tw.sub %[[D]], %[[LOG]]
// CHECK: %[[R:.*]] = tw.cast %[[E]] : (tensor<64x1xf32>) -> tensor<64x1xbf16>
// CHECK: return %[[R]]
func.func @cross_entropy(%x: tensor<64x320xbf16>, %t: tensor<64x1xi64>) -> tensor<64x1xbf16> {
  %0 = tw.softmax %x {dim = 1 : i64, log} : tensor<64x320xbf16> -> tensor<64x320xbf16>
  %1 = tw.gather %0[%t] {dim = 1 : i64, tw.from_start} : (tensor<64x320xbf16>, tensor<64x1xi64>) -> tensor<64x1xbf16>
  return %1 : tensor<64x1xbf16>
}

// The pass does not change a softmax whose result is also returned, as in a training step that saves the result for the
// backward pass.
// CHECK-LABEL: func @saved
// CHECK: tw.softmax
// CHECK-NOT: tw.reduce
func.func @saved(%x: tensor<64x320xf32>, %t: tensor<64x1xi64>) -> (tensor<64x1xf32>, tensor<64x320xf32>) {
  %0 = tw.softmax %x {dim = 1 : i64, log} : tensor<64x320xf32> -> tensor<64x320xf32>
  %1 = tw.gather %0[%t] {dim = 1 : i64} : (tensor<64x320xf32>, tensor<64x1xi64>) -> tensor<64x1xf32>
  return %1, %0 : tensor<64x1xf32>, tensor<64x320xf32>
}

// The pass does not change a gather whose indices are only for some rows, are along another dimension, or select most
// of a row.
// CHECK-LABEL: func @unchanged
// CHECK-COUNT-3: tw.softmax
// CHECK-NOT: tw.reduce
func.func @unchanged(%x: tensor<64x320xf32>, %a: tensor<32x1xi64>, %b: tensor<1x320xi64>, %c: tensor<64x300xi64>)
    -> (tensor<32x1xf32>, tensor<1x320xf32>, tensor<64x300xf32>) {
  %0 = tw.softmax %x {dim = 1 : i64, log} : tensor<64x320xf32> -> tensor<64x320xf32>
  %1 = tw.gather %0[%a] {dim = 1 : i64} : (tensor<64x320xf32>, tensor<32x1xi64>) -> tensor<32x1xf32>
  %2 = tw.softmax %x {dim = 1 : i64, log} : tensor<64x320xf32> -> tensor<64x320xf32>
  %3 = tw.gather %2[%b] {dim = 0 : i64} : (tensor<64x320xf32>, tensor<1x320xi64>) -> tensor<1x320xf32>
  %4 = tw.softmax %x {dim = 1 : i64, log} : tensor<64x320xf32> -> tensor<64x320xf32>
  %5 = tw.gather %4[%c] {dim = 1 : i64} : (tensor<64x320xf32>, tensor<64x300xi64>) -> tensor<64x300xf32>
  return %1, %3, %5 : tensor<32x1xf32>, tensor<1x320xf32>, tensor<64x300xf32>
}
