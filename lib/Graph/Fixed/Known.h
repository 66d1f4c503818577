//===- Known.h - tensors whose elements the compiler has ----------------------------===//
#ifndef TILEWRIGHT_GRAPH_FIXED_KNOWN_H
#define TILEWRIGHT_GRAPH_FIXED_KNOWN_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include <memory>
#include <string>
#include <vector>

namespace tilewright::fixed {

/// Weights and constants of a float graph, and what is computed from such alone.
struct Known {
  llvm::SmallVector<int64_t> shape;
  std::vector<double> elements; ///< row-major
  std::string name;             ///< of the weight that it comes from; "" for constants
};

/// The elements of an attribute of floats or integers; null: it has others.
std::shared_ptr<Known> knownOf(mlir::ElementsAttr value, llvm::StringRef name);

/// What `op` makes of such operands; null where it is not one of the ops that are computed here: views, and the
/// arithmetic that a normalization leaves behind.
std::shared_ptr<Known> evaluate(mlir::Operation *op, llvm::ArrayRef<std::shared_ptr<Known>> operands);

} // namespace tilewright::fixed

#endif
