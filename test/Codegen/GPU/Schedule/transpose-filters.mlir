// The weight of a convolution is transposed if its rows of filters do not begin at multiples of 16 bytes, or if its
// elements do not have 16 bits. In these cases, the weight must be contiguous along the channels for TMA and wgmma.
// RUN: tilewright compile %s --target=cuda --arch=sm_90a+tf32 --emit=tiled | FileCheck %s
// RUN: tilewright compile %s --target=cuda --arch=sm_90a+tf32 --emit=target | FileCheck %s --check-prefix=TARGET
// RUN: tilewright compile %s --target=cuda --arch=sm_80 --emit=tiled | FileCheck %s --check-prefix=OLDER
// RUN: tilewright run %s --target=cuda --arch=sm_90a --device=emulated --check

// CHECK: func.func @main
// CHECK: call @[[FIRST:convolution[^ ]*_filters]]({{.*}}tw.once{{.*}} -> tensor<3x3x70x64xbf16>
// CHECK: call @convolution{{[^ ]*}}_transposed(
// CHECK: call @convolution{{[^ ]*}}_filters({{.*}}tw.once{{.*}} -> tensor<3x3x64x32xf32>
// CHECK: call @convolution{{[^ ]*}}_transposed(
// CHECK: func.func private @convolution{{[^ ]*}}_transposed({{.*}}kind = wgmma
// CHECK: func.func private @[[FIRST]]({{.*}}kind = elements

// TARGET: tw_cuda.maps = ["1:bf16:128:64*64,64*70,1*9", "0:bf16:128:{{[0-9]+}}p:64*64,1*9/1@0@-2,1*8/1@0@-2,1*1"]
// TARGET: tw_cuda.maps = ["0:f32:128:{{[0-9]+}}p:32*32,1*9/1@0@-2,1*8/1@0@-2,1*1", "1:f32:128:32*32,{{[0-9]+}}*64,1*9"]

// OLDER-NOT: _filters
func.func @main(%x: tensor<1x64x8x9xbf16>, %w: tensor<70x64x3x3xbf16> {tw.static}, %y: tensor<1x32x8x9xf32>, %v: tensor<64x32x3x3xf32> {tw.static})
    -> (tensor<1x70x6x7xbf16>, tensor<1x64x6x7xf32>) {
  %0 = tw.convolution %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x64x8x9xbf16>, tensor<70x64x3x3xbf16>) -> tensor<1x70x6x7xbf16>
  %1 = tw.convolution %y, %v {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x32x8x9xf32>, tensor<64x32x3x3xf32>) -> tensor<1x64x6x7xf32>
  return %0, %1 : tensor<1x70x6x7xbf16>, tensor<1x64x6x7xf32>
}
