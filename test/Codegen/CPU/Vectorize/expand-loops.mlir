// RUN: tilewright-opt %s --tw-expand-loops -split-input-file | FileCheck %s

// A running sum of f32 is accumulated in f64, as in eager.
// CHECK-LABEL: func.func private @scan
// CHECK: scf.for %[[I:.*]] =
// CHECK: scf.for %[[J:[a-z0-9]+]] = {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (f64)
// CHECK: %[[X:.*]] = memref.load %{{.*}}[%[[I]], %[[J]]] : memref<4x9xf32>
// CHECK: %[[W:.*]] = arith.extf %[[X]] : f32 to f64
// CHECK: %[[NEXT:.*]] = arith.addf %[[SUM]], %[[W]] {{.*}}: f64
// CHECK: %[[S:.*]] = arith.truncf %[[NEXT]] : f64 to f32
// CHECK: memref.store %[[S]], %{{.*}}[%[[I]], %[[J]]]
// CHECK: scf.yield %[[NEXT]]
func.func private @scan(%x: memref<4x9xf32>, %y: memref<4x9xf32>) attributes {tw.kernel} {
  tw_tile.scan sum {dim = 1} ins(%x : memref<4x9xf32>) outs(%y : memref<4x9xf32>)
  return
}

// -----

// A running maximum of bf16 is computed in f32, here along the first dimension.
// CHECK-LABEL: func.func private @scan_max
// CHECK: scf.for %[[J:.*]] =
// CHECK: scf.for %[[I:[a-z0-9]+]] = {{.*}} -> (f32)
// CHECK: memref.load %{{.*}}[%[[I]], %[[J]]]
// CHECK: arith.maximumf
func.func private @scan_max(%x: memref<4x9xbf16>, %y: memref<4x9xbf16>) attributes {tw.kernel} {
  tw_tile.scan max {dim = 0} ins(%x : memref<4x9xbf16>) outs(%y : memref<4x9xbf16>)
  return
}

// -----

// Sixteen columns are one vector, and the last of 33 columns is computed in a masked vector.
// CHECK-LABEL: func.func private @scan_columns
// CHECK: scf.for %[[J:.*]] = %c0{{.*}} to %c32{{.*}} step %c16
// CHECK: scf.for %[[I:[a-z0-9]+]] = {{.*}} -> (vector<16xf64>)
// CHECK: vector.load %{{.*}}[%[[I]], %[[J]]] : memref<4x33xf32>, vector<16xf32>
// CHECK: arith.addf %{{.*}} : vector<16xf64>
// CHECK: vector.store
// CHECK: %[[MASK:.*]] = vector.create_mask
// CHECK: scf.for {{.*}} -> (vector<16xf64>)
// CHECK: vector.maskedload %{{.*}}, %[[MASK]]
// CHECK: vector.maskedstore %{{.*}}, %[[MASK]]
func.func private @scan_columns(%x: memref<4x33xf32>, %y: memref<4x33xf32>) attributes {tw.kernel} {
  tw_tile.scan sum {dim = 0} ins(%x : memref<4x33xf32>) outs(%y : memref<4x33xf32>)
  return
}

// -----

// A running maximum may be computed in any order, because it is exact. In a vector, shuffles compute the maxima of 2,
// 4, 8 and 16 elements. Then the maximum of each result and the last result of the previous vector is computed.
// CHECK-LABEL: func.func private @scan_row
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c32{{.*}} step %c16{{.*}} iter_args(%[[BEFORE:.*]] = %{{.*}}) -> (vector<16xf32>)
// CHECK: vector.shuffle %{{.*}} [0, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30]
// CHECK: vector.shuffle %{{.*}} [0, 1, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29]
// CHECK: vector.shuffle %{{.*}} [0, 1, 2, 3, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27]
// CHECK: vector.shuffle %{{.*}} [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23]
// CHECK: %[[OF_SIXTEEN:.*]] = arith.maximumf
// CHECK: %[[Y:.*]] = arith.maximumf %[[BEFORE]], %[[OF_SIXTEEN]]
// CHECK: vector.store %[[Y]]
// CHECK: %[[LAST:.*]] = vector.shuffle %[[OF_SIXTEEN]], %[[OF_SIXTEEN]] [15, 15,
// CHECK: %[[NEXT:.*]] = arith.maximumf %[[BEFORE]], %[[LAST]]
// CHECK: scf.yield %[[NEXT]]
// CHECK: vector.extract %{{.*}}[15]
// CHECK: scf.for {{.*}} -> (f32)
func.func private @scan_row(%x: memref<4x33xf32>, %y: memref<4x33xf32>) attributes {tw.kernel} {
  tw_tile.scan max {dim = 1} ins(%x : memref<4x33xf32>) outs(%y : memref<4x33xf32>)
  return
}

