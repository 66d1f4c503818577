// RUN: echo '{"*_0": {"tiles": [9]}, "softmax+*": {"tiles": [8]}, "matmul+add": {"tiles": [16, 48]}}' > %t.ops
// RUN: tilewright compile %s --emit=tiled --cpu=x86-64-v4 --schedule=%t.ops | FileCheck %s --check-prefix=OPS
// RUN: echo '{"matmul_add_0": {"tiles": [4, 48]}, "matmul*": {"tiles": [16, 48]}}' > %t.name
// RUN: tilewright compile %s --emit=tiled --cpu=x86-64-v4 --schedule-file=%t.name | FileCheck %s --check-prefix=NAME
// RUN: echo '{"matmul*": {"tiles": [16, 48]}}' > %t.pass
// RUN: tilewright compile %s --emit=structured > %t.structured.mlir
// RUN: tilewright-opt %t.structured.mlir --tw-select-schedule --tw-override-schedules=file=%t.pass | FileCheck %s --check-prefix=PASS
// RUN: echo '{"matmul*": {"tiles": [16, 48], "depth": 64, "straight": 8}}' > %t.former
// RUN: tilewright compile %s --emit=tiled --cpu=x86-64-v4 --schedule-file=%t.former | FileCheck %s --check-prefix=FORMER
// RUN: echo '{"kernel_9": {"tiles": [4]}}' > %t.unknown
// RUN: not tilewright compile %s --emit=tiled --cpu=x86-64-v4 --schedule-file=%t.unknown 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: echo '{"matmul_add_0": {"tiles": [4, 32]}}' > %t.panel
// RUN: not tilewright compile %s --emit=tiled --cpu=x86-64-v4 --schedule-file=%t.panel 2>&1 | FileCheck %s --check-prefix=PANEL
// RUN: echo '{"matmul_add_0": {"tiles": [4]}}' > %t.rank
// RUN: not tilewright compile %s --emit=tiled --cpu=x86-64-v4 --schedule-file=%t.rank 2>&1 | FileCheck %s --check-prefix=RANK
// RUN: echo '{"matmul_add_0": {"tiles": [-1, 48]}}' > %t.negative
// RUN: not tilewright compile %s --emit=tiled --cpu=x86-64-v4 --schedule-file=%t.negative 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: echo '{"matmul_add_0": [4, 48]}' > %t.shape
// RUN: not tilewright compile %s --emit=tiled --cpu=x86-64-v4 --schedule-file=%t.shape 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: echo 'matmul_add_0: [4, 48]' > %t.text
// RUN: not tilewright compile %s --emit=tiled --cpu=x86-64-v4 --schedule-file=%t.text 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: not tilewright compile %s --emit=tiled --cpu=x86-64-v4 --schedule-file=%t.absent 2>&1 | FileCheck %s --check-prefix=ABSENT

// OPS: @matmul_add_0{{.*}}tiles = [16, 48]
// OPS: @softmax_1{{.*}}tiles = [8]
// OPS: scf.forall {{.*}} step (8)
// PASS: @matmul_add_0{{.*}}tiles = [16, 48]
// An entry with the exact name of the kernel takes precedence over a pattern that matches its ops.
// NAME: @matmul_add_0{{.*}}tiles = [4, 48]
// Former names of knobs are accepted.
// FORMER: @matmul_add_0{{.*}}tw.schedule = #tw_cpu.schedule<tiles = [16, 48], k_block = 64, unroll = 8>
// UNKNOWN: stage tiled: schedule file '{{.*}}unknown' names 'kernel_9', but the graph's kernels are matmul_add_0 (matmul+add), softmax_1 (softmax
// PANEL: entry 'matmul_add_0' does not fit matmul_add_0 (matmul+add), whose tiles are [{{[0-9]+}}, 48] by default: size 1 is not a multiple of 48, the width of the operand's panels
// RANK: it has 1 sizes
// SHAPE: has an entry 'matmul_add_0' that is not of the form {"tiles": [sizes, 0 for a whole dimension]}
// TEXT: is not JSON
// ABSENT: cannot be read: No such file
func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x96xf32> {tw.static}, %b: tensor<96xf32> {tw.static}) -> tensor<32x96xf32> {
  %0 = tw.matmul %x, %w : (tensor<32x64xf32>, tensor<64x96xf32>) -> tensor<32x96xf32>
  %1 = tw.add %0, %b : (tensor<32x96xf32>, tensor<96xf32>) -> tensor<32x96xf32>
  %2 = tw.softmax %1 {dim = 1 : i64} : tensor<32x96xf32> -> tensor<32x96xf32>
  return %2 : tensor<32x96xf32>
}
