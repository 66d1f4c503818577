//===- RunInputs.h - inputs of a model for `tilewright run` ---------------------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_RUNINPUTS_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_RUNINPUTS_H

#include "ModelFile.h"
#include "NpyFile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::driver {

/// The symbols and inputs of one call of @main.
struct RunInputs {
  std::vector<int64_t> symbols;       ///< one value per symbolic size
  std::vector<HostTensor> tensors;    ///< inputs that are not weights of the model file
  std::vector<const void *> pointers; ///< one per tensor argument of @main
};

/// Returns the inputs of @main. If there are `files`, each "NAME=x.npy", the inputs are read and the symbolic sizes are
/// derived from them. Otherwise the elements are random numbers generated from `seed`, and the symbols have the values
/// `sizes`. Symbols for which `sizes` has no value are 8 or the nearest value in their range. The seed input of a
/// model with random numbers is random unless `files` contains it. Errors name the input and the expected type.
llvm::Expected<RunInputs> makeInputs(const ModelFile &model, mlir::func::FuncOp main, llvm::ArrayRef<std::string> files,
                                     llvm::ArrayRef<int64_t> sizes, uint64_t seed);

/// Returns a tensor of `type` whose sizes are evaluated for these values of the symbols. Its elements are 0.
llvm::Expected<HostTensor> tensorOf(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> symbols);

} // namespace tilewright::driver

#endif
