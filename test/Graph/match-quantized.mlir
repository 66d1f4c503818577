// RUN: tilewright-opt %s --tw-match-quantized --canonicalize | FileCheck %s
// RUN: tilewright-opt %s --tw-match-quantized --remarks-filter-missed="quantize" --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Unsigned bytes are shifted by -128, so their zero point changes from 117 to -11. The column sums of the weight times
// this zero point are subtracted from the product.
// CHECK-LABEL: func @linear
// CHECK-SAME: %[[X:.*]]: tensor<8x64xui8>, %[[W:.*]]: tensor<96x64xi8> {tw.static}, %[[S:.*]]: tensor<96xf32>
// CHECK: tw.constant dense<-11> : tensor<i32>
// CHECK: %[[WIDE:.*]] = tw.cast %[[X]] : (tensor<8x64xui8>) -> tensor<8x64xi32>
// CHECK: %[[MOVED:.*]] = tw.sub %[[WIDE]], {{.*}} : (tensor<8x64xi32>, tensor<i32>) -> tensor<8x64xi32>
// CHECK: %[[BYTES:.*]] = tw.cast %[[MOVED]] : (tensor<8x64xi32>) -> tensor<8x64xi8>
// CHECK: %[[SUM:.*]] = tw.matmul %[[BYTES]], %{{.*}} : (tensor<8x64xi8>, tensor<64x96xi8>) -> tensor<8x96xi32>
// CHECK: %[[COLUMNS:.*]] = tw.reduce sum %{{.*}} {dims = array<i64: 0>, keepdim} : tensor<64x96xi32> -> tensor<1x96xi32>
// CHECK: %[[TERM:.*]] = tw.mul %[[COLUMNS]]
// CHECK: %[[EXACT:.*]] = tw.sub %[[SUM]], %[[TERM]]
// CHECK: %[[FLOAT:.*]] = tw.cast %[[EXACT]] : (tensor<8x96xi32>) -> tensor<8x96xf32>
// CHECK: tw.mul %[[FLOAT]]
// CHECK-NOT: tw.dequantize
func.func @linear(%x: tensor<8x64xui8>, %w: tensor<96x64xi8> {tw.static}, %s: tensor<96xf32> {tw.static}) -> tensor<8x96xf32> {
  %sa = tw.constant dense<5.000000e-01> : tensor<f32>
  %za = tw.constant dense<117> : tensor<i32>
  %zb = tw.constant dense<0> : tensor<i32>
  %a = tw.dequantize %x, %sa, %za : (tensor<8x64xui8>, tensor<f32>, tensor<i32>) -> tensor<8x64xf32>
  %column = tw.reshape %s : tensor<96xf32> -> tensor<96x1xf32>
  %b = tw.dequantize %w, %column, %zb : (tensor<96x64xi8>, tensor<96x1xf32>, tensor<i32>) -> tensor<96x64xf32>
  %t = tw.permute %b {permutation = array<i64: 1, 0>} : tensor<96x64xf32> -> tensor<64x96xf32>
  %c = tw.matmul %a, %t : (tensor<8x64xf32>, tensor<64x96xf32>) -> tensor<8x96xf32>
  return %c : tensor<8x96xf32>
}

// If both zero points are the constant 0, the product needs no correction.
// CHECK-LABEL: func @symmetric
// CHECK: tw.matmul {{.*}} -> tensor<8x96xi32>
// CHECK-NEXT: tw.cast
// CHECK-NOT: tw.reduce
func.func @symmetric(%x: tensor<8x64xi8>, %w: tensor<64x96xi8>, %s: tensor<f32>) -> tensor<8x96xf32> {
  %z = tw.constant dense<0> : tensor<i32>
  %a = tw.dequantize %x, %s, %z : (tensor<8x64xi8>, tensor<f32>, tensor<i32>) -> tensor<8x64xf32>
  %b = tw.dequantize %w, %s, %z : (tensor<64x96xi8>, tensor<f32>, tensor<i32>) -> tensor<64x96xf32>
  %c = tw.matmul %a, %b : (tensor<8x64xf32>, tensor<64x96xf32>) -> tensor<8x96xf32>
  return %c : tensor<8x96xf32>
}

// If there are zero points per row and per column whose values are known only at the call, the correction consists of
// the sums of each operand times the zero points of the other operand, and of 64 times the product of the zero points.
// CHECK-LABEL: func @asymmetric
// CHECK: tw.constant dense<64> : tensor<i32>
// CHECK: %[[SUM:.*]] = tw.matmul
// CHECK: %[[COLUMNS:.*]] = tw.reduce sum %{{.*}} {dims = array<i64: 0>, keepdim} : tensor<64x96xi32> -> tensor<1x96xi32>
// CHECK: tw.mul %[[COLUMNS]]
// CHECK: tw.sub %[[SUM]]
// CHECK: %[[ROWS:.*]] = tw.reduce sum %{{.*}} {dims = array<i64: 1>, keepdim} : tensor<8x64xi32> -> tensor<8x1xi32>
// CHECK: %[[TERM:.*]] = tw.mul %[[ROWS]]
// CHECK: tw.sub %{{.*}}, %[[TERM]] : (tensor<8x96xi32>, tensor<8x96xi32>) -> tensor<8x96xi32>
func.func @asymmetric(%x: tensor<8x64xi8>, %w: tensor<64x96xi8>, %sa: tensor<8x1xf32>, %za: tensor<8x1xi32>, %sb: tensor<96xf32>, %zb: tensor<96xi32>) -> tensor<8x96xf32> {
  %a = tw.dequantize %x, %sa, %za : (tensor<8x64xi8>, tensor<8x1xf32>, tensor<8x1xi32>) -> tensor<8x64xf32>
  %b = tw.dequantize %w, %sb, %zb : (tensor<64x96xi8>, tensor<96xf32>, tensor<96xi32>) -> tensor<64x96xf32>
  %c = tw.matmul %a, %b : (tensor<8x64xf32>, tensor<64x96xf32>) -> tensor<8x96xf32>
  return %c : tensor<8x96xf32>
}

