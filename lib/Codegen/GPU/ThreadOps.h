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
  /// Waits like barrier(). Returns, as an i1, whether `vote`, an i1, is true in any thread of the block.
  virtual mlir::Value anyInBlock(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value vote) const = 0;
  /// States that this thread has reached this point, without waiting. Each call must be followed by one
  /// waitForCluster() before the next call.
  virtual void arriveAtCluster(mlir::OpBuilder &builder, mlir::Location loc) const = 0;
  /// Waits until all threads of the cluster have called arriveAtCluster(). Their writes to shared memory before that
  /// call are visible afterwards.
  virtual void waitForCluster(mlir::OpBuilder &builder, mlir::Location loc) const = 0;
  /// Loads a value of `type`, which is i32 or i64, from the shared memory of block `rank` of the cluster (an i32).
  /// `pointer` is the address of the value's variable in the shared memory of this block.
  virtual mlir::Value loadFromBlock(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value pointer, mlir::Value rank,
                                    mlir::Type type) const = 0;
};

} // namespace tilewright::gpu

#endif
