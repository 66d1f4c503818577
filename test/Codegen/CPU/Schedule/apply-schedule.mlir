// RUN: tilewright-opt %s --tw-apply-schedule -split-input-file | FileCheck %s
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// The row sums have only one consumer in the kernel, so each task computes the sums of its rows once.
// CHECK-LABEL: func private @kernel
// CHECK: scf.forall (%[[I:.*]]) = (0) to (100) step (16)
// CHECK: %[[N:.*]] = affine.min
// CHECK: linalg.generic {{.*}}["parallel", "reduction"]
// CHECK: linalg.generic {{.*}}["parallel", "parallel"]
// CHECK: tensor.parallel_insert_slice %{{.*}} into %{{.*}}[%[[I]], 0] [%[[N]], 8] [1, 1]
func.func private @kernel(%x: tensor<100x8xf32> {tw.sizes = affine_map<() -> (100, 8)>}, %out: tensor<100x8xf32> {tw.sizes = affine_map<() -> (100, 8)>}) -> tensor<100x8xf32> attributes {tw.kernel, tw.schedule = #tw_cpu.schedule<tiles = [16]>} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<100xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<100xf32>) -> tensor<100xf32>
  %0 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<100x8xf32>) outs(%f : tensor<100xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = arith.addf %o, %a : f32
    linalg.yield %v : f32
  } -> tensor<100xf32>
  %1 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %0 : tensor<100x8xf32>, tensor<100xf32>) outs(%out : tensor<100x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %v = arith.divf %a, %b : f32
    linalg.yield %v : f32
  } -> tensor<100x8xf32>
  return %1 : tensor<100x8xf32>
}

// -----

// Windows of two elements over nine columns do not read the ninth column, so they read a slice of the producer's tile.
// CHECK-LABEL: func private @window
// CHECK: scf.forall (%{{.*}}) in (2)
// CHECK: %[[T:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<1x9xf32>)
// CHECK: %[[S:.*]] = tensor.extract_slice %[[T]][0, 0] [1, 8] [1, 1] : tensor<1x9xf32> to tensor<1x8xf32>
// CHECK: linalg.generic {{.*}}ins(%[[S]],
#id = affine_map<(d0, d1) -> (d0, d1)>
#window = affine_map<(d0, d1, d2) -> (d0, d1 * 2 + d2)>
#size = affine_map<(d0, d1, d2) -> (d2)>
#out = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func private @window(%x: tensor<2x9xf32> {tw.sizes = affine_map<() -> (2, 9)>}, %out: tensor<2x4xf32> {tw.sizes = affine_map<() -> (2, 4)>}) -> tensor<2x4xf32> attributes {tw.kernel, tw.schedule = #tw_cpu.schedule<tiles = [1]>} {
  %e = tensor.empty() : tensor<2x9xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x9xf32>) outs(%e : tensor<2x9xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = math.exp %a : f32
    linalg.yield %v : f32
  } -> tensor<2x9xf32>
  %zero = arith.constant 0.0 : f32
  %g = tensor.empty() : tensor<2x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%g : tensor<2x4xf32>) -> tensor<2x4xf32>
  %w = tensor.empty() : tensor<2xf32>
  %1 = linalg.generic {indexing_maps = [#window, #size, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%0, %w : tensor<2x9xf32>, tensor<2xf32>) outs(%f : tensor<2x4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %v = arith.addf %o, %a : f32
    linalg.yield %v : f32
  } -> tensor<2x4xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<2x4xf32>) outs(%out : tensor<2x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = arith.negf %a : f32
    linalg.yield %v : f32
  } -> tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}

// -----

// A tile of a grouped convolution reads whole images. The op of a tile has the position of the tile's first pixel as
// operands.
// CHECK-LABEL: func private @grouped
// CHECK: scf.forall (%[[N:.*]], %[[LINE:.*]]) = (0, 0) to (2, 8) step (1, 2)
// CHECK: %[[X:.*]] = tensor.extract_slice %{{.*}}[%[[N]], 0, 0, 0] [1, 8, 8, 4] [1, 1, 1, 1]
// CHECK: tw_tile.grouped_convolution {{.*}} ins(%[[X]], %{{.*}}) first(%[[LINE]], %c0) outs(%{{.*}} : tensor<1x2x8x4xf32>)
func.func private @grouped(%x: tensor<2x8x8x4xf32> {tw.sizes = affine_map<() -> (2, 8, 8, 4)>}, %w: tensor<3x3x1x4xf32> {tw.sizes = affine_map<() -> (3, 3, 1, 4)>}, %out: tensor<2x8x8x4xf32> {tw.sizes = affine_map<() -> (2, 8, 8, 4)>}) -> tensor<2x8x8x4xf32> attributes {tw.kernel, tw.schedule = #tw_cpu.schedule<tiles = [1, 2, 0]>} {
  %0 = tw_tile.grouped_convolution {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1>} ins(%x, %w : tensor<2x8x8x4xf32>, tensor<3x3x1x4xf32>) outs(%out : tensor<2x8x8x4xf32>) -> tensor<2x8x8x4xf32>
  return %0 : tensor<2x8x8x4xf32>
}

// -----

// A tile of the weight's gradient is computed from a part of an image.
// CHECK-LABEL: func private @gradient
// CHECK: scf.forall (%[[N:.*]], %[[PART:.*]]) in (2, 4)
// CHECK: tw_tile.depthwise_gradient {{.*}} first_part %[[PART]] outs(%{{.*}} : tensor<1x1x3x3x4xf32>)
func.func private @gradient(%x: tensor<2x8x8x4xf32> {tw.sizes = affine_map<() -> (2, 8, 8, 4)>}, %g: tensor<2x8x8x4xf32> {tw.sizes = affine_map<() -> (2, 8, 8, 4)>}, %out: tensor<2x4x3x3x4xf32> {tw.sizes = affine_map<() -> (2, 4, 3, 3, 4)>}) -> tensor<2x4x3x3x4xf32> attributes {tw.kernel, tw.schedule = #tw_cpu.schedule<tiles = [1, 1]>} {
  %0 = tw_tile.depthwise_gradient {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1>, lines = 2} ins(%x, %g : tensor<2x8x8x4xf32>, tensor<2x8x8x4xf32>) outs(%out : tensor<2x4x3x3x4xf32>) -> tensor<2x4x3x3x4xf32>
  return %0 : tensor<2x4x3x3x4xf32>
}
