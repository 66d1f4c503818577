//===- ExportedModel.h - a .pt2 file in, a tw module and its weights out --------===//
//
// Reads what torch.export.save wrote (or tilewright.export, which decomposes the ops that Tilewright does not have):
// without Python, without libtorch, and without running the pickle in it.
//
//   auto model = ExportedModel::open("model.pt2");
//   auto module = (*model)->import(session.context());
//   // program->run: (*model)->weights()[i], where it is not null, is the tensor argument i of @main.
//
// @main takes the symbolic sizes, then every tensor, row-major: parameters, buffers and constants (tw.static), and the
// user's inputs under their names (tw.name). Results are row-major and named, too: keys of what the model returns, or
// numbers. A model that writes its buffers or inputs is refused, as are ops that are not in the table of imported ops:
// the error lists all of them with the user's lines.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_EXPORTEDMODEL_H
#define TILEWRIGHT_EXPORTEDMODEL_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace mlir {
class MLIRContext;
class ModuleOp;
template <typename OpTy> class OwningOpRef;
} // namespace mlir

namespace tilewright {

class ExportedModel {
public:
  ~ExportedModel();

  /// Maps `path` and reads it. Errors name the file, and what is wrong with it.
  static llvm::Expected<std::unique_ptr<ExportedModel>> open(llvm::StringRef path);

  /// The module, verified. weights() are then those of its arguments.
  llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> import(mlir::MLIRContext &context);

  /// Per tensor argument of the imported @main its elements, dense and row-major in the argument's type; null: the
  /// caller gives it. They live as long as the model, in the file or in copies of those that were not dense.
  llvm::ArrayRef<const void *> weights() const;

  /// True when `bytes`, the first ones of a file, are those of a zip archive, as .pt2 files are.
  static bool looksExported(llvm::StringRef bytes);

private:
  struct State;
  explicit ExportedModel(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace tilewright

#endif
