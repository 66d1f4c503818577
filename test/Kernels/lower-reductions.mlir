// RUN: tilewright-opt %s --tw-lower-graph | FileCheck %s

// CHECK-DAG: #[[$ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[$ROW:.*]] = affine_map<(d0, d1) -> (d0)>

// A sum of bf16 or f16 is accumulated in f32, and then rounded.
// CHECK-LABEL: func @sum
// CHECK: %[[Z:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<4xf32>)
// CHECK: %[[S:.*]] = linalg.generic {indexing_maps = [#[[$ID]], #[[$ROW]]], iterator_types = ["parallel", "reduction"]} ins(%arg0 : tensor<4x8xbf16>) outs(%[[Z]] : tensor<4xf32>)
// CHECK: arith.addf %{{.*}} fastmath<reassoc,contract> : f32
// CHECK: %[[T:.*]] = linalg.generic {{.*}} ins(%[[S]] : tensor<4xf32>)
// CHECK: arith.truncf %{{.*}} fastmath<contract> : f32 to bf16
// CHECK: tensor.expand_shape %[[T]] {{\[\[}}0, 1]] output_shape [4, 1]
func.func @sum(%x: tensor<4x8xbf16>) -> tensor<4x1xbf16> {
  %0 = tw.reduce sum %x {dims = array<i64: 1>, keepdim} : tensor<4x8xbf16> -> tensor<4x1xbf16>
  return %0 : tensor<4x1xbf16>
}

