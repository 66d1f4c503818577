//===- ThreadCode.h - arithmetic and conditions in the code of one thread ---------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_THREADCODE_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_THREADCODE_H

#include "lib/Codegen/GPU/ThreadKernel.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright::gpu {

/// The base class of the emitters of products, attention and scatters. Indices are values of type index.
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
  /// Returns the conjunction of `a` and `b`; a null operand means true.
  mlir::Value both(mlir::Value a, mlir::Value b);
  /// Returns true if `extent` is known to be a multiple of `by`.
  bool dividesEvenly(mlir::Value extent, int64_t by);
  /// Prevents unrolling of the loop, because LLVM underestimates the cost of inline assembly and of many loads.
  void keepRolled(mlir::scf::ForOp loop);
  /// Emits `body` under `condition`, or unconditionally if `condition` is null.
  void when(mlir::Value condition, llvm::function_ref<void()> body);

  ThreadKernel &kernel;
  mlir::OpBuilder &builder;
  Elements &elements;
  mlir::Location loc;
  Schedule schedule;
};

} // namespace tilewright::gpu

#endif
