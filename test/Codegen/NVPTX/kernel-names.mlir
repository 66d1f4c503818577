// A kernel's name in PTX has the sizes of its product (rows, columns and terms), or of its largest result. The name
// does not depend on the position of the kernel in the graph. A symbolic size is n. If two kernels have the same name,
// the second name gets the suffix _2. In earlier stages, and in the tuner's programs (tune = "off"), names have
// numbers.
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=tiled | FileCheck %s --check-prefix=TILED
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=ptx | FileCheck %s
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --tune=off --emit=ptx | FileCheck %s --check-prefix=OFF
// RUN: tilewright run %s --target=cuda --arch=sm_90a --device=emulated --sizes=24 --check | FileCheck %s --check-prefix=RESULT

#x = affine_map<()[s0] -> (s0, 96)>
#y = affine_map<()[s0] -> (s0, 256)>
// TILED-DAG: @matmul_gelu_{{[0-9]}}(
// TILED-DAG: @softmax_{{[0-9]}}(
// CHECK-DAG: {{^}}// matmul_gelu_64x96x128: wgmma, threads
// CHECK-DAG: {{^}}// matmul_nx256x96: wgmma, threads
// CHECK-DAG: .entry matmul_gelu_64x96x128(
// CHECK-DAG: .entry matmul_nx256x96(
// CHECK-DAG: .entry softmax_nx256(
// CHECK-DAG: .entry matmul_4x64x96x128(
// CHECK-DAG: .entry cast_reduce_scalar(
// CHECK-DAG: .entry relu_9x40(
// CHECK-DAG: .entry relu_9x40_2(
// A long name is truncated after an op.
// CHECK-DAG: .entry tanh_exp_sin_cos_tanh_exp_sin_cos_tanh_exp_sin_cos_sin_8x160(
// OFF: .entry matmul_gelu_{{[0-9]}}(
// RESULT: agrees with the reference
func.func @main(%n: index {tw.symbol = "n", tw.min = 1 : i64, tw.max = 4096 : i64}, %a: tensor<64x128xbf16> {tw.name = "a"}, %b: tensor<128x96xbf16> {tw.name = "b"},
                %x: tensor<?x96xbf16, #x> {tw.name = "x"}, %w: tensor<96x256xbf16> {tw.name = "w"}, %c: tensor<4x64x128xbf16>, %d: tensor<4x128x96xbf16>,
                %i: tensor<9x40xbf16>, %j: tensor<9x40xf32>, %k: tensor<8x160xf32>)
    -> (tensor<64x96xbf16> {tw.name = "g"}, tensor<?x256xbf16, #y> {tw.name = "s"}, tensor<4x64x96xbf16>, tensor<f32>, tensor<9x40xbf16>, tensor<9x40xf32>, tensor<8x160xf32>) {
  %m = tw.matmul %a, %b : (tensor<64x128xbf16>, tensor<128x96xbf16>) -> tensor<64x96xbf16>
  %g = tw.gelu %m : (tensor<64x96xbf16>) -> tensor<64x96xbf16>
  %p = tw.matmul %x, %w : (tensor<?x96xbf16, #x>, tensor<96x256xbf16>) -> tensor<?x256xbf16, #y>
  %s = tw.softmax %p {dim = 1 : i64} : tensor<?x256xbf16, #y> -> tensor<?x256xbf16, #y>
  %q = tw.matmul %c, %d : (tensor<4x64x128xbf16>, tensor<4x128x96xbf16>) -> tensor<4x64x96xbf16>
  %f = tw.cast %a : (tensor<64x128xbf16>) -> tensor<64x128xf32>
  %r = tw.reduce sum %f {dims = array<i64: 0, 1>} : tensor<64x128xf32> -> tensor<f32>
  %o = tw.relu %i : (tensor<9x40xbf16>) -> tensor<9x40xbf16>
  %u = tw.relu %j : (tensor<9x40xf32>) -> tensor<9x40xf32>
  %k0 = tw.tanh %k : (tensor<8x160xf32>) -> tensor<8x160xf32>
  %k1 = tw.exp %k0 : (tensor<8x160xf32>) -> tensor<8x160xf32>
  %k2 = tw.sin %k1 : (tensor<8x160xf32>) -> tensor<8x160xf32>
  %k3 = tw.cos %k2 : (tensor<8x160xf32>) -> tensor<8x160xf32>
  %k4 = tw.tanh %k3 : (tensor<8x160xf32>) -> tensor<8x160xf32>
  %k5 = tw.exp %k4 : (tensor<8x160xf32>) -> tensor<8x160xf32>
  %k6 = tw.sin %k5 : (tensor<8x160xf32>) -> tensor<8x160xf32>
  %k7 = tw.cos %k6 : (tensor<8x160xf32>) -> tensor<8x160xf32>
  %k8 = tw.tanh %k7 : (tensor<8x160xf32>) -> tensor<8x160xf32>
  %k9 = tw.exp %k8 : (tensor<8x160xf32>) -> tensor<8x160xf32>
  %k10 = tw.sin %k9 : (tensor<8x160xf32>) -> tensor<8x160xf32>
  %k11 = tw.cos %k10 : (tensor<8x160xf32>) -> tensor<8x160xf32>
  %k12 = tw.sin %k11 : (tensor<8x160xf32>) -> tensor<8x160xf32>
  %k13 = tw.tanh %k12 : (tensor<8x160xf32>) -> tensor<8x160xf32>
  %k14 = tw.exp %k13 : (tensor<8x160xf32>) -> tensor<8x160xf32>
  %k15 = tw.sin %k14 : (tensor<8x160xf32>) -> tensor<8x160xf32>
  return %g, %s, %q, %r, %o, %u, %k15 : tensor<64x96xbf16>, tensor<?x256xbf16, #y>, tensor<4x64x96xbf16>, tensor<f32>, tensor<9x40xbf16>, tensor<9x40xf32>, tensor<8x160xf32>
}
