// RUN: split-file %s %t
// RUN: tilewright compile %t/model.mlir --cpu=x86-64-v3 --threads=2 --emit=tiled --schedule-file=%t/rows.mlir | FileCheck %s
// RUN: tilewright compile %t/model.mlir --emit=structured > %t/structured.mlir
// RUN: tilewright-opt %t/structured.mlir --tw-resolve-layouts --tw-select-schedule --tw-apply-scripts=file=%t/rows.mlir | FileCheck %s --check-prefix=PASS
// RUN: not tilewright compile %t/model.mlir --cpu=x86-64-v3 --emit=tiled --schedule-file=%t/twice.mlir 2>&1 | FileCheck %s --check-prefix=TWICE

// A transform sequence tiles the kernels in its attribute tw.kernels. Other kernels are tiled by their schedules.
// CHECK-LABEL: func.func private @matmul_add_gelu_0
// CHECK-SAME: tw.ops = "matmul+add+gelu", tw.schedule = #tw_cpu.script<"rows">
// CHECK: scf.forall (%{{.*}}) in (16) shared_outs
// CHECK-NOT: tensor.empty() : tensor<256x96xf32>
// CHECK: tw_tile.matmul {{.*}} outs(%{{.*}} : tensor<16x96xf32>)
// CHECK: linalg.generic
// CHECK: tensor.parallel_insert_slice %{{.*}} [16, 96]
// CHECK-LABEL: func.func private @reduce_1
// CHECK-SAME: tw.ops = "reduce", tw.schedule = #tw_cpu.schedule<tiles =
// PASS-LABEL: func.func private @matmul_add_gelu_0
// PASS-SAME: tw.schedule = #tw_cpu.script<"rows">
// PASS: scf.forall
// TWICE: has two sequences for matmul_add_gelu_0 (matmul+add+gelu)

//--- model.mlir
func.func @main(%x: tensor<256x64xf32>, %w: tensor<64x96xf32>, %b: tensor<96xf32>) -> (tensor<256x96xf32>, tensor<96xf32>) {
  %m = tw.matmul %x, %w : (tensor<256x64xf32>, tensor<64x96xf32>) -> tensor<256x96xf32>
  %a = tw.add %m, %b : (tensor<256x96xf32>, tensor<96xf32>) -> tensor<256x96xf32>
  %g = tw.gelu %a : (tensor<256x96xf32>) -> tensor<256x96xf32>
  %s = tw.reduce sum %g {dims = array<i64: 0>} : tensor<256x96xf32> -> tensor<96xf32>
  return %g, %s : tensor<256x96xf32>, tensor<96xf32>
}

//--- rows.mlir
module attributes {transform.with_named_sequence} {
  transform.named_sequence @cut(%last: !transform.any_op {transform.consumed}) -> !transform.any_op {
    %tile, %loop = transform.structured.tile_using_forall %last tile_sizes [16, 0] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield %loop : !transform.any_op
  }
  transform.named_sequence @rows(%kernel: !transform.any_op {transform.readonly}) attributes {tw.kernels = ["matmul*", "nothing*"]} {
    %last = transform.structured.match attributes {tw.op = "add+gelu"} in %kernel : (!transform.any_op) -> !transform.any_op
    %loop = transform.include @cut failures(propagate) (%last) : (!transform.any_op) -> !transform.any_op
    %product = transform.structured.match ops{["tw_tile.matmul"]} in %kernel : (!transform.any_op) -> !transform.any_op
    %inner, %same = transform.structured.fuse_into_containing_op %product into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

//--- twice.mlir
module attributes {transform.with_named_sequence} {
  transform.named_sequence @a(%kernel: !transform.any_op {transform.readonly}) attributes {tw.kernels = "matmul*"} { transform.yield }
  transform.named_sequence @b(%kernel: !transform.any_op {transform.readonly}) attributes {tw.kernels = "matmul_add_gelu_0"} { transform.yield }
}
