//===- OnnxWalker.h - import an ONNX model as a module ---------------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ONNX_ONNXWALKER_H
#define TILEWRIGHT_LIB_IMPORT_ONNX_ONNXWALKER_H

#include "lib/Import/ONNX/Reader/Model.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "tilewright/DynamicSizes.h"
#include "llvm/Support/Error.h"
#include <list>

namespace tilewright {

/// Returns the module of `model`. `weights` receives the addresses of its tensor arguments, null for those that the
/// caller passes. `nodes` and `copies` own what the module's weights refer to in addition to the model. Sizes of inputs
/// that are in `dynamic` become symbols, even if the file states constants. Errors list all problems.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> importOnnx(const onnx::Model &model, std::list<onnx::Node> &nodes,
                                                             mlir::MLIRContext &context,
                                                             std::vector<const void *> &weights,
                                                             std::list<std::vector<uint8_t>> &copies,
                                                             llvm::ArrayRef<DynamicSize> dynamic);

} // namespace tilewright

#endif
