// RUN: tilewright-opt %s -verify-diagnostics -split-input-file
// Each program violates one constraint of dialects/HLS/HLSOps.td, which its error message names.

// expected-error @below {{loop_c0: label '3', ii = 1, unroll = 1; expected a C identifier}}
#label = #tw_hls.loop<label = "3", ii = 1>

// -----

func.func private @loop_c1(%n: index) {
  // expected-error @below {{loop_c1: loop 'i' has no constant bounds}}
  affine.for %i = 0 to %n {
  } {tw_hls.loop = #tw_hls.loop<label = "i", ii = 1>}
  return
}

// -----

// expected-error @below {{loop_c1: tw_hls.loop belongs on affine.for}}
func.func private @loop_c1_elsewhere() attributes {tw_hls.loop = #tw_hls.loop<label = "i">} {
  return
}

// -----

func.func private @loop_c2() {
  // expected-error @below {{loop_c2: loop 'i' of 10 trips cannot be unrolled by 4}}
  affine.for %i = 0 to 10 {
  } {tw_hls.loop = #tw_hls.loop<label = "i", unroll = 4>}
  return
}

// -----

func.func private @loop_c3() {
  affine.for %i = 0 to 10 {
    // expected-error @below {{loop_c3: this loop is inside the pipelined loop 'i' and is not fully unrolled}}
    affine.for %j = 0 to 8 {
    } {tw_hls.loop = #tw_hls.loop<label = "j", unroll = 4>}
  } {tw_hls.loop = #tw_hls.loop<label = "i", ii = 1>}
  return
}

// -----

func.func private @loop_c4(%x: memref<10xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{loop_c4: loop 'i' cannot be flattened, because its body is not exactly one loop}}
  affine.for %i = 0 to 10 {
    affine.store %zero, %x[%i] : memref<10xf32>
    affine.for %j = 0 to 8 {
    } {tw_hls.loop = #tw_hls.loop<label = "j", ii = 1>}
  } {tw_hls.loop = #tw_hls.loop<label = "i", flatten = true>}
  return
}

// -----

func.func private @loop_c5() {
  // expected-error @below {{loop_c5: loop 'i' has a distance but is not pipelined}}
  affine.for %i = 0 to 10 {
  } {tw_hls.loop = #tw_hls.loop<label = "i", distance = 10>}
  return
}

// -----

// expected-error @below {{interface_c1: port 'x'}}
func.func private @interface_c1(%x: memref<8xf32, #tw_hls.partition<none>, #tw_hls.memory<bram>> {tw_hls.interface = #tw_hls.interface<name = "x", protocol = axi_master, bundle = "g">}) {
  return
}

// -----

func.func private @schedule_c1(%y: memref<8x4xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{schedule_c1: the op has 2 loops}}
  linalg.fill {tw_hls.schedule = #tw_hls.schedule<order = [0, 0], unroll = [1, 4], ii = 1>} ins(%zero : f32) outs(%y : memref<8x4xf32>)
  return
}

// -----

func.func private @schedule_c1_divisor(%y: memref<8x4xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{schedule_c1: a loop of 4 trips cannot be unrolled by 3}}
  linalg.fill {tw_hls.schedule = #tw_hls.schedule<order = [0, 1], unroll = [1, 3], ii = 1>} ins(%zero : f32) outs(%y : memref<8x4xf32>)
  return
}

// -----

// expected-error @below {{partition_c1: 1 entries for 2 dimensions}}
func.func private @partition_c1(%x: memref<8x8xf32, #tw_hls.partition<none>>) {
  return
}

// -----

// expected-error @below {{partition_c1: 9 banks along dimension 0 of size 8}}
func.func private @partition_c1_factor(%x: memref<8xf32, #tw_hls.partition<cyclic 9>>) {
  return
}

// -----

// expected-error @below {{partition_c2: 8192 banks; vendors' tools split an array into at most 4096}}
func.func private @partition_c2(%x: memref<128x64xf32, #tw_hls.partition<complete, complete>>) {
  return
}

// -----

// expected-error @below {{stream_c1: the depth of a stream is 0}}
func.func private @stream_c1(%q: !tw_hls.stream<f32, 0>) {
  return
}

// -----

func.func private @buffer_c1() {
  // expected-error @below {{buffer_c1: 'a-b' is not a C identifier}}
  %a = tw_hls.buffer "a-b" : memref<8xf32>
  return
}

// -----

func.func private @buffer_c2() {
  // expected-error @below {{buffer_c2: 'rom' has a value of type 'tensor<4xf32>'}}
  %a = tw_hls.buffer "rom" = dense<1.0> : tensor<4xf32> : memref<8xf32>
  return
}

// -----

func.func private @task_c1() {
  tw_hls.dataflow {
    // expected-error @below {{task_c1: there is no function @missing}}
    tw_hls.task @missing reads() writes() : () -> ()
  }
  return
}

// -----

func.func private @make(%a: memref<8xf32>)
func.func private @task_c1_types() {
  tw_hls.dataflow {
    // expected-error @below {{task_c1: @make is of type}}
    tw_hls.task @make reads() writes() : () -> ()
  }
  return
}

// -----

func.func private @dataflow_c1() {
  tw_hls.dataflow {
    // expected-error @below {{dataflow_c1: a dataflow region contains buffers, streams and tasks, not 'arith.constant'}}
    %one = arith.constant 1 : i32
  }
  return
}

// -----

func.func private @make(%a: memref<8xf32>)
func.func private @take(%a: memref<8xf32>)
func.func private @change(%a: memref<8xf32>, %b: memref<8xf32>)
func.func private @dataflow_c2_two_readers() {
  tw_hls.dataflow {
    %a = tw_hls.buffer "a" : memref<8xf32>
    tw_hls.task @make reads() writes(%a) : () -> memref<8xf32>
    // expected-note @below {{the task of @take is here}}
    tw_hls.task @take reads(%a) writes() : (memref<8xf32>) -> ()
    // expected-error @below {{dataflow_c2: reads a channel that @take reads already; a channel has one consumer}}
    tw_hls.task @take reads(%a) writes() : (memref<8xf32>) -> ()
  }
  return
}

// -----

func.func private @make(%a: memref<8xf32>)
func.func private @take(%a: memref<8xf32>)
func.func private @change(%a: memref<8xf32>, %b: memref<8xf32>)
func.func private @dataflow_c2_two_writers() {
  tw_hls.dataflow {
    %a = tw_hls.buffer "a" : memref<8xf32>
    // expected-note @below {{the task of @make is here}}
    tw_hls.task @make reads() writes(%a) : () -> memref<8xf32>
    // expected-error @below {{dataflow_c2: writes a channel that @make writes already; a channel has one producer}}
    tw_hls.task @make reads() writes(%a) : () -> memref<8xf32>
    tw_hls.task @take reads(%a) writes() : (memref<8xf32>) -> ()
  }
  return
}

// -----

func.func private @make(%a: memref<8xf32>)
func.func private @take(%a: memref<8xf32>)
func.func private @change(%a: memref<8xf32>, %b: memref<8xf32>)
func.func private @dataflow_c2_no_reader() {
  tw_hls.dataflow {
    // expected-error @below {{dataflow_c2: a channel has one producer and one consumer}}
    %a = tw_hls.buffer "a" : memref<8xf32>
    tw_hls.task @make reads() writes(%a) : () -> memref<8xf32>
  }
  return
}

// -----

func.func private @make(%a: memref<8xf32>)
func.func private @take(%a: memref<8xf32>)
func.func private @change(%a: memref<8xf32>, %b: memref<8xf32>)
func.func private @dataflow_c3_itself() {
  tw_hls.dataflow {
    %a = tw_hls.buffer "a" : memref<8xf32>
    // expected-error @below {{dataflow_c3: @change reads a channel that it writes, but feedback is not allowed}}
    tw_hls.task @change reads(%a) writes(%a) : (memref<8xf32>) -> memref<8xf32>
  }
  return
}

// -----

func.func private @make(%a: memref<8xf32>)
func.func private @take(%a: memref<8xf32>)
func.func private @change(%a: memref<8xf32>, %b: memref<8xf32>)
func.func private @dataflow_c3_later() {
  tw_hls.dataflow {
    %a = tw_hls.buffer "a" : memref<8xf32>
    tw_hls.task @take reads(%a) writes() : (memref<8xf32>) -> ()
    // expected-error @below {{dataflow_c3: writes a channel that the earlier task @take reads, but feedback is not allowed}}
    tw_hls.task @make reads() writes(%a) : () -> memref<8xf32>
  }
  return
}

// -----

func.func private @take(%a: memref<8xf32, #tw_hls.partition<none>, #tw_hls.memory<dram>>)
func.func private @dataflow_c4_port(%x: memref<8xf32, #tw_hls.partition<none>, #tw_hls.memory<dram>>) {
  tw_hls.dataflow {
    // expected-note @below {{the task of @take is here}}
    tw_hls.task @take reads(%x) writes() : (memref<8xf32, #tw_hls.partition<none>, #tw_hls.memory<dram>>) -> ()
    // expected-error @below {{dataflow_c4: it uses a port that @take already uses}}
    tw_hls.task @take reads(%x) writes() : (memref<8xf32, #tw_hls.partition<none>, #tw_hls.memory<dram>>) -> ()
  }
  return
}

// -----

func.func private @take(%a: memref<8xf32, #tw_hls.partition<none>, #tw_hls.memory<dram>>)
func.func private @take2(%a: memref<8xf32, #tw_hls.partition<none>, #tw_hls.memory<dram>>)
func.func private @dataflow_c4_bundle(%x: memref<8xf32, #tw_hls.partition<none>, #tw_hls.memory<dram>> {tw_hls.interface = #tw_hls.interface<name = "x", protocol = axi_master, bundle = "gmem">},
    %y: memref<8xf32, #tw_hls.partition<none>, #tw_hls.memory<dram>> {tw_hls.interface = #tw_hls.interface<name = "y", protocol = axi_master, bundle = "gmem">}) {
  tw_hls.dataflow {
    // expected-note @below {{the task of @take is here}}
    tw_hls.task @take reads(%x) writes() : (memref<8xf32, #tw_hls.partition<none>, #tw_hls.memory<dram>>) -> ()
    // expected-error @below {{dataflow_c4: bundle 'gmem' belongs to @take already}}
    tw_hls.task @take2 reads(%y) writes() : (memref<8xf32, #tw_hls.partition<none>, #tw_hls.memory<dram>>) -> ()
  }
  return
}

// -----

func.func private @schedule_c2(%y: memref<8x4xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{schedule_c2: a block is a loop of the op and a divisor of its size}}
  linalg.fill {tw_hls.schedule = #tw_hls.schedule<order = [0, 1], unroll = [1, 1], ii = 1, block = [0, 3]>} ins(%zero : f32) outs(%y : memref<8x4xf32>)
  return
}

// -----

// The unroll factor divides the trip count of the loop, but not the size of the block.
func.func private @schedule_c1_block(%y: memref<8x4xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{schedule_c1: a loop of 2 trips cannot be unrolled by 4}}
  linalg.fill {tw_hls.schedule = #tw_hls.schedule<order = [0, 1], unroll = [4, 1], ii = 1, block = [0, 2]>} ins(%zero : f32) outs(%y : memref<8x4xf32>)
  return
}
