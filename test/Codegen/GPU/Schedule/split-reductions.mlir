// Long reductions over rows with few results are split into parts. A reduction of all elements is split for all
// targets, in an earlier stage. A reduction over a prime number of elements is not split.
// RUN: tilewright compile %s --target=cuda --emit=tiled | FileCheck %s
// RUN: tilewright run %s --target=cuda --device=emulated --check | FileCheck %s --check-prefix=RESULT

// CHECK: func.func @main
// CHECK: tensor.expand_shape %arg0 {{\[\[}}0, 1], [2]] output_shape [32, 256, 40]
// CHECK: call @[[ROWS:[a-z_]+_[0-9]+_parts]]({{.*}} -> tensor<32x40xf32>
// CHECK-NOT: call @{{.*}}_parts
// CHECK: func.func private @[[ROWS]]({{.*}}kind = rows
// CHECK: tw.op = "sum of parts"

// RESULT: check: every kernel agrees with the reference
func.func @main(%x: tensor<8192x40xf32>, %y: tensor<200000xf32>, %z: tensor<131101xf32>) -> (tensor<40xf32>, tensor<f32>, tensor<f32>) {
  %n = tw.neg %x : (tensor<8192x40xf32>) -> tensor<8192x40xf32>
  %t = tw.exp %n : (tensor<8192x40xf32>) -> tensor<8192x40xf32>
  %a = tw.reduce sum %t {dims = array<i64: 0>} : tensor<8192x40xf32> -> tensor<40xf32>
  %b = tw.reduce sum %y {dims = array<i64: 0>} : tensor<200000xf32> -> tensor<f32>
  %c = tw.reduce sum %z {dims = array<i64: 0>} : tensor<131101xf32> -> tensor<f32>
  return %a, %b, %c : tensor<40xf32>, tensor<f32>, tensor<f32>
}

// The gradient of a norm's weight sums products of three factors over the rows. Two of the factors have one element per
// row, so this sum does not count as a matrix product. With many rows, it is split. Its schedule is always `rows`.
// RUN: sed s/ROWS/6304/g %S/Inputs/norm-weight-gradient.mlir > %t.mlir
// RUN: tilewright compile %t.mlir --target=cuda --emit=tiled | FileCheck %s --check-prefix=NORM
// RUN: sed s/ROWS/200/g %S/Inputs/norm-weight-gradient.mlir > %t.few.mlir
// RUN: tilewright compile %t.few.mlir --target=cuda --emit=tiled | FileCheck %s --check-prefix=FEW
// RUN: tilewright run %t.few.mlir --target=cuda --device=emulated --check | FileCheck %s --check-prefix=RESULT

// NORM: tensor.expand_shape %arg0 {{\[\[}}0, 1], [2]]
// NORM: call @[[NORM:[a-z_]+_[0-9]+_parts]](
// NORM: func.func private @[[NORM]]({{.*}}kind = rows
// FEW: func.func private @sub_mul_cast_mul_reduce_0({{.*}}kind = rows, {{.*}}rows_across_lanes = true
