// RUN: tilewright-opt %s --tw-lower-graph | FileCheck %s

// CHECK-DAG: #[[$IN:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2 * 2 + d3)>
// CHECK-DAG: #[[$WINDOW:.*]] = affine_map<(d0, d1, d2, d3) -> (d3)>

// CHECK-LABEL: func @max_pool(
// CHECK: %[[P:.*]] = tensor.pad %arg0 low[0, 0, 1] high[0, 0, 0]
// CHECK: 0xFF800000
// CHECK: linalg.generic {indexing_maps = [#[[$IN]], #[[$WINDOW]], #{{.*}}], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%[[P]], %{{.*}} : tensor<1x4x9xf32>, tensor<3xf32>)
// CHECK: arith.maximumf
// CHECK-NOT: i64
// CHECK: return
func.func @max_pool(%x: tensor<1x4x8xf32>) -> tensor<1x4x4xf32> {
  %r, %i = tw.max_pool %x {kernel = array<i64: 3>, stride = array<i64: 2>, padding = array<i64: 1>, dilation = array<i64: 1>}
    : tensor<1x4x8xf32> -> tensor<1x4x4xf32>, tensor<1x4x4xi64>
  return %r : tensor<1x4x4xf32>
}

// CHECK-LABEL: func @max_pool_indices
// CHECK: linalg.generic {{.*}} outs(%{{.*}}, %{{.*}} : tensor<1x4x4xf32>, tensor<1x4x4xi64>)
func.func @max_pool_indices(%x: tensor<1x4x8xf32>) -> tensor<1x4x4xi64> {
  %r, %i = tw.max_pool %x {kernel = array<i64: 3>, stride = array<i64: 2>, padding = array<i64: 1>, dilation = array<i64: 1>}
    : tensor<1x4x8xf32> -> tensor<1x4x4xf32>, tensor<1x4x4xi64>
  return %i : tensor<1x4x4xi64>
}

// With windows of three elements and stride 2, the element at index p is in at most two windows: the window that begins
// at (p + 1) / 2 * 2 - 1, and the previous window. The saved indices determine in which of these windows the element is
// the maximum.
// CHECK-LABEL: func @max_pool_grad
// CHECK: %[[PLACE:.*]] = arith.index_cast %{{.*}} : index to i64
// CHECK-COUNT-2: tensor.extract %arg1[
// CHECK: %[[MAXIMUM:.*]] = arith.cmpi eq, %{{.*}}, %[[PLACE]] : i64
// CHECK: %[[G:.*]] = tensor.extract %arg0[
// CHECK-NOT: tensor.extract
// CHECK: return
func.func @max_pool_grad(%g: tensor<1x4x4xf32>, %i: tensor<1x4x4xi64>) -> tensor<1x4x8xf32> {
  %r = tw.max_pool_grad %g, %i {kernel = array<i64: 3>, stride = array<i64: 2>, padding = array<i64: 1>, dilation = array<i64: 1>}
    : tensor<1x4x4xf32>, tensor<1x4x4xi64> -> tensor<1x4x8xf32>
  return %r : tensor<1x4x8xf32>
}

// All windows have the same number of elements, so the divisor is a constant.
// CHECK-LABEL: func @avg_pool(
// CHECK: arith.constant 2.000000e+00 : f32
// CHECK: arith.divf
func.func @avg_pool(%x: tensor<1x4x8xf32>) -> tensor<1x4x4xf32> {
  %r = tw.avg_pool %x {kernel = array<i64: 2>, stride = array<i64: 2>, padding = array<i64: 0>} : tensor<1x4x8xf32> -> tensor<1x4x4xf32>
  return %r : tensor<1x4x4xf32>
}

// With padding, windows contain different numbers of elements of the image, so the divisor is a tensor with the number
// for each window.
// CHECK-LABEL: func @avg_pool_border
// CHECK: %[[N:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<5xf32>)
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[N]] : tensor<1x4x5xf32>, tensor<5xf32>)
func.func @avg_pool_border(%x: tensor<1x4x8xf32>) -> tensor<1x4x5xf32> {
  %r = tw.avg_pool %x {kernel = array<i64: 2>, stride = array<i64: 2>, padding = array<i64: 1>} : tensor<1x4x8xf32> -> tensor<1x4x5xf32>
  return %r : tensor<1x4x5xf32>
}

// A window may be larger than the padded image. In this case, the loop over the window has only the positions that can
// be inside of the image.
// CHECK-LABEL: func @avg_pool_of_all
// CHECK-NOT: tensor.pad
// CHECK: ins(%{{.*}}, %{{.*}} : tensor<1x4x8xf32>, tensor<8xf32>)
func.func @avg_pool_of_all(%x: tensor<1x4x8xf32>) -> tensor<1x4x1xf32> {
  %r = tw.avg_pool %x {kernel = array<i64: 1280>, stride = array<i64: 1280>, padding = array<i64: 0>} : tensor<1x4x8xf32> -> tensor<1x4x1xf32>
  return %r : tensor<1x4x1xf32>
}

// The size of the image is symbolic, so the end of the last window is unknown. A window always begins in the image or
// in the padding before it, so two elements of padding after the image suffice for a window of three.
// CHECK-LABEL: func @max_pool_symbolic
// CHECK: tensor.pad %arg{{.*}} low[0, 0, 1] high[0, 0, 2]
// CHECK: -> tensor<1x4x?xf32>
func.func @max_pool_symbolic(%n: index, %x: tensor<1x4x?xf32, affine_map<()[s0] -> (1, 4, s0)>>) -> tensor<1x4x?xf32, affine_map<()[s0] -> (1, 4, (s0 + 1) floordiv 2)>> {
  %r, %i = tw.max_pool %x {kernel = array<i64: 3>, stride = array<i64: 2>, padding = array<i64: 1>, dilation = array<i64: 1>}
    : tensor<1x4x?xf32, affine_map<()[s0] -> (1, 4, s0)>> -> tensor<1x4x?xf32, affine_map<()[s0] -> (1, 4, (s0 + 1) floordiv 2)>>, tensor<1x4x?xi64, affine_map<()[s0] -> (1, 4, (s0 + 1) floordiv 2)>>
  return %r : tensor<1x4x?xf32, affine_map<()[s0] -> (1, 4, (s0 + 1) floordiv 2)>>
}

// Integer windows with a divisor of 1 are summed in the wider type of the result.
// CHECK-LABEL: func.func @sum_pool
// CHECK: linalg.generic
// CHECK: ^bb0(%[[X:.*]]: i10, %{{.*}}: f32, %[[SUM:.*]]: i12):
// CHECK: %[[WIDE:.*]] = arith.extsi %[[X]] : i10 to i12
// CHECK: arith.addi %{{.*}}, %{{.*}} : i12
// CHECK-NOT: arith.divsi
func.func @sum_pool(%x: tensor<1x2x4x4xi10>) -> tensor<1x2x2x2xi12> {
  %r = tw.avg_pool %x {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, divisor = 1 : i64} : tensor<1x2x4x4xi10> -> tensor<1x2x2x2xi12>
  return %r : tensor<1x2x2x2xi12>
}
