// The plan becomes a top function with a dataflow region. The region has a task for each kernel, and for each transfer
// of an input or output.
// RUN: tilewright compile %s --target=hls --emit=vector > %t.vector.mlir
// RUN: tilewright-opt %t.vector.mlir --tw-hls-split-kernels --tw-hls-select-schedules --tw-hls-apply-schedules --tw-hls-build-design | FileCheck %s

// CHECK-LABEL: func.func @model(
// CHECK-SAME: tw_hls.interface = #tw_hls.interface<name = "input0", protocol = axi_master, bundle = "gmem0">
// CHECK-SAME: attributes {tw_hls.top}
// CHECK: tw_hls.dataflow {
// CHECK: tw_hls.task @load_input0
// CHECK: tw_hls.task @load_input1
// CHECK: tw_hls.task @add
// CHECK: tw_hls.task @store_output0
func.func @main(%x: tensor<16xf32>, %y: tensor<16xf32>) -> tensor<16xf32> {
  %0 = tw.add %x, %y : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
