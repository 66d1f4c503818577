// RUN: tilewright-opt %s --tw-hls-window-loops --split-input-file | FileCheck %s

// CHECK-DAG: #[[$IN:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 * 2 + d4, d2 * 2 + d5, d3)>
// CHECK-DAG: #[[$TAP:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5, 0, d3)>
// CHECK-DAG: #[[$OUT:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>
// CHECK-LABEL: func @depthwise
// CHECK: %[[P:.*]] = tensor.pad %{{.*}} low[0, 1, 1, 0] high[0, 0, 0, 0]
// CHECK: %[[Z:.*]] = linalg.fill
// CHECK: linalg.generic {indexing_maps = [#[[$IN]], #[[$TAP]], #[[$OUT]]], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%[[P]], %{{.*}} : tensor<1x9x9x4xf32>, tensor<3x3x1x4xf32>) outs(%[[Z]]
// CHECK: arith.mulf
// CHECK: arith.addf
func.func @depthwise(%x: tensor<1x8x8x4xf32>, %w: tensor<3x3x1x4xf32>, %out: tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32> {
  %0 = tw_tile.grouped_convolution {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1>}
         ins(%x, %w : tensor<1x8x8x4xf32>, tensor<3x3x1x4xf32>) outs(%out : tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  return %0 : tensor<1x4x4x4xf32>
}

// -----

// A grouped convolution with two groups, each of three channels and two filters, has a separate loop over the groups.
// CHECK-DAG: #[[$IN:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1 + d5, d2 + d6 * 2, d3, d7)>
// CHECK-DAG: #[[$TAP:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d5, d6, d7, d3, d4)>
// CHECK-LABEL: func @groups
// CHECK: tensor.expand_shape %{{.*}} : tensor<1x5x7x6xf16> into tensor<1x5x7x2x3xf16>
// CHECK: tensor.expand_shape %{{.*}} : tensor<2x2x3x4xf32> into tensor<2x2x3x2x2xf32>
// CHECK: linalg.generic {indexing_maps = [#[[$IN]], #[[$TAP]],
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK: tensor.collapse_shape %{{.*}} : tensor<1x4x5x2x2xf32> into tensor<1x4x5x4xf32>
func.func @groups(%x: tensor<1x5x7x6xf16>, %w: tensor<2x2x3x4xf32>, %out: tensor<1x4x5x4xf32>) -> tensor<1x4x5x4xf32> {
  %0 = tw_tile.grouped_convolution {strides = array<i64: 1, 1>, dilations = array<i64: 1, 2>, padding = array<i64: 0, 0>}
         ins(%x, %w : tensor<1x5x7x6xf16>, tensor<2x2x3x4xf32>) outs(%out : tensor<1x4x5x4xf32>) -> tensor<1x4x5x4xf32>
  return %0 : tensor<1x4x5x4xf32>
}

// -----

// Negative padding crops the input, which the pass does not support, so the op is unchanged.
// CHECK-LABEL: func @cropped
// CHECK: tw_tile.grouped_convolution
func.func @cropped(%x: tensor<1x8x8x4xf32>, %w: tensor<3x3x1x4xf32>, %out: tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32> {
  %0 = tw_tile.grouped_convolution {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: -1, -1>}
         ins(%x, %w : tensor<1x8x8x4xf32>, tensor<3x3x1x4xf32>) outs(%out : tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  return %0 : tensor<1x4x4x4xf32>
}
