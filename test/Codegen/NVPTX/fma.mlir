// Products and convolutions of f32 (if the arch has no suffix +tf32), of f64, and of integers of more than 8 bits
// accumulate tiles of sums in registers.
// RUN: tilewright compile %s --target=cuda --emit=tiled | FileCheck %s --check-prefix=TILED
// RUN: tilewright compile %s --target=cuda --emit=ptx | FileCheck %s
// RUN: tilewright run %s --target=cuda --device=emulated | FileCheck %s --check-prefix=RESULT

// TILED-LABEL: func private @matmul_add_0(
// TILED-SAME: tw.schedule = #tw_gpu.schedule<kind = fma, threads = 256, block = [64, 64, 16], tile = [4, 4]>
// TILED-LABEL: func private @matmul_1(
// TILED-SAME: tw.schedule = #tw_gpu.schedule<kind = fma, threads = 128, block = [16, 64, 16], tile = [2, 4]>

// CHECK: .entry matmul_add_128x96x64(
// CHECK: .reqntid 256
// CHECK: st.shared
// CHECK: bar.sync
// CHECK: ld.shared.v4.b32
// CHECK: fma.rn.f32
// CHECK-NOT: mma.sync

// RESULT: 3 operations, 2 kernels
func.func @main(%x: tensor<128x64xf32>, %w: tensor<64x96xf32>, %b: tensor<96xf32>, %i: tensor<10x33xi64>, %j: tensor<33x40xi64>) -> (tensor<128x96xf32>, tensor<10x40xi64>) {
  %m = tw.matmul %x, %w : (tensor<128x64xf32>, tensor<64x96xf32>) -> tensor<128x96xf32>
  %a = tw.add %m, %b : (tensor<128x96xf32>, tensor<96xf32>) -> tensor<128x96xf32>
  %n = tw.matmul %i, %j : (tensor<10x33xi64>, tensor<33x40xi64>) -> tensor<10x40xi64>
  return %a, %n : tensor<128x96xf32>, tensor<10x40xi64>
}