// -----

// A merge sort of each row doubles the length of sorted runs until the row is one run. Indices are moved together with
// values.
// CHECK-LABEL: func.func private @sort
// CHECK-DAG: memref.alloc{{.*}}: memref<2x9xf32>
// CHECK-DAG: memref.alloc{{.*}}: memref<2x9xi64>
// CHECK: scf.while
// CHECK: arith.cmpf
func.func private @sort(%x: memref<4x9xf32>, %v: memref<4x9xf32>, %i: memref<4x9xi64>) attributes {tw.kernel} {
  tw_tile.sort {dim = 1} ins(%x : memref<4x9xf32>) outs(%v, %i : memref<4x9xf32>, memref<4x9xi64>)
  return
}

// A counting sort is used for bytes. Running sums of the counts start from the largest byte if the order is descending.
// CHECK-LABEL: func.func private @sort_bytes
// CHECK: %[[COUNTS:.*]] = memref.alloc{{.*}}: memref<256xi64>
// CHECK-NOT: scf.while
// CHECK: arith.xori %{{.*}}, %{{.*}} : i8
// CHECK: %[[SUM:.*]] = scf.for %[[K:.*]] = {{.*}} iter_args(%[[BEFORE:.*]] = %{{.*}}) -> (i64)
// CHECK: %[[RANK:.*]] = arith.subi %{{.*}}, %[[K]] : index
// CHECK: memref.store %[[BEFORE]], %[[COUNTS]][%[[RANK]]]
// CHECK: memref.store %{{.*}}, %{{.*}} : memref<4x99xi8>
func.func private @sort_bytes(%x: memref<4x99xi8>, %v: memref<4x99xi8>, %i: memref<4x99xi64>) attributes {tw.kernel} {
  tw_tile.sort {dim = 1, descending} ins(%x : memref<4x99xi8>) outs(%v, %i : memref<4x99xi8>, memref<4x99xi64>)
  return
}

// For topk of a long row, the result buffers contain the best elements so far, and each better element is inserted into
// them. No other buffer is allocated.
// CHECK-LABEL: func.func private @topk
// CHECK-NOT: memref.alloc
// CHECK: scf.for {{.*}} iter_args(%[[WORST:.*]] = %{{.*}}) -> (f32)
// CHECK: arith.cmpf olt, %[[WORST]], %{{.*}} : f32
// CHECK: scf.while
// CHECK-NOT: memref.alloc
func.func private @topk(%x: memref<4x99xf32>, %v: memref<4x3xf32>, %i: memref<4x3xi64>) attributes {tw.kernel} {
  tw_tile.sort {dim = 1, descending} ins(%x : memref<4x99xf32>) outs(%v, %i : memref<4x3xf32>, memref<4x3xi64>)
  return
}

// -----

