//===- OnnxWalker.h - a module of an ONNX model ----------------------------------------===//
#ifndef TILEWRIGHT_LIB_FRONTEND_ONNX_ONNXWALKER_H
#define TILEWRIGHT_LIB_FRONTEND_ONNX_ONNXWALKER_H

#include "lib/Frontend/OnnxModel/Model.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "tilewright/DynamicSizes.h"
#include "llvm/Support/Error.h"
#include <list>

namespace tilewright {

/// The module of `model`; `weights` become those of its tensor arguments, null where the caller gives them. `nodes` and
/// `copies` keep what the module's weights point to besides the model. Sizes of inputs that are among `dynamic` become
/// symbols, whatever the file says of them. Errors list all that cannot be compiled.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> importOnnx(const onnx::Model &model, std::list<onnx::Node> &nodes,
                                                             mlir::MLIRContext &context,
                                                             std::vector<const void *> &weights,
                                                             std::list<std::vector<uint8_t>> &copies,
                                                             llvm::ArrayRef<DynamicSize> dynamic);

} // namespace tilewright

#endif
