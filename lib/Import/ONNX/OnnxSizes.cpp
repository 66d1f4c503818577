//===- OnnxSizes.cpp - size arithmetic of reshapes and slices ------------------------===//
#include "lib/Import/ONNX/OnnxSizes.h"
#include "lib/Import/Builder/SizeExpression.h"

namespace tilewright {
namespace {

/// Returns the start or the end of a slice. If `at` and `size` are constant, it is clamped to [low, size + highOffset].
AffineExpr bounded(OnnxNode &n, AffineExpr at, AffineExpr size, int64_t low, int64_t highOffset) {
  constexpr int64_t farAway = INT32_MAX;
  auto index = knownSize(at), whole = knownSize(size);
  if (index && whole) {
    int64_t value = *index < 0 ? *index + *whole : *index;
    return n.constantSize(std::clamp<int64_t>(value, low, std::max<int64_t>(*whole + highOffset, low)));
  }
  if (index && *index >= farAway)
    return size + highOffset;
  if (index && *index <= -farAway)
    return n.constantSize(low);
  // tw.slice requires that the bound is in range. Each call checks this, unless the ranges of the symbols prove it.
  const bool fromEnd = rangeOf(canonicalSize(at), n.importer.symbols).second < 0;
  return fromEnd ? canonicalSize(size + at) : at;
}

} // namespace

std::optional<int64_t> knownSize(AffineExpr expr) {
  auto constant = dyn_cast<AffineConstantExpr>(expr);
  return constant ? std::optional(constant.getValue()) : std::nullopt;
}

SmallVector<AffineExpr> reshapedSizes(OnnxNode &n, ArrayRef<AffineExpr> from, ArrayRef<AffineExpr> wanted,
                                      bool allowZero) {
  SmallVector<AffineExpr> sizes(wanted);
  int64_t open = -1;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    if (size == n.constantSize(0) && !allowZero) {
      if (!n.demand(i < from.size(), "a size of 0 copies one that the input does not have"))
        return sizes;
      size = from[i];
    } else if (size == n.constantSize(-1)) {
      if (!n.demand(open < 0, "two sizes are -1"))
        return sizes;
      open = i;
    } else if (auto constant = knownSize(size); constant && *constant < 0) {
      n.refuse("a size is negative");
      return sizes;
    }
  }
  // Returns the product of the constant factors of the sizes in `list`, and appends their other factors to `symbols`.
  // The size with the index `skip` is ignored.
  auto factors = [&](ArrayRef<AffineExpr> list, int64_t skip, SmallVector<AffineExpr> &symbols) {
    int64_t product = 1;
    SmallVector<AffineExpr> todo;
    for (auto [i, size] : llvm::enumerate(list))
      if (int64_t(i) != skip)
        todo.push_back(canonicalSize(size));
    while (!todo.empty()) {
      AffineExpr size = todo.pop_back_val();
      auto pair = dyn_cast<AffineBinaryOpExpr>(size);
      if (auto constant = knownSize(size))
        n.demand(!__builtin_mul_overflow(product, *constant, &product), "its sizes are too large");
      else if (pair && pair.getKind() == AffineExprKind::Mul)
        todo.append({pair.getLHS(), pair.getRHS()});
      else
        symbols.push_back(size);
    }
    return product;
  };
  SmallVector<AffineExpr> above, below;
  int64_t numerator = factors(from, -1, above), denominator = factors(sizes, open, below);
  for (auto it = below.begin(); it != below.end();) {
    auto same = llvm::find(above, *it);
    if (same == above.end()) {
      ++it;
      continue;
    }
    above.erase(same);
    it = below.erase(it);
  }
  if (n.failed())
    return sizes;
  if (open < 0) {
    if (above.empty() && below.empty())
      n.demand(numerator == denominator, "its sizes have another number of elements than the input");
    for (ArrayRef<AffineExpr> symbols : {ArrayRef(above), ArrayRef(below)})
      if (above.empty() != below.empty() &&
          llvm::any_of(symbols, [&](AffineExpr symbol) { return n.importer.varying.contains(symbol); }))
        n.refuse("its sizes are constants that fit only one value of a symbolic size");
    return sizes;
  }
  if (!below.empty() && denominator != 0) { // tw.reshape checks that the quotient is exact
    AffineExpr over = n.constantSize(numerator), under = n.constantSize(denominator);
    for (AffineExpr symbol : above)
      over = over * symbol;
    for (AffineExpr symbol : below)
      under = under * symbol;
    n.require(canonicalSize(under), n.constantSize(1), /*atLeast=*/true);
    sizes[open] = canonicalSize(over.floorDiv(under));
    return sizes;
  }
  if (denominator == 0) {
    sizes[open] = n.constantSize(0);
    n.demand(numerator == 0, "its sizes have another number of elements than the input");
    return sizes;
  }
  AffineExpr rest = n.constantSize(1);
  for (AffineExpr symbol : above)
    rest = rest * symbol;
  if (numerator % denominator == 0)
    rest = rest * (numerator / denominator);
  else if (above.empty())
    n.refuse("its sizes have another number of elements than the input");
  else
    rest = (rest * numerator).floorDiv(denominator);
  sizes[open] = canonicalSize(rest);
  return sizes;
}

