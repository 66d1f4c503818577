// On sm_90a, TMA loads the operands, so the number of terms of a part need not be a multiple of 128: 25280 terms are
// split into 32 parts of 790 if the operands are contiguous along the rows and columns of the result. If operands are
// contiguous along k, the rows of a part must begin at multiples of 16 bytes: 76544 terms are split into 32 parts of
// 2392.
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=tiled | FileCheck %s
// RUN: tilewright run %s --target=cuda --arch=sm_90a --device=emulated --check | FileCheck %s --check-prefix=RESULT

// CHECK: call @[[OUTER:matmul_[0-9]+_parts]]({{.*}} (tensor<32x790x64xbf16>, tensor<32x790x64xbf16>, tensor<32x64x64xf32>)
// CHECK: call @[[INNER:matmul_[0-9]+_parts]]({{.*}} (tensor<64x32x2392xbf16>, tensor<32x32x2392xbf16>, tensor<32x64x32xf32>)
// CHECK: func.func private @[[OUTER]]({{.*}}kind = wgmma
// CHECK: func.func private @[[INNER]]({{.*}}kind = wgmma
// RESULT: check: every kernel agrees with the reference
func.func @main(%a: tensor<25280x64xbf16>, %b: tensor<25280x64xbf16>, %x: tensor<64x76544xbf16>, %w: tensor<32x76544xbf16>)
    -> (tensor<64x64xf32>, tensor<64x32xf32>) {
  %at = tw.permute %a {permutation = array<i64: 1, 0>} : tensor<25280x64xbf16> -> tensor<64x25280xbf16>
  %c = tw.matmul %at, %b : (tensor<64x25280xbf16>, tensor<25280x64xbf16>) -> tensor<64x64xf32>
  %wt = tw.permute %w {permutation = array<i64: 1, 0>} : tensor<32x76544xbf16> -> tensor<76544x32xbf16>
  %d = tw.matmul %x, %wt : (tensor<64x76544xbf16>, tensor<76544x32xbf16>) -> tensor<64x32xf32>
  return %c, %d : tensor<64x64xf32>, tensor<64x32xf32>
}
