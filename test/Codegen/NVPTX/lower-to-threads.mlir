// RUN: tilewright-opt %s --tw-cuda-lower-to-threads --canonicalize | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#columns = affine_map<(d0, d1) -> (d1)>
#rows = affine_map<(d0, d1) -> (d0)>
#transposed = affine_map<(d0, d1) -> (d1, d0)>

// A thread computes four adjacent elements. The broadcast operand is read at the columns of these elements. Indices
// have 32 bits.
// CHECK-LABEL: func @adjacent_elements(
// CHECK-SAME: %[[X:.*]]: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias, llvm.readonly}, %[[B:.*]]: !llvm.ptr<1> {{.*}}, %[[Y:.*]]: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias})
// CHECK-SAME: tw.grid = #[[GRID:.*]], tw.kernel
// CHECK-SAME: tw_cuda.index = 32 : i64, tw_cuda.threads = 256 : i64
// CHECK: nvvm.read.ptx.sreg.ctaid.x
// CHECK: nvvm.read.ptx.sreg.tid.x
// CHECK: %[[IN:.*]] = arith.cmpi ult, %{{.*}}, %c3072
// CHECK: scf.if %[[IN]]
// CHECK-COUNT-8: llvm.load
// CHECK-NOT: llvm.load
// CHECK-COUNT-4: llvm.store
// CHECK-NOT: llvm.store
func.func private @adjacent_elements(%x: tensor<128x96xf32>, %b: tensor<96xf32>, %y: tensor<128x96xf32>) -> tensor<128x96xf32> attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = elements, threads = 256, vector = 4>} {
  %0 = linalg.generic {indexing_maps = [#id, #columns, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %b : tensor<128x96xf32>, tensor<96xf32>) outs(%y : tensor<128x96xf32>) {
  ^bb0(%in: f32, %c: f32, %out: f32):
    %1 = arith.addf %in, %c : f32
    linalg.yield %1 : f32
  } -> tensor<128x96xf32>
  return %0 : tensor<128x96xf32>
}

// An element that two ops read is loaded once. A boolean is stored in a byte.
// CHECK-LABEL: func @once(
// CHECK: scf.if
// CHECK-COUNT-1: llvm.load
// CHECK-NOT: llvm.load
// CHECK: arith.extui %{{.*}} : i1 to i8
// CHECK: llvm.store
func.func private @once(%x: tensor<5x7xf32>, %y: tensor<5x7xi1>) -> tensor<5x7xi1> attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = elements, threads = 128, vector = 1>} {
  %e = tensor.empty() : tensor<5x7xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<5x7xf32>) outs(%e : tensor<5x7xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = math.absf %in : f32
    linalg.yield %1 : f32
  } -> tensor<5x7xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%0, %x : tensor<5x7xf32>, tensor<5x7xf32>) outs(%y : tensor<5x7xi1>) {
  ^bb0(%a: f32, %b: f32, %out: i1):
    %3 = arith.cmpf ogt, %a, %b : f32
    linalg.yield %3 : i1
  } -> tensor<5x7xi1>
  return %2 : tensor<5x7xi1>
}

// Symbolic sizes are 64-bit parameters after the tensors, so indices have 64 bits, too.
// CHECK-LABEL: func @symbolic(
// CHECK-SAME: !llvm.ptr<1> {{.*}}, %{{.*}}: !llvm.ptr<1> {{.*}}, %[[N:.*]]: i64)
// CHECK-SAME: tw_cuda.index = 64
// CHECK: arith.index_cast %[[N]]
func.func private @symbolic(%n: index, %x: tensor<?x7xf32> {tw.sizes = affine_map<()[s0] -> (s0, 7)>}, %y: tensor<?x7xf32> {tw.sizes = affine_map<()[s0] -> (s0, 7)>}) -> tensor<?x7xf32> attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = elements, threads = 128, vector = 1>} {
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x7xf32>) outs(%y : tensor<?x7xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = math.absf %in : f32
    linalg.yield %1 : f32
  } -> tensor<?x7xf32>
  return %0 : tensor<?x7xf32>
}

// An index out of range is reported once, by the first thread that finds it.
// CHECK-LABEL: func @gather(
// CHECK-SAME: %[[STATUS:[a-z0-9]+]]: !llvm.ptr<1>)
// CHECK-SAME: tw.checks
// CHECK: arith.cmpi uge
// CHECK: llvm.cmpxchg %[[STATUS]]
func.func private @gather(%x: tensor<8xf32>, %i: tensor<5xi64>, %y: tensor<5xf32>) -> tensor<5xf32> attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = elements, threads = 128, vector = 1>} {
  %c8 = arith.constant 8 : index
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%i : tensor<5xi64>) outs(%y : tensor<5xf32>) {
  ^bb0(%in: i64, %out: f32):
    %1 = arith.index_cast %in : i64 to index
    %2 = tw_tile.place %1 below %c8 from_end : index
    %3 = tensor.extract %x[%2] : tensor<8xf32>
    linalg.yield %3 : f32
  } -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// A constant of the kernel does not fit in 32 bits, so indices have 64 bits.
// CHECK-LABEL: func @wide_constant(
// CHECK-SAME: tw_cuda.index = 64 : i64
func.func private @wide_constant(%x: tensor<8xi64>, %y: tensor<8xi64>) -> tensor<8xi64> attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = elements, threads = 32, vector = 1>} {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<8xi64>) outs(%y : tensor<8xi64>) {
  ^bb0(%in: i64, %out: i64):
    %i = linalg.index 0 : index
    %large = arith.constant 5000000000 : index
    %p = arith.muli %i, %large : index
    %w = arith.index_cast %p : index to i64
    %s = arith.addi %w, %in : i64
    linalg.yield %s : i64
  } -> tensor<8xi64>
  return %0 : tensor<8xi64>
}

