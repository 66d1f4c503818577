//===- GraphIR.h - is this module a graph that can be compiled? --------------===//
#ifndef TILEWRIGHT_COMPILER_GRAPHIR_H
#define TILEWRIGHT_COMPILER_GRAPHIR_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace tilewright {

/// Success if `module` has @main, whose arguments are the symbolic sizes (index) and then tensors, and each tensor's
/// sizes are numbers or expressions over these symbols. Readers write such graphs; hand-written ones may not be. The
/// error names the line and the type, and how it is written.
llvm::Error checkGraph(mlir::ModuleOp module);

} // namespace tilewright

#endif
