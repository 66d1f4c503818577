// RUN: tilewright-opt %s --tw-cpu-expand-contractions --canonicalize | FileCheck %s

// Each K-block of A and of B is widened to f32 once. Then the f32 kernel reads the widened copy of A for all panels,
// and the widened copy of B for all rows.
// CHECK-LABEL: func private @both_operands
// CHECK-DAG: %[[A:.*]] = memref.alloca() {alignment = 64 : i64} : memref<64x192xf32>
// CHECK-DAG: %[[B:.*]] = memref.alloca() {alignment = 64 : i64} : memref<192x48xf32>
// CHECK: vector.load %arg0[{{.*}}] : memref<64x160xf16>, vector<16xf16>
// CHECK: arith.extf {{.*}} : vector<16xf16> to vector<16xf32>
// CHECK: vector.store {{.*}}, %[[A]]
// CHECK: scf.for %{{.*}} = %c0 to %c2
// CHECK-COUNT-3: vector.store {{.*}}, %[[B]]
// CHECK: %{{.*}}:24 = scf.for
// CHECK-COUNT-3: vector.load %[[B]]
// CHECK: memref.load %[[A]]
// CHECK-NOT: arith.extf
// CHECK: scf.yield
func.func private @both_operands(%a: memref<64x160xf16>, %b: memref<2x160x48xf16>, %c: memref<64x96xf32>) attributes {tw.kernel} {
  tw_tile.matmul {group = 1 : i64, lhs_permutation = array<i64: 0, 1>, panel = 48 : i64} ins(%a, %b : memref<64x160xf16>, memref<2x160x48xf16>) outs(%c : memref<64x96xf32>)
  return
}

// For only seven rows of A, a widened copy of B does not pay off. The kernel widens B after each load.
// CHECK-LABEL: func private @few_rows
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<7x192xf32>
// CHECK-NOT: memref.alloca()
// CHECK: %{{.*}}:21 = scf.for
// CHECK-COUNT-3: arith.extf {{.*}} : vector<16xbf16> to vector<16xf32>
// CHECK-NOT: arith.extf
// CHECK: return
func.func private @few_rows(%a: memref<7x160xbf16>, %b: memref<2x160x48xbf16>, %c: memref<7x96xf32>) attributes {tw.kernel} {
  tw_tile.matmul {group = 1 : i64, lhs_permutation = array<i64: 0, 1>, panel = 48 : i64} ins(%a, %b : memref<7x160xbf16>, memref<2x160x48xbf16>) outs(%c : memref<7x96xf32>)
  return
}

// If A is already f32, it is not copied.
// CHECK-LABEL: func private @mixed
// CHECK-NOT: memref.alloca() {{.*}} : memref<64x192xf32>
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<192x48xf32>
// CHECK: memref.load %arg0
func.func private @mixed(%a: memref<64x160xf32>, %b: memref<1x160x48xf16>, %c: memref<64x48xf32>) attributes {tw.kernel} {
  tw_tile.matmul {group = 1 : i64, lhs_permutation = array<i64: 0, 1>, panel = 48 : i64} ins(%a, %b : memref<64x160xf32>, memref<1x160x48xf16>) outs(%c : memref<64x48xf32>)
  return
}

// In f32, the 24 channels of a window position are too few for a separate loop over k. They suffice if f16 operands are
// widened first.
// CHECK-LABEL: func private @window
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<64x192xf32>
// CHECK: scf.for %{{.*}} = %c0 to %c3
// CHECK: scf.for %{{.*}} = %c0 to %c3
// CHECK-COUNT-44: vector.fma
// CHECK: return
func.func private @window(%x: memref<1x3x66x24xf16>, %w: memref<1x3x3x24x32xf16>, %y: memref<1x1x64x32xf32>) attributes {tw.kernel} {
  tw_tile.convolution {dilations = array<i64: 1, 1>, group = 1 : i64, panel = 32 : i64, strides = array<i64: 1, 1>} ins(%x, %w : memref<1x3x66x24xf16>, memref<1x3x3x24x32xf16>) outs(%y : memref<1x1x64x32xf32>)
  return
}
