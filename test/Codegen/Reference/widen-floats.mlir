// RUN: tilewright-opt %s --tw-lower-graph --tw-widen-floats | FileCheck %s

// CHECK-LABEL: func @exp(%arg0: tensor<4xbf16>) -> tensor<4xbf16>
// CHECK: arith.extf %{{.*}} : bf16 to f32
// CHECK: arith.extf %{{.*}} : f32 to f64
// CHECK-NOT: trunc
// CHECK: math.exp %{{.*}} : f64
// CHECK-NOT: trunc
// CHECK: math.log1p %{{.*}} : f64
// CHECK: arith.truncf %{{.*}} : f64 to f32
// CHECK: arith.truncf %{{.*}} : f32 to bf16
func.func @exp(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = tw.exp %x : (tensor<4xbf16>) -> tensor<4xbf16>
  %1 = tw.log1p %0 : (tensor<4xbf16>) -> tensor<4xbf16>
  return %1 : tensor<4xbf16>
}

// A cast in the user's model still rounds its operand.
// CHECK-LABEL: func @user_cast
// CHECK: arith.truncf %{{.*}} : f64 to f32
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: arith.extf %{{.*}} : bf16 to f32
// CHECK: arith.extf %{{.*}} : f32 to f64
// CHECK: math.exp %{{.*}} : f64
func.func @user_cast(%x: tensor<4xf64>) -> tensor<4xbf16> {
  %0 = tw.cast %x : (tensor<4xf64>) -> tensor<4xbf16>
  %1 = tw.exp %0 : (tensor<4xbf16>) -> tensor<4xbf16>
  return %1 : tensor<4xbf16>
}
