//===- SumOfParts.h - compute an op in parts, in another kernel ----------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_SUMOFPARTS_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_SUMOFPARTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinTypes.h"

namespace tilewright::gpu {

/// Replaces `op`, whose only result is a tensor, in `kernel` by the sum of `parts` parts, which another kernel
/// computes:
///   %r = call @kernel_0(%x, %into)
///   ->  %p = call @kernel_0_parts(%x as parts x ..., %empty) ; %r = call @kernel_0(%p, %into)
/// The parts are added in the same order in every run.
class SumOfParts {
public:
  /// `name` is the name of the op in messages, unless the op has the name of an operator of the user.
  SumOfParts(mlir::func::FuncOp kernel, mlir::Operation *op, int64_t parts, llvm::StringRef name);

  /// Adds an argument of the kernel that the parts read. Each part reads an equal range of its dimension `dim`, or the
  /// whole argument if `dim` is -1.
  void addOperand(mlir::Value argument, int64_t dim);
  /// Returns a new kernel with an empty body, into which `builder` then inserts. Its arguments are the operands, whose
  /// dimensions `dim` are replaced by the dimensions part and element of the part, and the destination. The destination
  /// has the dimensions of the op's result after the dimension of the part.
  mlir::func::FuncOp makeKernel(mlir::OpBuilder &builder);
  /// Changes the kernel: it combines `init` with the parts, which become its first argument.
  using Combine = llvm::function_ref<mlir::Value(mlir::OpBuilder &builder, mlir::Value sum, mlir::Value part)>;
  void replaceOp(mlir::Value init, Combine combine);
  /// Inserts calls of `first`, the kernel of the parts, before the calls of the kernel. Erases the arguments of the
  /// kernel that it no longer reads.
  void rewriteCalls(mlir::ModuleOp module, mlir::func::FuncOp first);

  /// The name of the op, for messages.
  llvm::StringRef name() const { return ofUser; }

private:
  mlir::RankedTensorType expanded(mlir::Value tensor, int64_t dim) const;

  mlir::func::FuncOp kernel;
  mlir::Operation *op;
  int64_t parts;
  std::string ofUser;
  mlir::RankedTensorType partial;
  llvm::SmallVector<unsigned> sides; ///< numbers of the kernel's arguments that are operands
  llvm::SmallVector<int64_t> dims;   ///< for each of `sides`, the dimension that is split, or -1
};

/// Returns true if the body of `op` reads only its arguments and constants.
bool capturesOnlyConstants(mlir::linalg::LinalgOp op);
/// Inserts a clone of the body of `op`, which has one result, with the arguments `values`. Returns the value that it
/// yields. The clone contains the constants that the body reads.
mlir::Value cloneBodyOf(mlir::OpBuilder &builder, mlir::linalg::LinalgOp op, mlir::ValueRange values);

} // namespace tilewright::gpu

#endif
