// RUN: tilewright-opt %s --tw-mark-in-place | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#transposed = affine_map<(d0, d1) -> (d1, d0)>
#row = affine_map<(d0, d1) -> (d0)>

// The result may overwrite either operand, because both are read at the index at which the result is written.
// CHECK-LABEL: func private @step(
// CHECK-SAME: %arg2: tensor<8x8xf32> {tw.over = array<i64: 0, 1>}
func.func private @step(%p: tensor<8x8xf32>, %g: tensor<8x8xf32>, %o: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {tw.kernel} {
  %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %g : tensor<8x8xf32>, tensor<8x8xf32>) outs(%o : tensor<8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %1 = arith.subf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// The result may not overwrite the first operand, which is read at another index. Another tile may already have written
// the result there.
// CHECK-LABEL: func private @transposed(
// CHECK-SAME: %arg2: tensor<8x8xf32> {tw.over = array<i64: 1>}
func.func private @transposed(%p: tensor<8x8xf32>, %g: tensor<8x8xf32>, %o: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {tw.kernel} {
  %0 = linalg.generic {indexing_maps = [#transposed, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %g : tensor<8x8xf32>, tensor<8x8xf32>) outs(%o : tensor<8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %1 = arith.subf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// x.div_(x.sum(-1)) reads each row twice: for the sum, and for the quotient. The result may not overwrite an operand
// that a reduction of the same kernel also reads.
// CHECK-LABEL: func private @row_sums(
// CHECK-NOT: tw.over
// CHECK: return
func.func private @row_sums(%p: tensor<8x8xf32>, %o: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {tw.kernel} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%p : tensor<8x8xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%a: f32, %c: f32):
    %1 = arith.addf %a, %c : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %s : tensor<8x8xf32>, tensor<8xf32>) outs(%o : tensor<8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %1 = arith.divf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// Both ops read operand 0. Therefore only the result of the second op may overwrite this operand.
// CHECK-LABEL: func private @later_reader(
// CHECK-SAME: %arg1: tensor<8x8xf32>, %arg2: tensor<8x8xf32> {tw.over = array<i64: 0>}
func.func private @later_reader(%p: tensor<8x8xf32>, %o: tensor<8x8xf32>, %q: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) attributes {tw.kernel} {
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<8x8xf32>) outs(%o : tensor<8x8xf32>) {
  ^bb0(%a: f32, %c: f32):
    %1 = arith.negf %a : f32
    linalg.yield %1 : f32
  } -> tensor<8x8xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %0 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%q : tensor<8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %1 = arith.mulf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<8x8xf32>
  return %0, %2 : tensor<8x8xf32>, tensor<8x8xf32>
}

func.func @main(%p: tensor<8x8xf32>) -> (tensor<8x8xf32> {tw.into = 0 : i64}) {
  return %p : tensor<8x8xf32>
}
