//===- KernelModules.h - a kernel of a model as a model of its own ----------------------------===//
#ifndef TILEWRIGHT_LIB_COMPILER_TUNE_KERNELMODULES_H
#define TILEWRIGHT_LIB_COMPILER_TUNE_KERNELMODULES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace tilewright {

struct KernelModule {
  std::string name, operations;
  int64_t calls = 0;                        ///< in the model
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< null where a size of what it reads is born inside the model
};

/// Of `module` at the end of the structured stage each kernel by itself: @main keeps its symbolic sizes, calls the
/// kernel once and gives back what it gives. What the kernel read of others is an argument; what it read of parameters
/// stays one of them, so that it is packed as in the model.
std::vector<KernelModule> kernelModules(mlir::ModuleOp module);

} // namespace tilewright

#endif