SlicedDim slicedDim(OnnxNode &n, AffineExpr start, AffineExpr end, int64_t step, AffineExpr size) {
  SlicedDim result{n.constantSize(0), size, step};
  if (!n.demand(step != 0 && step > -INT32_MAX && step < INT64_MAX / 2, "a step of a slice is 0 or too large"))
    return result;
  AffineExpr first, last;
  if (step > 0) {
    first = bounded(n, start, size, 0, 0);
    last = bounded(n, end, size, 0, 0);
  } else { // with a negative step, the elements from `first` down to `last` + 1
    first = bounded(n, start, size, -1, -1);
    last = bounded(n, end, size, -1, -1);
  }
  int64_t width = step > 0 ? step : -step;
  AffineExpr span = canonicalSize(step > 0 ? last - first : first - last);
  if (auto constant = knownSize(span))
    result.count = n.constantSize(*constant <= 0 ? 0 : (*constant + width - 1) / width);
  else // the call fails if the number of elements is negative
    result.count = canonicalSize(width == 1 ? span : span.ceilDiv(width));
  result.first = result.count == n.constantSize(0) ? n.constantSize(0) : canonicalSize(first);
  return result;
}

std::optional<SmallVector<std::pair<int64_t, SlicedDim>>> readSlices(OnnxNode &n, ArrayRef<AffineExpr> sizes) {
  SmallVector<AffineExpr> starts, ends;
  SmallVector<int64_t> axes, steps;
  bool hasAxes;
  if (n.version < 10) {
    for (int64_t start : n.integers("starts"))
      starts.push_back(n.constantSize(start));
    for (int64_t end : n.integers("ends"))
      ends.push_back(n.constantSize(end));
    hasAxes = n.attribute("axes");
    axes = n.integers("axes");
  } else {
    starts = n.sizesFrom(1, "starts");
    ends = n.sizesFrom(2, "ends");
    hasAxes = n.given(3);
    axes = hasAxes ? n.integersIn(3, "axes") : SmallVector<int64_t>();
    steps = n.given(4) ? n.integersIn(4, "steps") : SmallVector<int64_t>();
  }
  if (!hasAxes)
    axes = allDims(starts.size());
  if (steps.empty())
    steps.assign(starts.size(), 1);
  if (!n.demand(starts.size() == ends.size() && starts.size() == axes.size() && starts.size() == steps.size(),
                "starts, ends, axes and steps are of unequal length"))
    return std::nullopt;
  SmallVector<std::pair<int64_t, SlicedDim>> result;
  for (auto [start, end, axis, step] : llvm::zip_equal(starts, ends, axes, steps)) {
    int64_t dim = n.axis(axis, sizes.size());
    if (n.failed() || !n.demand(!sizes.empty(), "a scalar cannot be sliced"))
      return std::nullopt;
    result.push_back({dim, slicedDim(n, start, end, step, sizes[dim])});
  }
  return n.failed() ? std::nullopt : std::optional(result);
}

SmallVector<AffineExpr> splitSizes(OnnxNode &n, AffineExpr size) {
  SmallVector<AffineExpr> sizes;
  int64_t count = n.node.outputs.size();
  bool given = n.version < 13 ? n.attribute("split") != nullptr : n.given(1);
  if (given) {
    if (n.version < 13)
      for (int64_t part : n.integers("split"))
        sizes.push_back(n.constantSize(part));
    else
      sizes = n.sizesFrom(1, "split");
    AffineExpr sum = n.constantSize(0);
    for (AffineExpr part : sizes) {
      auto constant = knownSize(part);
      n.demand(!constant || *constant >= 0, "a part has a negative size");
      sum = sum + part;
    }
    if (n.demand(int64_t(sizes.size()) == count && n.agreed(canonicalSize(sum), canonicalSize(size)),
                 "the sizes of its parts do not sum up to the whole"))
      n.require(canonicalSize(sum), canonicalSize(size));
    return sizes;
  }
  if (n.version >= 18 && n.attribute("num_outputs"))
    count = n.integer("num_outputs");
  auto whole = knownSize(size);
  if (!n.demand(count > 0 && count == int64_t(n.node.outputs.size()), "num_outputs is not the number of its results"))
    return sizes;
  if (!whole) {
    if (n.version < 18)
      n.require(size % count, n.constantSize(0));
    AffineExpr part = canonicalSize(n.version < 18 ? size.floorDiv(count) : size.ceilDiv(count));
    sizes.assign(count, part);
    if (n.version >= 18)
      sizes.back() = canonicalSize(size - part * (count - 1));
    return sizes;
  }
  int64_t part = (*whole + count - 1) / count;
  for (int64_t i = 0; i < count; ++i)
    sizes.push_back(n.constantSize(std::clamp<int64_t>(*whole - i * part, 0, part)));
  if (n.version < 18)
    n.demand(*whole % count == 0, "the size is not a multiple of the number of parts");
  return sizes;
}

std::optional<SmallVector<AffineExpr>> broadcastShapes(OnnxNode &n, ArrayRef<AffineExpr> a, ArrayRef<AffineExpr> b) {
  if (a.size() < b.size())
    std::swap(a, b);
  SmallVector<AffineExpr> result(a);
  size_t offset = a.size() - b.size();
  for (auto [i, size] : llvm::enumerate(b)) {
    AffineExpr &slot = result[offset + i];
    if (knownSize(slot) == 1)
      slot = size;
    else if (knownSize(size) != 1 && !(slot = n.agreed(slot, size)))
      return std::nullopt;
  }
  return result;
}

} // namespace tilewright
