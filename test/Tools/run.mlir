// RUN: tilewright run %s | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: tilewright run %s --target=reference | FileCheck %s --check-prefixes=CHECK
// RUN: tilewright run %s --check --threads=1 | FileCheck %s --check-prefixes=CHECK,CHECKED
// RUN: tilewright run %s --sizes=5 | FileCheck %s --check-prefix=FIVE
// RUN: tilewright run %s --profile --repeat=3 | FileCheck %s --check-prefix=PROFILE
// RUN: not tilewright run %s --sizes=5,6 2>&1 | FileCheck %s --check-prefix=TOO-MANY
// RUN: not tilewright run %s --sizes=1000 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not tilewright run %s --target=abacus 2>&1 | FileCheck %s --check-prefix=MACHINE
// RUN: not tilewright run %S/../lit.cfg.py 2>&1 | FileCheck %s --check-prefix=TEXT

// The sums of the targets cpu and reference are equal, because both targets compute the same function of the same
// inputs.
// CHECK: 2 operations, 2 kernels, 2 of them distinct
// CHECK: result 0: f32[8, 16] sum 18.679 magnitude 32.431
// CHECK: result 1: i64[16] sum 16 magnitude 16
// CPU-NOT: check:
// CHECKED: check: every kernel agrees with the reference
// FIVE: result 0: f32[5, 16] sum 8.8672 magnitude 18.388
// PROFILE: 3 calls, median
// PROFILE: ms per call  share  step (times are summed over threads)
// PROFILE-DAG: %  gelu
// PROFILE-DAG: %  add
// TOO-MANY: --sizes has 2 values; @main has 1 symbolic sizes
// RANGE: tilewright run: {{.*}}1000
// MACHINE: unknown target 'abacus'; known targets: cpu, reference
// TEXT: is not valid MLIR
#rows = affine_map<()[s0] -> (s0, 16)>
func.func @main(%n: index {tw.symbol = "s0", tw.min = 2 : i64, tw.max = 100 : i64}, %x: tensor<?x16xf32, #rows>,
                %i: tensor<16xi64>) -> (tensor<?x16xf32, #rows>, tensor<16xi64>) {
  %y = tw.gelu %x : (tensor<?x16xf32, #rows>) -> tensor<?x16xf32, #rows>
  %j = tw.add %i, %i : (tensor<16xi64>, tensor<16xi64>) -> tensor<16xi64>
  return %y, %j : tensor<?x16xf32, #rows>, tensor<16xi64>
}
