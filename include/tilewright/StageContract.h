//===- StageContract.h - what IR a pass takes ------------------------------------===//
//
//   if (failed(requireForm(getOperation(), IRForm::Buffers, getArgument())))
//     return signalPassFailure();
//
// Passes rely on what the stages before them have done. On IR of another stage (tilewright-opt runs passes in any
// order) they end with an error, before they meet what they do not know.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_STAGECONTRACT_H
#define TILEWRIGHT_STAGECONTRACT_H

#include "mlir/IR/Operation.h"

namespace tilewright {

enum class IRForm {
  Graph,   ///< ops of `tw`, and scalars beside them
  Tensors, ///< linalg and tw_tile on tensors, in loops or not; no op of `tw`
  Buffers, ///< kernels on memrefs that return nothing, and a plan or not
};

/// Whether the functions of `root` (a function, or a module with kernels) are of `form`; an error that names the first
/// op that is not, if there is one. `pass` asks.
mlir::LogicalResult requireForm(mlir::Operation *root, IRForm form, llvm::StringRef pass);

} // namespace tilewright

#endif
