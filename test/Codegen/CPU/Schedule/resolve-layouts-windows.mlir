// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured "--tw-resolve-layouts=bf16-group=2 bf16-depth=32" --tw-select-schedule | FileCheck %s
// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured "--tw-resolve-layouts=bf16-group=2" | FileCheck %s --check-prefix=PAIRS

// A line of a window has 7 x 3 elements, which are only two thirds of the 32 elements of a row of an AMX tile.
// Therefore the reduction is over the whole window, whose 147 elements are padded to 160, and a task gathers its
// windows once for all 64 filters. In the second convolution, lines of 3 pixels of 64 channels fill whole tiles without
// a copy.
// CHECK: func.func private @convolution_{{.*}}tiles = [1, 1, 112, 64]
// CHECK: tw_tile.convolution {{.*}}group = 2 : i64, merged_height = 7 : i64, merged_width = 7 : i64{{.*}} tensor<2x80x64xbf16>)
// CHECK: func.func private @convolution_{{.*}}tiles = [1, 1, 112, 32]
// CHECK: tw_tile.convolution {{.*}}group = 2 : i64, merged_width = 3 : i64{{.*}} tensor<1x3x96x64xbf16>)
// Without AMX tiles, a reduction over a line of a window is as fast as a reduction over the whole window, so windows
// are not gathered.
// PAIRS: tw_tile.convolution {{.*}}group = 2 : i64, merged_width = 7 : i64{{.*}} tensor<2x7x11x64xbf16>)
// PAIRS-NOT: merged_height
func.func @main(%x: tensor<1x224x224x3xbf16>, %w: tensor<7x7x3x64xbf16> {tw.static}, %v: tensor<3x3x64x32xbf16> {tw.static}) -> tensor<1x112x112x32xbf16> {
  %0 = tw.convolution %x, %w {tw.channels_last, stride = array<i64: 2, 2>, padding = array<i64: 3, 3>, dilation = array<i64: 1, 1>,
    output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x224x224x3xbf16>, tensor<7x7x3x64xbf16>) -> tensor<1x112x112x64xbf16>
  %1 = tw.convolution %0, %v {tw.channels_last, stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>,
    output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x112x112x64xbf16>, tensor<3x3x64x32xbf16>) -> tensor<1x112x112x32xbf16>
  return %1 : tensor<1x112x112x32xbf16>
}
