// A pass that fails writes IR and a pipeline that fail again; and --mlir-print-ir-tree-dir writes a file for each pass.
// RUN: not tilewright-opt %s --canonicalize --tw-verify-stage=stage=structured --mlir-disable-threading \
// RUN:   --mlir-pass-pipeline-crash-reproducer=%t.crash.mlir --mlir-pass-pipeline-local-reproducer 2>&1 | FileCheck %s
// RUN: FileCheck %s --check-prefix=SAVED < %t.crash.mlir
// RUN: not tilewright-opt %t.crash.mlir --run-reproducer 2>&1 | FileCheck %s
// RUN: rm -rf %t.passes
// RUN: tilewright-opt %s --tw-stage-structured --mlir-print-ir-after-all --mlir-print-ir-tree-dir=%t.passes -o /dev/null
// RUN: cat %t.passes/*/*tw-verify-stage.mlir | FileCheck %s --check-prefix=PASSES

// CHECK: error: 'tw.exp' op may not remain after stage 'structured'
// SAVED: tw.exp
// SAVED: pipeline: "builtin.module({{.*}}tw-verify-stage{{.*}})"
// PASSES: math.exp
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tw.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
