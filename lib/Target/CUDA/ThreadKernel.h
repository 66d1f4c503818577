//===- ThreadKernel.h - a kernel while it becomes what one thread does -----------------===//
#ifndef TILEWRIGHT_LIB_TARGET_CUDA_THREADKERNEL_H
#define TILEWRIGHT_LIB_TARGET_CUDA_THREADKERNEL_H

#include "lib/Target/CUDA/Elements.h"
#include "lib/Target/CUDA/Schedule.h"

namespace tilewright::cuda {

/// Address spaces of pointers.
inline constexpr unsigned globalSpace = 1, sharedSpace = 3;
/// Bytes of shared memory that a block may have without asking for more.
inline constexpr int64_t mostStaticShared = 48 * 1024;
/// A thread keeps so many elements of a row in registers; more are read again by each op.
inline constexpr int64_t mostOfRowInRegisters = 32;

/// What the files that emit kernels share. `from` is the kernel on tensors, `to` the function that the builder fills.
struct ThreadKernel {
  ThreadKernel(mlir::func::FuncOp from, mlir::func::FuncOp to, const Schedule &schedule, mlir::OpBuilder &builder,
               Elements &elements)
      : from(from), to(to), schedule(schedule), builder(builder), elements(elements) {}

  mlir::func::FuncOp from, to;
  Schedule schedule;
  mlir::OpBuilder &builder;
  Elements &elements;
  llvm::DenseMap<mlir::Value, mlir::Value> pointers; ///< by tensor argument of `from`
  mlir::Value block, thread;                         ///< their numbers, of type index
  int64_t sharedBytes = 0;                           ///< of the static array, which begins at a multiple of 16
  int64_t dynamicBytes = 0;                          ///< of what a launch adds, at a multiple of 1024
  llvm::SmallVector<mlir::Value> maps;               ///< parameters that are tensor maps: pointers

  mlir::Location loc() { return from.getLoc(); }
  /// What `from` returns, and the arguments that it is written to.
  llvm::SmallVector<std::pair<mlir::Value, mlir::BlockArgument>> results();
  /// `bytes` of shared memory that nothing else of the kernel uses, a pointer to them in address space 3.
  mlir::Value allocateShared(int64_t bytes);
  /// A pointer to `bytes` of shared memory, of any number that the device has; of a kernel's calls the largest counts.
  mlir::Value dynamicShared(int64_t bytes);
  /// The grid: the number of blocks, over the kernel's index arguments.
  void setGrid(mlir::AffineExpr blocks);
};

/// Each emits the whole body; the error is of an op of `from`.
mlir::LogicalResult emitElements(ThreadKernel &kernel);
mlir::LogicalResult emitRows(ThreadKernel &kernel);
mlir::LogicalResult emitScatter(ThreadKernel &kernel);
mlir::LogicalResult emitMma(ThreadKernel &kernel);
mlir::LogicalResult emitWgmma(ThreadKernel &kernel);
mlir::LogicalResult emitFma(ThreadKernel &kernel);
mlir::LogicalResult emitAttention(ThreadKernel &kernel);
mlir::LogicalResult emitWarpGroupAttention(ThreadKernel &kernel);

/// A sum of products that reads two operands again and again, each without a loop of the result: a product of matrices,
/// which has no schedule `rows`. A matrix times a vector reads the matrix once, and has.
bool isProduct(mlir::linalg::LinalgOp op);

/// The op that combines two partial results of `op`'s result `number`, or null: the body yields combiner(so far, new).
mlir::Operation *combinerOf(mlir::linalg::LinalgOp op, unsigned number);

/// Combines `value` of the lanes of a warp by the op `combiner`; each lane gets all of it.
mlir::Value reduceInWarp(mlir::OpBuilder &builder, mlir::Location loc, mlir::Operation *combiner, mlir::Value value);
/// `value` of the lane whose number differs in the bits of `mask`.
mlir::Value shuffle(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, int32_t mask);
mlir::Value combine(mlir::OpBuilder &builder, mlir::Operation *combiner, mlir::Value a, mlir::Value b);

} // namespace tilewright::cuda

#endif