// The result of the reduction has no dimension of size 1 for `keepdim`. The consumer's indexing map broadcasts the
// result along this dimension, so there is no reshape between the reduction and its consumer.
// CHECK-LABEL: func @keepdim_read
// CHECK: %[[M:.*]] = linalg.generic {indexing_maps = [#[[$ID]], #[[$ROW]]]
// CHECK: arith.maximumf
// CHECK-NOT: tensor.expand_shape
// CHECK: linalg.generic {indexing_maps = [#[[$ID]], #[[$ROW]], #[[$ID]]]{{.*}} ins(%arg0, %[[M]]
func.func @keepdim_read(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tw.reduce max %x {dims = array<i64: 1>, keepdim} : tensor<4x8xf32> -> tensor<4x1xf32>
  %1 = tw.sub %x, %0 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// CHECK-LABEL: func @any
// CHECK: arith.cmpf une
// CHECK: arith.ori %{{.*}} : i8
func.func @any(%x: tensor<4x8xf32>) -> tensor<i1> {
  %0 = tw.reduce any %x {dims = array<i64: 0, 1>} : tensor<4x8xf32> -> tensor<i1>
  return %0 : tensor<i1>
}

// CHECK-LABEL: func @argmax
// CHECK: linalg.generic {{.*}} outs(%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xi64>)
// CHECK: linalg.index 1
// CHECK: arith.cmpf uno
func.func @argmax(%x: tensor<4x8xf32>) -> tensor<4xi64> {
  %0 = tw.arg_reduce max %x {dim = 1 : i64} : tensor<4x8xf32> -> tensor<4xi64>
  return %0 : tensor<4xi64>
}

// The index of the maximum of a long row is computed in two steps: the maxima of 64 columns in each of 16 parts (with
// their indices), and then the maximum of these maxima.
// CHECK-LABEL: func @argmax_of_a_long_row
// CHECK: tensor.expand_shape %{{.*}} output_shape [1, 16, 8, 64]
// CHECK: linalg.generic {{.*}}["parallel", "parallel", "reduction", "parallel"]{{.*}} outs({{.*}} : tensor<1x16x64xf32>, tensor<1x16x64xi64>)
// CHECK: linalg.generic {{.*}}["parallel", "reduction", "reduction"]{{.*}} outs({{.*}} : tensor<1xf32>, tensor<1xi64>)
func.func @argmax_of_a_long_row(%x: tensor<1x8192xf32>) -> tensor<1xi64> {
  %0 = tw.arg_reduce max %x {dim = 1 : i64} : tensor<1x8192xf32> -> tensor<1xi64>
  return %0 : tensor<1xi64>
}

// The number of elements of a mean or variance may be symbolic. It is then converted to a float at run time.
// CHECK-LABEL: func @var_mean(%arg0: index
// CHECK: arith.index_cast %arg0 : index to i64
// CHECK: arith.divf
// CHECK: arith.subf
// CHECK: arith.mulf
func.func @var_mean(%n: index {tw.symbol = "n"}, %x: tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>>) -> (tensor<4xf32>, tensor<4xf32>) {
  %v, %m = tw.var_mean %x {dims = array<i64: 1>, correction = 1.0 : f64} : tensor<4x?xf32, affine_map<()[s0] -> (4, s0)>> -> tensor<4xf32>, tensor<4xf32>
  return %v, %m : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func @scan_sort
// CHECK: %[[F:.*]] = linalg.generic
// CHECK: arith.extf
// CHECK: tw_tile.scan sum {dim = 1 : i64} ins(%[[F]] : tensor<4x8xf32>)
// CHECK: tw_tile.sort {descending, dim = 1 : i64} ins(%{{.*}}) outs(%{{.*}}, %{{.*}} : tensor<4x3xbf16>, tensor<4x3xi64>)
func.func @scan_sort(%x: tensor<4x8xbf16>) -> (tensor<4x3xbf16>, tensor<4x3xi64>) {
  %0 = tw.scan sum %x {dim = 1 : i64} : tensor<4x8xbf16> -> tensor<4x8xbf16>
  %v, %i = tw.sort %0 {dim = 1 : i64, descending, k = 3 : i64} : tensor<4x8xbf16> -> tensor<4x3xbf16>, tensor<4x3xi64>
  return %v, %i : tensor<4x3xbf16>, tensor<4x3xi64>
}

// A sum of all elements consists of the sums of 128 parts, which the threads share, and then the sum of these sums.
// CHECK-LABEL: func @all_elements
// CHECK: tensor.expand_shape %arg0 {{.*}} into tensor<128x8192xf32>
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]{{.*}} outs(%{{.*}} : tensor<128xf32>)
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction"]{{.*}} outs(%{{.*}} : tensor<f32>)
func.func @all_elements(%x: tensor<1048576xf32>) -> tensor<f32> {
  %0 = tw.reduce sum %x {dims = array<i64: 0>} : tensor<1048576xf32> -> tensor<f32>
  return %0 : tensor<f32>
}

// If both dimensions of a matrix are reduced, each index of the leading dimension is one part.
// CHECK-LABEL: func @whole_matrix
// CHECK-NOT: tensor.expand_shape
// CHECK: linalg.generic {{.*}} ins(%arg0 : tensor<64x4096xf32>) outs(%{{.*}} : tensor<64xf32>)
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<f32>)
func.func @whole_matrix(%x: tensor<64x4096xf32>) -> tensor<f32> {
  %0 = tw.reduce max %x {dims = array<i64: 0, 1>} : tensor<64x4096xf32> -> tensor<f32>
  return %0 : tensor<f32>
}

// Each index of the leading dimension is one part, even if the dimension's size is prime.
// CHECK-LABEL: func @uneven_total
// CHECK: linalg.generic {{.*}}["parallel", "reduction"]{{.*}} ins(%arg0 : tensor<131x1009xf32>)
// CHECK: linalg.generic {{.*}}["reduction"]{{.*}} : tensor<131xf32>
func.func @uneven_total(%x: tensor<131x1009xf32>) -> tensor<f32> {
  %0 = tw.reduce sum %x {dims = array<i64: 0, 1>} : tensor<131x1009xf32> -> tensor<f32>
  return %0 : tensor<f32>
}

// A sum per channel is computed first over each line, then over the lines.
// CHECK-LABEL: func @channels
// CHECK: linalg.generic {{.*}}["parallel", "parallel", "reduction", "parallel"]{{.*}} outs(%{{.*}} : tensor<4x56x64xf32>)
// CHECK: linalg.generic {{.*}}["reduction", "reduction", "parallel"]{{.*}} outs(%{{.*}} : tensor<64xf32>)
func.func @channels(%x: tensor<4x56x56x64xf32>) -> tensor<64xf32> {
  %0 = tw.reduce sum %x {dims = array<i64: 0, 1, 2>} : tensor<4x56x56x64xf32> -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
