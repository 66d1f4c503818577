//===- Origins.h - which lines of every stage come from one operation ----------------===//
//
// Passes keep locations, and fuse those of operations that become one. So each operation of the model gets a number,
// written around the location it has; a line of a later stage comes from those whose numbers are in its location:
//
//   %3 = tw.matmul ...      loc("tw.origin 2"("aten.mm"("model.py":12:0)))
//   linalg.generic {...}    loc(fused["tw.origin 2"(...), "tw.origin 3"(...)])      the set {2, 3}
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_COMPILER_EXPLAIN_ORIGINS_H
#define TILEWRIGHT_LIB_COMPILER_EXPLAIN_ORIGINS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include <map>
#include <string>
#include <vector>

namespace tilewright::explain {

/// An operation of the model as it was read.
struct Origin {
  std::string operation; ///< tw.matmul
  std::string label;     ///< what the frontend called it: an ATen overload, a node of ONNX; may be empty
  std::string file;      ///< of the user's; empty: not known
  int64_t line = 0;
};

class Origins {
public:
  /// Numbers the operations of `module`, from 0, in the order they are printed. Functions and their ends are none.
  explicit Origins(mlir::ModuleOp module);

  const std::vector<Origin> &all() const { return origins; }

  /// The number of the set of origins in `loc`; -1: none.
  int setOf(mlir::Location loc);
  /// The sets, each sorted and without repetition, by number.
  const std::vector<std::vector<int>> &sets() const { return allSets; }

private:
  std::vector<Origin> origins;
  std::vector<std::vector<int>> allSets;
  std::map<std::vector<int>, int> numberOfSet;
  llvm::DenseMap<mlir::Location, int> setByLocation;
};

} // namespace tilewright::explain

#endif
