// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured | FileCheck %s
// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured --remarks-filter-missed=fusion --remark-policy=all 2>&1 | FileCheck %s --check-prefix=MISSED

// Elementwise ops and a norm over the channels are fused with the convolution. A maximum over the plane is not fused,
// because each row of such a kernel would be a whole image.
// CHECK: func.func @main
// CHECK: call @{{.*}}tw.ops = "convolution+relu+layer_norm{{[^"]*}}"
// CHECK: call @{{.*}}tw.ops = "convolution+gelu"
// CHECK: call @{{.*}}tw.ops = "reduce"

// MISSED: [Missed] FormKernels {{.*}}a task of convolution would have to compute whole images
func.func @main(%x: tensor<2x14x14x32xf32>, %w: tensor<3x3x1x32xf32> {tw.static}, %v: tensor<3x3x1x32xf32> {tw.static}) -> (tensor<2x14x14x32xf32>, tensor<2x14x14x32xf32>, tensor<2x1x1x32xf32>) {
  %0 = tw.convolution %x, %w {tw.channels_last, stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>,
    output_padding = array<i64: 0, 0>, groups = 32 : i64} : (tensor<2x14x14x32xf32>, tensor<3x3x1x32xf32>) -> tensor<2x14x14x32xf32>
  %1 = tw.relu %0 : (tensor<2x14x14x32xf32>) -> tensor<2x14x14x32xf32>
  %2, %m, %r = tw.layer_norm %1 {eps = 1.0e-5 : f64, rank = 1 : i64} : tensor<2x14x14x32xf32> -> tensor<2x14x14x32xf32>, tensor<2x14x14x1xf32>, tensor<2x14x14x1xf32>
  %3 = tw.convolution %x, %v {tw.channels_last, stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>,
    output_padding = array<i64: 0, 0>, groups = 32 : i64} : (tensor<2x14x14x32xf32>, tensor<3x3x1x32xf32>) -> tensor<2x14x14x32xf32>
  %4 = tw.gelu %3 : (tensor<2x14x14x32xf32>) -> tensor<2x14x14x32xf32>
  %5 = tw.reduce max %4 {dims = array<i64: 1, 2>, keepdim} : tensor<2x14x14x32xf32> -> tensor<2x1x1x32xf32>
  return %2, %4, %5 : tensor<2x14x14x32xf32>, tensor<2x14x14x32xf32>, tensor<2x1x1x32xf32>
}
