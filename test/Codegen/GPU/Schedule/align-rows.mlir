// On sm_90a, an operand of large products is copied if its rows do not begin at multiples of 16 bytes. All products
// that read the operand read the same copy. Small products use mma. A parameter is copied once per version of the
// parameter.
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=tiled | FileCheck %s
// RUN: tilewright compile %s --target=cuda --arch=sm_80 --emit=tiled | FileCheck %s --check-prefix=AMPERE

// CHECK: call @matmul_3_aligned_rows({{.*}}tw.once
// CHECK: %[[ROWS:.*]] = call @[[COPY:matmul_0_aligned_rows]](%{{.*}}, %{{.*}}) {{.*}} : (tensor<4096x50257xbf16>, tensor<4096x50264xbf16>)
// CHECK-NOT: call @[[COPY]]
// CHECK: call @matmul_0_aligned(%[[ROWS]],
// CHECK: call @matmul_1_aligned({{.*}}%[[ROWS]]
// CHECK: call @matmul_2(
// CHECK: call @matmul_3_aligned(
// CHECK: func.func private @[[COPY]]({{.*}}kind = elements, threads = 256, vector = 8>
// CHECK: func.func private @matmul_0_aligned(%arg0: tensor<4096x50264xbf16> {{{.*}}tw_gpu.aligned}, {{.*}}kind = wgmma
// CHECK: tensor.extract_slice %arg0[0, 0] [4096, 50257] [1, 1] : tensor<4096x50264xbf16> to tensor<4096x50257xbf16>
// CHECK: func.func private @matmul_1_aligned({{.*}}kind = wgmma
// CHECK: func.func private @matmul_2({{.*}}kind = mma

// AMPERE-NOT: _aligned
func.func @main(%g: tensor<4096x50257xbf16> {tw.name = "g"}, %w: tensor<50257x768xbf16> {tw.name = "w"}, %x: tensor<4096x768xbf16> {tw.name = "x"},
                %a: tensor<64x301xbf16> {tw.name = "a"}, %b: tensor<301x64xbf16> {tw.name = "b"},
                %s: tensor<2048x301xbf16> {tw.name = "s", tw.static}, %c: tensor<301x4096xbf16> {tw.name = "c"})
    -> (tensor<4096x768xbf16> {tw.name = "dx"}, tensor<50257x768xbf16> {tw.name = "dw"}, tensor<64x64xbf16> {tw.name = "y"},
        tensor<2048x4096xbf16> {tw.name = "z"}) {
  %dx = tw.matmul %g, %w : (tensor<4096x50257xbf16>, tensor<50257x768xbf16>) -> tensor<4096x768xbf16>
  %t = tw.permute %g {permutation = array<i64: 1, 0>} : tensor<4096x50257xbf16> -> tensor<50257x4096xbf16>
  %dw = tw.matmul %t, %x : (tensor<50257x4096xbf16>, tensor<4096x768xbf16>) -> tensor<50257x768xbf16>
  %y = tw.matmul %a, %b : (tensor<64x301xbf16>, tensor<301x64xbf16>) -> tensor<64x64xbf16>
  %z = tw.matmul %s, %c : (tensor<2048x301xbf16>, tensor<301x4096xbf16>) -> tensor<2048x4096xbf16>
  return %dx, %dw, %y, %z : tensor<4096x768xbf16>, tensor<50257x768xbf16>, tensor<64x64xbf16>, tensor<2048x4096xbf16>
}
