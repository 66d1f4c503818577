// On sm_90a, products that read the same operand and do not depend on each other are joined into one kernel. The
// product %later is not joined, because it reads a result of another product. On sm_80, no products are joined.
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=tiled | FileCheck %s
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=target | FileCheck %s --check-prefix=TARGET
// RUN: tilewright compile %s --target=cuda --arch=sm_90a --emit=ptx | FileCheck %s --check-prefix=PTX
// RUN: tilewright run %s --target=cuda --arch=sm_90a --device=emulated --check | FileCheck %s --check-prefix=RESULT
// RUN: tilewright tune --list --target=cuda --arch=sm_90a %s | FileCheck %s --check-prefix=LIST
// RUN: bash -c 'echo "{\"matmul*+matmul*\": {\"consumer_rows\": 64, \"consumers\": 2, \"n\": 64, \"stages\": 2, \"tiles_per_block\": 2}}" > %t.json'
// RUN: tilewright run %s --target=cuda --arch=sm_90a --device=emulated --schedule-file=%t.json --check | FileCheck %s --check-prefix=RESULT
// RUN: bash -c 'echo "{\"matmul*+matmul*\": {\"consumer_rows\": 64, \"consumers\": 1, \"n\": 64, \"stages\": 2, \"split_k\": 2}}" > %t.split.json'
// RUN: tilewright run %s --target=cuda --arch=sm_90a --device=emulated --schedule-file=%t.split.json --check | FileCheck %s --check-prefix=RESULT
// RUN: tilewright compile %s --target=cuda --arch=sm_80 --emit=tiled | FileCheck %s --check-prefix=AMPERE

// The operand that all products read is one argument. Each result has a separate buffer.
// CHECK: func.func @main
// CHECK: %[[ALL:.*]]:3 = call @[[JOINED:[a-z0-9_]*_joined]](%arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %{{.*}}, %{{.*}}, %{{.*}}) {tw.ops = "matmul+matmul+add+matmul+matmul+add+matmul+matmul+relu"}
// CHECK: call @{{[a-z0-9_]*}}(%[[ALL]]#0, %arg6
// CHECK-NOT: call
// CHECK: func.func private @[[JOINED]]({{.*}}tw.schedule = #tw_gpu.schedule<kind = wgmma{{.*}}tw_gpu.joined_results = array<i64: 1, 1, 1>

// Each product has two tensor maps. They describe the buffers 0 and 1, 0 and 3, and 0 and 5.
// TARGET: tw_cuda.maps = ["0:bf16:128:64*256,64*200", "1:bf16:128:64*256,16*128", "0:bf16:128:64*256,64*200", "3:bf16:128:64*256,16*128", "0:bf16:128:64*256,64*200", "5:bf16:128:64*256,16*72"]

// The size 328 in the kernel's name is the sum of the columns of all products.
// PTX: .entry matmul_add_joined_200x328x256(
// PTX: wgmma.mma_async
// PTX: bra.uni
// PTX: wgmma.mma_async
// PTX: wgmma.mma_async

// LIST: matmul_add_0_joined
// LIST: consumer_rows: 64 128
// RESULT: check: every kernel agrees with the reference
// AMPERE-NOT: joined
func.func @main(%x: tensor<200x256xbf16>, %wq: tensor<128x256xbf16>, %bq: tensor<128xbf16>, %wk: tensor<128x256xbf16>, %bk: tensor<128xbf16>,
                %wv: tensor<72x256xbf16>, %u: tensor<128x64xbf16>)
    -> (tensor<200x128xbf16>, tensor<200x128xbf16>, tensor<200x72xbf16>, tensor<200x64xbf16>) {
  %tq = tw.permute %wq {permutation = array<i64: 1, 0>} : tensor<128x256xbf16> -> tensor<256x128xbf16>
  %q = tw.matmul %x, %tq : (tensor<200x256xbf16>, tensor<256x128xbf16>) -> tensor<200x128xbf16>
  %qb = tw.add %q, %bq : (tensor<200x128xbf16>, tensor<128xbf16>) -> tensor<200x128xbf16>
  %later = tw.matmul %qb, %u : (tensor<200x128xbf16>, tensor<128x64xbf16>) -> tensor<200x64xbf16>
  %tk = tw.permute %wk {permutation = array<i64: 1, 0>} : tensor<128x256xbf16> -> tensor<256x128xbf16>
  %k = tw.matmul %x, %tk : (tensor<200x256xbf16>, tensor<256x128xbf16>) -> tensor<200x128xbf16>
  %kb = tw.add %k, %bk : (tensor<200x128xbf16>, tensor<128xbf16>) -> tensor<200x128xbf16>
  %tv = tw.permute %wv {permutation = array<i64: 1, 0>} : tensor<72x256xbf16> -> tensor<256x72xbf16>
  %v = tw.matmul %x, %tv : (tensor<200x256xbf16>, tensor<256x72xbf16>) -> tensor<200x72xbf16>
  %vr = tw.relu %v : (tensor<200x72xbf16>) -> tensor<200x72xbf16>
  return %qb, %kb, %vr, %later : tensor<200x128xbf16>, tensor<200x128xbf16>, tensor<200x72xbf16>, tensor<200x64xbf16>
}
