// RUN: not tilewright-opt %s --tw-stage-graph --tw-stage-structured --tw-stage-tiled --tw-stage-structured 2>&1 | FileCheck %s --check-prefix=AGAIN
// RUN: not tilewright-opt %s --tw-stage-graph --tw-stage-structured --tw-place-scratch 2>&1 | FileCheck %s --check-prefix=SCRATCH
// RUN: not tilewright-opt %s --tw-stage-graph --tw-stage-structured --tw-hls-apply-schedules 2>&1 | FileCheck %s --check-prefix=HLS
// RUN: not tilewright-opt %s --tw-stage-graph --tw-stage-structured --tw-stage-cpu 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: not tilewright-opt %s --tw-stage-graph --tw-stage-structured --tw-stage-tiled --tw-stage-vector --tw-stage-tiled 2>&1 | FileCheck %s --check-prefix=TILED

// A pass reports the IR of another stage as an error; test/Conformance/passes tries all passes.
// AGAIN: is not part of the input of --tw-lower-graph, which is a model's graph, of tw ops; check the stage after which the IR was saved
// SCRATCH: is not part of the input of --tw-place-scratch, which is kernels on memrefs
// HLS: is not part of the input of --tw-hls-apply-schedules, which is kernels on memrefs
// CPU: is not part of the input of --tw-cpu-expand-contractions, which is kernels on memrefs
// TILED: is not part of the input of --tw-{{.*}}, which is linalg and tw_tile ops on tensors
func.func @main(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %e = tw.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = tw.reduce sum %e {dims = array<i64: 1>} : tensor<4x8xf32> -> tensor<4xf32>
  return %s : tensor<4xf32>
}
