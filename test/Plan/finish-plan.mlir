// RUN: tilewright-opt %s --tw-finish-plan | FileCheck %s

// The kernel's affine maps use the kernel's index arguments. The launch's maps use the symbols of the program, in which
// the number of rows is 2 * s1.
// CHECK-DAG: #[[GRID:.*]] = affine_map<()[s0, s1] -> ((s1 * 2) ceildiv 16)>
// CHECK-DAG: #[[SCRATCH:.*]] = affine_map<()[s0, s1] -> (s1 * 8)>
// CHECK: tw_plan.launch @kernel {{.*}} grid #[[GRID]] scratch #[[SCRATCH]]
tw_plan.program @main_plan ["s0", "s1"] in [2, 2] to [64, 64] {
  tw_plan.buffer 0 input 0 bytes affine_map<()[s0, s1] -> (s0 * 4)>
  tw_plan.buffer 1 output 0 bytes affine_map<()[s0, s1] -> (s1 * 8)>
  tw_plan.launch @kernel [0, 1] writes 2 sizes affine_map<()[s0, s1] -> (s1 * 2)>
}
func.func private @kernel(index) attributes {tw.kernel, tw.grid = affine_map<()[s0] -> (s0 ceildiv 16)>, tw.scratch = affine_map<()[s0] -> (s0 * 4)>}
