//===- Interface.h - what a caller of a library sees of its model ------------------===//
#ifndef TILEWRIGHT_LIB_COMPILER_LIBRARY_INTERFACE_H
#define TILEWRIGHT_LIB_COMPILER_LIBRARY_INTERFACE_H

#include "lib/Runtime/Library/Description.h"
#include "lib/Runtime/Plan/Plan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tilewright/Library.h"

namespace tilewright::library {

/// An input or output of the caller's.
struct InterfaceTensor {
  std::string name;
  DType dtype = DType::F32;
  std::vector<plan::Expr> sizes;      ///< over the symbols
  std::vector<std::string> sizeTexts; ///< "64", "batch", "2*batch"
  std::vector<int64_t> fixedSizes;    ///< -1 where symbolic
  int64_t number = 0;                 ///< among the plan's inputs or outputs
  bool inPlace = false;               ///< an input that a call writes

  std::string text() const; ///< "float32 [batch, 64]"
};

struct Interface {
  std::string model; ///< prefix of the C names
  std::vector<plan::Symbol> symbols;
  std::vector<InterfaceTensor> inputs, outputs;
};

/// `text` as a C identifier.
std::string identifierFrom(llvm::StringRef text);

/// The elements of tensor argument `input`, see LibraryOptions::weights; null: it is the caller's.
inline const void *weightOf(llvm::ArrayRef<const void *> weights, size_t input) {
  return input < weights.size() ? weights[input] : nullptr;
}

/// The interface of `main`, whose inputs with elements in `weights` are not the caller's. Errors name the argument and
/// say what to do: an element type, a rank, or a symbol that no input's size tells.
llvm::Expected<Interface> readInterface(mlir::func::FuncOp main, llvm::ArrayRef<const void *> weights);

} // namespace tilewright::library

#endif
