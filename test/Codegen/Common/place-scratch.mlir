// RUN: tilewright-opt %s --tw-flatten-grid --tw-place-scratch | FileCheck %s

// The first buffer has 64 elements of 4 bytes. The second one begins at byte 256, and its size depends on the kernel's
// size argument.
// CHECK: func.func private @kernel(%{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %[[S:.*]]: memref<?xi8>)
// CHECK-SAME: tw.scratch = #[[M:.*]]
// CHECK: memref.view %[[S]][%c0][] : memref<?xi8> to memref<64xf32>
// CHECK: memref.view %[[S]][%c256][%{{.*}}] : memref<?xi8> to memref<?xf32>
// CHECK-NOT: memref.alloc
func.func private @kernel(%n: index) attributes {tw.kernel} {
  %a = memref.alloc() : memref<64xf32>
  %b = memref.alloc(%n) : memref<?xf32>
  %zero = arith.constant 0.0 : f32
  %i = arith.constant 0 : index
  memref.store %zero, %a[%i] : memref<64xf32>
  memref.store %zero, %b[%i] : memref<?xf32>
  return
}
