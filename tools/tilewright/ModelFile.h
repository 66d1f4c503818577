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
  /// Returns the elements of tensor argument `index` of @main, or null if the caller has to pass them.
  const void *weight(size_t index) const { return index < weights().size() ? weights()[index] : nullptr; }
};

/// Reads MLIR, an ONNX model or a .pt2 file of torch.export. The format is recognized by the suffix of `path` or by
/// the first bytes of the file. The path "-" reads MLIR from standard input. The sizes in `dynamic` get the given
/// ranges. Static sizes in `dynamic` become symbolic in ONNX models, and are errors in other formats. MLIR's parser
/// prints errors to standard error.
llvm::Expected<ModelFile> readModelFile(llvm::StringRef path, mlir::MLIRContext &context,
                                        llvm::ArrayRef<DynamicSize> dynamic = {});

} // namespace tilewright::driver

#endif
