// If the operands do not fit in the L2 cache, blocks process tiles in bands of eight rows of tiles. Tiles of small
// operands are processed in row-major order.
// RUN: tilewright compile %s --target=cuda --emit=tiled | FileCheck %s
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=tiled | FileCheck %s
// RUN: tilewright tune --list --target=cuda %s | FileCheck %s --check-prefix=LIST

// CHECK: tensor<8192x8192xbf16>{{.*}}tile_rows_per_band = 8
// CHECK-NOT: tile_rows_per_band

// LIST: tile_rows_per_band: 1 8 (default 8)
// LIST: tile_rows_per_band: 1 (default 1)
func.func @main(%x: tensor<8192x8192xbf16>, %w: tensor<8192x8192xbf16>, %y: tensor<512x512xbf16>) -> (tensor<8192x8192xbf16>, tensor<512x512xbf16>) {
  %h = tw.matmul %x, %w : (tensor<8192x8192xbf16>, tensor<8192x8192xbf16>) -> tensor<8192x8192xbf16>
  %g = tw.matmul %y, %y : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xbf16>
  return %h, %g : tensor<8192x8192xbf16>, tensor<512x512xbf16>
}
