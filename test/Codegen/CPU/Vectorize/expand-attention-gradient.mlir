// RUN: tilewright-opt %s --tw-expand-attention | FileCheck %s
// RUN: tilewright-opt %s "--tw-expand-attention=bf16-group=2 bf16-depth=32" | FileCheck %s --check-prefix=PAIRS

// 100 rows and 128 keys are one tile, so there is no loop around the products, and there are no partial sums. One pass
// computes the weights and their gradient, each in the buffer of its input. For f32, the weights are computed with exp,
// not exp2. A score that is greater than its row's log-sum-exp is replaced by the log-sum-exp, so that no weight is
// greater than 1.
// CHECK-LABEL: func private @one_tile
// CHECK: memref.alloc() : memref<100x144xf32>
// CHECK: tw_tile.pack {{.*}}permutation = array<i64: 1, 0>
// CHECK: tw_tile.pack {{.*}}permutation = array<i64: 1, 0>
// CHECK: tw_tile.pack {{.*}}permutation = array<i64: 0, 1>
// CHECK-NOT: scf.for
// CHECK-COUNT-2: tw_tile.matmul {{.*}}lhs_permutation = array<i64: 0, 1>
// CHECK: scf.for
// CHECK: %[[ABOVE:.*]] = arith.cmpf ogt, %[[SCORE:.*]], %[[SUM:.*]] : f32
// CHECK: %[[LEAST:.*]] = arith.select %[[ABOVE]], %[[SUM]], %[[SCORE]] : f32
// CHECK: arith.subf %[[LEAST]], %[[SUM]] : f32
// CHECK: math.exp %
// CHECK: }
// CHECK: tw_tile.matmul {{.*}}lhs_permutation = array<i64: 0, 1>
// CHECK: tw_tile.pack {{.*}}permutation = array<i64: 0, 1>
// CHECK: tw_tile.matmul {{.*}}lhs_permutation = array<i64: 1, 0>
// CHECK: tw_tile.pack {{.*}}permutation = array<i64: 0, 1>
// CHECK: tw_tile.matmul {{.*}}lhs_permutation = array<i64: 1, 0>
// CHECK-NOT: scf.for
// CHECK-NOT: tw_tile.attention_gradient
func.func private @one_tile(%q: memref<1x1x100x32xf32>, %k: memref<1x1x128x32xf32>, %o: memref<1x1x100x32xf32>, %l: memref<1x1x100xf32>, %dq: memref<1x1x100x32xf32>, %dk: memref<1x1x128x32xf32>, %dv: memref<1x1x128x32xf32>) attributes {tw.kernel} {
  tw_tile.attention_gradient {scale = 0.125 : f64} ins(%q, %k, %k, %o, %o, %l : memref<1x1x100x32xf32>, memref<1x1x128x32xf32>, memref<1x1x128x32xf32>, memref<1x1x100x32xf32>, memref<1x1x100x32xf32>, memref<1x1x100xf32>)
    outs(%dq, %dk, %dv : memref<1x1x100x32xf32>, memref<1x1x128x32xf32>, memref<1x1x128x32xf32>)
  return
}

// In causal attention, the loop over rows for a block of keys begins with the first block of rows that attends to these
// keys. With an additive mask, exp is used. If the instructions of the machine multiply pairs of elements along k
// (bf16), the weights and their gradients are stored in bf16, and the operands by which they are multiplied are
// transposed.
// CHECK-LABEL: func private @causal
// CHECK: scf.for %[[KB:.*]] = %{{.*}} to %{{.*}} step %c256
// CHECK: %[[FROM:.*]] = affine.apply #{{.*}}(%[[KB]])
// CHECK: scf.for %{{.*}} = %[[FROM]] to %{{.*}} step %c128
// CHECK: arith.cmpi ule
// CHECK: math.exp %
// CHECK: arith.addf
// PAIRS-LABEL: func private @causal
// PAIRS: memref.alloc() : memref<128x288xbf16>
// PAIRS: arith.truncf
// PAIRS: linalg.generic {indexing_maps = [#[[$TURNED:.*]], #[[$PLAIN:.*]]], iterator_types = ["parallel", "parallel"]} ins(%{{.*}} : memref<?x32xbf16, {{.*}}>) outs(%{{.*}} : memref<32x?xbf16
// PAIRS: tw_tile.pack {{.*}}permutation = array<i64: 0, 1>
// PAIRS: tw_tile.matmul {{.*}}lhs_permutation = array<i64: 0, 1>
func.func private @causal(%q: memref<1x1x?x32xbf16>, %m: memref<1x1x?x?xf32>, %l: memref<1x1x?xf32>, %dq: memref<1x1x?x32xbf16>, %dk: memref<1x1x?x32xbf16>, %dv: memref<1x1x?x32xbf16>) attributes {tw.kernel} {
  tw_tile.attention_gradient {causal, scale = 0.125 : f64} ins(%q, %q, %q, %q, %q, %l, %m : memref<1x1x?x32xbf16>, memref<1x1x?x32xbf16>, memref<1x1x?x32xbf16>, memref<1x1x?x32xbf16>, memref<1x1x?x32xbf16>, memref<1x1x?xf32>, memref<1x1x?x?xf32>)
    outs(%dq, %dk, %dv : memref<1x1x?x32xbf16>, memref<1x1x?x32xbf16>, memref<1x1x?x32xbf16>)
  return
}
