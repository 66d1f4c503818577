//===- CallSizes.cpp - values of a model's symbolic sizes -----------------------------------------===//
#include "lib/Tuner/Workers/CallSizes.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Tile/Sizes.h"

using namespace mlir;

namespace tilewright {

std::optional<int64_t> evaluateSize(AffineExpr expr, ArrayRef<int64_t> symbols) {
  SmallVector<AffineExpr> values;
  for (int64_t value : symbols)
    values.push_back(getAffineConstantExpr(value, expr.getContext()));
  auto known = dyn_cast<AffineConstantExpr>(expr.replaceSymbols(values));
  return known && known.getValue() >= 0 ? std::optional(known.getValue()) : std::nullopt;
}

std::vector<tuner::SizeRange> sizeRanges(func::FuncOp main) {
  std::vector<tuner::SizeRange> ranges;
  for (BlockArgument argument : main.getArguments()) {
    if (!isa<IndexType>(argument.getType()))
      continue;
    auto bound = [&](StringRef name, int64_t otherwise) {
      auto value = main.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), name);
      return value ? value.getInt() : otherwise;
    };
    const int64_t least = bound(graph::symbolMinAttrName, 0);
    ranges.push_back({least, std::max(least, bound(graph::symbolMaxAttrName, INT64_MAX))});
  }
  return ranges;
}

std::vector<int64_t> sizesOfCall(func::FuncOp main, ArrayRef<int64_t> given) {
  std::vector<int64_t> sizes;
  for (const tuner::SizeRange &range : sizeRanges(main))
    sizes.push_back(
        std::clamp<int64_t>(sizes.size() < given.size() ? given[sizes.size()] : 8, range.least, range.most));
  return sizes;
}

std::vector<std::vector<int64_t>> sizesToTuneAt(func::FuncOp main, ArrayRef<int64_t> given) {
  std::vector<std::vector<int64_t>> all{sizesOfCall(main, given)};
  if (all.front().empty())
    return all;
  const std::vector<tuner::SizeRange> ranges = sizeRanges(main);
  const tuner::SizeClass &first = tuner::sizeClassOf(all.front());
  for (const tuner::SizeClass &other : tuner::sizeClasses())
    if (!(other == first))
      if (std::optional<std::vector<int64_t>> sizes = tuner::sizesIn(other, all.front(), ranges))
        all.push_back(*sizes);
  return all;
}

std::optional<tuner::SizeClass> sizeClassOfKernel(const KernelModule &kernel, ArrayRef<int64_t> sizes) {
  if (!kernel.module)
    return std::nullopt;
  ModuleOp module = kernel.module.get();
  auto main = module.lookupSymbol<func::FuncOp>("main");
  SmallVector<int64_t> own;
  for (auto call : main.getOps<func::CallOp>())
    if (call.getCallee() == kernel.name)
      for (Value operand : call.getOperands()) {
        if (!isa<IndexType>(operand.getType()))
          continue;
        AffineExpr expr = tile::exprOf(operand);
        own.push_back(expr ? evaluateSize(expr, sizes).value_or(0) : 0);
      }
  if (own.empty())
    return std::nullopt;
  return tuner::sizeClassOf(own);
}

} // namespace tilewright
