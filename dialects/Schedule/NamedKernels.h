//===- NamedKernels.h - kernels that a user's schedule file names -------------===//
#ifndef TILEWRIGHT_DIALECTS_SCHEDULE_NAMEDKERNELS_H
#define TILEWRIGHT_DIALECTS_SCHEDULE_NAMEDKERNELS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace tilewright::schedule {

/// Returns true if `key` is a pattern: it contains *, ?, [ or {. A pattern may match several kernels. A pattern that
/// matches no kernel is not an error, because one schedule file may be used for several graphs.
bool isPattern(llvm::StringRef key);

/// Returns the entries of a user's schedule file, a JSON object. Patterns come first, because an entry with the name of
/// a kernel must override them. Old names of knobs are replaced by the present ones. The message of an error continues
/// the text "schedule file '...' ".
llvm::Expected<std::vector<std::pair<std::string, llvm::json::Value>>> readScheduleFile(llvm::StringRef file);

/// Returns the ops of `kernel` as the report and dumps print them: "matmul+add+gelu".
llvm::StringRef opsOf(mlir::func::FuncOp kernel);

/// The kernels of a module that have a schedule.
class NamedKernels {
public:
  explicit NamedKernels(mlir::ModuleOp module);

  /// Returns the kernels that `key` selects by their name, by their ops, or by a pattern over their ops. Fails on an
  /// invalid pattern.
  llvm::Expected<llvm::SmallVector<mlir::func::FuncOp>> find(llvm::StringRef key) const;

  /// Lists all kernels, for an error message: "matmul_add_0 (matmul+add), softmax_1 (softmax)".
  std::string list() const;

private:
  llvm::SmallVector<mlir::func::FuncOp> kernels;
};

} // namespace tilewright::schedule

#endif
