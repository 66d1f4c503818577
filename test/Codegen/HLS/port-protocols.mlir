// RUN: tilewright-opt %s --tw-hls-port-protocols="ports=x=stream" | FileCheck %s
// RUN: tilewright-opt %s --tw-hls-port-protocols="ports='x=stream y=stream s=axi_lite'" | FileCheck %s --check-prefix=ALL
// RUN: not tilewright-opt %s --tw-hls-port-protocols="ports=q=stream" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not tilewright-opt %s --tw-hls-port-protocols="ports=x=axis" 2>&1 | FileCheck %s --check-prefix=PROTOCOL
// RUN: not tilewright-opt %s --tw-hls-port-protocols="ports=x=axi_lite" 2>&1 | FileCheck %s --check-prefix=LITE
// RUN: not tilewright-opt %s --tw-hls-port-protocols="ports='x=stream x=stream'" 2>&1 | FileCheck %s --check-prefix=TWICE
// Only the task @load_x accesses port x. If the protocol of x is stream, the loads, which are in row-major order,
// become tw_hls.read ops. In the same way, the stores to port y become tw_hls.write ops. If the protocol of port s is
// axi_lite, the port becomes a scalar argument of @load_s, which replaces the loads of the port.
// NAME: error: --port q=stream: there is no port 'q'; this design has x, s, y
// PROTOCOL: error: --port: port 'x': there is no protocol 'axis'; supported are axi_master, axi_lite and stream
// LITE: error: --port: port 'x': axi_lite supports only inputs of one element, but this is an input of 48 elements; use stream or axi_master
// TWICE: error: --port: port 'x': its protocol is specified twice

!dram = memref<8x6xf32, #tw_hls.partition<none, none>, #tw_hls.memory<dram>>
!chip = memref<8x6xf32, #tw_hls.partition<none, none>, #tw_hls.memory<bram>>
!number = memref<f32, #tw_hls.partition<>, #tw_hls.memory<dram>>
!register = memref<f32, #tw_hls.partition<>, #tw_hls.memory<bram>>

// CHECK-LABEL: func.func private @load_x(
// CHECK-SAME: %[[FROM:.*]]: !tw_hls.stream<f32, 48>, %[[TO:.*]]: memref<8x6xf32
// CHECK: %[[V:.*]] = tw_hls.read %[[FROM]]
// CHECK: affine.store %[[V]], %[[TO]]
func.func private @load_x(%from: !dram, %to: !chip) attributes {tw_hls.mover} {
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 6 {
      %v = affine.load %from[%i, %j] : !dram
      affine.store %v, %to[%i, %j] : !chip
    } {tw_hls.loop = #tw_hls.loop<label = "load_x_j", ii = 1>}
  } {tw_hls.loop = #tw_hls.loop<label = "load_x_i", flatten = true>}
  return
}
// ALL-LABEL: func.func private @load_s(
// ALL-SAME: %[[S:.*]]: f32, %[[TO:.*]]: memref<f32
// ALL: affine.store %[[S]], %[[TO]][]
func.func private @load_s(%from: !number, %to: !register) attributes {tw_hls.mover} {
  affine.for %i = 0 to 1 {
    %v = affine.load %from[] : !number
    affine.store %v, %to[] : !register
  } {tw_hls.loop = #tw_hls.loop<label = "load_s_i", ii = 1>}
  return
}
func.func private @scale(%x: !chip, %s: !register, %y: !chip) {
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 6 {
      %v = affine.load %x[%i, %j] : !chip
      %f = affine.load %s[] : !register
      %p = arith.mulf %v, %f : f32
      affine.store %p, %y[%i, %j] : !chip
    } {tw_hls.loop = #tw_hls.loop<label = "scale_j", ii = 1>}
  } {tw_hls.loop = #tw_hls.loop<label = "scale_i", flatten = true>}
  return
}
// ALL-LABEL: func.func private @store_y(
// ALL-SAME: memref<8x6xf32{{.*}}>, %[[Y:.*]]: !tw_hls.stream<f32, 48>
// ALL: tw_hls.write %{{.*}} to %[[Y]]
func.func private @store_y(%from: !chip, %to: !dram) attributes {tw_hls.mover} {
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 6 {
      %v = affine.load %from[%i, %j] : !chip
      affine.store %v, %to[%i, %j] : !dram
    } {tw_hls.loop = #tw_hls.loop<label = "store_y_j", ii = 1>}
  } {tw_hls.loop = #tw_hls.loop<label = "store_y_i", flatten = true>}
  return
}
// CHECK-LABEL: func.func @model(
// CHECK-SAME: !tw_hls.stream<f32, 48> {tw_hls.interface = #tw_hls.interface<name = "x", protocol = stream>}
// CHECK-SAME: memref<8x6xf32{{.*}} {tw_hls.interface = #tw_hls.interface<name = "y", protocol = axi_master, bundle = "gmem2">}
// ALL-LABEL: func.func @model(
// ALL-SAME: f32 {tw_hls.interface = #tw_hls.interface<name = "s", protocol = axi_lite>}
func.func @model(%x: !dram {tw_hls.interface = #tw_hls.interface<name = "x", protocol = axi_master, bundle = "gmem0">},
                 %s: !number {tw_hls.interface = #tw_hls.interface<name = "s", protocol = axi_master, bundle = "gmem1">},
                 %y: !dram {tw_hls.interface = #tw_hls.interface<name = "y", protocol = axi_master, bundle = "gmem2">}) attributes {tw_hls.top} {
  tw_hls.dataflow {
    %a = tw_hls.buffer "a" : !chip
    tw_hls.task @load_x reads(%x) writes(%a) : (!dram) -> (!chip)
    %b = tw_hls.buffer "b" : !register
    tw_hls.task @load_s reads(%s) writes(%b) : (!number) -> (!register)
    %c = tw_hls.buffer "c" : !chip
    tw_hls.task @scale reads(%a, %b) writes(%c) : (!chip, !register) -> (!chip)
    tw_hls.task @store_y reads(%c) writes(%y) : (!chip) -> (!dram)
  }
  return
}
