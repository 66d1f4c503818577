// A cast that the kernel of a product also returns is computed after the product, so that tensor cores compute the
// product. Here the second kernel rounds the result of the first product, and returns the rounded values.
// RUN: tilewright compile %s --target=cuda --arch=sm_80 --emit=tiled | FileCheck %s
// RUN: tilewright run %s --target=cuda --arch=sm_80 --device=emulated --check | FileCheck %s --check-prefix=RESULT

// CHECK: func.func private @matmul_{{.*}}tw.schedule = #tw_gpu.schedule<kind = mma
// CHECK: linalg.contract
// CHECK: linalg.generic
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// RESULT: check: every kernel agrees with the reference
func.func @main(%x: tensor<64x256xbf16>, %w: tensor<256x128xbf16>, %u: tensor<256x128xbf16>) -> (tensor<64x128xbf16>, tensor<64x128xbf16>) {
  %c = tw.matmul %x, %u : (tensor<64x256xbf16>, tensor<256x128xbf16>) -> tensor<64x128xbf16>
  %s = tw.silu %c : (tensor<64x128xbf16>) -> tensor<64x128xbf16>
  %g = tw.matmul %x, %w : (tensor<64x256xbf16>, tensor<256x128xbf16>) -> tensor<64x128xbf16>
  %r = tw.mul %s, %g : (tensor<64x128xbf16>, tensor<64x128xbf16>) -> tensor<64x128xbf16>
  return %c, %r : tensor<64x128xbf16>, tensor<64x128xbf16>
}
