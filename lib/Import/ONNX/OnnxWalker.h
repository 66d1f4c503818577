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

/// Converts `model` to a module. Sets `weights` to the addresses of its tensor arguments, which are null for tensors
/// that the caller passes. `nodes` and `copies` own memory to which the weights refer in addition to the model. Sizes
/// of inputs in `dynamic` become symbols or, if `dynamic` specifies a fixed size, this number, even if they are
/// constant in the file. An error lists all problems.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> importOnnx(const onnx::Model &model, std::list<onnx::Node> &nodes,
                                                             mlir::MLIRContext &context,
                                                             std::vector<const void *> &weights,
                                                             std::list<std::vector<uint8_t>> &copies,
                                                             llvm::ArrayRef<DynamicSize> dynamic);

} // namespace tilewright

#endif
