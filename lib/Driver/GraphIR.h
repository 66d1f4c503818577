//===- GraphIR.h - check that a module is a graph that can be compiled -------===//
#ifndef TILEWRIGHT_LIB_DRIVER_GRAPHIR_H
#define TILEWRIGHT_LIB_DRIVER_GRAPHIR_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace tilewright {

/// Succeeds if `module` has @main, whose arguments are the symbolic sizes (index) and then tensors, if @main is one
/// block without calls and without tw ops in regions, and if each tensor has a supported element type and sizes that
/// are numbers or expressions over these symbols. Importers write valid graphs, but graphs from MLIR files may be
/// invalid.
llvm::Error checkGraph(mlir::ModuleOp module);

} // namespace tilewright

#endif
