//===- ModelFile.h - a model as the driver's commands read it --------------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_MODELFILE_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_MODELFILE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "tilewright/ExportedModel.h"
#include "tilewright/OnnxModel.h"

namespace tilewright::driver {

struct ModelFile {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<ExportedModel> exported; ///< has the weights' memory; null for others, as is
  std::unique_ptr<OnnxModel> onnx;

  /// Per tensor argument of @main its elements, null where they are the caller's to give; none of MLIR.
  llvm::ArrayRef<const void *> weights() const {
    return exported ? exported->weights() : onnx ? onnx->weights() : llvm::ArrayRef<const void *>();
  }
  /// Those of argument `index`, or null.
  const void *weight(size_t index) const { return index < weights().size() ? weights()[index] : nullptr; }
};

/// Reads MLIR, an ONNX model or a .pt2 of torch.export, told apart by name and first bytes; "-" is standard input, MLIR
/// only. Sizes among `dynamic` get that range, or become symbolic where the format lets them. Of MLIR that does not
/// parse the places are printed to standard error, as the parser finds them.
llvm::Expected<ModelFile> readModelFile(llvm::StringRef path, mlir::MLIRContext &context,
                                        llvm::ArrayRef<DynamicSize> dynamic = {});

} // namespace tilewright::driver

#endif
