// On sm_90a, two products that read the same operand and whose results one kernel combines (SwiGLU) become one kernel.
// On sm_80, they are two kernels.
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=tiled | FileCheck %s
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=target | FileCheck %s --check-prefix=TARGET
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=ptx | FileCheck %s --check-prefix=PTX
// RUN: tilewright run %s --target=cuda --arch=sm_90a --device=emulated --check | FileCheck %s --check-prefix=RESULT
// RUN: tilewright tune --list --target=cuda --arch=sm_90a %s | FileCheck %s --check-prefix=LIST
// RUN: bash -c 'echo "{\"matmul*silu+mul\": {\"consumer_rows\": 64, \"consumers\": 2, \"n\": 64, \"stages\": 2, \"tiles_per_block\": 2}}" > %t.json'
// RUN: tilewright run %s --target=cuda --arch=sm_90a --device=emulated --schedule-file=%t.json --check | FileCheck %s --check-prefix=RESULT
// RUN: bash -c 'echo "{\"matmul*silu+mul\": {\"split_k\": 2}}" > %t.split.json'
// RUN: not tilewright compile %s --target=cuda --arch=sm_90a --schedule-file=%t.split.json 2>&1 | FileCheck %s --check-prefix=SPLIT
// RUN: bash -c 'echo "{\"matmul*silu+mul\": {\"n\": 24}}" > %t.columns.json'
// RUN: not tilewright compile %s --target=cuda --arch=sm_90a --schedule-file=%t.columns.json 2>&1 | FileCheck %s --check-prefix=COLUMNS
// RUN: tilewright compile %s --target=cuda --arch=sm_80 --emit=tiled | FileCheck %s --check-prefix=AMPERE

// The kernel reads %x once, and also returns the gate, which the caller reads.
// CHECK: func.func @main
// CHECK: %[[BOTH:.*]]:2 = call @[[PAIRED:[a-z0-9_]*_paired]](%arg0, %arg1, %arg2, %{{.*}}, %{{.*}})
// CHECK-NOT: call
// CHECK: func.func private @[[PAIRED]]({{.*}}tw.schedule = #tw_gpu.schedule<kind = wgmma
// CHECK: linalg.contract
// CHECK: linalg.contract

// Three tensor maps describe x and both weights. A tile in shared memory has eight columns of each weight.
// TARGET: tw_cuda.maps = ["0:bf16:128:64*256,64*200", "1:bf16:128:64*256,8*136", "2:bf16:128:64*256,8*136"]

// The size 272 in the kernel's name is the sum of the columns of both products. One wgmma multiplies the columns of both
// weights.
// PTX: .entry matmul_silu_mul_paired_200x272x256(
// PTX-COUNT-4: wgmma.mma_async.sync.aligned.m64n16k16
// PTX-NOT: wgmma.mma_async

// LIST: matmul_silu_mul_1_paired
// LIST: n: 16 32 64 128 192 256
// LIST: cluster: 1
// LIST: split_k: 1
// RESULT: check: every kernel agrees with the reference
// SPLIT: a pair of products cannot have `swapped`, `cluster` or `split_k`
// COLUMNS: a block has 24 columns of the two products, but the number must be a multiple of 16
// AMPERE-NOT: paired
func.func @main(%x: tensor<200x256xbf16>, %wg: tensor<136x256xbf16>, %wu: tensor<136x256xbf16>) -> (tensor<200x136xbf16>, tensor<200x136xbf16>) {
  %tg = tw.permute %wg {permutation = array<i64: 1, 0>} : tensor<136x256xbf16> -> tensor<256x136xbf16>
  %gate = tw.matmul %x, %tg : (tensor<200x256xbf16>, tensor<256x136xbf16>) -> tensor<200x136xbf16>
  %s = tw.silu %gate : (tensor<200x136xbf16>) -> tensor<200x136xbf16>
  %tu = tw.permute %wu {permutation = array<i64: 1, 0>} : tensor<136x256xbf16> -> tensor<256x136xbf16>
  %up = tw.matmul %x, %tu : (tensor<200x256xbf16>, tensor<256x136xbf16>) -> tensor<200x136xbf16>
  %r = tw.mul %s, %up : (tensor<200x136xbf16>, tensor<200x136xbf16>) -> tensor<200x136xbf16>
  return %r, %gate : tensor<200x136xbf16>, tensor<200x136xbf16>
}