// A quantized convolution pads its input with the zero point, which is the byte that represents 0.0.
// CHECK-LABEL: func @convolution
// CHECK: tw.pad {{.*}}high = array<i64: 0, 0, 1, 1>, low = array<i64: 0, 0, 1, 1>, value = 5 : i8} : tensor<1x4x8x8xi8> -> tensor<1x4x10x10xi8>
// CHECK: tw.convolution {{.*}}padding = array<i64: 0, 0>{{.*}} : (tensor<1x4x10x10xi8>, tensor<16x4x3x3xi8>) -> tensor<1x16x8x8xi32>
// CHECK: tw.reduce sum %{{.*}} {dims = array<i64: 1, 2, 3>, keepdim} : tensor<16x4x3x3xi32> -> tensor<16x1x1x1xi32>
func.func @convolution(%x: tensor<1x4x8x8xi8>, %w: tensor<16x4x3x3xi8>, %s: tensor<16x1x1x1xf32>) -> tensor<1x16x8x8xf32> {
  %sa = tw.constant dense<5.000000e-01> : tensor<f32>
  %za = tw.constant dense<5> : tensor<i32>
  %zb = tw.constant dense<0> : tensor<i32>
  %a = tw.dequantize %x, %sa, %za : (tensor<1x4x8x8xi8>, tensor<f32>, tensor<i32>) -> tensor<1x4x8x8xf32>
  %b = tw.dequantize %w, %s, %zb : (tensor<16x4x3x3xi8>, tensor<16x1x1x1xf32>, tensor<i32>) -> tensor<16x4x3x3xf32>
  %c = tw.convolution %a, %b {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x4x8x8xf32>, tensor<16x4x3x3xf32>) -> tensor<1x16x8x8xf32>
  return %c : tensor<1x16x8x8xf32>
}

// Scales that change along the reduction dimension cannot be moved out of the sum.
// CHECK-LABEL: func @scaled_along_k
// CHECK: tw.matmul {{.*}} -> tensor<8x96xf32>
// REMARK-DAG: Reason="a scale or zero point changes along the sum
func.func @scaled_along_k(%x: tensor<8x64xi8>, %w: tensor<64x96xi8>, %s: tensor<64xf32>, %z: tensor<i32>, %sb: tensor<f32>) -> tensor<8x96xf32> {
  %a = tw.dequantize %x, %s, %z : (tensor<8x64xi8>, tensor<64xf32>, tensor<i32>) -> tensor<8x64xf32>
  %b = tw.dequantize %w, %sb, %z : (tensor<64x96xi8>, tensor<f32>, tensor<i32>) -> tensor<64x96xf32>
  %c = tw.matmul %a, %b : (tensor<8x64xf32>, tensor<64x96xf32>) -> tensor<8x96xf32>
  return %c : tensor<8x96xf32>
}

// CHECK-LABEL: func @weight_only
// CHECK: tw.matmul {{.*}} -> tensor<8x96xf32>
// REMARK-DAG: Reason="its left side is not dequantized", Remark="matmul of tensor<8x64xf32> and tensor<64x96xf32> in integers"
func.func @weight_only(%x: tensor<8x64xf32>, %w: tensor<64x96xi8>, %s: tensor<f32>, %z: tensor<i32>) -> tensor<8x96xf32> {
  %b = tw.dequantize %w, %s, %z : (tensor<64x96xi8>, tensor<f32>, tensor<i32>) -> tensor<64x96xf32>
  %c = tw.matmul %x, %b : (tensor<8x64xf32>, tensor<64x96xf32>) -> tensor<8x96xf32>
  return %c : tensor<8x96xf32>
}

// CHECK-LABEL: func @too_long
// CHECK: tw.matmul {{.*}} -> tensor<8x9xf32>
// REMARK-DAG: Reason="a sum of 40000 products may overflow 32 bits; at most 33025 products always fit
func.func @too_long(%x: tensor<8x40000xi8>, %w: tensor<40000x9xi8>, %s: tensor<f32>, %z: tensor<i32>) -> tensor<8x9xf32> {
  %a = tw.dequantize %x, %s, %z : (tensor<8x40000xi8>, tensor<f32>, tensor<i32>) -> tensor<8x40000xf32>
  %b = tw.dequantize %w, %s, %z : (tensor<40000x9xi8>, tensor<f32>, tensor<i32>) -> tensor<40000x9xf32>
  %c = tw.matmul %a, %b : (tensor<8x40000xf32>, tensor<40000x9xf32>) -> tensor<8x9xf32>
  return %c : tensor<8x9xf32>
}
