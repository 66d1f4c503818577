// RUN: tilewright-opt %s --tw-vectorize-loops | FileCheck %s

// 20 columns are computed as one vector of 16 and a masked vector of 4.
// CHECK-LABEL: func private @elementwise
// CHECK: vector.load
// CHECK: math.exp {{.*}} : vector<16xf32>
// CHECK: vector.store
// CHECK: vector.create_mask
// CHECK: vector.maskedload
// CHECK: vector.maskedstore
func.func private @elementwise(%x: memref<3x20xf32>, %y: memref<3x20xf32>) attributes {tw.kernel} {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<3x20xf32>) outs(%y : memref<3x20xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = math.exp %a : f32
    linalg.yield %v : f32
  }
  return
}

// A sum over the contiguous dimension has one vector accumulator, or four if the sum is long. The accumulators are
// reduced at the end.
// CHECK-LABEL: func private @row_sum
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK: vector.reduction <add>
// CHECK: memref.store
func.func private @row_sum(%x: memref<3x128xf32>, %y: memref<3xf32>) attributes {tw.kernel} {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : memref<3x128xf32>) outs(%y : memref<3xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = arith.addf %o, %a : f32
    linalg.yield %v : f32
  }
  return
}

// A sum over a dimension that is not contiguous accumulates vectors of columns.
// CHECK-LABEL: func private @column_sum
// CHECK-NOT: vector.reduction
// CHECK: arith.addf {{.*}} : vector<16xf32>
// CHECK: vector.store
func.func private @column_sum(%x: memref<50x64xf32>, %y: memref<64xf32>) attributes {tw.kernel} {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]} ins(%x : memref<50x64xf32>) outs(%y : memref<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = arith.addf %o, %a : f32
    linalg.yield %v : f32
  }
  return
}

// A sum over outer loops is computed in levels: each accumulator starts at zero and sums at most 32 values of the level
// below. This limits the rounding error: no accumulator sums all 30000 elements.
// CHECK-LABEL: func.func private @outer_sum
// CHECK: scf.for {{.*}} step %c16
// CHECK: scf.for %{{.*}} to %c300{{.*}} step %c16
// CHECK: scf.for
// CHECK: scf.for %{{.*}} to %c100{{.*}} step %c16{{.*}} iter_args(
// CHECK: scf.for
// CHECK: vector.load
// CHECK-COUNT-4: arith.addf {{.*}} vector<16xf32>
func.func private @outer_sum(%x: memref<300x100x32xf32>, %y: memref<32xf32>) attributes {tw.kernel} {
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2, d0)>, affine_map<(d0, d1, d2) -> (d0)>], iterator_types = ["parallel", "reduction", "reduction"]} ins(%x : memref<300x100x32xf32>) outs(%y : memref<32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  }
  return
}

// Rows of up to four vectors are computed without a loop over columns.
// CHECK-LABEL: func private @few_columns
// CHECK: scf.for %[[ROW:.*]] = %c0 to %c3
// CHECK-NOT: scf.for
// CHECK-COUNT-3: math.exp {{.*}} : vector<16xf32>
// CHECK-NOT: math.exp
func.func private @few_columns(%x: memref<3x48xf32>, %y: memref<3x48xf32>) attributes {tw.kernel} {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<3x48xf32>) outs(%y : memref<3x48xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = math.exp %a : f32
    linalg.yield %v : f32
  }
  return
}

// A reduction may have a second result with one element per iteration of the reduction loop. Each iteration then stores
// its elements, and the last, partial vector is masked for both results.
// CHECK-LABEL: func private @stored_in_steps
// CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args
// CHECK: %[[E:.*]] = math.exp {{.*}} : vector<16xf32>
// CHECK-NEXT: arith.addf %[[E]]
// CHECK: vector.store %[[E]]
// CHECK: vector.maskedstore
// CHECK: vector.reduction <add>
func.func private @stored_in_steps(%x: memref<3x150xf32>, %e: memref<3x150xf32>, %s: memref<3xf32>) attributes {tw.kernel} {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : memref<3x150xf32>) outs(%e, %s : memref<3x150xf32>, memref<3xf32>) {
  ^bb0(%a: f32, %old: f32, %sum: f32):
    %v = math.exp %a : f32
    %t = arith.addf %v, %sum : f32
    linalg.yield %v, %t : f32, f32
  }
  return
}

// The accumulator of maxnumf begins with -inf and is never NaN, so one comparison selects the greater number.
// CHECK-LABEL: func private @greatest_number
// CHECK: arith.constant 0xFF800000 : f32
// CHECK: arith.cmpf ogt
// CHECK: arith.select
// CHECK: arith.maxnumf {{.*}} : f32
func.func private @greatest_number(%x: memref<3x64xf32>, %m: memref<3xf32>) attributes {tw.kernel} {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : memref<3x64xf32>) outs(%m : memref<3xf32>) {
  ^bb0(%a: f32, %best: f32):
    %t = arith.maxnumf %best, %a : f32
    linalg.yield %t : f32
  }
  return
}

