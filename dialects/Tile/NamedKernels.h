//===- NamedKernels.h - the kernels that a user's file of schedules names -----===//
#ifndef TILEWRIGHT_DIALECTS_TILE_NAMEDKERNELS_H
#define TILEWRIGHT_DIALECTS_TILE_NAMEDKERNELS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace tilewright::tile {

/// Whether `key` may name any number of kernels, of other graphs too, and so none.
bool isPattern(llvm::StringRef key);

/// The entries of a user's schedule file, an object of JSON: patterns first, so that an entry of a kernel's own name
/// has the last word. The error says what is wrong behind "schedule file '...' ".
llvm::Expected<std::vector<std::pair<std::string, llvm::json::Value>>> readScheduleFile(llvm::StringRef file);

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

} // namespace tilewright::tile

#endif