// A scatter with the reduction max stores a value only if the value is NaN or greater than the element of the
// destination. A NaN in the destination is overwritten only by another NaN.
#row = affine_map<(i, j) -> (i, j)>
#place = affine_map<(i, j)[s] -> (i, s)>
// CHECK-LABEL: func.func private @scatter_max
// CHECK: %[[NEW:.*]] = memref.load %arg0
// CHECK: %[[OLD:.*]] = memref.load %arg2
// CHECK-DAG: %[[LARGER:.*]] = arith.cmpf ogt, %[[NEW]], %[[OLD]] : f32
// CHECK-DAG: %[[NAN:.*]] = arith.cmpf uno, %[[NEW]], %[[NEW]] : f32
// CHECK: %[[REPLACES:.*]] = arith.ori %[[LARGER]], %[[NAN]]
// CHECK: scf.if %[[REPLACES]] {
// CHECK-NEXT: memref.store %[[NEW]], %arg2
func.func private @scatter_max(%s: memref<3x64xf32>, %i: memref<3x64xi64>, %out: memref<3x9xf32>) attributes {tw.kernel} {
  tw_tile.scatter max {dest_map = #place, index_maps = [#row]} ins(%s, %i : memref<3x64xf32>, memref<3x64xi64>) outs(%out : memref<3x9xf32>)
  return
}

// -----

// A scatter adds rows to rows of a table, and no index depends on the column. A buffer that fits in registers
// accumulates up to 256 columns (48 columns are three vectors) until the destination row changes. Columns after the
// first 256 are added in memory.
// CHECK-LABEL: func.func private @scatter_rows
// CHECK: %[[HELD:.*]] = memref.alloca() {alignment = 64 : i64} : memref<48xf32>
// CHECK: %[[LAST:.*]] = scf.for %[[I:.*]] = %c0{{.*}} to %c4{{.*}} iter_args(%[[BEFORE:.*]] = %c-1{{.*}}) -> (index)
// CHECK: memref.load %arg1[%[[I]]] : memref<4xi64>
// CHECK: scf.if %{{.*}} -> (index) {
// CHECK: %[[OTHER:.*]] = arith.cmpi ne, %[[BEFORE]], %[[AT:.*]] : index
// CHECK: scf.if %[[OTHER]] {
// CHECK: arith.cmpi sge, %[[BEFORE]], %c0
// CHECK: scf.if
// CHECK: %[[OLD:.*]] = memref.subview %arg2[%[[BEFORE]], 0] [1, 48] [1, 1]
// CHECK: linalg.generic {{.*}} ins(%[[HELD]] {{.*}} outs(%[[OLD]]
// CHECK: %[[NEW:.*]] = memref.subview %arg2[%[[AT]], 0] [1, 48] [1, 1]
// CHECK: linalg.generic {{.*}} ins(%[[NEW]] {{.*}} outs(%[[HELD]]
// CHECK: %[[FROM:.*]] = memref.subview %arg0[%[[I]], 0] [1, 48] [1, 1]
// CHECK: linalg.generic {{.*}} ins(%[[FROM]] {{.*}} outs(%[[HELD]]
// CHECK: arith.addf
// CHECK: scf.yield %[[AT]]
// CHECK: } else {
// CHECK: scf.yield %[[BEFORE]]
// CHECK: memref.subview %arg2[%[[LAST]], 0] [1, 48] [1, 1]
// CHECK: return
func.func private @scatter_rows(%x: memref<4x48xf32>, %i: memref<4xi64>, %y: memref<9x48xf32>) attributes {tw.kernel} {
  tw_tile.scatter add {index_maps = [affine_map<(d0, d1) -> (d0)>], dest_map = affine_map<(d0, d1)[s0] -> (s0, d1)>}
    ins(%x, %i : memref<4x48xf32>, memref<4xi64>) outs(%y : memref<9x48xf32>)
  return
}

// CHECK-LABEL: func.func private @scatter_long_rows
// CHECK-COUNT-4: memref.alloca() {{.*}} : memref<64xf32>
// CHECK-NOT: memref.alloca
// CHECK: scf.for
// CHECK: memref.subview %arg2[%{{.*}}, 256] [1, 844] [1, 1]
func.func private @scatter_long_rows(%x: memref<4x1100xf32>, %i: memref<4xi64>, %y: memref<9x1100xf32>) attributes {tw.kernel} {
  tw_tile.scatter add {index_maps = [affine_map<(d0, d1) -> (d0)>], dest_map = affine_map<(d0, d1)[s0] -> (s0, d1)>}
    ins(%x, %i : memref<4x1100xf32>, memref<4xi64>) outs(%y : memref<9x1100xf32>)
  return
}

// Columns that do not fill a vector are divided into vectors whose widths are powers of two: 27 columns are vectors of
// 16, 8, 2 and 1 elements. A scatter without a reduction accumulates no row in registers.
// CHECK-LABEL: func.func private @scatter_narrow_rows
// CHECK-DAG: memref.alloca() {{.*}} : memref<16xf32>
// CHECK-DAG: memref.alloca() {{.*}} : memref<8xf32>
// CHECK-DAG: memref.alloca() {{.*}} : memref<2xf32>
// CHECK-DAG: memref.alloca() {{.*}} : memref<1xf32>
// CHECK-NOT: memref.alloca
// CHECK: return
func.func private @scatter_narrow_rows(%x: memref<4x27xf32>, %i: memref<4xi64>, %y: memref<9x27xf32>) attributes {tw.kernel} {
  tw_tile.scatter max {index_maps = [affine_map<(d0, d1) -> (d0)>], dest_map = affine_map<(d0, d1)[s0] -> (s0, d1)>}
    ins(%x, %i : memref<4x27xf32>, memref<4xi64>) outs(%y : memref<9x27xf32>)
  tw_tile.scatter set {index_maps = [affine_map<(d0, d1) -> (d0)>], dest_map = affine_map<(d0, d1)[s0] -> (s0, d1)>}
    ins(%x, %i : memref<4x27xf32>, memref<4xi64>) outs(%y : memref<9x27xf32>)
  return
}

// -----

// Each element has a separate index, so the scatter cannot be computed by rows.
// CHECK-LABEL: func.func private @scatter_elements
// CHECK-NOT: linalg.generic
// CHECK: memref.store
func.func private @scatter_elements(%x: memref<4x48xf32>, %i: memref<4x48xi64>, %y: memref<9x48xf32>) attributes {tw.kernel} {
  tw_tile.scatter add {index_maps = [affine_map<(d0, d1) -> (d0, d1)>], dest_map = affine_map<(d0, d1)[s0] -> (s0, d1)>}
    ins(%x, %i : memref<4x48xf32>, memref<4x48xi64>) outs(%y : memref<9x48xf32>)
  return
}

// -----

// The scatter is the only consumer of rows gathered from a table. Each row is added to its destination without being
// stored in between, and the row that is needed sixteen iterations later is prefetched.
// CHECK-LABEL: func.func private @scatter_rows_of_a_table
// CHECK-NOT: memref.alloc()
// CHECK: scf.for %[[I:.*]] = %c0{{.*}} to %c90
// CHECK: scf.if
// CHECK: %[[AHEAD:.*]] = arith.addi %[[I]], %c16
// CHECK: %[[THERE:.*]] = arith.minui %[[AHEAD]]
// CHECK: memref.load %arg1[%[[THERE]]]
// CHECK: memref.prefetch %arg0[%{{.*}}, %c0{{.*}}]
// CHECK: memref.prefetch %arg0[%{{.*}}, %c16{{.*}}]
// CHECK: memref.prefetch %arg0[%{{.*}}, %c32{{.*}}]
// CHECK-NOT: memref.prefetch
// CHECK: memref.load %arg1[%[[I]]]
// CHECK: linalg.generic {{.*}} outs(%alloca
// CHECK: memref.load %arg0
// CHECK: arith.addf
// CHECK: return
func.func private @scatter_rows_of_a_table(%table: memref<500x48xf32>, %i: memref<90xi64>, %bag: memref<90xi64>, %y: memref<9x48xf32>) attributes {tw.kernel} {
  %rows = memref.alloc() : memref<90x48xf32>
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
    ins(%i : memref<90xi64>) outs(%rows : memref<90x48xf32>) {
  ^bb0(%n: i64, %o: f32):
    %row = arith.index_cast %n : i64 to index
    %column = linalg.index 1 : index
    %v = memref.load %table[%row, %column] : memref<500x48xf32>
    linalg.yield %v : f32
  }
  tw_tile.scatter add {index_maps = [affine_map<(d0, d1) -> (d0)>], dest_map = affine_map<(d0, d1)[s0] -> (s0, d1)>}
    ins(%rows, %bag : memref<90x48xf32>, memref<90xi64>) outs(%y : memref<9x48xf32>)
  return
}
