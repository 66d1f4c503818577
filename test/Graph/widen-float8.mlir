// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(tw-widen-float8))' | FileCheck %s
// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(tw-widen-float8{to=bf16}))' | FileCheck %s --check-prefix=CPU

// CHECK-LABEL: @product
// CHECK-SAME: %[[A:.*]]: tensor<64x32xf8E4M3FN>, %[[B:.*]]: tensor<32x48xf8E5M2>
// CHECK: %[[X:.*]] = tw.cast %[[A]] : (tensor<64x32xf8E4M3FN>) -> tensor<64x32xf16>
// CHECK: %[[Y:.*]] = tw.cast %[[B]] : (tensor<32x48xf8E5M2>) -> tensor<32x48xf16>
// CHECK: tw.matmul %[[X]], %[[Y]] : (tensor<64x32xf16>, tensor<32x48xf16>) -> tensor<64x48xf32>
// CPU: tw.matmul {{.*}} : (tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xf32>
func.func @product(%a: tensor<64x32xf8E4M3FN>, %b: tensor<32x48xf8E5M2>) -> tensor<64x48xf32> {
  %0 = tw.matmul %a, %b : (tensor<64x32xf8E4M3FN>, tensor<32x48xf8E5M2>) -> tensor<64x48xf32>
  return %0 : tensor<64x48xf32>
}

// Other element types are unchanged.
// CHECK-LABEL: @other
// CHECK-NOT: tw.cast
// CHECK: return
func.func @other(%a: tensor<64x32xi8>, %b: tensor<32x48xi8>) -> tensor<64x48xi32> {
  %0 = tw.matmul %a, %b : (tensor<64x32xi8>, tensor<32x48xi8>) -> tensor<64x48xi32>
  return %0 : tensor<64x48xi32>
}
