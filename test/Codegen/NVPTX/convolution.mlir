// For convolutions on tensor cores, windows of channels-last operands are copied to shared memory in chunks of 16 bytes.
// RUN: tilewright compile %s --target=cuda --emit=tiled | FileCheck %s --check-prefix=TILED
// RUN: tilewright compile %s --target=cuda --emit=ptx | FileCheck %s
// RUN: tilewright run %s --target=cuda --device=emulated | FileCheck %s --check-prefix=RESULT

// The first convolution has a filter of 3 x 3 pixels, the second one has a filter of 1 x 1 pixels, and the third one
// has an image of three channels, whose windows are gathered.
// TILED: "convolution{{.*}} tw.schedule = #tw_gpu.schedule<kind = mma, {{.*}}block = [64, 128, 32], {{.*}}stages = 4
// TILED: "convolution{{.*}} tw.schedule = #tw_gpu.schedule<kind = mma, {{.*}}block = [16, 16, 32], {{.*}}stages = 2
// TILED: "convolution{{.*}} tw.schedule = #tw_gpu.schedule<kind = mma, {{.*}}block = [16, 16, 64]

// CHECK: cp.async.cg.shared.global
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32

// RESULT: result 0: bf16[16, 128, 28, 29]
func.func @main(%x: tensor<16x8x28x29xbf16>, %w: tensor<128x8x3x3xbf16> {tw.static}, %y: tensor<2x24x9x11xbf16>, %v: tensor<40x24x1x1xbf16> {tw.static}, %z: tensor<1x3x15x15xbf16>, %u: tensor<32x3x7x7xbf16> {tw.static})
    -> (tensor<16x128x28x29xbf16>, tensor<2x40x9x11xbf16>, tensor<1x32x5x5xbf16>) {
  %o = tw.convolution %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<16x8x28x29xbf16>, tensor<128x8x3x3xbf16>) -> tensor<16x128x28x29xbf16>
  %p = tw.convolution %y, %v {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x24x9x11xbf16>, tensor<40x24x1x1xbf16>) -> tensor<2x40x9x11xbf16>
  %q = tw.convolution %z, %u {stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x3x15x15xbf16>, tensor<32x3x7x7xbf16>) -> tensor<1x32x5x5xbf16>
  return %o, %p, %q : tensor<16x128x28x29xbf16>, tensor<2x40x9x11xbf16>, tensor<1x32x5x5xbf16>
}
