// Each kind of schedule has a schedule space. A schedule file sets the knobs of this space.
// RUN: tilewright tune --list --target=cuda --arch=sm_90a %s | FileCheck %s
// RUN: tilewright tune --list --target=cuda --arch=sm_80 %s | FileCheck %s --check-prefix=AMPERE

// CHECK: softmax_0 ({{.*}}), 1 call, key {{.*}}, 18 schedules
// CHECK-NEXT: group: 32 64 128 (default 32, changes the order of sums)
// CHECK-NEXT: rows_per_block: 1 2 4 8 (default 4)
// CHECK-NEXT: vector: 2 4 8 (default 8, changes the order of sums)
// CHECK-NEXT: cluster: 1 (default 1, changes the order of sums)
// CHECK-NEXT: group is 64 only if rows_per_block < 2 (the threads of a block share one row)
// CHECK-NEXT: group is 128 only if rows_per_block < 2 (the threads of a block share one row)
// CHECK: matmul_1 (matmul), {{.*}}, {{[0-9]+}} schedules
// CHECK-NEXT: tile_m: 2 4 8 (default 4)
// CHECK-NEXT: tile_n: 2 4 8 (default 4)
// CHECK-NEXT: threads_m: 8 16 (default 16)
// CHECK-NEXT: threads_n: 8 16 (default 16)
// CHECK-NEXT: k: 8 16 32 (default 16, changes the order of sums)
// CHECK: relu_2 (relu), {{.*}}, 5 schedules
// CHECK-NEXT: threads: 64 128 256 512 1024 (default 256)
// CHECK-NEXT: vector: 1 (default 1)
// CHECK: softmax_3 ({{.*}}), {{.*}}, 48 schedules
// CHECK-NEXT: group: 128 256 512 1024 (default 512, changes the order of sums)
// CHECK-NEXT: rows_per_block: 1 (default 1)
// CHECK-NEXT: vector: 1 2 4 (default 4, changes the order of sums)
// CHECK-NEXT: cluster: 1 2 4 8 (default 8, changes the order of sums)
// CHECK: attention_{{.*}}, 30 schedules
// CHECK-NEXT: consumers: 1 2 (default 2)
// CHECK-NEXT: n: 64 96 128 160 192 (default 128, changes the order of sums)
// CHECK-NEXT: stages: 2 3 4 (default 4)
// CHECK-NEXT: at most 232440: 256 * n * stages + 8192 * consumers + 32 * stages (the tiles fit a block's shared memory)
// CHECK: convolution_{{.*}} schedules
// CHECK-NEXT: threads: 64 128 256 (default 128)
// CHECK-NEXT: vector: 1 2 4 (default 4)
// CHECK-NEXT: tile_lines: 1 2 (default 1)
// CHECK-NEXT: tile_pixels: 1 2 3 4 6 8 (default 1)
// CHECK-NEXT: at most 128: 1 * vector * tile_lines * tile_pixels (the sums of a thread fit its registers)
// CHECK: reduce_{{.*}}, 3 schedules
// CHECK-NEXT: group: 8 16 32 (default 32, changes the order of sums)

// AMPERE: attention_{{.*}} schedules
// AMPERE-NEXT: warps: 1 2 4 8 (default 4)
// AMPERE-NEXT: n: 16 32 64 128 (default 64, changes the order of sums)
// AMPERE-NEXT: stages: 2 3 (default 2)
// AMPERE-NEXT: at most 101376: 256 * n * stages (the tiles fit a block's shared memory)

// RUN: bash -c 'echo "{\"softmax_0\": {\"group\": 64, \"rows_per_block\": 1, \"vector\": 4}, \"relu_2\": {\"threads\": 512}, \"attention*\": {\"consumers\": 1, \"n\": 64}, \"matmul_1\": {\"tile_m\": 8}}" > %t.json'
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --schedule-file=%t.json --emit=tiled | FileCheck %s --check-prefix=GIVEN
// GIVEN: @softmax_0({{.*}}kind = rows, threads = 64, vector = 4, group = 64>
// GIVEN: @matmul_1({{.*}}kind = fma, threads = 256, block = [128, 64, 16], tile = [8, 4]>
// GIVEN: @relu_2({{.*}}kind = elements, threads = 512, vector = 1>
// GIVEN: @attention_{{.*}}kind = attention, threads = 256, block = [64, 64], consumers = 1, stages = 4>

