//===- InitialValues.cpp - initial values of accumulations -------------------------------===//
#include "lib/Codegen/HLS/InitialValues.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

namespace tilewright::hls {
namespace {

/// Returns the op that accumulates into the array that `fill` initializes. Returns null if another op accesses the
/// array before this op, if this op has other results or also reads the array as an input, or if the array has views.
linalg::LinalgOp accumulatorOf(linalg::FillOp fill) {
  Value array = fill.getDpsInits()[0];
  // If the array has views, ops may access it through a view without using `array` itself.
  if (array.getDefiningOp<ViewLikeOpInterface>() || llvm::any_of(array.getUsers(), llvm::IsaPred<ViewLikeOpInterface>))
    return {};
  for (Operation *op = fill->getNextNode(); op; op = op->getNextNode()) {
    bool touches = false;
    op->walk([&](Operation *inner) { touches |= llvm::is_contained(inner->getOperands(), array); });
    if (!touches)
      continue;
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    const bool accumulates = linalgOp && linalgOp.getNumReductionLoops() > 0 && linalgOp.getNumDpsInits() == 1 &&
                             linalgOp.getDpsInits()[0] == array && !llvm::is_contained(linalgOp.getDpsInputs(), array);
    return accumulates ? linalgOp : linalg::LinalgOp();
  }
  return {};
}

} // namespace

void absorbFills(func::FuncOp kernel) {
  SmallVector<linalg::FillOp> fills;
  kernel.walk([&](linalg::FillOp fill) { fills.push_back(fill); });
  for (linalg::FillOp fill : fills) {
    TypedAttr value;
    linalg::LinalgOp accumulator = accumulatorOf(fill);
    if (!accumulator || accumulator->hasAttr(initialAttrName) ||
        !matchPattern(fill.getDpsInputs()[0], m_Constant(&value)))
      continue;
    accumulator->setAttr(initialAttrName, value);
    fill.erase();
  }
}

} // namespace tilewright::hls
