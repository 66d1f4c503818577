// Weights of a model file become constants; kernels that only copy constants are evaluated at compile time.
// RUN: tilewright-opt %s --tw-hls-embed-weights --mlir-print-debuginfo | FileCheck %s
// RUN: tilewright-opt %s --tw-hls-embed-weights=place=external | FileCheck %s --check-prefix=PORTS
// A weight of 1000 floats needs two block memories, which is half of the budget of four, so it is embedded. The option
// place=embedded also embeds weights that need more.
// RUN: tilewright-opt %s --tw-hls-embed-weights="budget=bram=4" | FileCheck %s --check-prefix=ALL
// RUN: tilewright-opt %s --tw-hls-embed-weights="budget=bram=3 place=embedded" | FileCheck %s --check-prefix=ALL

#transpose = affine_map<(i, j) -> (j, i)>
#same = affine_map<(i, j) -> (i, j)>
// CHECK: module attributes {tw_hls.embedded = array<i64: 0, 2, 3, 4>}
// CHECK: func.func @main(%[[X:.*]]: tensor<2x2xf32> {tw.name = "x"}
// CHECK-DAG: %[[W:.*]] = arith.constant dense<{{\[\[}}1.000000e+00, 4.000000e+00], [2.000000e+00, 5.000000e+00], [3.000000e+00, 6.000000e+00]]> : tensor<3x2xf32> loc(#[[NAME:.*]])
// CHECK-DAG: %[[B:.*]] = arith.constant dense<7.000000e+00> : tensor<2xf32>
// CHECK-DAG: %[[S:.*]] = arith.constant dense<8> : tensor<3x2xi8>
// CHECK-NOT: call @transpose
// CHECK: call @use(%[[X]], %[[W]], %[[S]], %[[B]])
// CHECK-NOT: func.func private @transpose(
// CHECK: #[[NAME]] = loc("w")
// ALL: tw_hls.embedded
// PORTS-NOT: tw_hls
// PORTS: func.func @main(%{{.*}}: tensor<2x3xf32> {tw.name = "w"}, %{{.*}}: tensor<2x2xf32> {tw.name = "x"}, %{{.*}}: tensor<2x3xi8>, %{{.*}}: tensor<1x2xf32>, %{{.*}}: tensor<1000xf32>)
// PORTS: call @transpose(
func.func @main(%w: tensor<2x3xf32> {tw.name = "w", tw_hls.value = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>},
                %x: tensor<2x2xf32> {tw.name = "x"},
                %s: tensor<2x3xi8> {tw_hls.value = dense<8> : tensor<2x3xi8>},
                %b: tensor<1x2xf32> {tw_hls.value = dense<7.0> : tensor<1x2xf32>},
                %many: tensor<1000xf32> {tw_hls.value = dense<9.0> : tensor<1000xf32>}) -> tensor<3x2xf32> {
  %0 = tensor.empty() : tensor<3x2xf32>
  %1 = call @transpose(%w, %0) : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %2 = tensor.empty() : tensor<3x2xi8>
  %3 = call @transpose_bytes(%s, %2) : (tensor<2x3xi8>, tensor<3x2xi8>) -> tensor<3x2xi8>
  %4 = tensor.collapse_shape %b [[0, 1]] : tensor<1x2xf32> into tensor<2xf32>
  %5 = call @use(%x, %1, %3, %4) : (tensor<2x2xf32>, tensor<3x2xf32>, tensor<3x2xi8>, tensor<2xf32>) -> tensor<3x2xf32>
  return %5 : tensor<3x2xf32>
}
func.func private @transpose(%w: tensor<2x3xf32>, %into: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %0 = linalg.generic {indexing_maps = [#transpose, #same], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<2x3xf32>) outs(%into : tensor<3x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}
func.func private @transpose_bytes(%w: tensor<2x3xi8>, %into: tensor<3x2xi8>) -> tensor<3x2xi8> {
  %0 = linalg.generic {indexing_maps = [#transpose, #same], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<2x3xi8>) outs(%into : tensor<3x2xi8>) {
  ^bb0(%in: i8, %out: i8):
    linalg.yield %in : i8
  } -> tensor<3x2xi8>
  return %0 : tensor<3x2xi8>
}
func.func private @use(%x: tensor<2x2xf32>, %w: tensor<3x2xf32>, %s: tensor<3x2xi8>, %b: tensor<2xf32>) -> tensor<3x2xf32> {
  %0 = tensor.empty() : tensor<3x2xf32>
  %1 = linalg.matmul ins(%w, %x : tensor<3x2xf32>, tensor<2x2xf32>) outs(%0 : tensor<3x2xf32>) -> tensor<3x2xf32>
  return %1 : tensor<3x2xf32>
}
