// RUN: tilewright-opt %s --tw-expand-attention | FileCheck %s
// RUN: tilewright-opt %s "--tw-expand-attention=f16-group=2 f16-depth=32" | FileCheck %s --check-prefix=PAIRS

// 128 keys are one block, so the only loop is over blocks of 32 rows. One pass computes the weights and their sum. The
// row's maximum is subtracted before scores are scaled, so that the greatest weight is 1 for scores of any size.
// CHECK-LABEL: func private @attention
// CHECK: memref.alloc() : memref<32x144xf32>
// CHECK-NOT: scf.for
// CHECK: tw_tile.pack {{.*}}permutation = array<i64: 1, 0>
// CHECK: tw_tile.pack {{.*}}permutation = array<i64: 0, 1>
// CHECK: scf.for %{{.*}} = %{{.*}} to %c64{{.*}} step %c32
// CHECK: tw_tile.matmul
// CHECK: arith.maxnumf
// CHECK: iterator_types = ["parallel", "reduction"]{{.*}} outs({{.*}} : memref<{{.*}}>, memref<{{.*}}>)
// CHECK: arith.subf
// CHECK: arith.mulf
// CHECK-NEXT: math.exp2
// CHECK-NEXT: arith.addf
// CHECK-NEXT: linalg.yield
// CHECK: tw_tile.matmul
// CHECK: arith.divf
// CHECK: math.log %
// CHECK-NOT: tw_tile.attention
func.func private @attention(%q: memref<1x1x64x32xf32>, %k: memref<1x1x128x32xf32>, %v: memref<1x1x128x32xf32>, %o: memref<1x1x64x32xf32>, %l: memref<1x1x64xf32>) attributes {tw.kernel} {
  tw_tile.attention {scale = 0.125 : f64} ins(%q, %k, %v : memref<1x1x64x32xf32>, memref<1x1x128x32xf32>, memref<1x1x128x32xf32>) outs(%o, %l : memref<1x1x64x32xf32>, memref<1x1x64xf32>)
  return
}

// 2000 keys are processed in blocks of 512. When the maximum increases, the previous sums are scaled down.
// CHECK-LABEL: func private @blocks
// CHECK: scf.for {{.*}} step %c512
func.func private @blocks(%q: memref<1x1x64x32xf32>, %k: memref<1x1x2000x32xf32>, %v: memref<1x1x2000x32xf32>, %o: memref<1x1x64x32xf32>, %l: memref<1x1x64xf32>) attributes {tw.kernel} {
  tw_tile.attention {scale = 0.125 : f64} ins(%q, %k, %v : memref<1x1x64x32xf32>, memref<1x1x2000x32xf32>, memref<1x1x2000x32xf32>) outs(%o, %l : memref<1x1x64x32xf32>, memref<1x1x64xf32>)
  return
}

// An additive mask may have the lowest value of f32. Therefore exp is used instead of exp2, and the mask is added in
// the pass that computes the maximum of the scores.
// CHECK-LABEL: func private @masked
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]{{.*}} outs({{.*}} : memref<{{.*}}>, memref<{{.*}}>)
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK-NEXT: arith.maxnumf
// CHECK-NOT: math.exp2
// CHECK: math.exp
// CHECK: math.log %
func.func private @masked(%q: memref<1x1x64x32xf32>, %k: memref<1x1x128x32xf32>, %v: memref<1x1x128x32xf32>, %m: memref<1x1x64x128xf32>, %o: memref<1x1x64x32xf32>, %l: memref<1x1x64xf32>) attributes {tw.kernel} {
  tw_tile.attention {scale = 0.125 : f64} ins(%q, %k, %v, %m : memref<1x1x64x32xf32>, memref<1x1x128x32xf32>, memref<1x1x128x32xf32>, memref<1x1x64x128xf32>) outs(%o, %l : memref<1x1x64x32xf32>, memref<1x1x64xf32>)
  return
}

// In attention of f16, the weights of the second product are f16 if the values are packed in pairs, and f32 otherwise.
// CHECK-LABEL: func private @half
// CHECK-NOT: memref.alloc() : memref<32x160xf16>
// CHECK: tw_tile.matmul {{.*}} : memref<32x128xf32, {{.*}}>, memref<1x128x32xf16
// PAIRS-LABEL: func private @half
// PAIRS: memref.alloc() : memref<32x160xf16>
// PAIRS: tw_tile.matmul {group = 2 {{.*}} : memref<32x32xf16{{.*}}>, memref<4x16x64xf16
// PAIRS: tw_tile.matmul {group = 2 {{.*}} : memref<32x128xf16{{.*}}>, memref<1x64x64xf16
func.func private @half(%q: memref<1x1x64x32xf16>, %k: memref<1x1x128x32xf16>, %v: memref<1x1x128x32xf16>, %o: memref<1x1x64x32xf16>, %l: memref<1x1x64xf32>) attributes {tw.kernel} {
  tw_tile.attention {scale = 0.125 : f64} ins(%q, %k, %v : memref<1x1x64x32xf16>, memref<1x1x128x32xf16>, memref<1x1x128x32xf16>) outs(%o, %l : memref<1x1x64x32xf16>, memref<1x1x64xf32>)
  return
}

// In a decoding step, no operand is packed. Blocks of keys and values are read in the layout of the arguments.
// CHECK-LABEL: func private @decode
// CHECK-NOT: tw_tile
// CHECK: scf.for {{.*}} step %c512
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]
// CHECK: arith.extf
// CHECK: math.exp2
// CHECK-NOT: afn
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-NOT: tw_tile
func.func private @decode(%q: memref<1x1x1x32xbf16>, %k: memref<1x1x2000x32xbf16>, %v: memref<1x1x2000x32xbf16>, %o: memref<1x1x1x32xbf16>, %l: memref<1x1x1xf32>) attributes {tw.kernel} {
  tw_tile.attention {scale = 0.125 : f64} ins(%q, %k, %v : memref<1x1x1x32xbf16>, memref<1x1x2000x32xbf16>, memref<1x1x2000x32xbf16>) outs(%o, %l : memref<1x1x1x32xbf16>, memref<1x1x1xf32>)
  return
}
