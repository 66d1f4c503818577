// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured "--tw-resolve-layouts=bf16-group=2 bf16-depth=32" | FileCheck %s

// If an A of 16-bit elements is stored as k x rows, the kernel with AMX tiles transposes it in registers, so there is
// no transposed copy. An A whose batch dimension is contiguous is copied.
// CHECK: func.func private @matmul_{{.*}}tensor<512x3072xbf16>
// CHECK: tw_tile.matmul {group = 2 : i64, lhs_permutation = array<i64: 1, 0>
// CHECK: func.func private @matmul_{{.*}}tensor<4x96x512xbf16>
// CHECK: tw_tile.matmul {group = 2 : i64, lhs_permutation = array<i64: 0, 1, 2>
func.func @main(%g: tensor<512x3072xbf16>, %x: tensor<512x768xbf16>, %h: tensor<512x96x4xbf16>, %y: tensor<4x512x64xbf16>) -> (tensor<3072x768xbf16>, tensor<4x96x64xbf16>) {
  %t = tw.permute %g {permutation = array<i64: 1, 0>} : tensor<512x3072xbf16> -> tensor<3072x512xbf16>
  %0 = tw.matmul %t, %x : (tensor<3072x512xbf16>, tensor<512x768xbf16>) -> tensor<3072x768xbf16>
  %u = tw.permute %h {permutation = array<i64: 2, 1, 0>} : tensor<512x96x4xbf16> -> tensor<4x96x512xbf16>
  %1 = tw.matmul %u, %y : (tensor<4x96x512xbf16>, tensor<4x512x64xbf16>) -> tensor<4x96x64xbf16>
  return %0, %1 : tensor<3072x768xbf16>, tensor<4x96x64xbf16>
}
