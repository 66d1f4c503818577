// A kernel of a grouped convolution and the elementwise ops after it has the schedule `windows`. For small windows, a
// tile has two lines. If a kernel also has a reduction after the convolution, it has another schedule.
// RUN: split-file %s %t
// RUN: tilewright-opt %t/kernels.mlir --tw-cuda-select-schedule=arch=sm_90a | FileCheck %s
// RUN: not tilewright-opt %t/lines.mlir --tw-cuda-lower-to-threads 2>&1 | FileCheck %s --check-prefix=LINES
// RUN: not tilewright-opt %t/other.mlir --tw-cuda-lower-to-threads 2>&1 | FileCheck %s --check-prefix=OTHER

// CHECK: func.func private @depthwise
// CHECK-SAME: kind = windows, threads = 128, vector = 8, tile = [2, 4]
// CHECK: func.func private @large_window
// CHECK-SAME: kind = windows, threads = 128, vector = 8, tile = [1, 8]
// CHECK: func.func private @few_pixels
// CHECK-SAME: kind = windows, threads = 128, vector = 8, tile = [1, 1]
// CHECK: func.func private @groups
// CHECK-SAME: kind = windows, threads = 128, vector = 4, tile = [1, {{[0-9]}}]
// CHECK: func.func private @reduced
// CHECK-SAME: kind = {{elements|rows}}

// LINES: its schedule `windows` does not fit: a tile of several lines needs a depthwise window of at most 9 elements
// OTHER: its schedule `windows` supports only a grouped convolution, followed by elementwise ops of the same shape

//--- kernels.mlir
#image = affine_map<(n, y, x, c) -> (n, y, x, c)>
#mean = affine_map<(n, y, x, c) -> (n, c)>
func.func private @depthwise(%x: tensor<32x112x112x96xbf16>, %w: tensor<3x3x1x96xf32>, %y: tensor<32x112x112x96xbf16>) -> tensor<32x112x112x96xbf16> attributes {tw.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x112x112x96xf32>
  %0 = tw_tile.grouped_convolution {dilations = array<i64: 1, 1>, padding = array<i64: 1, 1>, strides = array<i64: 1, 1>} ins(%x, %w : tensor<32x112x112x96xbf16>, tensor<3x3x1x96xf32>) outs(%e : tensor<32x112x112x96xf32>) -> tensor<32x112x112x96xf32>
  %1 = linalg.generic {indexing_maps = [#image, #image], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%0 : tensor<32x112x112x96xf32>) outs(%y : tensor<32x112x112x96xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %m = arith.maximumf %in, %zero : f32
    %t = arith.truncf %m : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<32x112x112x96xbf16>
  return %1 : tensor<32x112x112x96xbf16>
}

func.func private @large_window(%x: tensor<32x56x56x96xbf16>, %w: tensor<7x7x1x96xf32>, %y: tensor<32x56x56x96xf32>) -> tensor<32x56x56x96xf32> attributes {tw.kernel} {
  %0 = tw_tile.grouped_convolution {dilations = array<i64: 1, 1>, padding = array<i64: 3, 3>, strides = array<i64: 1, 1>} ins(%x, %w : tensor<32x56x56x96xbf16>, tensor<7x7x1x96xf32>) outs(%y : tensor<32x56x56x96xf32>) -> tensor<32x56x56x96xf32>
  return %0 : tensor<32x56x56x96xf32>
}

func.func private @few_pixels(%x: tensor<1x7x7x960xbf16>, %w: tensor<3x3x1x960xf32>, %y: tensor<1x7x7x960xbf16>) -> tensor<1x7x7x960xbf16> attributes {tw.kernel} {
  %e = tensor.empty() : tensor<1x7x7x960xf32>
  %0 = tw_tile.grouped_convolution {dilations = array<i64: 1, 1>, padding = array<i64: 1, 1>, strides = array<i64: 1, 1>} ins(%x, %w : tensor<1x7x7x960xbf16>, tensor<3x3x1x960xf32>) outs(%e : tensor<1x7x7x960xf32>) -> tensor<1x7x7x960xf32>
  %1 = linalg.generic {indexing_maps = [#image, #image], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%0 : tensor<1x7x7x960xf32>) outs(%y : tensor<1x7x7x960xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %t = arith.truncf %in : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<1x7x7x960xbf16>
  return %1 : tensor<1x7x7x960xbf16>
}

// A vector has 4 filters and not 8, because 8 filters would belong to two groups, whose channels are loaded separately.
func.func private @groups(%x: tensor<8x28x28x96xf32>, %w: tensor<3x3x4x96xf32>, %y: tensor<8x28x28x96xf32>) -> tensor<8x28x28x96xf32> attributes {tw.kernel} {
  %0 = tw_tile.grouped_convolution {dilations = array<i64: 1, 1>, padding = array<i64: 1, 1>, strides = array<i64: 1, 1>} ins(%x, %w : tensor<8x28x28x96xf32>, tensor<3x3x4x96xf32>) outs(%y : tensor<8x28x28x96xf32>) -> tensor<8x28x28x96xf32>
  return %0 : tensor<8x28x28x96xf32>
}

func.func private @reduced(%x: tensor<2x8x8x16xf32>, %w: tensor<3x3x1x16xf32>, %y: tensor<2x16xf32>) -> tensor<2x16xf32> attributes {tw.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x8x8x16xf32>
  %0 = tw_tile.grouped_convolution {dilations = array<i64: 1, 1>, padding = array<i64: 1, 1>, strides = array<i64: 1, 1>} ins(%x, %w : tensor<2x8x8x16xf32>, tensor<3x3x1x16xf32>) outs(%e : tensor<2x8x8x16xf32>) -> tensor<2x8x8x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%y : tensor<2x16xf32>) -> tensor<2x16xf32>
  %1 = linalg.generic {indexing_maps = [#image, #mean], iterator_types = ["parallel", "reduction", "reduction", "parallel"]} ins(%0 : tensor<2x8x8x16xf32>) outs(%f : tensor<2x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %in, %out : f32
    linalg.yield %s : f32
  } -> tensor<2x16xf32>
  return %1 : tensor<2x16xf32>
}

//--- lines.mlir
func.func @lines(%x: tensor<2x8x8x16xf32>, %w: tensor<5x5x1x16xf32>, %y: tensor<2x8x8x16xf32>) -> tensor<2x8x8x16xf32>
    attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = windows, threads = 128, vector = 4, tile = [2, 2]>} {
  %0 = tw_tile.grouped_convolution {dilations = array<i64: 1, 1>, padding = array<i64: 2, 2>, strides = array<i64: 1, 1>} ins(%x, %w : tensor<2x8x8x16xf32>, tensor<5x5x1x16xf32>) outs(%y : tensor<2x8x8x16xf32>) -> tensor<2x8x8x16xf32>
  return %0 : tensor<2x8x8x16xf32>
}

//--- other.mlir
func.func @other(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32>
    attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = windows, threads = 128, vector = 4, tile = [1, 2]>} {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%y : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
