// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(tw-pack-elements,cse))' --mlir-print-local-scope | FileCheck %s

// Rows of whole bytes stay dimensions: a slice of columns is a slice of bytes.
// CHECK-LABEL: func.func @views(%arg0: tensor<4x8xui8>) -> tensor<2x8xui8>
// CHECK: %[[S:.*]] = tw.slice %arg0 {offsets = affine_map<() -> (0, 4)>, strides = array<i64: 1, 1>} : tensor<4x8xui8> -> tensor<4x4xui8>
// CHECK: %[[R:.*]] = tw.reshape %[[S]] : tensor<4x4xui8> -> tensor<2x8xui8>
// CHECK: return %[[R]] : tensor<2x8xui8>
func.func @views(%x: tensor<4x16xi4>) -> tensor<2x16xi4> {
  %0 = tw.slice %x {offsets = affine_map<() -> (0, 8)>, strides = array<i64: 1, 1>} : tensor<4x16xi4> -> tensor<4x8xi4>
  %1 = tw.reshape %0 : tensor<4x8xi4> -> tensor<2x16xi4>
  return %1 : tensor<2x16xi4>
}

// The 15 elements of 4 bits take 8 bytes. Half of the last byte is unused.
// CHECK-LABEL: func.func @odd(%arg0: tensor<8xui8>) -> tensor<8xui8>
// CHECK-NEXT: tw.reshape %arg0 : tensor<8xui8> -> tensor<8xui8>
// CHECK-NEXT: return
func.func @odd(%x: tensor<3x5xui4>) -> tensor<5x3xui4> {
  %0 = tw.reshape %x : tensor<3x5xui4> -> tensor<5x3xui4>
  return %0 : tensor<5x3xui4>
}

// CHECK-LABEL: func.func @rows(%arg0: index
// CHECK-SAME: %arg1: tensor<?x3x4xui8, affine_map<()[s0] -> (s0, 3, 4)>>) -> tensor<3x?x4xui8, affine_map<()[s0] -> (3, s0 * 2, 4)>>
// CHECK-NEXT: tw.permute %arg1 {permutation = array<i64: 1, 0, 2>}
// CHECK-NEXT: tw.flip {{.*}} {dims = array<i64: 1>} : tensor<3x?x4xui8
// CHECK-NEXT: tw.concat {{.*}} {dim = 1 : i64}
// CHECK-NEXT: return
func.func @rows(%n: index {tw.symbol = "n"}, %x: tensor<?x3x16xi2, affine_map<()[s0] -> (s0, 3, 16)>>)
    -> tensor<3x?x16xi2, affine_map<()[s0] -> (3, s0 * 2, 16)>> {
  %0 = tw.permute %x {permutation = array<i64: 1, 0, 2>} : tensor<?x3x16xi2, affine_map<()[s0] -> (s0, 3, 16)>> -> tensor<3x?x16xi2, affine_map<()[s0] -> (3, s0, 16)>>
  %1 = tw.flip %0 {dims = array<i64: 1>} : tensor<3x?x16xi2, affine_map<()[s0] -> (3, s0, 16)>> -> tensor<3x?x16xi2, affine_map<()[s0] -> (3, s0, 16)>>
  %2 = tw.concat %0, %1 {dim = 1 : i64} : (tensor<3x?x16xi2, affine_map<()[s0] -> (3, s0, 16)>>, tensor<3x?x16xi2, affine_map<()[s0] -> (3, s0, 16)>>) -> tensor<3x?x16xi2, affine_map<()[s0] -> (3, s0 * 2, 16)>>
  return %2 : tensor<3x?x16xi2, affine_map<()[s0] -> (3, s0 * 2, 16)>>
}

