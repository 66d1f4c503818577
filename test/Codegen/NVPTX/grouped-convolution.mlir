// In grouped convolutions, each thread computes adjacent channels of a few pixels. Each load has 16 bytes, and the loop
// over the channels of a group is not unrolled.
// RUN: tilewright compile %s --target=cuda --emit=ptx | FileCheck %s
// RUN: tilewright run %s --target=cuda --device=emulated --check | FileCheck %s --check-prefix=RESULT

// CHECK: .target sm_80
// CHECK: ld.global.nc.v4.b32
// CHECK: fma.rn.f32
// CHECK-NOT: mma.sync

// RESULT: result 0: f32[2, 16, 9, 11]
// RESULT: result 1: f32[1, 24, 5, 5]
func.func @main(%x: tensor<2x16x9x11xf32>, %w: tensor<16x1x3x3xf32> {tw.static}, %y: tensor<1x12x9x9xf32>, %v: tensor<24x4x3x3xf32> {tw.static})
    -> (tensor<2x16x9x11xf32>, tensor<1x24x5x5xf32>) {
  %o = tw.convolution %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 16 : i64} : (tensor<2x16x9x11xf32>, tensor<16x1x3x3xf32>) -> tensor<2x16x9x11xf32>
  %p = tw.convolution %y, %v {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 3 : i64} : (tensor<1x12x9x9xf32>, tensor<24x4x3x3xf32>) -> tensor<1x24x5x5xf32>
  return %o, %p : tensor<2x16x9x11xf32>, tensor<1x24x5x5xf32>
}
