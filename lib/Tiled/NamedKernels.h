//===- NamedKernels.h - the kernels that a user's file of schedules names -----===//
#ifndef TILEWRIGHT_LIB_TILED_NAMEDKERNELS_H
#define TILEWRIGHT_LIB_TILED_NAMEDKERNELS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace tilewright::tiled {

/// Whether `key` may name any number of kernels, of other graphs too, and so none.
bool isPattern(llvm::StringRef key);

/// What `kernel` computes, as the report and dumps show it: "matmul+add+gelu".
llvm::StringRef opsOf(mlir::func::FuncOp kernel);

/// The kernels of a module that have a schedule.
class NamedKernels {
public:
  explicit NamedKernels(mlir::ModuleOp module);

  /// Those that `key` names: a kernel's name, its ops, or a pattern over them. The error is of a pattern that is none.
  llvm::Expected<llvm::SmallVector<mlir::func::FuncOp>> find(llvm::StringRef key) const;

  /// All of them, for an error: "kernel_0 (matmul+add), kernel_1 (softmax)".
  std::string list() const;

private:
  llvm::SmallVector<mlir::func::FuncOp> kernels;
};

} // namespace tilewright::tiled

#endif
