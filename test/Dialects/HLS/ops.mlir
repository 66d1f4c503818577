// RUN: tilewright-opt %s | tilewright-opt | FileCheck %s
// Each op, attribute and type is printed and parsed again.

// CHECK-LABEL: func.func private @scale
// CHECK: affine.for {{.*}} = 0 to 16
// CHECK: tw_hls.loop = #tw_hls.loop<label = "scale_i", ii = 1>
func.func private @scale(%x: memref<64xf32, #tw_hls.partition<cyclic 4>, #tw_hls.memory<bram>>, %q: !tw_hls.stream<f32, 2>) {
  %two = arith.constant 2.0 : f32
  affine.for %i = 0 to 16 {
    affine.for %u = 0 to 4 {
      %v = affine.load %x[%i * 4 + %u] : memref<64xf32, #tw_hls.partition<cyclic 4>, #tw_hls.memory<bram>>
      %w = arith.mulf %v, %two : f32
      tw_hls.write %w to %q : !tw_hls.stream<f32, 2>
    } {tw_hls.loop = #tw_hls.loop<label = "scale_u", unroll = 4>}
  } {tw_hls.loop = #tw_hls.loop<label = "scale_i", ii = 1>}
  return
}

// CHECK-LABEL: func.func private @load
func.func private @load(%x: memref<64xf32, #tw_hls.partition<none>, #tw_hls.memory<dram>>, %y: memref<64xf32, #tw_hls.partition<cyclic 4>, #tw_hls.memory<bram>>) {
  return
}
// CHECK-LABEL: func.func private @store
func.func private @store(%q: !tw_hls.stream<f32, 2>, %w: memref<2xi5, #tw_hls.partition<complete>, #tw_hls.memory<register>>, %y: memref<64xf32, #tw_hls.partition<none>, #tw_hls.memory<dram>>) {
  // CHECK: tw_hls.read %{{.*}} : <f32, 2>
  %v = tw_hls.read %q : !tw_hls.stream<f32, 2>
  return
}

// CHECK-LABEL: func.func @top
// CHECK-SAME: tw_hls.interface = #tw_hls.interface<name = "x", protocol = axi_master, bundle = "gmem0">
func.func @top(%x: memref<64xf32, #tw_hls.partition<none>, #tw_hls.memory<dram>> {tw_hls.interface = #tw_hls.interface<name = "x", protocol = axi_master, bundle = "gmem0">},
               %y: memref<64xf32, #tw_hls.partition<none>, #tw_hls.memory<dram>> {tw_hls.interface = #tw_hls.interface<name = "y", protocol = axi_master, bundle = "gmem1">}) {
  // CHECK: tw_hls.dataflow {
  tw_hls.dataflow {
    // CHECK: %[[CHIP:.*]] = tw_hls.buffer "chip" : memref<64xf32, #tw_hls.partition<cyclic 4>, #tw_hls.memory<bram>>
    %chip = tw_hls.buffer "chip" : memref<64xf32, #tw_hls.partition<cyclic 4>, #tw_hls.memory<bram>>
    // CHECK: tw_hls.buffer "rom" = dense<[3, -2]> : tensor<2xi5>
    %rom = tw_hls.buffer "rom" = dense<[3, -2]> : tensor<2xi5> : memref<2xi5, #tw_hls.partition<complete>, #tw_hls.memory<register>>
    // CHECK: %[[Q:.*]] = tw_hls.stream "q" : <f32, 2>
    %q = tw_hls.stream "q" : !tw_hls.stream<f32, 2>
    // CHECK: tw_hls.task @load reads(%{{.*}}) writes(%[[CHIP]])
    tw_hls.task @load reads(%x) writes(%chip) : (memref<64xf32, #tw_hls.partition<none>, #tw_hls.memory<dram>>) -> (memref<64xf32, #tw_hls.partition<cyclic 4>, #tw_hls.memory<bram>>)
    tw_hls.task @scale reads(%chip) writes(%q) : (memref<64xf32, #tw_hls.partition<cyclic 4>, #tw_hls.memory<bram>>) -> (!tw_hls.stream<f32, 2>)
    tw_hls.task @store reads(%q, %rom) writes(%y) : (!tw_hls.stream<f32, 2>, memref<2xi5, #tw_hls.partition<complete>, #tw_hls.memory<register>>) -> (memref<64xf32, #tw_hls.partition<none>, #tw_hls.memory<dram>>)
  }
  return
}

// CHECK: linalg.fill {tw_hls.schedule = #tw_hls.schedule<order = [1, 0], unroll = [1, 4], ii = 1>}
func.func private @schedule(%y: memref<8x4xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill {tw_hls.schedule = #tw_hls.schedule<order = [1, 0], unroll = [1, 4], ii = 1>} ins(%zero : f32) outs(%y : memref<8x4xf32>)
  return
}

!rows = memref<4x8xf32, #tw_hls.partition<none, cyclic 2>, #tw_hls.memory<bram>>
// CHECK-LABEL: func.func private @blocks
// CHECK: tw_hls.lock write %{{.*}} : <memref<4x8xf32, #tw_hls.partition<none, cyclic 2>, #tw_hls.memory<bram>>, 2>
// CHECK: tw_hls.lock %{{.*}} : <memref<4x8xf32,
// CHECK: linalg.fill {tw_hls.schedule = #tw_hls.schedule<order = [1, 0], unroll = [2, 1], ii = 1, block = [0, 4]>}
func.func private @blocks(%from: !tw_hls.stream<!rows, 2>, %to: !tw_hls.stream<!rows, 2>, %y: memref<8x4xf32>) {
  affine.for %b = 0 to 3 {
    %written = tw_hls.lock write %to : !tw_hls.stream<!rows, 2>
    %read = tw_hls.lock %from : !tw_hls.stream<!rows, 2>
  } {tw_hls.loop = #tw_hls.loop<label = "all_b">}
  %zero = arith.constant 0.0 : f32
  linalg.fill {tw_hls.schedule = #tw_hls.schedule<order = [1, 0], unroll = [2, 1], ii = 1, block = [0, 4]>} ins(%zero : f32) outs(%y : memref<8x4xf32>)
  return
}
