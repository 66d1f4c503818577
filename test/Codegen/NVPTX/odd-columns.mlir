// If a product has an odd number of columns, its rows begin at any multiple of two bytes, so a lane cannot store several
// elements at once. The lanes of a warp then exchange sums (across eight rows), so that they store 32 adjacent elements
// of a row, instead of eight elements in each of four rows.
// RUN: echo '{"matmul*": {"consumer_rows": 64, "consumers": 1, "n": 64, "stages": 2, "split_k": 1, "tiles_per_block": 1}}' > %t.90.json
// RUN: echo '{"matmul*": {"warp_m": 32, "warp_n": 32, "warps_m": 2, "warps_n": 2, "k": 32, "stages": 2}}' > %t.80.json
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --schedule-file=%t.90.json --emit=ptx | FileCheck %s
// RUN: tilewright compile %s --target=cuda --arch=sm_80 --schedule-file=%t.80.json --emit=ptx | FileCheck %s
// RUN: tilewright run %s --target=cuda --arch=sm_90a --schedule-file=%t.90.json --device=emulated --check | FileCheck %s --check-prefix=RESULT
// RUN: tilewright run %s --target=cuda --arch=sm_80 --schedule-file=%t.80.json --device=emulated --check | FileCheck %s --check-prefix=RESULT

// CHECK: mma
// CHECK: shfl.sync.bfly.b32 {{.*}}, 4, 31, -1
// CHECK: shfl.sync.bfly.b32 {{.*}}, 8, 31, -1
// CHECK: shfl.sync.bfly.b32 {{.*}}, 16, 31, -1
// CHECK: st.global.b16

// RESULT: check: every kernel agrees with the reference
func.func @main(%x: tensor<200x64xbf16>, %w: tensor<331x64xbf16>, %b: tensor<331xbf16>) -> tensor<200x331xbf16> {
  %t = tw.permute %w {permutation = array<i64: 1, 0>} : tensor<331x64xbf16> -> tensor<64x331xbf16>
  %h = tw.matmul %x, %t : (tensor<200x64xbf16>, tensor<64x331xbf16>) -> tensor<200x331xbf16>
  %r = tw.add %h, %b : (tensor<200x331xbf16>, tensor<331xbf16>) -> tensor<200x331xbf16>
  return %r : tensor<200x331xbf16>
}

// With an even number of columns that is not a multiple of 4, two elements in four lanes are half of a sector, so the
// result is stored in the same way. A multiple of 8 columns needs an exchange only in a row.
// RUN: sed s/331/330/g %s > %t.even.mlir
// RUN: tilewright compile %t.even.mlir --target=cuda --arch=sm_90a --schedule-file=%t.90.json --emit=ptx | FileCheck %s
// RUN: tilewright run %t.even.mlir --target=cuda --arch=sm_90a --schedule-file=%t.90.json --device=emulated --check | FileCheck %s --check-prefix=RESULT
// RUN: sed s/331/328/g %s > %t.eight.mlir
// RUN: tilewright compile %t.eight.mlir --target=cuda --arch=sm_90a --schedule-file=%t.90.json --emit=ptx | FileCheck %s --check-prefix=EIGHT
// EIGHT-NOT: shfl.sync.bfly.b32 {{.*}}, 4, 31, -1
// EIGHT: st.global.v4.b32
