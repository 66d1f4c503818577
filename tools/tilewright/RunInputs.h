//===- RunInputs.h - what `tilewright run` calls a model with -------------------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_RUNINPUTS_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_RUNINPUTS_H

#include "ModelFile.h"
#include "NpyFile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::driver {

/// What one call of @main needs.
struct RunInputs {
  std::vector<int64_t> symbols;       ///< a value per symbolic size
  std::vector<HostTensor> tensors;    ///< those that are no weights of the model file's
  std::vector<const void *> pointers; ///< per tensor argument of @main
};

/// Reads `files`, each "NAME=x.npy", for the inputs of @main, and finds the symbolic sizes in theirs. Without files,
/// and for the seed of a model with random numbers, elements are random by `seed`, and the symbols have the values
/// `sizes`, or 8 within their ranges. Errors name the input and what is expected.
llvm::Expected<RunInputs> makeInputs(const ModelFile &model, mlir::func::FuncOp main, llvm::ArrayRef<std::string> files,
                                     llvm::ArrayRef<int64_t> sizes, uint64_t seed);

/// A tensor of `type` where the symbols have these values; its elements are 0.
llvm::Expected<HostTensor> tensorOf(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> symbols);

} // namespace tilewright::driver

#endif
