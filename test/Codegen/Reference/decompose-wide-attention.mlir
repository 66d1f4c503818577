// RUN: tilewright-opt %s --tw-lower-graph "--tw-decompose-tile=wide-attention-only" | FileCheck %s
// RUN: tilewright-opt %s --tw-lower-graph "--tw-decompose-tile=wide-attention-only" --remarks-filter-missed=fusion --remark-policy=all -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: the whole score matrix is computed{{.*}}Remark="attention in f64"

// CHECK-LABEL: func @attention_f64
// CHECK-NOT: tw_tile.attention
// CHECK: math.exp {{.*}} : f64
// CHECK-LABEL: func @attention_f32
// CHECK: tw_tile.scan
// CHECK: tw_tile.attention
func.func @attention_f64(%q: tensor<2x4x8x16xf64>) -> tensor<2x4x8x16xf64> {
  %r, %l = tw.attention %q, %q, %q {scale = 0.25 : f64} : tensor<2x4x8x16xf64>, tensor<2x4x8x16xf64>, tensor<2x4x8x16xf64>
    -> tensor<2x4x8x16xf64>, tensor<2x4x8xf64>
  return %r : tensor<2x4x8x16xf64>
}
func.func @attention_f32(%q: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %s = tw.scan sum %q {dim = 1 : i64} : tensor<2x4x8x16xf32> -> tensor<2x4x8x16xf32>
  %r, %l = tw.attention %s, %s, %s {scale = 0.25 : f64} : tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>
    -> tensor<2x4x8x16xf32>, tensor<2x4x8xf32>
  return %r : tensor<2x4x8x16xf32>
}
