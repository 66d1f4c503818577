//===- Known.h - tensors whose elements are known at compile time -------------------===//
#ifndef TILEWRIGHT_LIB_GRAPH_FIXED_KNOWN_H
#define TILEWRIGHT_LIB_GRAPH_FIXED_KNOWN_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include <memory>
#include <string>
#include <vector>

namespace tilewright::fixed {

/// A weight or constant of a float graph, or a value that is computed only from such values.
struct Known {
  llvm::SmallVector<int64_t> shape;
  std::vector<double> elements; ///< row-major
  std::string name;             ///< name of the weight from which it is computed; "" for constants
};

/// Returns the elements of a dense attribute of floats or integers; null for other attributes.
std::shared_ptr<Known> knownOf(mlir::ElementsAttr value, llvm::StringRef name);

/// Returns the result of `op` on known operands. Returns null if an operand is unknown, if the result is not a float
/// tensor of static shape, or if the op is not one that the constants of a normalization need: a reshape, a permute, a
/// broadcast, a cast or elementwise arithmetic.
std::shared_ptr<Known> evaluate(mlir::Operation *op, llvm::ArrayRef<std::shared_ptr<Known>> operands);

/// Returns the first known operand (null entries are unknown) with an element that no fixed-point number represents: a
/// NaN, or an infinity that is not the bound of a maximum or minimum. Returns null if there is none.
const Known *firstWithoutNumber(mlir::Operation *op, llvm::ArrayRef<std::shared_ptr<Known>> operands);

} // namespace tilewright::fixed

#endif
