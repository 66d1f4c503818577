// RUN: tilewright-opt %s --split-input-file --tw-stage-graph --tw-stage-structured --tw-resolve-layouts=bf16-group=2 | FileCheck %s

// In the gradient of a weight, A is stored as k x rows, and the product has 768 columns. A is transposed once, in a
// separate launch immediately before the product, in the same way as operands are packed.
// CHECK: #[[FROM:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-LABEL: func.func @main
// CHECK: %[[OTHER:.*]] = call @exp_0(%arg2
// CHECK: %[[B:.*]] = call @pack_0(%arg1, {{.*}}) {tw.ops = "pack"}
// CHECK: %[[A:.*]] = call @transpose_1(%arg0, {{.*}}) {tw.ops = "transpose"} : (tensor<512x3072xf32>, tensor<3072x512xf32>)
// CHECK-NEXT: call @matmul_1(%[[A]], %[[B]], %{{.*}}) {{.*}} : (tensor<3072x512xf32>, tensor<16x512x48xf32>
// CHECK: func.func private @matmul_1
// CHECK: tw_tile.matmul {{.*}}lhs_permutation = array<i64: 0, 1>
// CHECK: func.func private @transpose_1
// CHECK: linalg.generic {indexing_maps = [#[[FROM]], #{{.*}}]
func.func @main(%g: tensor<512x3072xf32>, %x: tensor<512x768xf32>, %y: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<3072x768xf32>) {
  %e = tw.exp %y : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %t = tw.permute %g {permutation = array<i64: 1, 0>} : tensor<512x3072xf32> -> tensor<3072x512xf32>
  %0 = tw.matmul %t, %x : (tensor<3072x512xf32>, tensor<512x768xf32>) -> tensor<3072x768xf32>
  return %e, %0 : tensor<64x64xf32>, tensor<3072x768xf32>
}

// -----

// A product of f32 with 64 columns does not amortize the transposed copy.
// CHECK-LABEL: func.func @main
// CHECK-NOT: transpose
// CHECK: tw_tile.matmul {{.*}}lhs_permutation = array<i64: 1, 0>
func.func @main(%g: tensor<512x3072xf32>, %x: tensor<512x64xf32>) -> tensor<3072x64xf32> {
  %t = tw.permute %g {permutation = array<i64: 1, 0>} : tensor<512x3072xf32> -> tensor<3072x512xf32>
  %0 = tw.matmul %t, %x : (tensor<3072x512xf32>, tensor<512x64xf32>) -> tensor<3072x64xf32>
  return %0 : tensor<3072x64xf32>
}

// -----

// A large A is not transposed, because it is stored in huge pages, in which strided reads take no longer than a
// transposed copy. In the training step of a language model, the copy for the gradient of the output projection would
// be the largest copy.
// CHECK-LABEL: func.func @main
// CHECK-NOT: transpose
// CHECK: tw_tile.matmul {{.*}}lhs_permutation = array<i64: 1, 0>
func.func @main(%g: tensor<512x30522xf32>, %x: tensor<512x768xf32>) -> tensor<30522x768xf32> {
  %t = tw.permute %g {permutation = array<i64: 1, 0>} : tensor<512x30522xf32> -> tensor<30522x512xf32>
  %0 = tw.matmul %t, %x : (tensor<30522x512xf32>, tensor<512x768xf32>) -> tensor<30522x768xf32>
  return %0 : tensor<30522x768xf32>
}

// -----

// A of bf16 is transposed for any number of columns, because otherwise pairs of elements along k would be gathered one
// by one.
// CHECK-LABEL: func.func @main
// CHECK: call @transpose_1(%arg0
// CHECK: tw_tile.matmul {group = 2 {{.*}}lhs_permutation = array<i64: 0, 1, 2>
func.func @main(%g: tensor<4x512x96xbf16>, %x: tensor<4x512x64xbf16>) -> tensor<4x96x64xbf16> {
  %t = tw.permute %g {permutation = array<i64: 0, 2, 1>} : tensor<4x512x96xbf16> -> tensor<4x96x512xbf16>
  %0 = tw.matmul %t, %x : (tensor<4x96x512xbf16>, tensor<4x512x64xbf16>) -> tensor<4x96x64xbf16>
  return %0 : tensor<4x96x64xbf16>
}

// -----

// The number of rows is symbolic, so the sizes are arguments of the kernel that copies A.
// CHECK-LABEL: func.func @main(%arg0: index
// CHECK: call @transpose_1(%arg0, %arg1, %{{.*}}) {tw.ops = "transpose"} : (index, tensor<512x?xf32>, tensor<?x512xf32>)
#source = affine_map<()[s0] -> (512, s0)>
#transposed = affine_map<()[s0] -> (s0, 512)>
#result = affine_map<()[s0] -> (s0, 768)>
func.func @main(%n: index {tw.symbol = "s0", tw.min = 2 : i64, tw.max = 4096 : i64}, %g: tensor<512x?xf32, #source>,
                %x: tensor<512x768xf32>) -> tensor<?x768xf32, #result> {
  %t = tw.permute %g {permutation = array<i64: 1, 0>} : tensor<512x?xf32, #source> -> tensor<?x512xf32, #transposed>
  %0 = tw.matmul %t, %x : (tensor<?x512xf32, #transposed>, tensor<512x768xf32>) -> tensor<?x768xf32, #result>
  return %0 : tensor<?x768xf32, #result>
}
