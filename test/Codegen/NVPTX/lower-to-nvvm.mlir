// RUN: split-file %s %t
// RUN: tilewright-opt %t/kernel.mlir --tw-cuda-lower-to-nvvm | FileCheck %s
// RUN: not tilewright-opt %t/refused.mlir --tw-cuda-lower-to-nvvm 2>&1 | FileCheck %s --check-prefix=REFUSED

// The code of one thread becomes a function in the dialects llvm and nvvm. An attribute specifies the size of a thread
// block.
// CHECK: llvm.func @kernel(%[[P:.*]]: !llvm.ptr<1>, %[[N:.*]]: i32) attributes {
// CHECK-SAME: nvvm.kernel
// CHECK-SAME: nvvm.reqntid = array<i32: 128>
// CHECK: %[[I:.*]] = nvvm.read.ptx.sreg.tid.x : i32
// CHECK: %[[C:.*]] = llvm.icmp "slt" %[[I]], %[[N]] : i32
// CHECK: llvm.cond_br %[[C]]
// CHECK: llvm.fmul
// CHECK: llvm.store
// REFUSED: error: target cuda: exp2 of 'f32' has no implementation; target cpu computes it

//--- kernel.mlir
func.func @kernel(%p: !llvm.ptr<1>, %n: i32) attributes {tw.kernel, tw_cuda.threads = 128 : i64, tw_cuda.index = 32 : i64} {
  %i = nvvm.read.ptx.sreg.tid.x : i32
  %c = arith.cmpi slt, %i, %n : i32
  scf.if %c {
    %q = llvm.getelementptr %p[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %q : !llvm.ptr<1> -> f32
    %y = arith.mulf %x, %x : f32
    llvm.store %y, %q : f32, !llvm.ptr<1>
  }
  return
}

//--- refused.mlir
func.func @kernel(%x: f32) -> f32 attributes {tw.kernel, tw_cuda.threads = 128 : i64, tw_cuda.index = 32 : i64} {
  %y = math.exp2 %x : f32
  return %y : f32
}
