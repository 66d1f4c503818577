// The kernel that pads an image with -inf is inlined into the only kernel that reads its result, a pool of 3 x 3. The
// kernel pad_1 is not inlined, because it computes a square root, and pad_2 is not inlined, because two kernels read
// its result.
// RUN: tilewright-opt %s --tw-cuda-select-schedule | FileCheck %s

#plane = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#window = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 * 2 + d4, d2 * 2 + d5, d3)>
#shape = affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5)>
#out = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>

module {
  // CHECK: func.func @main(%[[X:.*]]: tensor<1x8x8x16xbf16>)
  // CHECK: %[[A:.*]] = call @pool_0(%[[X]], %{{.*}}) {tw.ops = "pad+max_pool"} : (tensor<1x8x8x16xbf16>, tensor<1x4x4x16xbf16>)
  // CHECK: %[[P1:.*]] = call @pad_1(%[[X]]
  // CHECK: call @pool_1(%[[P1]]
  // CHECK: %[[P2:.*]] = call @pad_2(%[[X]]
  // CHECK: call @pool_2(%[[P2]]
  func.func @main(%x: tensor<1x8x8x16xbf16>) -> (tensor<1x4x4x16xbf16>, tensor<1x4x4x16xbf16>, tensor<1x4x4x16xbf16>, tensor<1x9x9x16xbf16>) {
    %0 = tensor.empty() : tensor<1x9x9x16xbf16>
    %1 = tensor.empty() : tensor<1x4x4x16xbf16>
    %p0 = call @pad_0(%x, %0) {tw.ops = "pad"} : (tensor<1x8x8x16xbf16>, tensor<1x9x9x16xbf16>) -> tensor<1x9x9x16xbf16>
    %r0 = call @pool_0(%p0, %1) {tw.ops = "max_pool"} : (tensor<1x9x9x16xbf16>, tensor<1x4x4x16xbf16>) -> tensor<1x4x4x16xbf16>
    %p1 = call @pad_1(%x, %0) {tw.ops = "sqrt+pad"} : (tensor<1x8x8x16xbf16>, tensor<1x9x9x16xbf16>) -> tensor<1x9x9x16xbf16>
    %r1 = call @pool_1(%p1, %1) {tw.ops = "max_pool"} : (tensor<1x9x9x16xbf16>, tensor<1x4x4x16xbf16>) -> tensor<1x4x4x16xbf16>
    %p2 = call @pad_2(%x, %0) {tw.ops = "pad"} : (tensor<1x8x8x16xbf16>, tensor<1x9x9x16xbf16>) -> tensor<1x9x9x16xbf16>
    %r2 = call @pool_2(%p2, %1) {tw.ops = "max_pool"} : (tensor<1x9x9x16xbf16>, tensor<1x4x4x16xbf16>) -> tensor<1x4x4x16xbf16>
    return %r0, %r1, %r2, %p2 : tensor<1x4x4x16xbf16>, tensor<1x4x4x16xbf16>, tensor<1x4x4x16xbf16>, tensor<1x9x9x16xbf16>
  }
  // CHECK-NOT: func private @pad_0
  func.func private @pad_0(%x: tensor<1x8x8x16xbf16>, %into: tensor<1x9x9x16xbf16>) -> tensor<1x9x9x16xbf16> attributes {tw.kernel, tw.ops = "pad"} {
    %lowest = arith.constant 0xFF80 : bf16
    %0 = tensor.pad %x low[0, 1, 1, 0] high[0, 0, 0, 0] {
    ^bb0(%a: index, %b: index, %c: index, %d: index):
      tensor.yield %lowest : bf16
    } : tensor<1x8x8x16xbf16> to tensor<1x9x9x16xbf16>
    return %0 : tensor<1x9x9x16xbf16>
  }
  // CHECK: func.func private @pool_0(%[[IN:.*]]: tensor<1x8x8x16xbf16>, %{{.*}}: tensor<1x4x4x16xbf16>)
  // CHECK-SAME: tw.ops = "pad+max_pool", tw.schedule = #tw_gpu.schedule<kind = elements, threads = 64, vector = 8>
  // CHECK: %[[PADDED:.*]] = tensor.pad %[[IN]] low[0, 1, 1, 0] high[0, 0, 0, 0]
  // CHECK: linalg.generic {{.*}} ins(%[[PADDED]], %{{.*}} : tensor<1x9x9x16xbf16>, tensor<3x3xf32>)
  func.func private @pool_0(%x: tensor<1x9x9x16xbf16>, %into: tensor<1x4x4x16xbf16>) -> tensor<1x4x4x16xbf16> attributes {tw.kernel, tw.ops = "max_pool"} {
    %lowest = arith.constant 0xFF80 : bf16
    %w = tensor.empty() : tensor<3x3xf32>
    %f = linalg.fill ins(%lowest : bf16) outs(%into : tensor<1x4x4x16xbf16>) -> tensor<1x4x4x16xbf16>
    %0 = linalg.generic {indexing_maps = [#window, #shape, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%x, %w : tensor<1x9x9x16xbf16>, tensor<3x3xf32>) outs(%f : tensor<1x4x4x16xbf16>) {
    ^bb0(%in: bf16, %s: f32, %out: bf16):
      %m = arith.maximumf %in, %out : bf16
      linalg.yield %m : bf16
    } -> tensor<1x4x4x16xbf16>
    return %0 : tensor<1x4x4x16xbf16>
  }
  func.func private @pad_1(%x: tensor<1x8x8x16xbf16>, %into: tensor<1x9x9x16xbf16>) -> tensor<1x9x9x16xbf16> attributes {tw.kernel, tw.ops = "sqrt+pad"} {
    %lowest = arith.constant 0xFF80 : bf16
    %e = tensor.empty() : tensor<1x8x8x16xbf16>
    %s = linalg.generic {indexing_maps = [#plane, #plane], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : tensor<1x8x8x16xbf16>) outs(%e : tensor<1x8x8x16xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %r = math.sqrt %in : bf16
      linalg.yield %r : bf16
    } -> tensor<1x8x8x16xbf16>
    %0 = tensor.pad %s low[0, 1, 1, 0] high[0, 0, 0, 0] {
    ^bb0(%a: index, %b: index, %c: index, %d: index):
      tensor.yield %lowest : bf16
    } : tensor<1x8x8x16xbf16> to tensor<1x9x9x16xbf16>
    return %0 : tensor<1x9x9x16xbf16>
  }
  func.func private @pool_1(%x: tensor<1x9x9x16xbf16>, %into: tensor<1x4x4x16xbf16>) -> tensor<1x4x4x16xbf16> attributes {tw.kernel, tw.ops = "max_pool"} {
    %lowest = arith.constant 0xFF80 : bf16
    %w = tensor.empty() : tensor<3x3xf32>
    %f = linalg.fill ins(%lowest : bf16) outs(%into : tensor<1x4x4x16xbf16>) -> tensor<1x4x4x16xbf16>
    %0 = linalg.generic {indexing_maps = [#window, #shape, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%x, %w : tensor<1x9x9x16xbf16>, tensor<3x3xf32>) outs(%f : tensor<1x4x4x16xbf16>) {
    ^bb0(%in: bf16, %s: f32, %out: bf16):
      %m = arith.maximumf %in, %out : bf16
      linalg.yield %m : bf16
    } -> tensor<1x4x4x16xbf16>
    return %0 : tensor<1x4x4x16xbf16>
  }
  func.func private @pad_2(%x: tensor<1x8x8x16xbf16>, %into: tensor<1x9x9x16xbf16>) -> tensor<1x9x9x16xbf16> attributes {tw.kernel, tw.ops = "pad"} {
    %lowest = arith.constant 0xFF80 : bf16
    %0 = tensor.pad %x low[0, 1, 1, 0] high[0, 0, 0, 0] {
    ^bb0(%a: index, %b: index, %c: index, %d: index):
      tensor.yield %lowest : bf16
    } : tensor<1x8x8x16xbf16> to tensor<1x9x9x16xbf16>
    return %0 : tensor<1x9x9x16xbf16>
  }
  func.func private @pool_2(%x: tensor<1x9x9x16xbf16>, %into: tensor<1x4x4x16xbf16>) -> tensor<1x4x4x16xbf16> attributes {tw.kernel, tw.ops = "max_pool"} {
    %lowest = arith.constant 0xFF80 : bf16
    %w = tensor.empty() : tensor<3x3xf32>
    %f = linalg.fill ins(%lowest : bf16) outs(%into : tensor<1x4x4x16xbf16>) -> tensor<1x4x4x16xbf16>
    %0 = linalg.generic {indexing_maps = [#window, #shape, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%x, %w : tensor<1x9x9x16xbf16>, tensor<3x3xf32>) outs(%f : tensor<1x4x4x16xbf16>) {
    ^bb0(%in: bf16, %s: f32, %out: bf16):
      %m = arith.maximumf %in, %out : bf16
      linalg.yield %m : bf16
    } -> tensor<1x4x4x16xbf16>
    return %0 : tensor<1x4x4x16xbf16>
  }
}
