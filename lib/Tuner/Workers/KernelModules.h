//===- KernelModules.h - a kernel of a model as a separate model ------------------------------===//
#ifndef TILEWRIGHT_LIB_TUNER_WORKERS_KERNELMODULES_H
#define TILEWRIGHT_LIB_TUNER_WORKERS_KERNELMODULES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace tilewright {

struct KernelModule {
  std::string name, operations;
  int64_t calls = 0;                        ///< number of calls in the model
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< null if a size of an operand is only known inside the model
};

/// Extracts each kernel from `module`, which is at the end of the structured stage: @main keeps its symbolic sizes,
/// calls the kernel once and returns its results. Operands that other kernels computed become arguments; operands
/// that are parameters stay parameters, so that they are packed as in the model.
std::vector<KernelModule> kernelModules(mlir::ModuleOp module);

} // namespace tilewright

#endif
