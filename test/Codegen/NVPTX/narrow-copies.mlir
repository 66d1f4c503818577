// Rows that are aligned only to 4 or 8 bytes are copied by cp.async of 4 or 8 bytes. int8 elements that are not
// contiguous along k are gathered, in a loop that is not unrolled.
// RUN: tilewright compile %s --target=cuda --emit=ptx | FileCheck %s
// RUN: tilewright run %s --target=cuda --device=emulated --check | FileCheck %s --check-prefix=RESULT

// CHECK: .entry matmul_100x132x70(
// CHECK: cp.async.ca.shared.global [{{.*}}], [{{.*}}], 4
// CHECK: cp.async.ca.shared.global [{{.*}}], [{{.*}}], 8
// CHECK-NOT: ld.global.nc.b16
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32

// CHECK: .entry matmul_17x136x272(
// CHECK: cp.async.cg.shared.global
// CHECK: ld.global.nc.b8
// CHECK: mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32

// RESULT: 2 operations, 2 kernels
func.func @main(%a: tensor<100x70xbf16>, %b: tensor<70x132xbf16>, %x: tensor<17x272xi8>, %y: tensor<272x136xi8>)
    -> (tensor<100x132xbf16>, tensor<17x136xi8>) {
  %m = tw.matmul %a, %b : (tensor<100x70xbf16>, tensor<70x132xbf16>) -> tensor<100x132xbf16>
  %n = tw.matmul %x, %y : (tensor<17x272xi8>, tensor<272x136xi8>) -> tensor<17x136xi8>
  return %m, %n : tensor<100x132xbf16>, tensor<17x136xi8>
}
