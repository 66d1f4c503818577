// RUN: tilewright-opt %s --tw-cpu-expand-contractions=amx-f16=true --canonicalize | FileCheck %s
// RUN: tilewright-opt %s --tw-cpu-expand-contractions=amx-f16=true --tw-cpu-emulate-tiles | FileCheck %s --check-prefix=EMULATED
// RUN: not tilewright-opt %s --tw-cpu-expand-contractions=amx=true 2>&1 | FileCheck %s --check-prefix=BF16

// AMX tiles of f16 contain pairs of elements that are adjacent along k. A CPU that supports only tiles of bf16 does not
// support these products.
// CHECK-LABEL: func private @pairs
// CHECK-COUNT-4: amx.tile_mulf {{.*}} : !amx.tile<16x32xf16>, !amx.tile<16x32xf16>, !amx.tile<16x16xf32>
// EMULATED-LABEL: func private @pairs
// EMULATED: arith.extf %{{.*}} : vector<16xf16> to vector<16xf32>
// EMULATED-NOT: amx.
// BF16: error: {{.*}} expected unpaired f16 operands (group = 1), because only tiles (amx-f16, split-f16) read pairs
func.func private @pairs(%a: memref<64x128xf16>, %b: memref<1x64x64xf16>, %c: memref<64x32xf32>) attributes {tw.kernel} {
  tw_tile.matmul {group = 2 : i64, lhs_permutation = array<i64: 0, 1>, panel = 32 : i64} ins(%a, %b : memref<64x128xf16>, memref<1x64x64xf16>) outs(%c : memref<64x32xf32>)
  return
}
