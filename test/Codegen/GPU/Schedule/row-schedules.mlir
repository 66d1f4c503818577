// Schedules of sums over columns on a GPU with 132 multiprocessors.
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=tiled | FileCheck %s

// 3072 columns are 96 blocks of 32 columns. Clusters of four blocks occupy all multiprocessors in three waves; with
// clusters of two blocks, the second wave would have 60 blocks.
// CHECK: func.func private @mul_reduce_{{[0-9]+}}({{.*}}group = 32, cluster = 4, rows_across_lanes
// Two dependent reductions cannot be split into parts, so a cluster shares their rows, although only eight blocks
// compute them.
// CHECK: func.func private @reduce{{[a-z_]*}}_{{[0-9]+}}({{.*}}group = 16, cluster = 4, rows_across_lanes
// There are few blocks, so a thread has only 16 rows.
// CHECK: func.func private @reduce{{[a-z_]*}}_{{[0-9]+}}({{.*}}group = 32, rows_across_lanes
func.func @main(%x: tensor<4096x3072xbf16>, %y: tensor<4096x3072xbf16>, %z: tensor<1792x64xf32>, %w: tensor<448x64xf32>)
    -> (tensor<3072xbf16>, tensor<64xf32>, tensor<64xf32>) {
  %0 = tw.mul %x, %y : (tensor<4096x3072xbf16>, tensor<4096x3072xbf16>) -> tensor<4096x3072xbf16>
  %1 = tw.reduce sum %0 {dims = array<i64: 0>} : tensor<4096x3072xbf16> -> tensor<3072xbf16>
  %2 = tw.reduce sum %z {dims = array<i64: 0>} : tensor<1792x64xf32> -> tensor<64xf32>
  %3 = tw.sub %z, %2 : (tensor<1792x64xf32>, tensor<64xf32>) -> tensor<1792x64xf32>
  %4 = tw.mul %3, %3 : (tensor<1792x64xf32>, tensor<1792x64xf32>) -> tensor<1792x64xf32>
  %5 = tw.reduce sum %4 {dims = array<i64: 0>} : tensor<1792x64xf32> -> tensor<64xf32>
  %6 = tw.reduce max %w {dims = array<i64: 0>} : tensor<448x64xf32> -> tensor<64xf32>
  return %1, %5, %6 : tensor<3072xbf16>, tensor<64xf32>, tensor<64xf32>
}
