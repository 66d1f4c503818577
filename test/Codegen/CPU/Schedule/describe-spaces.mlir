// RUN: tilewright-opt %s --tw-resolve-layouts --tw-select-schedule --tw-describe-spaces | FileCheck %s

// A product has knobs for the tile sizes (in rows and in whole panels), the order of tasks, the K-block, and the rows
// of the micro-kernel.
// CHECK-LABEL: func.func private @product
// CHECK-SAME: tw.predicted = array<f64: {{[0-9.e+]+}},
// CHECK-SAME: \22name\22:\22tile0\22
// CHECK-SAME: \22name\22:\22tile1\22
// CHECK-SAME: \22name\22:\22order\22
// CHECK-SAME: \22name\22:\22k_block\22,\22reorders\22:true
// CHECK-SAME: \22name\22:\22block\22

// A reduction has knobs for the rows of a task, and for the number of accumulators.
// CHECK-LABEL: func.func private @sums
// CHECK-SAME: \22name\22:\22tile0\22
// CHECK-SAME: \22name\22:\22accumulators\22,\22reorders\22:true

func.func private @product(%a: tensor<512x768xf32> {tw.sizes = affine_map<() -> (512, 768)>},
                           %b: tensor<768x768xf32> {tw.sizes = affine_map<() -> (768, 768)>},
                           %out: tensor<512x768xf32> {tw.sizes = affine_map<() -> (512, 768)>}) -> tensor<512x768xf32>
    attributes {tw.kernel, tw.ops = "matmul"} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<512x768xf32>) -> tensor<512x768xf32>
  %1 = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                        affine_map<(m, n, k) -> (m, n)>] {tw.op = "matmul"}
         ins(%a, %b : tensor<512x768xf32>, tensor<768x768xf32>) outs(%0 : tensor<512x768xf32>) -> tensor<512x768xf32>
  return %1 : tensor<512x768xf32>
}

func.func private @sums(%a: tensor<512x768xf32> {tw.sizes = affine_map<() -> (512, 768)>},
                        %out: tensor<512xf32> {tw.sizes = affine_map<() -> (512)>}) -> tensor<512xf32>
    attributes {tw.kernel, tw.ops = "sum"} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<512xf32>) -> tensor<512xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>],
                       iterator_types = ["parallel", "reduction"]}
         ins(%a : tensor<512x768xf32>) outs(%0 : tensor<512xf32>) {
    ^bb0(%x: f32, %sum: f32):
      %s = arith.addf %x, %sum : f32
      linalg.yield %s : f32
    } -> tensor<512xf32>
  return %1 : tensor<512xf32>
}

func.func @main(%a: tensor<512x768xf32> {tw.sizes = affine_map<() -> (512, 768)>},
                %b: tensor<768x768xf32> {tw.sizes = affine_map<() -> (768, 768)>, tw.static}) -> (tensor<512x768xf32>, tensor<512xf32>) {
  %e = tensor.empty() : tensor<512x768xf32>
  %f = tensor.empty() : tensor<512xf32>
  %0 = call @product(%a, %b, %e) : (tensor<512x768xf32>, tensor<768x768xf32>, tensor<512x768xf32>) -> tensor<512x768xf32>
  %1 = call @sums(%0, %f) : (tensor<512x768xf32>, tensor<512xf32>) -> tensor<512xf32>
  return %0, %1 : tensor<512x768xf32>, tensor<512xf32>
}
