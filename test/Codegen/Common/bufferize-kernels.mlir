// RUN: tilewright-opt %s --tw-bufferize-kernels -split-input-file | FileCheck %s

// Tasks compute their results in the destination. No buffer is allocated or copied.
// CHECK-LABEL: func.func private @in_place
// CHECK-SAME: (%[[X:.*]]: memref<64x8xf32>{{.*}}, %[[OUT:.*]]: memref<64x8xf32>{{.*}})
// CHECK-NOT: memref.alloc
// CHECK-NOT: memref.copy
// CHECK: scf.forall (%[[I:.*]]) = (0) to (64) step (16)
// CHECK: %[[A:.*]] = memref.subview %[[X]][%[[I]], 0] [16, 8]
// CHECK: %[[B:.*]] = memref.subview %[[OUT]][%[[I]], 0] [16, 8]
// CHECK: linalg.exp ins(%[[A]] {{.*}} outs(%[[B]]
// CHECK: return{{$}}
func.func private @in_place(%x: tensor<64x8xf32>, %out: tensor<64x8xf32>) -> tensor<64x8xf32> attributes {tw.kernel} {
  %r = scf.forall (%i) = (0) to (64) step (16) shared_outs(%o = %out) -> (tensor<64x8xf32>) {
    %a = tensor.extract_slice %x[%i, 0] [16, 8] [1, 1] : tensor<64x8xf32> to tensor<16x8xf32>
    %b = tensor.extract_slice %o[%i, 0] [16, 8] [1, 1] : tensor<64x8xf32> to tensor<16x8xf32>
    %e = linalg.exp ins(%a : tensor<16x8xf32>) outs(%b : tensor<16x8xf32>) -> tensor<16x8xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %e into %o[%i, 0] [16, 8] [1, 1] : tensor<16x8xf32> into tensor<64x8xf32>
    }
  }
  return %r : tensor<64x8xf32>
}

// -----

