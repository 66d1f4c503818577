//===- Interface.h - the interface of a library's model ----------------------------===//
#ifndef TILEWRIGHT_LIB_AOT_INTERFACE_H
#define TILEWRIGHT_LIB_AOT_INTERFACE_H

#include "lib/Runtime/Library/Description.h"
#include "lib/Runtime/Plan/Plan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tilewright/Library.h"

namespace tilewright::library {

/// The suffixes that a library's functions have after the name of the model.
inline constexpr llvm::StringLiteral functionSuffixes[] = {"_create",     "_destroy",     "_run",   "_shape",
                                                           "_profile",    "_steps",       "_error", "_cpu",
                                                           "_num_inputs", "_num_outputs", "_input", "_output"};

/// An input or output of the model, as the library's caller passes it.
struct InterfaceTensor {
  std::string name;
  DType dtype = DType::F32;
  std::vector<plan::Expr> sizes;      ///< expressions in the symbols
  std::vector<std::string> sizeTexts; ///< "64", "batch", "batch * 2"
  std::vector<int64_t> fixedSizes;    ///< -1 for symbolic sizes
  int64_t number = 0;                 ///< index among the plan's inputs or outputs
  bool inPlace = false;               ///< an input that a call writes

  std::string text() const; ///< "float32 [batch, 64]"
};

struct Interface {
  std::string model; ///< prefix of the C names
  std::vector<plan::Symbol> symbols;
  std::vector<InterfaceTensor> inputs, outputs;
};

/// Converts `text` to a C identifier.
std::string identifierFrom(llvm::StringRef text);

/// Returns the elements of tensor argument `input` (see LibraryOptions::weights), or null if each call provides them.
inline const void *weightOf(llvm::ArrayRef<const void *> weights, size_t input) {
  return input < weights.size() ? weights[input] : nullptr;
}

/// Returns the interface of `main` without the inputs that have elements in `weights`. Returns an error if an element
/// type or rank is not supported, if a symbol cannot be computed from a size of an input, or if a call would write a
/// weight.
llvm::Expected<Interface> readInterface(mlir::func::FuncOp main, llvm::ArrayRef<const void *> weights);

} // namespace tilewright::library

#endif
