// RUN: tilewright-opt %s --tw-apply-schedule -split-input-file -verify-diagnostics | FileCheck %s

// A concatenation is tiled by rows, and each task copies its rows of both operands.
// CHECK-LABEL: func private @concatenated
// CHECK: %[[R:.*]] = scf.forall (%[[I:.*]]) = (0) to (9) step (2) shared_outs(%[[O:.*]] = %{{.*}})
// CHECK: %[[N:.*]] = affine.min {{.*}}(%[[I]])
// CHECK: %[[T:.*]] = tensor.extract_slice %[[O]][%[[I]], 0] [%[[N]], 8] [1, 1]
// CHECK: %[[A:.*]] = tensor.extract_slice %arg0[%[[I]], 0] [%[[N]], 3] [1, 1]
// CHECK: %[[FIRST:.*]] = tensor.insert_slice %[[A]] into %[[T]][0, 0] [%[[N]], 3] [1, 1]
// CHECK: %[[B:.*]] = tensor.extract_slice %arg1[%[[I]], 0] [%[[N]], 5] [1, 1]
// CHECK: %[[BOTH:.*]] = tensor.insert_slice %[[B]] into %[[FIRST]][0, 3] [%[[N]], 5] [1, 1]
// CHECK: tensor.parallel_insert_slice %[[BOTH]] into %[[O]][%[[I]], 0] [%[[N]], 8] [1, 1]
// CHECK: return %[[R]]
func.func private @concatenated(%a: tensor<9x3xf32> {tw.sizes = affine_map<() -> (9, 3)>}, %b: tensor<9x5xf32> {tw.sizes = affine_map<() -> (9, 5)>}, %out: tensor<9x8xf32> {tw.sizes = affine_map<() -> (9, 8)>}) -> tensor<9x8xf32> attributes {tw.kernel, tw.schedule = #tw_cpu.schedule<tiles = [2, 0]>} {
  %0 = tensor.insert_slice %a into %out[0, 0] [9, 3] [1, 1] : tensor<9x3xf32> into tensor<9x8xf32>
  %1 = tensor.insert_slice %b into %0[0, 3] [9, 5] [1, 1] : tensor<9x5xf32> into tensor<9x8xf32>
  return %1 : tensor<9x8xf32>
}

// -----

