// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured --tw-resolve-layouts | FileCheck %s
// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured "--tw-resolve-layouts=f16-group=2 f16-depth=32 bf16-group=7" | FileCheck %s --check-prefix=PAIRS

// In a pack of f16, a group has one element along k if operands are widened to f32, and two elements for AMX tiles. For
// AMX tiles, K is padded to a multiple of 32, so K = 70 becomes 96.
// CHECK: func.func private @matmul_0(%{{.*}}: tensor<32x70xf16>{{.*}}, %{{.*}}: tensor<2x70x48xf16>
// CHECK: tw_tile.matmul {group = 1 : i64, lhs_permutation = array<i64: 0, 1>, panel = 48 : i64
// PAIRS: func.func private @matmul_0(%{{.*}}: tensor<32x70xf16>{{.*}}, %{{.*}}: tensor<3x48x64xf16>
// PAIRS: tw_tile.matmul {group = 2 : i64, lhs_permutation = array<i64: 0, 1>, panel = 32 : i64
func.func @main(%x: tensor<32x70xf16>, %w: tensor<70x96xf16> {tw.static}) -> tensor<32x96xf16> {
  %0 = tw.matmul %x, %w : (tensor<32x70xf16>, tensor<70x96xf16>) -> tensor<32x96xf16>
  return %0 : tensor<32x96xf16>
}
