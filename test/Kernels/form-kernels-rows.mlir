// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured --split-input-file | FileCheck %s
// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured --tw-stage-tiled --split-input-file | FileCheck %s --check-prefix=TILED

// If there are many rows, the product, the residual and the layer norm are one kernel, in tiles of whole rows.
// CHECK-LABEL: func.func @main
// CHECK: call @{{.*}}tw.ops = "matmul+add
// CHECK-NOT: call @
// CHECK: return
// TILED: func.func private @matmul_add_layer_norm_0({{.*}}tw.schedule = #tw_cpu.schedule<tiles = [128]
func.func @main(%x: tensor<1024x64xf32>, %w: tensor<64x96xf32>, %r: tensor<1024x96xf32>) -> tensor<1024x96xf32> {
  %0 = tw.matmul %x, %w : (tensor<1024x64xf32>, tensor<64x96xf32>) -> tensor<1024x96xf32>
  %1 = tw.add %0, %r : (tensor<1024x96xf32>, tensor<1024x96xf32>) -> tensor<1024x96xf32>
  %2, %m, %s = tw.layer_norm %1 {eps = 1.0e-5 : f64, rank = 1 : i64} : tensor<1024x96xf32> -> tensor<1024x96xf32>, tensor<1024x1xf32>, tensor<1024x1xf32>
  return %2 : tensor<1024x96xf32>
}

// -----

// If there are few rows, there are two kernels, because the threads share the columns of the product.
// CHECK-LABEL: func.func @main
// CHECK: call @{{.*}}tw.ops = "matmul+add"
// CHECK: call @{{.*}}tw.ops = "layer_norm
func.func @main(%x: tensor<128x64xf32>, %w: tensor<64x96xf32>, %r: tensor<128x96xf32>) -> tensor<128x96xf32> {
  %0 = tw.matmul %x, %w : (tensor<128x64xf32>, tensor<64x96xf32>) -> tensor<128x96xf32>
  %1 = tw.add %0, %r : (tensor<128x96xf32>, tensor<128x96xf32>) -> tensor<128x96xf32>
  %2, %m, %s = tw.layer_norm %1 {eps = 1.0e-5 : f64, rank = 1 : i64} : tensor<128x96xf32> -> tensor<128x96xf32>, tensor<128x1xf32>, tensor<128x1xf32>
  return %2 : tensor<128x96xf32>
}

// -----

// The epilogue of a matmul reads row sums of the matmul's left operand. The matmul cannot be fused into a kernel with
// these sums, because the tiles of such a kernel would be whole rows. Therefore another kernel computes the sums,
// together with the cast that produces the rows.
// CHECK-LABEL: func.func @main
// CHECK: call @{{.*}}tw.ops = "cast+cast+reduce"
// CHECK: call @{{.*}}tw.ops = "matmul+sub"
// CHECK-NOT: call @
func.func @main(%x: tensor<128x64xf32>, %w: tensor<64x96xi8>) -> tensor<128x96xi32> {
  %b = tw.cast %x : (tensor<128x64xf32>) -> tensor<128x64xi8>
  %0 = tw.matmul %b, %w : (tensor<128x64xi8>, tensor<64x96xi8>) -> tensor<128x96xi32>
  %1 = tw.cast %b : (tensor<128x64xi8>) -> tensor<128x64xi32>
  %2 = tw.reduce sum %1 {dims = array<i64: 1>, keepdim} : tensor<128x64xi32> -> tensor<128x1xi32>
  %3 = tw.sub %0, %2 : (tensor<128x96xi32>, tensor<128x1xi32>) -> tensor<128x96xi32>
  return %3 : tensor<128x96xi32>
}

// -----

// An op that reads only parameters is not recomputed for each row. It becomes a separate kernel, which runs once.
// CHECK-LABEL: func.func @main
// CHECK: call @{{.*}}tw.ops = "mul"
// CHECK: call @{{.*}}tw.ops = "matmul+mul"
// CHECK-NOT: call @
func.func @main(%x: tensor<128x64xf32>, %w: tensor<64x96xf32> {tw.static}, %a: tensor<96xf32> {tw.static}, %b: tensor<96xf32> {tw.static}) -> tensor<128x96xf32> {
  %0 = tw.matmul %x, %w : (tensor<128x64xf32>, tensor<64x96xf32>) -> tensor<128x96xf32>
  %1 = tw.mul %a, %b : (tensor<96xf32>, tensor<96xf32>) -> tensor<96xf32>
  %2 = tw.mul %0, %1 : (tensor<128x96xf32>, tensor<96xf32>) -> tensor<128x96xf32>
  return %2 : tensor<128x96xf32>
}
