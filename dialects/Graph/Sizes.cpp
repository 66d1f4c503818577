//===- Sizes.cpp - products of symbolic sizes, and dimension groups of reshapes ---===//
#include "dialects/Graph/Sizes.h"
#include "dialects/Graph/Values.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;

namespace tilewright::graph {

bool sameNumElements(ArrayRef<AffineExpr> a, ArrayRef<AffineExpr> b) {
  auto product = [](ArrayRef<AffineExpr> sizes) {
    int64_t known = 1;
    AffineExpr symbolic;
    for (AffineExpr size : sizes) {
      if (auto constant = dyn_cast<AffineConstantExpr>(size))
        known *= constant.getValue();
      else
        symbolic = symbolic ? symbolic * size : size;
    }
    if (!symbolic || known == 0)
      return std::pair(known, AffineExpr());
    return std::pair(int64_t(0), canonicalSize(symbolic * known));
  };
  return product(a) == product(b);
}

std::pair<double, double> rangeOf(AffineExpr expr, llvm::function_ref<std::pair<double, double>(unsigned)> ofSymbol) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::pair unknown{-infinity, infinity};
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return {double(constant.getValue()), double(constant.getValue())};
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return ofSymbol(symbol.getPosition());
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return unknown;
  auto [a, b] = rangeOf(binary.getLHS(), ofSymbol);
  auto [c, d] = rangeOf(binary.getRHS(), ofSymbol);
  auto times = [](double x, double y) { return x == 0 || y == 0 ? 0.0 : x * y; };
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return {a + c, b + d};
  case AffineExprKind::Mul: {
    double corners[] = {times(a, c), times(a, d), times(b, c), times(b, d)};
    return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
  }
  case AffineExprKind::FloorDiv:
    return c > 0 && c == d ? std::pair{std::floor(a / c), std::floor(b / c)} : unknown;
  case AffineExprKind::CeilDiv:
    return c > 0 && c == d ? std::pair{std::ceil(a / c), std::ceil(b / c)} : unknown;
  case AffineExprKind::Mod:
    return c > 0 ? std::pair{0.0, d - 1} : unknown;
  default:
    return unknown;
  }
}

SmallVector<ReshapeGroup> reshapeGroups(ArrayRef<AffineExpr> from, ArrayRef<AffineExpr> to) {
  SmallVector<ReshapeGroup> groups;
  unsigned i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    // Find the two shortest runs of dimensions, one of `from` and one of `to`, with equal products of sizes.
    unsigned bestFrom = 0, bestTo = 0;
    unsigned longest = (from.size() - i) + (to.size() - j);
    for (unsigned total = 2; total <= longest && !bestFrom; ++total)
      for (unsigned n = 1; n < total && !bestFrom; ++n) {
        unsigned m = total - n;
        if (i + n > from.size() || j + m > to.size())
          continue;
        if (sameNumElements(from.slice(i, n), to.slice(j, m))) {
          bestFrom = n;
          bestTo = m;
        }
      }
    if (!bestFrom)
      return {};
    ReshapeGroup group;
    for (unsigned n = 0; n < bestFrom; ++n)
      group.from.push_back(i++);
    for (unsigned m = 0; m < bestTo; ++m)
      group.to.push_back(j++);
    groups.push_back(std::move(group));
  }
  for (; i < from.size(); ++i) {
    if (!isUnitSize(from[i]) || groups.empty())
      return {};
    groups.back().from.push_back(i);
  }
  for (; j < to.size(); ++j) {
    if (!isUnitSize(to[j]) || groups.empty())
      return {};
    groups.back().to.push_back(j);
  }
  return groups;
}

} // namespace tilewright::graph
