//===- ModelFile.h - a model as the driver's commands read it --------------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_MODELFILE_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_MODELFILE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "tilewright/ExportedModel.h"

namespace tilewright::driver {

struct ModelFile {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<ExportedModel> exported; ///< has the weights' memory; null for MLIR

  /// The elements of @main's tensor argument `index`; null: they are the caller's to give.
  const void *weight(size_t index) const {
    return exported && index < exported->weights().size() ? exported->weights()[index] : nullptr;
  }
};

/// Reads MLIR or a .pt2 of torch.export, told apart by their first bytes; "-" is standard input, MLIR only. Of MLIR
/// that does not parse the places are printed to standard error, as the parser finds them.
llvm::Expected<ModelFile> readModelFile(llvm::StringRef path, mlir::MLIRContext &context);

} // namespace tilewright::driver

#endif