// A value between two ops of a kernel is stored in a buffer of the value's size.
// CHECK-LABEL: func.func private @between
// CHECK: %[[T:.*]] = memref.alloc() {{.*}}: memref<8xf32>
// CHECK: linalg.exp {{.*}}outs(%[[T]]
// CHECK: linalg.generic {{.*}}ins(%[[T]]
func.func private @between(%x: tensor<8xf32>, %out: tensor<8xf32>) -> tensor<8xf32> attributes {tw.kernel} {
  %t = tensor.empty() : tensor<8xf32>
  %e = linalg.exp ins(%x : tensor<8xf32>) outs(%t : tensor<8xf32>) -> tensor<8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (7 - d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%e : tensor<8xf32>) outs(%out : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// If a padded tensor is returned, its destination is filled, and then the source is copied into it.
// CHECK-LABEL: func.func private @padded
// CHECK-SAME: (%[[X:.*]]: memref<4xf32>{{.*}}, %[[OUT:.*]]: memref<7xf32>{{.*}})
// CHECK: linalg.fill {{.*}} outs(%[[OUT]]
// CHECK: %[[IN:.*]] = memref.subview %[[OUT]][1] [4] [1]
// CHECK: linalg.copy ins(%[[X]] {{.*}} outs(%[[IN]]
func.func private @padded(%x: tensor<4xf32>, %out: tensor<7xf32>) -> tensor<7xf32> attributes {tw.kernel} {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[1] high[2] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<4xf32> to tensor<7xf32>
  return %p : tensor<7xf32>
}

// -----

// In a concatenation of many parts, each part is copied to its slice of the destination.
// CHECK-LABEL: func.func private @many_parts
// CHECK-NOT: memref.alloc
// CHECK: %[[P0:.*]] = memref.subview %{{.*}}[0, 0] [1, 4]
// CHECK: linalg.copy ins(%{{.*}}) outs(%[[P0]]
// CHECK: %[[P8:.*]] = memref.subview %{{.*}}[8, 0] [1, 4]
// CHECK: linalg.copy ins(%{{.*}}) outs(%[[P8]]
// CHECK: return{{$}}
func.func private @many_parts(%p0: tensor<1x4xf32>, %p1: tensor<1x4xf32>, %p2: tensor<1x4xf32>, %p3: tensor<1x4xf32>, %p4: tensor<1x4xf32>, %p5: tensor<1x4xf32>, %p6: tensor<1x4xf32>, %p7: tensor<1x4xf32>, %p8: tensor<1x4xf32>, %out: tensor<9x4xf32>) -> tensor<9x4xf32> attributes {tw.kernel} {
  %r0 = tensor.insert_slice %p0 into %out[0, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<9x4xf32>
  %r1 = tensor.insert_slice %p1 into %r0[1, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<9x4xf32>
  %r2 = tensor.insert_slice %p2 into %r1[2, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<9x4xf32>
  %r3 = tensor.insert_slice %p3 into %r2[3, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<9x4xf32>
  %r4 = tensor.insert_slice %p4 into %r3[4, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<9x4xf32>
  %r5 = tensor.insert_slice %p5 into %r4[5, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<9x4xf32>
  %r6 = tensor.insert_slice %p6 into %r5[6, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<9x4xf32>
  %r7 = tensor.insert_slice %p7 into %r6[7, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<9x4xf32>
  %r8 = tensor.insert_slice %p8 into %r7[8, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<9x4xf32>
  return %r8 : tensor<9x4xf32>
}

// -----

// In a parallel loop, too, each part of a concatenation is copied to its slice of the destination. A part that the
// kernel computes is written directly to its slice.
// CHECK-LABEL: func.func private @many_parts_in_tiles
// CHECK-NOT: memref.alloc
// CHECK: scf.forall (%[[I:.*]]) = (0) to (4) step (2) {
// CHECK: %[[T:.*]] = memref.subview %arg1[0, %[[I]]] [9, 2]
// CHECK: %[[P0:.*]] = memref.subview %[[T]][0, 0] [1, 2]
// CHECK: linalg.copy ins(%{{.*}}) outs(%[[P0]]
// CHECK: %[[P8:.*]] = memref.subview %[[T]][8, 0] [1, 2]
// CHECK: linalg.generic {{.*}} outs(%[[P8]]
// CHECK: return{{$}}
#map = affine_map<(d0, d1) -> (d0, d1)>
func.func private @many_parts_in_tiles(%p: tensor<1x4xf32>, %out: tensor<9x4xf32>) -> tensor<9x4xf32> attributes {tw.kernel} {
  %0 = scf.forall (%i) = (0) to (4) step (2) shared_outs(%o = %out) -> (tensor<9x4xf32>) {
    %t = tensor.extract_slice %o[0, %i] [9, 2] [1, 1] : tensor<9x4xf32> to tensor<9x2xf32>
    %s = tensor.extract_slice %p[0, %i] [1, 2] [1, 1] : tensor<1x4xf32> to tensor<1x2xf32>
    %r0 = tensor.insert_slice %s into %t[0, 0] [1, 2] [1, 1] : tensor<1x2xf32> into tensor<9x2xf32>
    %r1 = tensor.insert_slice %s into %r0[1, 0] [1, 2] [1, 1] : tensor<1x2xf32> into tensor<9x2xf32>
    %r2 = tensor.insert_slice %s into %r1[2, 0] [1, 2] [1, 1] : tensor<1x2xf32> into tensor<9x2xf32>
    %r3 = tensor.insert_slice %s into %r2[3, 0] [1, 2] [1, 1] : tensor<1x2xf32> into tensor<9x2xf32>
    %r4 = tensor.insert_slice %s into %r3[4, 0] [1, 2] [1, 1] : tensor<1x2xf32> into tensor<9x2xf32>
    %r5 = tensor.insert_slice %s into %r4[5, 0] [1, 2] [1, 1] : tensor<1x2xf32> into tensor<9x2xf32>
    %r6 = tensor.insert_slice %s into %r5[6, 0] [1, 2] [1, 1] : tensor<1x2xf32> into tensor<9x2xf32>
    %r7 = tensor.insert_slice %s into %r6[7, 0] [1, 2] [1, 1] : tensor<1x2xf32> into tensor<9x2xf32>
    %place = tensor.extract_slice %r7[8, 0] [1, 2] [1, 1] : tensor<9x2xf32> to tensor<1x2xf32>
    %made = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%s : tensor<1x2xf32>) outs(%place : tensor<1x2xf32>) {
    ^bb0(%x: f32, %y: f32):
      %e = math.exp %x : f32
      linalg.yield %e : f32
    } -> tensor<1x2xf32>
    %r8 = tensor.insert_slice %made into %r7[8, 0] [1, 2] [1, 1] : tensor<1x2xf32> into tensor<9x2xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %r8 into %o[0, %i] [9, 2] [1, 1] : tensor<9x2xf32> into tensor<9x4xf32>
    }
  }
  return %0 : tensor<9x4xf32>
}
