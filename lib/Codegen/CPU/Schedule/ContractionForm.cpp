//===- ContractionForm.cpp - the contractions that tw_tile.matmul expresses ---------===//
#include "ContractionForm.h"

using namespace mlir;

namespace tilewright::tiled {

std::optional<ContractionForm> formOf(linalg::ContractOp op, std::string &reason) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  AffineMap lhs = maps[0], rhs = maps[1], out = maps[2];
  auto positionOf = [](AffineMap map, unsigned loop) -> int64_t {
    for (auto [index, expr] : llvm::enumerate(map.getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(expr); dim && dim.getPosition() == loop)
        return index;
    return -1;
  };
  if (!lhs.isProjectedPermutation() || !rhs.isProjectedPermutation() || !out.isProjectedPermutation()) {
    reason = "expected operands that are read by permutations of the loops";
    return std::nullopt;
  }
  int64_t rank = out.getNumResults();
  if (rank < 2 || lhs.getNumResults() != rank || op.getNumLoops() != rank + 1) {
    reason = "expected only batch dimensions and one m, one n and one k dimension";
    return std::nullopt;
  }
  SmallVector<unsigned> outLoops;
  for (AffineExpr expr : out.getResults())
    outLoops.push_back(cast<AffineDimExpr>(expr).getPosition());
  unsigned n = outLoops.back(), k = 0;
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
    if (!llvm::is_contained(outLoops, loop))
      k = loop;
  ContractionForm form;
  if (positionOf(lhs, n) >= 0 || positionOf(rhs, n) < 0 || positionOf(lhs, k) < 0 || positionOf(rhs, k) < 0) {
    reason = "expected the last result dimension to come from the right-hand side";
    return std::nullopt;
  }
  for (unsigned loop : ArrayRef<unsigned>(outLoops).drop_back())
    form.lhsPermutation.push_back(positionOf(lhs, loop));
  form.lhsPermutation.push_back(positionOf(lhs, k));
  if (llvm::is_contained(form.lhsPermutation, -1)) {
    reason = "expected the left-hand side to have every result dimension except the last";
    return std::nullopt;
  }
  int64_t inRhs = 0;
  for (unsigned loop : ArrayRef<unsigned>(outLoops).drop_back(2))
    inRhs += positionOf(rhs, loop) >= 0;
  form.batchedRhs = inRhs > 0;
  if ((inRhs > 0 && inRhs != rank - 2) || positionOf(rhs, outLoops[rank - 2]) >= 0) {
    reason = "expected the right-hand side to have all batch dimensions or none, and not m";
    return std::nullopt;
  }
  if (form.batchedRhs)
    for (unsigned loop : ArrayRef<unsigned>(outLoops).drop_back(2))
      form.rhsPermutation.push_back(positionOf(rhs, loop));
  form.rhsPermutation.push_back(positionOf(rhs, k));
  form.rhsPermutation.push_back(positionOf(rhs, n));
  return form;
}

int64_t panelFor(AffineExpr n, int64_t lanes, ArrayRef<int64_t> vectors) {
  auto constant = dyn_cast<AffineConstantExpr>(n);
  if (!constant)
    return lanes * vectors[0];
  int64_t best = 0;
  double bestCost = 0;
  for (int64_t count : vectors) {
    int64_t panel = count * lanes, columns = constant.getValue();
    double padded = static_cast<double>(llvm::alignTo(columns, panel)) / std::max<int64_t>(columns, 1);
    double cost = padded * (1.0 + 0.03 * (vectors[0] > count ? vectors[0] - count : 0));
    if (!best || cost < bestCost) {
      best = panel;
      bestCost = cost;
    }
  }
  return best;
}

} // namespace tilewright::tiled
