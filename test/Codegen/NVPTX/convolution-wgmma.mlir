// On sm_90a, TMA loads the windows of a channels-last convolution by a tensor map with the mode im2col, and wgmma
// multiplies them by the weight.
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=tiled | FileCheck %s --check-prefix=TILED
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=target | FileCheck %s --check-prefix=TARGET
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=ptx | FileCheck %s
// RUN: tilewright compile %s --target=cuda --arch=sm_89 --emit=ptx | FileCheck %s --check-prefix=OLDER
// RUN: tilewright run %s --target=cuda --arch=sm_90a --device=emulated --check

// TILED: func.func private @convolution{{[^ ]*}}_padded({{.*}}kind = wgmma
// TILED: func.func private @convolution{{[^ ]*}}_padded({{.*}}kind = wgmma
// TILED: func.func private @convolution{{[^ ]*}}({{.*}}kind = wgmma
// TILED: func.func private @convolution{{[^ ]*}}({{.*}}kind = wgmma
// TILED: func.func private @convolution{{[^ ]*}}({{.*}}kind = wgmma
// TILED: func.func private @convolution{{[^ ]*}}({{.*}}kind = mma

// The image has 14 x 15 pixels. The first window begins at line and column -1, the last one at line 13 - 1 and column
// 14 - 1. For each of nine taps, a load copies one line of channels for each window of the tile. The weight has 9 taps
// of 72 channels for 96 filters.
// TARGET: tw_cuda.maps = ["0:bf16:128:[[PIXELS:[0-9]+]]p:64*72,1*15/1@-1@-1,1*14/1@-1@-1,1*3", "1:bf16:128:64*96,64*72,1*9"]
// With a stride of 2 and a dilation of 3 along the height, windows begin at lines -3, -1, ..., 12 - 1.
// TARGET: tw_cuda.maps = ["0:f16:128:{{[0-9]+}}p:64*64,1*9/1@-2@0,1*13/2@-3@-1,1*2", "1:f16:128:64*64,64*64,1*6"]
// The third convolution is 1 x 1 with a stride. It has only one tap, so its weight is a matrix. The operands are
// swapped, because there are few windows.
// TARGET: tw_cuda.maps = ["1:bf16:128:64*64,64*64", "0:bf16:128:{{[0-9]+}}p:64*64,1*9/2@0@0,1*9/2@0@0,1*2"]
// The windows of the fourth convolution have 4 x 4 pixels and do not overlap. The 4 x 32 channels of four adjacent
// pixels are contiguous.
// TARGET: tw_cuda.maps = ["1:bf16:128:64*64,64*128,1*4", "0:bf16:128:{{[0-9]+}}p:64*128,1*4/1@0@0,1*8/4@0@-3,1*2"]
// The fifth convolution has patches of 16 x 16 pixels. The 16 lines of a patch are a dimension of the map. The last
// dimension has the size 4: two lines of patches in each of two images.
// TARGET: tw_cuda.maps = ["1:bf16:128:64*64,64*48,1*16", "0:bf16:128:{{[0-9]+}}p:64*48,1*3/1@0@0,1*16/1@0@-15,1*4"]

// CHECK: .target sm_90a
// The coordinates of the first window are computed once per tile. The im2col offsets are the coordinates of the tap.
// CHECK: cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r{{[0-9]+}}], [%rd{{[0-9]+}}, {%r[[C:[0-9]+]], %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}}], [%r{{[0-9]+}}], {%rs{{[0-9]+}}, %rs{{[0-9]+}}};
// CHECK: cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%r{{[0-9]+}}], [%rd{{[0-9]+}}, {%r{{[0-9]+}}, %r[[C]], %r{{[0-9]+}}}], [%r{{[0-9]+}}];
// CHECK: wgmma.mma_async.sync.aligned.m64n{{[0-9]+}}k16.f32.bf16.bf16

// OLDER: mma.sync
// OLDER-NOT: wgmma.mma
func.func @main(%x: tensor<3x72x14x15xbf16>, %w: tensor<96x72x3x3xbf16> {tw.static}, %y: tensor<2x64x13x9xf16>, %v: tensor<64x64x2x3xf16> {tw.static},
                %z: tensor<2x64x9x9xbf16>, %u: tensor<64x64x1x1xbf16> {tw.static}, %p: tensor<2x32x8x16xbf16>, %t: tensor<64x32x4x4xbf16> {tw.static},
                %a: tensor<2x3x32x48xbf16>, %b: tensor<64x3x16x16xbf16> {tw.static},
                %q: tensor<2x16x8x8xbf16>, %s: tensor<64x16x3x3xbf16> {tw.static})
    -> (tensor<3x96x14x15xbf16>, tensor<2x64x8x11xf16>, tensor<2x64x5x5xbf16>, tensor<2x64x2x4xbf16>, tensor<2x64x2x3xbf16>, tensor<2x64x6x6xbf16>) {
  %0 = tw.convolution %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<3x72x14x15xbf16>, tensor<96x72x3x3xbf16>) -> tensor<3x96x14x15xbf16>
  %1 = tw.convolution %y, %v {stride = array<i64: 2, 1>, padding = array<i64: 3, 2>, dilation = array<i64: 3, 1>, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x64x13x9xf16>, tensor<64x64x2x3xf16>) -> tensor<2x64x8x11xf16>
  %2 = tw.convolution %z, %u {stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x64x9x9xbf16>, tensor<64x64x1x1xbf16>) -> tensor<2x64x5x5xbf16>
  %3 = tw.convolution %p, %t {stride = array<i64: 4, 4>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x32x8x16xbf16>, tensor<64x32x4x4xbf16>) -> tensor<2x64x2x4xbf16>
  %4 = tw.convolution %a, %b {stride = array<i64: 16, 16>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x3x32x48xbf16>, tensor<64x3x16x16xbf16>) -> tensor<2x64x2x3xbf16>
  %5 = tw.convolution %q, %s {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x16x8x8xbf16>, tensor<64x16x3x3xbf16>) -> tensor<2x64x6x6xbf16>
  return %0, %1, %2, %3, %4, %5 : tensor<3x96x14x15xbf16>, tensor<2x64x8x11xf16>, tensor<2x64x5x5xbf16>, tensor<2x64x2x4xbf16>, tensor<2x64x2x3xbf16>, tensor<2x64x6x6xbf16>
}
