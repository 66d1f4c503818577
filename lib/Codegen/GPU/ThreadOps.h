//===- ThreadOps.h - ops that threads of a block execute together ---------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_THREADOPS_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_THREADOPS_H

#include "mlir/IR/Builders.h"

namespace tilewright::gpu {

/// Creates the ops by which threads exchange values and wait for each other. lib/Codegen/GPU creates these ops only
/// through this interface, so its emitters do not depend on the vendor of the GPU.
class ThreadOps {
public:
  virtual ~ThreadOps() = default;
  /// Waits until all threads of the block reach this point and their writes to shared memory are visible.
  virtual void barrier(mlir::OpBuilder &builder, mlir::Location loc) const = 0;
  /// Waits until all threads of the warp reach this point and their writes to shared memory are visible.
  virtual void syncWarp(mlir::OpBuilder &builder, mlir::Location loc) const = 0;
  /// Returns the value of `word`, an i32, in the lane whose number is this lane's xor `mask`. All lanes participate.
  virtual mlir::Value shuffleXor(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value word,
                                 int32_t mask) const = 0;
  /// Returns an i32 whose bit n is the value of `vote`, an i1, in lane n.
  virtual mlir::Value ballot(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value vote) const = 0;
};

} // namespace tilewright::gpu

#endif
