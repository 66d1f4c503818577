// On sm_90a, tensor maps load the operands, so the number of terms of a part need not be a multiple of 128: 6304 = 32 * 197
// terms are split into 16 parts of 394. These operands are contiguous along the rows and columns of the result. If
// operands are contiguous along the sum, the rows of a part must begin at multiples of 16 bytes: four parts of 1576.
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=tiled | FileCheck %s
// RUN: tilewright run %s --target=cuda --arch=sm_90a --device=emulated --check | FileCheck %s --check-prefix=RESULT

// CHECK: call @[[OUTER:matmul_[0-9]+_parts]]({{.*}} (tensor<16x394x128xbf16>, tensor<16x394x64xbf16>, tensor<16x128x64xf32>)
// CHECK: call @[[INNER:matmul_[0-9]+_parts]]({{.*}} (tensor<128x4x1576xbf16>, tensor<64x4x1576xbf16>, tensor<4x128x64xf32>)
// CHECK: func.func private @[[OUTER]]({{.*}}kind = wgmma
// CHECK: func.func private @[[INNER]]({{.*}}kind = wgmma
// RESULT: check: every kernel agrees with the reference
func.func @main(%a: tensor<6304x128xbf16>, %b: tensor<6304x64xbf16>, %x: tensor<128x6304xbf16>, %w: tensor<64x6304xbf16>)
    -> (tensor<128x64xf32>, tensor<128x64xf32>) {
  %at = tw.permute %a {permutation = array<i64: 1, 0>} : tensor<6304x128xbf16> -> tensor<128x6304xbf16>
  %c = tw.matmul %at, %b : (tensor<128x6304xbf16>, tensor<6304x64xbf16>) -> tensor<128x64xf32>
  %wt = tw.permute %w {permutation = array<i64: 1, 0>} : tensor<64x6304xbf16> -> tensor<6304x64xbf16>
  %d = tw.matmul %x, %wt : (tensor<128x6304xbf16>, tensor<6304x64xbf16>) -> tensor<128x64xf32>
  return %c, %d : tensor<128x64xf32>, tensor<128x64xf32>
}