// Each task of a padding fills its part of the result first. The padded dimension is not tiled. Sizes may be symbolic.
// CHECK-LABEL: func private @padded
// CHECK: scf.forall (%[[I:.*]]) = (0) to (%arg0) step (4) shared_outs(%[[O:.*]] = %{{.*}})
// CHECK: %[[T:.*]] = tensor.extract_slice %[[O]][%[[I]], 0]
// CHECK: %[[F:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%[[T]]
// CHECK: %[[A:.*]] = tensor.extract_slice %arg1[%[[I]], 0] [%{{.*}}, 6] [1, 1]
// CHECK: tensor.insert_slice %[[A]] into %[[F]][0, 1] [%{{.*}}, 6] [1, 1]
func.func private @padded(%n: index, %a: tensor<?x6xf32> {tw.sizes = affine_map<()[s0] -> (s0, 6)>}, %out: tensor<?x8xf32> {tw.sizes = affine_map<()[s0] -> (s0, 8)>}) -> tensor<?x8xf32> attributes {tw.kernel, tw.schedule = #tw_cpu.schedule<tiles = [4, 0]>} {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.pad %a low[0, 1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<?x6xf32> to tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// -----

// Each task copies its part of the tensor into which a slice is inserted.
// CHECK-LABEL: func private @inserted
// CHECK: scf.forall (%[[I:.*]]) = (0) to (8) step (4)
// CHECK: %[[T:.*]] = tensor.extract_slice %{{.*}}[0, %[[I]]] [6, 4] [1, 1]
// CHECK: %[[S:.*]] = tensor.extract_slice %arg0[0, %[[I]]] [6, 4] [1, 1]
// CHECK: %[[C:.*]] = linalg.copy ins(%[[S]] {{.*}} outs(%[[T]]
// CHECK: tensor.insert_slice %{{.*}} into %[[C]][1, 0] [2, 4] [2, 1]
func.func private @inserted(%a: tensor<6x8xf32> {tw.sizes = affine_map<() -> (6, 8)>}, %b: tensor<2x8xf32> {tw.sizes = affine_map<() -> (2, 8)>}, %out: tensor<6x8xf32> {tw.sizes = affine_map<() -> (6, 8)>}) -> tensor<6x8xf32> attributes {tw.kernel, tw.schedule = #tw_cpu.schedule<tiles = [0, 4]>} {
  %0 = tensor.insert_slice %b into %a[1, 0] [2, 8] [2, 1] : tensor<2x8xf32> into tensor<6x8xf32>
  return %0 : tensor<6x8xf32>
}

// -----

func.func private @across(%a: tensor<6x8xf32> {tw.sizes = affine_map<() -> (6, 8)>}, %b: tensor<2x8xf32> {tw.sizes = affine_map<() -> (2, 8)>}, %out: tensor<6x8xf32> {tw.sizes = affine_map<() -> (6, 8)>}) -> tensor<6x8xf32> attributes {tw.kernel, tw.schedule = #tw_cpu.schedule<tiles = [2, 0]>} { // expected-error {{its schedule tiles dimension 0, along which tensors are concatenated}}
  %0 = tensor.insert_slice %b into %a[1, 0] [2, 8] [2, 1] : tensor<2x8xf32> into tensor<6x8xf32>
  return %0 : tensor<6x8xf32>
}

// -----

// Each task computes its part of the concatenation's producer, directly in the destination.
// CHECK-LABEL: func private @fused_producer
// CHECK: scf.forall (%[[I:.*]]) = (0) to (8) step (4) shared_outs(%[[O:.*]] = %{{.*}})
// CHECK: %[[T:.*]] = tensor.extract_slice %[[O]][%[[I]], 0] [4, 8] [1, 1]
// CHECK: %[[A:.*]] = tensor.extract_slice %arg0[%[[I]], 0] [4, 3] [1, 1]
// CHECK: %[[P:.*]] = tensor.extract_slice %[[T]][0, 0] [4, 3] [1, 1]
// CHECK: %[[E:.*]] = linalg.generic {{.*}} ins(%[[A]] : tensor<4x3xf32>) outs(%[[P]] : tensor<4x3xf32>)
// CHECK: %[[FIRST:.*]] = tensor.insert_slice %[[E]] into %[[T]][0, 0] [4, 3] [1, 1]
// CHECK: tensor.insert_slice %{{.*}} into %[[FIRST]][0, 3] [4, 5] [1, 1]
func.func private @fused_producer(%a: tensor<8x3xf32> {tw.sizes = affine_map<() -> (8, 3)>}, %b: tensor<8x5xf32> {tw.sizes = affine_map<() -> (8, 5)>}, %out: tensor<8x8xf32> {tw.sizes = affine_map<() -> (8, 8)>}) -> tensor<8x8xf32> attributes {tw.kernel, tw.schedule = #tw_cpu.schedule<tiles = [4, 0]>} {
  %empty = tensor.empty() : tensor<8x3xf32>
  %e = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<8x3xf32>) outs(%empty : tensor<8x3xf32>) {
  ^bb0(%x: f32, %o: f32):
    %v = math.exp %x : f32
    linalg.yield %v : f32
  } -> tensor<8x3xf32>
  %0 = tensor.insert_slice %e into %out[0, 0] [8, 3] [1, 1] : tensor<8x3xf32> into tensor<8x8xf32>
  %1 = tensor.insert_slice %b into %0[0, 3] [8, 5] [1, 1] : tensor<8x5xf32> into tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

// If the concatenation is not tiled, the producer is also computed in the destination.
// CHECK-LABEL: func private @fused_producer_untiled
// CHECK: %[[P:.*]] = tensor.extract_slice %arg1[0, 0] [8, 3] [1, 1]
// CHECK: linalg.generic {{.*}} outs(%[[P]] : tensor<8x3xf32>)
func.func private @fused_producer_untiled(%a: tensor<8x3xf32> {tw.sizes = affine_map<() -> (8, 3)>}, %out: tensor<8x6xf32> {tw.sizes = affine_map<() -> (8, 6)>}) -> tensor<8x6xf32> attributes {tw.kernel, tw.schedule = #tw_cpu.schedule<tiles = [0, 0]>} {
  %empty = tensor.empty() : tensor<8x3xf32>
  %e = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<8x3xf32>) outs(%empty : tensor<8x3xf32>) {
  ^bb0(%x: f32, %o: f32):
    %v = math.exp %x : f32
    linalg.yield %v : f32
  } -> tensor<8x3xf32>
  %0 = tensor.insert_slice %e into %out[0, 0] [8, 3] [1, 1] : tensor<8x3xf32> into tensor<8x6xf32>
  %1 = tensor.insert_slice %a into %0[0, 3] [8, 3] [1, 1] : tensor<8x3xf32> into tensor<8x6xf32>
  return %1 : tensor<8x6xf32>
}
