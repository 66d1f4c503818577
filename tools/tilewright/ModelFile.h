//===- ModelFile.h - read a model for the driver's commands ----------------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_MODELFILE_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_MODELFILE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "tilewright/ExportedModel.h"
#include "tilewright/OnnxModel.h"

namespace tilewright::driver {

struct ModelFile {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<ExportedModel> exported; ///< owns the weights' memory; null for other formats
  std::unique_ptr<OnnxModel> onnx;

  /// The elements of each tensor argument of @main; null if the caller has to pass them. The list is empty for MLIR.
  llvm::ArrayRef<const void *> weights() const {
    return exported ? exported->weights() : onnx ? onnx->weights() : llvm::ArrayRef<const void *>();
  }
  /// Returns the elements of argument `index`, or null.
  const void *weight(size_t index) const { return index < weights().size() ? weights()[index] : nullptr; }
};

/// Reads MLIR, an ONNX model or a .pt2 file of torch.export. The format follows from the name and the first bytes; "-"
/// is standard input, for MLIR only. The sizes in `dynamic` get the given range, or become symbolic if the format
/// allows it. If MLIR does not parse, the parser prints the errors with their locations to standard error.
llvm::Expected<ModelFile> readModelFile(llvm::StringRef path, mlir::MLIRContext &context,
                                        llvm::ArrayRef<DynamicSize> dynamic = {});

} // namespace tilewright::driver

#endif
