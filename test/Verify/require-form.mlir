// RUN: not tilewright-opt %s --tw-stage-graph --tw-stage-structured --tw-stage-tiled --tw-stage-structured 2>&1 | FileCheck %s --check-prefix=AGAIN
// RUN: not tilewright-opt %s --tw-stage-graph --tw-stage-structured --tw-place-scratch 2>&1 | FileCheck %s --check-prefix=SCRATCH
// RUN: not tilewright-opt %s --tw-stage-graph --tw-stage-structured --tw-hls-apply-schedules 2>&1 | FileCheck %s --check-prefix=HLS
// RUN: not tilewright-opt %s --tw-stage-graph --tw-stage-structured --tw-stage-cpu 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: not tilewright-opt %s --tw-stage-graph --tw-stage-structured --tw-stage-tiled --tw-stage-vector --tw-stage-tiled 2>&1 | FileCheck %s --check-prefix=TILED

// A pass reports the IR of another stage as an error; test/Conformance/passes tries all passes.
// AGAIN: is not of the IR that --tw-lower-graph takes: a model's graph, of tw ops; which stage was this saved at?
// SCRATCH: is not of the IR that --tw-place-scratch takes: kernels on memrefs
// HLS: is not of the IR that --tw-hls-apply-schedules takes: kernels on memrefs
// CPU: is not of the IR that --tw-cpu-expand-contractions takes: kernels on memrefs
// TILED: is not of the IR that --tw-{{.*}} takes: linalg and tw_tile ops on tensors
func.func @main(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %e = tw.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = tw.reduce sum %e {dims = array<i64: 1>} : tensor<4x8xf32> -> tensor<4xf32>
  return %s : tensor<4xf32>
}