// RUN: bash -c 'echo "{\"softmax_0\": {\"group\": 64, \"rows_per_block\": 2}}" > %t.rows.json'
// RUN: not tilewright compile %s --target=cuda --schedule-file=%t.rows.json --emit=tiled 2>&1 | FileCheck %s --check-prefix=GROUP
// GROUP: does not fit softmax_0 ({{.*}}): (schedule_c4) a group of 64 threads in a block of 128
// RUN: bash -c 'echo "{\"softmax_0\": {\"vector\": 3}}" > %t.vector.json'
// RUN: not tilewright compile %s --target=cuda --schedule-file=%t.vector.json --emit=tiled 2>&1 | FileCheck %s --check-prefix=VECTOR
// VECTOR: does not fit softmax_0 ({{.*}}): vector must be a divisor of 8
// RUN: bash -c 'echo "{\"matmul_1\": {\"tile_m\": 16, \"threads_m\": 8, \"tile_n\": 8}}" > %t.registers.json'
// RUN: not tilewright compile %s --target=cuda --schedule-file=%t.registers.json --emit=tiled 2>&1 | FileCheck %s --check-prefix=REGISTERS
// REGISTERS: does not fit matmul_1 (matmul): it needs about {{[0-9]+}} registers, and a thread has 255
func.func @main(%x: tensor<1024x768xbf16> {tw.name = "x"}, %g: tensor<768xbf16> {tw.name = "g"}, %a: tensor<96x80xf32> {tw.name = "a"}, %b: tensor<80x72xf32> {tw.name = "b"}, %v: tensor<9999xf32> {tw.name="v"}, %long: tensor<4x65536xf32> {tw.name="long"},
  %q: tensor<2x4x300x64xbf16> {tw.name="q"}, %k: tensor<2x4x300x64xbf16> {tw.name="k"}, %vv: tensor<2x4x300x64xbf16> {tw.name="vv"}, %im: tensor<2x16x14x14xf32> {tw.name="im"}, %dw: tensor<16x1x3x3xf32> {tw.name="dw"}, %tr: tensor<300x33xf32> {tw.name="tr"})
    -> (tensor<1024x768xbf16> {tw.name = "y0"}, tensor<96x72xf32> {tw.name = "y1"}, tensor<9999xf32> {tw.name = "y2"}, tensor<4x65536xf32> {tw.name="y3"}, tensor<2x4x300x64xbf16> {tw.name="y4"}, tensor<2x16x14x14xf32> {tw.name="y5"}, tensor<33xf32> {tw.name="y6"}) {
  %0 = tw.softmax %x {dim = 1 : i64} : tensor<1024x768xbf16> -> tensor<1024x768xbf16>
  %1 = tw.matmul %a, %b : (tensor<96x80xf32>, tensor<80x72xf32>) -> tensor<96x72xf32>
  %2 = tw.relu %v : (tensor<9999xf32>) -> tensor<9999xf32>
  %3 = tw.softmax %long {dim = 1 : i64} : tensor<4x65536xf32> -> tensor<4x65536xf32>
  %4, %lse = tw.attention %q, %k, %vv {scale = 0.125 : f64} : tensor<2x4x300x64xbf16>, tensor<2x4x300x64xbf16>, tensor<2x4x300x64xbf16> -> tensor<2x4x300x64xbf16>, tensor<2x4x300xf32>
  %5 = tw.convolution %im, %dw {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 16 : i64} : (tensor<2x16x14x14xf32>, tensor<16x1x3x3xf32>) -> tensor<2x16x14x14xf32>
  %6 = tw.reduce sum %tr {dims = array<i64: 0>} : tensor<300x33xf32> -> tensor<33xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<1024x768xbf16>, tensor<96x72xf32>, tensor<9999xf32>, tensor<4x65536xf32>, tensor<2x4x300x64xbf16>, tensor<2x16x14x14xf32>, tensor<33xf32>
}
