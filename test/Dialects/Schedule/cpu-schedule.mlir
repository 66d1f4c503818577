// This test prints and parses the attributes of the dialect tw_cpu, and tests their verifier.
// RUN: tilewright-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK: @tiles() attributes {tw.schedule = #tw_cpu.schedule<tiles = [64, 48]>}
func.func private @tiles() attributes {tw.schedule = #tw_cpu.schedule<tiles = [64, 48]>}
// CHECK: @one_task() attributes {tw.schedule = #tw_cpu.schedule<tiles = []>}
func.func private @one_task() attributes {tw.schedule = #tw_cpu.schedule<tiles = []>}
// A knob that is 0 is not printed, and the knobs may be in any order.
// CHECK: @knobs() attributes {tw.schedule = #tw_cpu.schedule<tiles = [64], order = 1, k_block = 512, block = 6, unroll = 4, accumulators = 8, keys = 64, scores = 16, nanoseconds = 9300, bound = L2, record = "5f0a1c22">}
func.func private @knobs() attributes {tw.schedule = #tw_cpu.schedule<record = "5f0a1c22", bound = L2, nanoseconds = 9300, scores = 16, keys = 64, accumulators = 8, unroll = 4, block = 6, k_block = 512, order = 1, tiles = [64]>}
// CHECK: @no_knobs() attributes {tw.schedule = #tw_cpu.schedule<tiles = [4]>}
func.func private @no_knobs() attributes {tw.schedule = #tw_cpu.schedule<tiles = [4], order = 0, k_block = 0>}
// CHECK: @script() attributes {tw.schedule = #tw_cpu.script<"rows">}
func.func private @script() attributes {tw.schedule = #tw_cpu.script<"rows">}

// -----

// expected-error @+1 {{(schedule_c1) a tile size is -1}}
func.func private @negative() attributes {tw.schedule = #tw_cpu.schedule<tiles = [64, -1]>}

// -----

// expected-error @+1 {{(schedule_c2) k_block is 8; its range is 16 to 4096}}
func.func private @short_block() attributes {tw.schedule = #tw_cpu.schedule<tiles = [64], k_block = 8>}

// -----

// expected-error @+1 {{(schedule_c2) order is 2; its range is 0 to 1}}
func.func private @third_order() attributes {tw.schedule = #tw_cpu.schedule<tiles = [64], order = 2>}

// -----

// expected-error @+1 {{struct is missing required parameter: tiles}}
func.func private @no_tiles() attributes {tw.schedule = #tw_cpu.schedule<order = 1>}

// -----

// The attribute does not accept former names of knobs, such as depth for k_block.
// expected-error @+1 {{duplicate or unknown struct parameter name: depth}}
func.func private @former_name() attributes {tw.schedule = #tw_cpu.schedule<tiles = [64], depth = 128>}