// The first element is in the lowest bits: 1 + 16 * 14 (-2 in 4 bits) is 225, and 3 + 16 * 8 is 131.
// CHECK-LABEL: func.func @constants() -> (tensor<2xui8>, tensor<3xui8>, tensor<2x1xui8>, tensor<2xi16>)
// CHECK-DAG: tw.constant dense<[225, 131]> : tensor<2xui8>
// CHECK-DAG: tw.constant dense<[51, 51, 3]> : tensor<3xui8>
// CHECK-DAG: tw.constant dense<{{\[\[}}33], [246]]> : tensor<2x1xui8>
// CHECK-DAG: tw.constant dense<[-2048, 7]> : tensor<2xi16>
func.func @constants() -> (tensor<4xi4>, tensor<5xui4>, tensor<2x2xf4E2M1FN>, tensor<2xi12>) {
  %0 = tw.constant dense<[1, -2, 3, -8]> : tensor<4xi4>
  %1 = tw.constant dense<3> : tensor<5xui4>
  %2 = tw.constant dense<[[0.5, 1.0], [4.0, -6.0]]> : tensor<2x2xf4E2M1FN>
  %3 = tw.constant dense<[-2048, 7]> : tensor<2xi12>
  return %0, %1, %2, %3 : tensor<4xi4>, tensor<5xui4>, tensor<2x2xf4E2M1FN>, tensor<2xi12>
}

// Other ops compute with one byte per element. The shifts by 4 extend the sign, and the mask wraps the sum around.
// CHECK-LABEL: func.func @computes(%arg0: tensor<4x1xui8>) -> tensor<4x1xui8>
// CHECK: %[[LOW:.*]] = tw.bitwise_and %arg0, %{{.*}} : (tensor<4x1xui8>, tensor<ui8>) -> tensor<4x1xui8>
// CHECK: tw.shift_right %arg0, %{{.*}} : (tensor<4x1xui8>, tensor<ui8>) -> tensor<4x1xui8>
// CHECK: tw.concat {{.*}} {dim = 2 : i64} : (tensor<4x1x1xui8>, tensor<4x1x1xui8>) -> tensor<4x1x2xui8>
// CHECK: tw.cast {{.*}} : (tensor<4x2xui8>) -> tensor<4x2xi8>
// CHECK: tw.shift_left {{.*}} : (tensor<4x2xi8>, tensor<i8>) -> tensor<4x2xi8>
// CHECK: %[[X:.*]] = tw.shift_right {{.*}} : (tensor<4x2xi8>, tensor<i8>) -> tensor<4x2xi8>
// CHECK: %[[Y:.*]] = tw.add %[[X]], %[[X]] : (tensor<4x2xi8>, tensor<4x2xi8>) -> tensor<4x2xi8>
// CHECK: %[[B:.*]] = tw.cast %[[Y]] : (tensor<4x2xi8>) -> tensor<4x2xui8>
// CHECK: tw.bitwise_and %[[B]]
// CHECK: %[[H:.*]] = tw.shift_left {{.*}} : (tensor<4x1xui8>, tensor<ui8>) -> tensor<4x1xui8>
// CHECK: tw.bitwise_or {{.*}}, %[[H]]
func.func @computes(%x: tensor<4x2xi4>) -> tensor<4x2xi4> {
  %0 = tw.add %x, %x : (tensor<4x2xi4>, tensor<4x2xi4>) -> tensor<4x2xi4>
  return %0 : tensor<4x2xi4>
}

// Integers of 12 bits are stored in 16 bits. The shifts wrap the product around.
// CHECK-LABEL: func.func @twelve_bits(%arg0: tensor<4xi16>) -> tensor<4xi16>
// CHECK: tw.mul %arg0, %arg0 : (tensor<4xi16>, tensor<4xi16>) -> tensor<4xi16>
// CHECK: tw.shift_left
// CHECK: tw.shift_right
func.func @twelve_bits(%x: tensor<4xi12>) -> tensor<4xi12> {
  %0 = tw.mul %x, %x : (tensor<4xi12>, tensor<4xi12>) -> tensor<4xi12>
  return %0 : tensor<4xi12>
}

// Other element types do not change.
// CHECK-LABEL: func.func @other(%arg0: tensor<4xi1>, %arg1: tensor<4xf8E5M2>) -> tensor<4xi1>
// CHECK-NEXT: tw.logical_not
// CHECK-NEXT: return
func.func @other(%x: tensor<4xi1>, %y: tensor<4xf8E5M2>) -> tensor<4xi1> {
  %0 = tw.logical_not %x : (tensor<4xi1>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}
