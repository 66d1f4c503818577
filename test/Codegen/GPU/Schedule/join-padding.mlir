// The padding of an image is fused into each convolution that reads the padded image and has the schedule wgmma.
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=tiled | FileCheck %s
// RUN: tilewright compile %s --target=cuda --arch=sm_80 --emit=tiled | FileCheck %s --check-prefix=OLDER
// RUN: tilewright run %s --target=cuda --arch=sm_90a --device=emulated --check

// Two convolutions read the padded image, which no kernel stores. The third convolution has too few channels for wgmma,
// so the padded image that it reads is stored.
// CHECK: func.func @main
// CHECK-NOT: tensor<2x16x16x64xbf16>
// CHECK: call @[[PAD:convolution[^ ]*]](%{{.*}} -> tensor<2x10x10x16xbf16>
// CHECK-NOT: tensor<2x16x16x64xbf16>
// CHECK: call @[[FIRST:convolution[^ ]*_padded]](
// CHECK-NOT: tensor<2x16x16x64xbf16>
// CHECK: call @[[SECOND:convolution[^ ]*_padded]](
// CHECK-NOT: tensor<2x16x16x64xbf16>
// CHECK: return

// The fused kernel contains the linalg op that pads the image. TMA does the work of this op when it loads the image.
// CHECK: func.func private @[[FIRST]](%[[IMAGE:.*]]: tensor<2x14x14x64xbf16>{{.*}}kind = wgmma
// CHECK: linalg.generic
// CHECK: tensor.extract %[[IMAGE]]
// CHECK: linalg.conv_2d_nhwc_hwcf
// CHECK: func.func private @[[SECOND]](%{{.*}}: tensor<2x14x14x64xbf16>{{.*}}kind = wgmma

// OLDER: call @convolution{{[^ ]*}}({{.*}} -> tensor<2x16x16x64xbf16>
// OLDER-NOT: _padded
func.func @main(%x: tensor<2x64x14x14xbf16>, %w: tensor<64x64x3x3xbf16> {tw.static}, %v: tensor<72x64x3x3xbf16> {tw.static}, %y: tensor<2x16x8x8xbf16>, %u: tensor<64x16x3x3xbf16> {tw.static})
    -> (tensor<2x64x14x14xbf16>, tensor<2x72x7x7xbf16>, tensor<2x64x8x8xbf16>) {
  %0 = tw.convolution %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x64x14x14xbf16>, tensor<64x64x3x3xbf16>) -> tensor<2x64x14x14xbf16>
  %1 = tw.convolution %x, %v {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x64x14x14xbf16>, tensor<72x64x3x3xbf16>) -> tensor<2x72x7x7xbf16>
  %2 = tw.convolution %y, %u {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x16x8x8xbf16>, tensor<64x16x3x3xbf16>) -> tensor<2x64x8x8xbf16>
  return %0, %1, %2 : tensor<2x64x14x14xbf16>, tensor<2x72x7x7xbf16>, tensor<2x64x8x8xbf16>
}
