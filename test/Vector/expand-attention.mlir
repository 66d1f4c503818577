// RUN: tilewright-opt %s --tw-expand-attention | FileCheck %s
// RUN: tilewright-opt %s "--tw-expand-attention=f16-group=2 f16-depth=32" | FileCheck %s --check-prefix=PAIRS

// 128 keys are one block: one loop, over 32 rows at a time. Weights and their sum in one pass, from differences of
// scores that are not scaled: the greatest weight is 1, however large they are.
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

// 2000 keys run in blocks of 512, the old sums shrinking as the maximum grows.
// CHECK-LABEL: func private @blocks
// CHECK: scf.for {{.*}} step %c512
func.func private @blocks(%q: memref<1x1x64x32xf32>, %k: memref<1x1x2000x32xf32>, %v: memref<1x1x2000x32xf32>, %o: memref<1x1x64x32xf32>, %l: memref<1x1x64xf32>) attributes {tw.kernel} {
  tw_tile.attention {scale = 0.125 : f64} ins(%q, %k, %v : memref<1x1x64x32xf32>, memref<1x1x2000x32xf32>, memref<1x1x2000x32xf32>) outs(%o, %l : memref<1x1x64x32xf32>, memref<1x1x64xf32>)
  return
}

// A mask that is added may hold the least number there is: scores stay powers of e, and are masked in the pass that finds
// their maximum.
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

// f16: the weights of the second product are f16 where the values are packed in pairs, else f32.
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

// A step of decoding: nothing is packed, keys and values are read where they lie, in blocks.
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
