//===- ExportedModel.h - imports a .pt2 file as a tw module and its weights -----===//
//
// ExportedModel reads files of torch.export.save (or of tilewright.export, which decomposes operators that Tilewright
// does not import) without Python, without libtorch, and without executing the pickle that they contain.
//
//   auto model = ExportedModel::open("model.pt2");
//   auto module = (*model)->import(session.context());
//   // program->run: (*model)->weights()[i], where it is not null, is the tensor argument i of @main.
//
// The arguments of @main are the symbolic sizes, followed by all tensors, which are row-major. The tensors are
// parameters, buffers and constants (tw.static), and the user's inputs with their names (tw.name). Results are
// row-major, too; their names are the keys of the returned structure, or numbers. A model that writes its buffers or
// inputs is rejected. A model with operators that are not in the table of imported operators is rejected, too: the
// error lists all of them with the user's lines.
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

  /// Maps `path` into memory and reads it. Errors name the file and the problem.
  static llvm::Expected<std::unique_ptr<ExportedModel>> open(llvm::StringRef path);

  /// Imports the model and returns the verified module. After the import, weights() returns the data of the module's
  /// arguments.
  llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> import(mlir::MLIRContext &context);

  /// Returns, for each tensor argument of the imported @main, a pointer to its elements, dense and row-major in the
  /// argument's type, or null for an input of the user. The elements are in the mapped file, or in copies of tensors
  /// that were not dense, and are valid as long as the model exists.
  llvm::ArrayRef<const void *> weights() const;

  /// Returns true if a file that begins with `bytes` is a zip archive, such as a .pt2 file.
  static bool looksExported(llvm::StringRef bytes);

private:
  struct State;
  explicit ExportedModel(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace tilewright

#endif