// The body loads element 0 if the index is outside of the row, and does not use the loaded value in this case. Such a
// load becomes a masked load.
// CHECK-LABEL: func private @guarded
// CHECK: %[[THERE:.*]] = arith.cmpi ult, %{{.*}}, %{{.*}} : vector<16xindex>
// CHECK: vector.maskedload %arg0[%{{.*}}], %[[THERE]]
// CHECK-NOT: memref.load
// CHECK: vector.store
func.func private @guarded(%x: memref<40xf32>, %y: memref<48xf32>) attributes {tw.kernel} {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c40 = arith.constant 40 : index
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%y : memref<48xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %place = arith.subi %i, %c3 : index
    %there = arith.cmpi ult, %place, %c40 : index
    %at = arith.select %there, %place, %c0 : index
    %read = memref.load %x[%at] : memref<40xf32>
    %v = arith.select %there, %read, %zero : f32
    linalg.yield %v : f32
  }
  return
}

// If the body also uses the value that it loads for an index outside of the row (element 0), the load is not masked.
// CHECK-LABEL: func private @value_used_outside
// CHECK-NOT: vector.maskedload
// CHECK: memref.load %arg0
func.func private @value_used_outside(%x: memref<40xf32>, %y: memref<48xf32>) attributes {tw.kernel} {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c40 = arith.constant 40 : index
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%y : memref<48xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %place = arith.subi %i, %c3 : index
    %there = arith.cmpi ult, %place, %c40 : index
    %at = arith.select %there, %place, %c0 : index
    %v = memref.load %x[%at] : memref<40xf32>
    linalg.yield %v : f32
  }
  return
}

// If all values of a loop are bytes, vectors have four times as many elements as for f32. For 16 bits, they have twice
// as many.
// CHECK-LABEL: func private @bytes
// CHECK: arith.minui {{.*}} : vector<64xi8>
func.func private @bytes(%x: memref<256xi8>, %y: memref<256xi8>) attributes {tw.kernel} {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : memref<256xi8>) outs(%y : memref<256xi8>) {
  ^bb0(%a: i8, %o: i8):
    %c9 = arith.constant 9 : i8
    %v = arith.minui %a, %c9 : i8
    linalg.yield %v : i8
  }
  return
}

// CHECK-LABEL: func private @sixteen_bits
// CHECK: arith.addi {{.*}} : vector<32xi16>
func.func private @sixteen_bits(%x: memref<256xi16>, %y: memref<256xi16>) attributes {tw.kernel} {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : memref<256xi16>) outs(%y : memref<256xi16>) {
  ^bb0(%a: i16, %o: i16):
    %v = arith.addi %a, %a : i16
    linalg.yield %v : i16
  }
  return
}

// If a loop widens bytes to i32, vectors have as many elements as for i32.
// CHECK-LABEL: func private @widened
// CHECK: arith.extui {{.*}} : vector<16xi8> to vector<16xi32>
func.func private @widened(%x: memref<256xi8>, %y: memref<256xi32>) attributes {tw.kernel} {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : memref<256xi8>) outs(%y : memref<256xi32>) {
  ^bb0(%a: i8, %o: i32):
    %v = arith.extui %a : i8 to i32
    linalg.yield %v : i32
  }
  return
}

// Elements with strides of two and three are selected from whole vectors. The last vector that is loaded ends with the
// last selected element.
// CHECK-LABEL: func @strided
// CHECK: memref.reinterpret_cast %{{.*}} sizes: [31], strides: [1]
// CHECK: vector.load
// CHECK: vector.load
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 1, 2, 3, 4, 5, 6, 7, 17, 19, 21, 23, 25, 27, 29, 31]
// CHECK: memref.reinterpret_cast %{{.*}} sizes: [46], strides: [1]
// CHECK-COUNT-3: vector.load
// CHECK-NOT: memref.load
// CHECK: return
func.func @strided(%a: memref<64xf32, strided<[2], offset: 1>>, %b: memref<64xf32, strided<[3]>>, %c: memref<64xf32>) attributes {tw.kernel} {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%a, %b: memref<64xf32, strided<[2], offset: 1>>, memref<64xf32, strided<[3]>>) outs(%c: memref<64xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  }
  return
}

// A loop without iterations is not vectorized.
// CHECK-LABEL: func @no_iterations
// CHECK-NOT: vector.
// CHECK: return
func.func @no_iterations(%x: memref<3x0xf32>, %y: memref<3x0xf32>) attributes {tw.kernel} {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<3x0xf32>) outs(%y : memref<3x0xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = math.exp %a : f32
    linalg.yield %v : f32
  }
  return
}
