// Two query heads share a key head, so the index of the key head is the query head's index divided by 2. The compiler
// must not mistake this division of a loop index for the index of bf16 parts. The product uses mma.sync, which supports
// any batch index.
// RUN: tilewright compile %s --start-at=structured --target=cuda --arch=sm_80 --emit=tiled | FileCheck %s
// RUN: tilewright compile %s --start-at=structured --target=cuda --arch=sm_90a --emit=tiled | FileCheck %s
// RUN: tilewright compile %s --start-at=structured --target=cuda --arch=sm_90a --emit=ptx | FileCheck %s --check-prefix=PTX
// CHECK: @matmul_0({{.*}}kind = mma
// PTX: .entry matmul_4x64x32x64(
// PTX: mma.sync.aligned.m16n8k16
module {
  func.func @main(%x: tensor<4x64x64xbf16> {tw.sizes = affine_map<() -> (4, 64, 64)>}, %w: tensor<2x64x32xbf16> {tw.sizes = affine_map<() -> (2, 64, 32)>}) -> tensor<4x64x32xf32> {
    %0 = tensor.empty() : tensor<4x64x32xf32>
    %1 = call @matmul_0(%x, %w, %0) {tw.ops = "matmul"} : (tensor<4x64x64xbf16>, tensor<2x64x32xbf16>, tensor<4x64x32xf32>) -> tensor<4x64x32xf32>
    return %1 : tensor<4x64x32xf32>
  }
  func.func private @matmul_0(%x: tensor<4x64x64xbf16> {tw.sizes = affine_map<() -> (4, 64, 64)>}, %w: tensor<2x64x32xbf16> {tw.sizes = affine_map<() -> (2, 64, 32)>}, %into: tensor<4x64x32xf32> {tw.sizes = affine_map<() -> (4, 64, 32)>}) -> tensor<4x64x32xf32> attributes {tw.kernel, tw.ops = "matmul"} {
    %zero = arith.constant 0.0 : f32
    %fill = linalg.fill ins(%zero : f32) outs(%into : tensor<4x64x32xf32>) -> tensor<4x64x32xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b floordiv 2, k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %w : tensor<4x64x64xbf16>, tensor<2x64x32xbf16>) outs(%fill : tensor<4x64x32xf32>) {
    ^bb0(%p: bf16, %q: bf16, %sum: f32):
      %a = arith.extf %p : bf16 to f32
      %c = arith.extf %q : bf16 to f32
      %product = arith.mulf %a, %c : f32
      %next = arith.addf %sum, %product : f32
      linalg.yield %next : f32
    } -> tensor<4x64x32xf32>
    return %r : tensor<4x64x32xf32>
  }
}
