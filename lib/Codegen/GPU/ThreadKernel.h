//===- ThreadKernel.h - a kernel while it is converted to the code of one thread -------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_THREADKERNEL_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_THREADKERNEL_H

#include "dialects/Tile/Combiner.h"
#include "lib/Codegen/GPU/Elements.h"
#include "lib/Codegen/GPU/Schedule.h"
#include "lib/Codegen/GPU/ThreadOps.h"

namespace tilewright::gpu {

/// Address spaces of pointers to global and to shared memory.
inline constexpr unsigned globalSpace = 1, sharedSpace = 3;
/// The maximum number of elements of a row that a thread stores in registers. If a thread's part of a row is larger,
/// each op reads the row again.
inline constexpr int64_t mostOfRowInRegisters = 32;

/// State shared by the files that emit kernels. `from` is the kernel on tensors; the builder inserts the new code in
/// `to`.
struct ThreadKernel {
  ThreadKernel(mlir::func::FuncOp from, mlir::func::FuncOp to, const Schedule &schedule, mlir::OpBuilder &builder,
               Elements &elements, const ThreadOps &threads)
      : from(from), to(to), schedule(schedule), builder(builder), elements(elements), threads(threads) {}

  mlir::func::FuncOp from, to;
  Schedule schedule;
  mlir::OpBuilder &builder;
  Elements &elements;
  const ThreadOps &threads;
  llvm::DenseMap<mlir::Value, mlir::Value> pointers; ///< pointers of the tensor arguments of `from`
  mlir::Value block, thread;                         ///< indices of the block and of the thread, of type index
  /// The first result and the number of results that results() returns. In a kernel with several products, the code of
  /// each product stores other results.
  size_t firstResult = 0, numResults = size_t(-1);
  int64_t sharedBytes = 0;             ///< bytes of the static shared memory, aligned to 16 bytes
  int64_t dynamicBytes = 0;            ///< bytes of the dynamic shared memory, aligned to 1024 bytes
  llvm::SmallVector<mlir::Value> maps; ///< pointers to the parameters that are tensor maps

  mlir::Location loc() { return from.getLoc(); }
  void barrier() { threads.barrier(builder, loc()); }
  /// Returns the selected results of `from`. Each result is paired with the argument in whose memory it is stored.
  llvm::SmallVector<std::pair<mlir::Value, mlir::BlockArgument>> results();
  /// Allocates `bytes` of shared memory for exclusive use and returns a pointer in address space 3.
  mlir::Value allocateShared(int64_t bytes);
  /// Returns a pointer to `bytes` bytes of dynamic shared memory. The caller checks the device's limit. All calls for a
  /// kernel return the same memory, whose size is the largest of the requested sizes.
  mlir::Value dynamicShared(int64_t bytes);
  /// Sets the grid: the number of blocks, as an expression of the kernel's index arguments.
  void setGrid(mlir::AffineExpr blocks);
};

/// Each function emits the body of the kernel for one kind of schedule, and reports errors at an op of `from`. The
/// functions for tensor cores belong to the target of a vendor.
mlir::LogicalResult emitElements(ThreadKernel &kernel);
mlir::LogicalResult emitRows(ThreadKernel &kernel);
mlir::LogicalResult emitScatter(ThreadKernel &kernel);
mlir::LogicalResult emitWindows(ThreadKernel &kernel);
mlir::LogicalResult emitFma(ThreadKernel &kernel);

/// Combines `value` of each group of `lanes` adjacent lanes of a warp by the op `combiner`; each lane gets the result.
mlir::Value reduceInWarp(ThreadKernel &kernel, mlir::Operation *combiner, mlir::Value value, int64_t lanes = warpSize);
/// Returns the value that `value` has in the lane whose number is this lane's xor `mask`.
mlir::Value shuffle(ThreadKernel &kernel, mlir::Value value, int32_t mask);
mlir::Value combine(mlir::OpBuilder &builder, mlir::Operation *combiner, mlir::Value a, mlir::Value b);

} // namespace tilewright::gpu

#endif
