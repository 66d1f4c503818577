// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured --tw-resolve-layouts --tw-select-schedule | FileCheck %s --check-prefix=WIDE
// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured "--tw-resolve-layouts=f16-group=2 f16-depth=32" --tw-select-schedule | FileCheck %s --check-prefix=TILES
// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured "--tw-resolve-layouts=f16-group=2 f16-depth=32 split-f16=true" --tw-select-schedule=split-f16=true | FileCheck %s --check-prefix=SPLIT

// A task that widens or splits its rows of A computes several panels, to amortize this work. With AMX tiles of f16, or
// for few rows, a task computes one panel.
// WIDE: func.func private @matmul_0
// WIDE-SAME: tiles = [128, 192]
// WIDE: func.func private @matmul_1
// WIDE-SAME: tiles = [8, 48]
// TILES: func.func private @matmul_0
// TILES-SAME: tiles = [128, 32]
// TILES: func.func private @matmul_1
// TILES-SAME: tiles = [8, 32]
// SPLIT: func.func private @matmul_0
// SPLIT-SAME: tiles = [128, 192]
// SPLIT: func.func private @matmul_1
// SPLIT-SAME: tiles = [8, 32]
func.func @main(%x: tensor<128x768xf16>, %y: tensor<8x768xf16>, %w: tensor<768x768xf16> {tw.static}) -> (tensor<128x768xf16>, tensor<8x768xf16>) {
  %0 = tw.matmul %x, %w : (tensor<128x768xf16>, tensor<768x768xf16>) -> tensor<128x768xf16>
  %1 = tw.matmul %y, %w : (tensor<8x768xf16>, tensor<768x768xf16>) -> tensor<8x768xf16>
  return %0, %1 : tensor<128x768xf16>, tensor<8x768xf16>
}
