//===- Origins.h - map lines of every stage to the model's operations ----------------===//
//
// Passes preserve locations. When they merge operations, they fuse the operations' locations. Each operation of the
// model therefore gets a number, which is stored as a name in its location. The origins of a line in a later stage are
// the numbers in its location:
//
//   %3 = tw.matmul ...      loc("tw.origin 2"("aten.mm"("model.py":12:0)))
//   linalg.generic {...}    loc(fused["tw.origin 2"(...), "tw.origin 3"(...)])      the set {2, 3}
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_REPORT_ORIGINS_H
#define TILEWRIGHT_LIB_REPORT_ORIGINS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include <map>
#include <string>
#include <vector>

namespace tilewright::explain {

/// An operation of the imported model.
struct Origin {
  std::string operation; ///< tw.matmul
  std::string label;     ///< the frontend's name: an ATen overload, an ONNX node; may be empty
  std::string file;      ///< the user's file; empty if unknown
  int64_t line = 0;
};

class Origins {
public:
  /// Numbers the operations of `module`, from 0, in the order of printing. Functions and terminators get no number.
  explicit Origins(mlir::ModuleOp module);

  const std::vector<Origin> &all() const { return origins; }

  /// Returns the index of the set of origins in `loc`; -1 if there are none.
  int setOf(mlir::Location loc);
  /// Returns all distinct sets of origins. Each set is sorted and has no duplicates.
  const std::vector<std::vector<int>> &sets() const { return allSets; }

private:
  std::vector<Origin> origins;
  std::vector<std::vector<int>> allSets;
  std::map<std::vector<int>, int> numberOfSet;
  llvm::DenseMap<mlir::Location, int> setByLocation;
};

} // namespace tilewright::explain

#endif
