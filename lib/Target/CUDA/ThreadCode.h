//===- ThreadCode.h - arithmetic and conditions of what one thread does -----------------===//
#ifndef TILEWRIGHT_LIB_TARGET_CUDA_THREADCODE_H
#define TILEWRIGHT_LIB_TARGET_CUDA_THREADCODE_H

#include "lib/Target/CUDA/ThreadKernel.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright::cuda {

/// The base of what emits products: places are values of type index.
class ThreadCode {
protected:
  explicit ThreadCode(ThreadKernel &kernel)
      : kernel(kernel), builder(kernel.builder), elements(kernel.elements), loc(kernel.loc()),
        schedule(kernel.schedule) {}

  mlir::Value index(int64_t value) { return elements.constant(value); }
  mlir::Value divideUp(mlir::Value value, int64_t by);
  mlir::Value remainder(mlir::Value value, int64_t by);
  mlir::Value quotient(mlir::Value value, int64_t by);
  mlir::Value toI32(mlir::Value value);
  mlir::Value isLess(mlir::Value a, mlir::Value b);
  /// Both; either may be null, which is true.
  mlir::Value both(mlir::Value a, mlir::Value b);
  /// Whether it is known that `extent` is a multiple of `by`.
  bool dividesEvenly(mlir::Value extent, int64_t by);
  /// LLVM counts a block of assembly, or a thread's many loads, as little, and would unroll the loop.
  void keepRolled(mlir::scf::ForOp loop);
  /// Code under a condition, or always where it is null.
  void when(mlir::Value condition, llvm::function_ref<void()> body);

  ThreadKernel &kernel;
  mlir::OpBuilder &builder;
  Elements &elements;
  mlir::Location loc;
  Schedule schedule;
};

} // namespace tilewright::cuda

#endif
