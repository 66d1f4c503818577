//===- StageContract.h - the IR that a pass accepts ------------------------------===//
//
//   if (failed(requireForm(getOperation(), IRForm::Buffers, getArgument())))
//     return signalPassFailure();
//
// Passes rely on the results of the stages before them. On IR of another stage (tilewright-opt runs passes in any
// order) they fail with an error before they process IR that they do not support.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_STAGECONTRACT_H
#define TILEWRIGHT_STAGECONTRACT_H

#include "mlir/IR/Operation.h"

namespace tilewright {

enum class IRForm {
  Graph,   ///< ops of `tw`, and ops on scalars
  Tensors, ///< linalg and tw_tile on tensors, with or without loops; no op of `tw`
  Buffers, ///< kernels on memrefs that have no results, with or without a plan
};

/// Succeeds if the functions of `root` (a function, or a module with kernels) have the form `form`. Otherwise emits an
/// error that names the first op that violates the form, if there is one. `pass` is the name of the calling pass.
mlir::LogicalResult requireForm(mlir::Operation *root, IRForm form, llvm::StringRef pass);

/// Returns true if MLIR's verifier runs after every pass, and --tw-verify-stage after every stage. The environment
/// variable TILEWRIGHT_VERIFY=1 enables this; builds of the preset `assert` do so unless TILEWRIGHT_VERIFY=0.
bool verifiesStages();

} // namespace tilewright

#endif
