// The gradient of a weight is a product of patches of the image. The kernel that copies the patches is fused into the
// product, so that patches are not stored, if the product has the schedule wgmma and the number of channels is a
// multiple of 64.
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=tiled | FileCheck %s
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=target | FileCheck %s --check-prefix=TARGET
// RUN: tilewright compile %s --target=cuda --arch=sm_80 --emit=tiled | FileCheck %s --check-prefix=OLDER
// RUN: tilewright run %s --target=cuda --arch=sm_90a --device=emulated --check

// CHECK: func.func @main
// CHECK-NOT: tensor<2x7x7x3x3x64xbf16>
// CHECK: call @[[WEIGHT:convolution_weight_grad[^ ]*_padded]](
// CHECK: call @convolution_weight_grad{{.*}} -> tensor<2x8x8x3x3x24xbf16>
// CHECK: return
// CHECK: func.func private @[[WEIGHT]](%[[IMAGE:.*]]: tensor<2x14x14x64xbf16>{{.*}}kind = wgmma
// CHECK: tensor.extract %[[IMAGE]]
// CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0, 1, 2], [3, 4, 5]]
// CHECK: linalg.contract

// A TMA load copies one line of 64 channels for 64 windows. The distance of adjacent windows is 2 pixels.
// TARGET: tw_cuda.maps = ["0:bf16:128:64p:64*64,1*14/2@-1@-2,1*14/2@-1@-2,1*2", "1:bf16:128:64*32,64*98"]

// OLDER: -> tensor<2x7x7x3x3x64xbf16>
// OLDER-NOT: _padded
func.func @main(%x: tensor<2x64x14x14xbf16>, %g: tensor<2x32x7x7xbf16>, %y: tensor<2x24x8x8xbf16>, %h: tensor<2x32x8x8xbf16>)
    -> (tensor<32x64x3x3xbf16>, tensor<32x24x3x3xbf16>) {
  %0 = tw.convolution_weight_grad %x, %g {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<2x64x14x14xbf16>, tensor<2x32x7x7xbf16>) -> tensor<32x64x3x3xbf16>
  %1 = tw.convolution_weight_grad %y, %h {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<2x24x8x8xbf16>, tensor<2x32x8x8xbf16>) -> tensor<32x24x3x3xbf16>
  return %0, %1 : tensor<32x64x3x3xbf16>, tensor<32x24x3x3xbf16>
}
