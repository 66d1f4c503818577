// RUN: tilewright-opt %s -verify-diagnostics -split-input-file
// Each program violates one constraint of dialects/Plan/PlanOps.td, and is named after this constraint.

tw_plan.program @program_c1 [] in [] to [] {
  // expected-error @below {{program_c1: expected number 0, got 1}}
  tw_plan.buffer 1 input 0 bytes affine_map<() -> (64)>
}

// -----

tw_plan.program @program_c2 [] in [] to [] {
  tw_plan.buffer 0 input 0 bytes affine_map<() -> (64)>
  tw_plan.buffer 1 output 0 bytes affine_map<() -> (64)>
  // expected-error @below {{program_c2: there is no buffer 2}}
  tw_plan.launch @kernel [0, 2] writes 2 sizes affine_map<() -> ()>
}

// -----

tw_plan.program @program_c2_copy [] in [] to [] {
  tw_plan.buffer 0 output 0 bytes affine_map<() -> (64)>
  // expected-error @below {{program_c2: there is no buffer 7}}
  tw_plan.copy 7 to 0 bytes affine_map<() -> (64)>
}

// -----

// expected-error @below {{program_c3: 2 symbols, but 1 minima and 2 maxima of sizes}}
tw_plan.program @program_c3 ["s0", "s1"] in [2] to [8, 8] {
}

// -----

// expected-error @below {{program_c3: the range of a size is 9 to 8}}
tw_plan.program @program_c3_order ["s0"] in [9] to [8] {
}

// -----

tw_plan.program @buffer_c1 ["s0"] in [2] to [8] {
  // expected-error @below {{buffer_c1: bytes has 1 dimensions and 0 symbols, but the program has 1 symbols}}
  tw_plan.buffer 0 input 0 bytes affine_map<(d0) -> (d0)>
}

// -----

tw_plan.program @buffer_c1_results ["s0"] in [2] to [8] {
  // expected-error @below {{buffer_c1: bytes has 2 results; expected 1}}
  tw_plan.buffer 0 input 0 bytes affine_map<()[s0] -> (s0, s0)>
}

// -----

tw_plan.program @buffer_c2 [] in [] to [] {
  // expected-error @below {{buffer_c2: constant buffer without a value}}
  tw_plan.buffer 0 constant 0 bytes affine_map<() -> (8)>
}

// -----

tw_plan.program @buffer_c2_other [] in [] to [] {
  // expected-error @below {{buffer_c2: input buffer with a value}}
  tw_plan.buffer 0 input 0 bytes affine_map<() -> (8)> = dense<0> : tensor<i64>
}

// -----

tw_plan.program @launch_c1 ["s0"] in [2] to [8] {
  tw_plan.buffer 0 output 0 bytes affine_map<()[s0] -> (s0 * 4)>
  // expected-error @below {{launch_c1: sizes has 0 dimensions and 2 symbols, but the program has 1 symbols}}
  tw_plan.launch @kernel [0] writes 1 sizes affine_map<()[s0, s1] -> (s1)>
}

// -----

tw_plan.program @launch_c1_scratch ["s0"] in [2] to [8] {
  tw_plan.buffer 0 output 0 bytes affine_map<()[s0] -> (s0 * 4)>
  // expected-error @below {{launch_c1: scratch has 0 results; expected 1}}
  tw_plan.launch @kernel [0] writes 1 sizes affine_map<()[s0] -> (s0)> scratch affine_map<() -> ()>
}

// -----

tw_plan.program @launch_c2 [] in [] to [] {
  tw_plan.buffer 0 output 0 bytes affine_map<() -> (64)>
  // expected-error @below {{launch_c2: writes = 3 has a bit for more than the 1 operands}}
  tw_plan.launch @kernel [0] writes 3 sizes affine_map<() -> ()>
}

// -----

tw_plan.program @launch_c3 [] in [] to [] {
  // expected-note @below {{buffer 0 is declared here}}
  tw_plan.buffer 0 input 0 bytes affine_map<() -> (64)>
  // expected-error @below {{launch_c3: writes to input buffer 0}}
  tw_plan.launch @kernel [0] writes 1 sizes affine_map<() -> ()>
}

// -----

tw_plan.program @launch_c5_count [] in [] to [] {
  tw_plan.buffer 0 input 0 bytes affine_map<() -> (64)>
  tw_plan.buffer 1 output 0 bytes affine_map<() -> (64)>
  // expected-error @below {{launch_c5: 1 starts for 2 operands}}
  tw_plan.launch @kernel [0, 1] at [8] writes 2 sizes affine_map<() -> ()>
}

// -----

tw_plan.program @launch_c5_written [] in [] to [] {
  tw_plan.buffer 0 input 0 bytes affine_map<() -> (64)>
  tw_plan.buffer 1 output 0 bytes affine_map<() -> (64)>
  // expected-error @below {{launch_c5: operand 1 starts at byte 8}}
  tw_plan.launch @kernel [0, 1] at [0, 8] writes 2 sizes affine_map<() -> ()>
}

// -----

tw_plan.program @launch_c4 [] in [] to [] {
  // expected-note @below {{buffer 0 is declared here}}
  tw_plan.buffer 0 packed 0 bytes affine_map<() -> (64)>
  // expected-error @below {{launch_c4: writes to packed buffer 0}}
  tw_plan.launch @kernel [0] writes 1 sizes affine_map<() -> ()>
}

// -----

tw_plan.program @launch_c4_once [] in [] to [] {
  // expected-note @below {{buffer 0 is declared here}}
  tw_plan.buffer 0 arena 0 bytes affine_map<() -> (64)>
  // expected-error @below {{launch_c4: a once launch writes to arena buffer 0}}
  tw_plan.launch once @kernel [0] writes 1 sizes affine_map<() -> ()>
}

// -----

tw_plan.program @copy_c1 [] in [] to [] {
  tw_plan.buffer 0 input 0 bytes affine_map<() -> (64)>
  tw_plan.buffer 1 output 0 bytes affine_map<() -> (64)>
  // expected-error @below {{copy_c1: bytes has 0 dimensions and 1 symbols, but the program has 0 symbols}}
  tw_plan.copy 0 to 1 bytes affine_map<()[s0] -> (s0)>
}

// -----

tw_plan.program @copy_c2 [] in [] to [] {
  tw_plan.buffer 0 input 0 bytes affine_map<() -> (64)>
  tw_plan.buffer 1 output 0 bytes affine_map<() -> (64)>
  // expected-error @below {{copy_c2: copies buffer 1 to buffer 0}}
  tw_plan.copy 1 to 0 bytes affine_map<() -> (64)>
}

// -----

// expected-error @below {{expects parent op 'tw_plan.program'}}
tw_plan.buffer 0 input 0 bytes affine_map<() -> (64)>

// -----

tw_plan.program @guard_c1 ["s0"] in [2] to [8] {
  // expected-error @below {{guard_c1: sizes has 1 results; expected 2}}
  tw_plan.guard affine_map<()[s0] -> (s0)> "tw.concat: s0 must be 17"
}
