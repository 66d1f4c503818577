// Kernels that depend only on parameters are computed once per version of the parameters.
// RUN: tilewright-opt %s --tw-cuda-select-schedule --split-input-file | FileCheck %s

#map = affine_map<(i) -> (i)>

// One kernel that depends only on parameters reads the result of another such kernel. The last kernel also reads an
// input.
// CHECK-LABEL: func.func @chain
// CHECK-LABEL: func.func @main
// CHECK: call @negate(%{{.*}}, %{{.*}}) {tw.once}
// CHECK: call @negate(%{{.*}}, %{{.*}}) {tw.once}
// CHECK: call @add(
// CHECK-NOT: tw.once
// CHECK: return
func.func @chain() { return }
func.func private @negate(%x: tensor<64xf32> {tw.sizes = affine_map<() -> (64)>}, %out: tensor<64xf32> {tw.sizes = affine_map<() -> (64)>}) -> tensor<64xf32> attributes {tw.kernel} {
  %0 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%x : tensor<64xf32>) outs(%out : tensor<64xf32>) {
  ^bb0(%in: f32, %unused: f32):
    %1 = arith.negf %in : f32
    linalg.yield %1 : f32
  } -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
func.func private @add(%x: tensor<64xf32> {tw.sizes = affine_map<() -> (64)>}, %y: tensor<64xf32> {tw.sizes = affine_map<() -> (64)>}, %out: tensor<64xf32> {tw.sizes = affine_map<() -> (64)>}) -> tensor<64xf32> attributes {tw.kernel} {
  %0 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%x, %y : tensor<64xf32>, tensor<64xf32>) outs(%out : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32, %unused: f32):
    %1 = arith.addf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
func.func @main(%x: tensor<64xf32> {tw.sizes = affine_map<() -> (64)>}, %w: tensor<64xf32> {tw.sizes = affine_map<() -> (64)>, tw.static}) -> tensor<64xf32> {
  %empty = tensor.empty() : tensor<64xf32>
  %0 = call @negate(%w, %empty) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %1 = call @negate(%0, %empty) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %2 = call @add(%x, %1, %empty) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

// -----

#map = affine_map<(i) -> (i)>
#widen = affine_map<(i, j) -> (j)>
#wide = affine_map<(i, j) -> (i, j)>

// The first call is not marked because @main changes its parameter, the second because its result of 2 MB is larger than
// its operand, and the third because @main returns its result.
// CHECK-LABEL: func.func @unmarked
// CHECK-LABEL: func.func @main
// CHECK-NOT: tw.once
// CHECK: return
func.func @unmarked() { return }
func.func private @negate(%x: tensor<64xf32> {tw.sizes = affine_map<() -> (64)>}, %out: tensor<64xf32> {tw.sizes = affine_map<() -> (64)>}) -> tensor<64xf32> attributes {tw.kernel} {
  %0 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%x : tensor<64xf32>) outs(%out : tensor<64xf32>) {
  ^bb0(%in: f32, %unused: f32):
    %1 = arith.negf %in : f32
    linalg.yield %1 : f32
  } -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
func.func private @expand(%x: tensor<64xf32> {tw.sizes = affine_map<() -> (64)>}, %out: tensor<8192x64xf32> {tw.sizes = affine_map<() -> (8192, 64)>}) -> tensor<8192x64xf32> attributes {tw.kernel} {
  %0 = linalg.generic {indexing_maps = [#widen, #wide], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64xf32>) outs(%out : tensor<8192x64xf32>) {
  ^bb0(%in: f32, %unused: f32):
    linalg.yield %in : f32
  } -> tensor<8192x64xf32>
  return %0 : tensor<8192x64xf32>
}
func.func private @sum(%x: tensor<64xf32> {tw.sizes = affine_map<() -> (64)>}, %y: tensor<8192x64xf32> {tw.sizes = affine_map<() -> (8192, 64)>}, %out: tensor<8192x64xf32> {tw.sizes = affine_map<() -> (8192, 64)>}) -> tensor<8192x64xf32> attributes {tw.kernel} {
  %0 = linalg.generic {indexing_maps = [#widen, #wide, #wide], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<64xf32>, tensor<8192x64xf32>) outs(%out : tensor<8192x64xf32>) {
  ^bb0(%a: f32, %b: f32, %unused: f32):
    %1 = arith.addf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<8192x64xf32>
  return %0 : tensor<8192x64xf32>
}
func.func @main(%v: tensor<64xf32> {tw.sizes = affine_map<() -> (64)>, tw.static}, %w: tensor<64xf32> {tw.sizes = affine_map<() -> (64)>, tw.static})
    -> (tensor<8192x64xf32>, tensor<64xf32> {tw.into = 0 : i64}, tensor<64xf32>) {
  %empty = tensor.empty() : tensor<64xf32>
  %large = tensor.empty() : tensor<8192x64xf32>
  %0 = call @negate(%v, %empty) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %1 = call @expand(%w, %large) : (tensor<64xf32>, tensor<8192x64xf32>) -> tensor<8192x64xf32>
  %2 = call @negate(%w, %empty) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %3 = call @sum(%0, %1, %large) : (tensor<64xf32>, tensor<8192x64xf32>, tensor<8192x64xf32>) -> tensor<8192x64xf32>
  return %3, %0, %2 : tensor<8192x64xf32>, tensor<64xf32>, tensor<64xf32>
}