// The body computes an index from loop indices, whose ranges determine the range of the index: here, from -3 to 219.
// Therefore 32 bits suffice. An index needs 64 bits if it is a product with a large number, or if it is computed from
// an element of a tensor.
// CHECK-LABEL: func @computed_index(
// CHECK-SAME: tw_cuda.index = 32 : i64
func.func @computed_index(%x: tensor<224xf32> {tw.sizes = affine_map<() -> (224)>}, %y: tensor<112xf32> {tw.sizes = affine_map<() -> (112)>})
    -> tensor<112xf32> attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = elements, threads = 256, vector = 1>} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c224 = arith.constant 224 : index
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%y : tensor<112xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %j = arith.muli %i, %c2 : index
    %k = arith.subi %j, %c3 : index
    %inside = arith.cmpi ult, %k, %c224 : index
    %at = arith.select %inside, %k, %c0 : index
    %a = tensor.extract %x[%at] : tensor<224xf32>
    linalg.yield %a : f32
  } -> tensor<112xf32>
  return %0 : tensor<112xf32>
}

// CHECK-LABEL: func @large_index(
// CHECK-SAME: tw_cuda.index = 64 : i64
func.func @large_index(%x: tensor<224xf32> {tw.sizes = affine_map<() -> (224)>}, %y: tensor<112xf32> {tw.sizes = affine_map<() -> (112)>})
    -> tensor<112xf32> attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = elements, threads = 256, vector = 1>} {
  %c224 = arith.constant 224 : index
  %large = arith.constant 20000000 : index
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%y : tensor<112xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %j = arith.muli %i, %large : index
    %at = arith.remui %j, %c224 : index
    %a = tensor.extract %x[%at] : tensor<224xf32>
    linalg.yield %a : f32
  } -> tensor<112xf32>
  return %0 : tensor<112xf32>
}

// CHECK-LABEL: func @index_from_a_tensor(
// CHECK-SAME: tw_cuda.index = 64 : i64
func.func @index_from_a_tensor(%x: tensor<224xf32> {tw.sizes = affine_map<() -> (224)>}, %n: tensor<112xi64> {tw.sizes = affine_map<() -> (112)>}, %y: tensor<112xf32> {tw.sizes = affine_map<() -> (112)>})
    -> tensor<112xf32> attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = elements, threads = 256, vector = 1>} {
  %c224 = arith.constant 224 : index
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%n : tensor<112xi64>) outs(%y : tensor<112xf32>) {
  ^bb0(%in: i64, %out: f32):
    %i = arith.index_cast %in : i64 to index
    %at = arith.remui %i, %c224 : index
    %a = tensor.extract %x[%at] : tensor<224xf32>
    linalg.yield %a : f32
  } -> tensor<112xf32>
  return %0 : tensor<112xf32>
}

// CHECK-LABEL: func @large_trip_count(
// CHECK-SAME: tw_cuda.index = 64 : i64
func.func private @large_trip_count(%x: tensor<8x0x5000000000xf32>, %y: tensor<8xf32>) -> tensor<8xf32> attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = elements, threads = 32, vector = 1>} {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0)>], iterator_types = ["parallel", "reduction", "reduction"]} ins(%x : tensor<8x0x5000000000xf32>) outs(%y : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %out, %in : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// The reductions of a block alternate between two buffers in shared memory. A kernel with three reductions needs no
// third buffer.
// CHECK: llvm.mlir.global internal @three_reductions_shared() {{.*}} : !llvm.array<128 x i8>
// CHECK-LABEL: func @three_reductions(
// CHECK-COUNT-3: nvvm.barrier
func.func private @three_reductions(%x: tensor<7x4096xf32>, %a: tensor<7xf32>, %b: tensor<7xf32>, %c: tensor<7xf32>) -> (tensor<7xf32>, tensor<7xf32>, tensor<7xf32>) attributes {tw.kernel, tw.schedule = #tw_gpu.schedule<kind = rows, threads = 256, vector = 4, group = 256>} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%a : tensor<7xf32>) -> tensor<7xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%b : tensor<7xf32>) -> tensor<7xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%c : tensor<7xf32>) -> tensor<7xf32>
  %3 = linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<7x4096xf32>) outs(%0 : tensor<7xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %out, %in : f32
    linalg.yield %s : f32
  } -> tensor<7xf32>
  %4 = linalg.generic {indexing_maps = [#id, #rows, #rows], iterator_types = ["parallel", "reduction"]} ins(%x, %3 : tensor<7x4096xf32>, tensor<7xf32>) outs(%1 : tensor<7xf32>) {
  ^bb0(%in: f32, %m: f32, %out: f32):
    %d = arith.subf %in, %m : f32
    %s = arith.addf %out, %d : f32
    linalg.yield %s : f32
  } -> tensor<7xf32>
  %5 = linalg.generic {indexing_maps = [#id, #rows, #rows, #rows], iterator_types = ["parallel", "reduction"]} ins(%x, %3, %4 : tensor<7x4096xf32>, tensor<7xf32>, tensor<7xf32>) outs(%2 : tensor<7xf32>) {
  ^bb0(%in: f32, %m: f32, %n: f32, %out: f32):
    %d = arith.mulf %in, %m : f32
    %e = arith.subf %d, %n : f32
    %s = arith.addf %out, %e : f32
    linalg.yield %s : f32
  } -> tensor<7xf32>
  return %3, %4, %5 : tensor<7xf32>, tensor<7xf32>, tensor<7xf32>
}
