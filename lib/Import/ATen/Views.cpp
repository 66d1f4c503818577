//===- Views.cpp - reshapes and reorderings ----------------------------------------===//
#include "lib/Import/ATen/Indexing.h"
#include "lib/Import/ATen/Table.h"
#include "lib/Import/Builder/SizeExpression.h"

namespace tilewright {
namespace {

/// Imports an operator that reshapes its operand to the result's shape.
Results reshapeToResult(Node &n) {
  Value x = n.tensor(0, "self");
  if (n.failed())
    return n.refused();
  return n.reshape(x, n.type());
}

/// Imports view.dtype, which is only supported if the dtype does not change.
Results viewDtype(Node &n) {
  Value x = n.tensor(0, "self");
  if (n.failed() || n.elementOf(x) == n.element())
    return x;
  return n.refuse("reinterpreting the bits of " + dtypeName(n.elementOf(x)) + " as " + dtypeName(n.element()) +
                  " is not supported");
}

Results permuteDims(Node &n) {
  Value x = n.tensor(0, "self");
  SmallVector<int64_t> permutation;
  for (int64_t dim : n.integers(1, "dims"))
    permutation.push_back(n.wrapDim(dim, n.rankOf(x)));
  if (n.failed())
    return n.refused();
  return n.permute(x, permutation);
}

Results transposeDims(Node &n) {
  Value x = n.tensor(0, "self");
  int64_t a = n.dim(1, "dim0", n.rankOf(x)), b = n.dim(2, "dim1", n.rankOf(x));
  if (n.failed())
    return n.refused();
  return n.transpose(x, a, b);
}

Results transpose2d(Node &n) {
  Value x = n.tensor(0, "self");
  if (n.failed() || n.rankOf(x) < 2)
    return x;
  return n.transpose(x, n.rankOf(x) - 2, n.rankOf(x) - 1);
}

Results expand(Node &n) {
  Value x = n.tensor(0, "self");
  if (n.failed())
    return n.refused();
  return n.broadcast(x, sizesOf(n.type()));
}

/// Imports repeat as a broadcast to [r0, d0, r1, d1, ...], where r are the repeats and d the sizes, and a reshape.
Results repeat(Node &n) {
  Value x = n.tensor(0, "self");
  SmallVector<AffineExpr> times = n.sizes(1, "repeats");
  if (n.failed())
    return n.refused();
  SmallVector<AffineExpr> sizes = n.sizesIn(x), split, expanded;
  while (sizes.size() < times.size())
    sizes.insert(sizes.begin(), n.constantSize(1));
  if (!n.demand(sizes.size() == times.size(), "repeats has fewer entries than the tensor has dimensions"))
    return n.refused();
  for (auto [size, count] : llvm::zip_equal(sizes, times)) {
    split.append({n.constantSize(1), size});
    expanded.append({count, size});
  }
  return n.reshape(n.broadcast(n.reshape(x, split), expanded), n.type());
}

Results concatenate(Node &n) {
  SmallVector<Value> all = n.tensors(0, "tensors"), kept;
  if (n.failed() || all.empty())
    return n.refuse("an empty list of tensors");
  int64_t rank = n.type().getRank();
  for (Value value : all) // as in torch, ignore tensors of shape [0]
    if (n.rankOf(value) == rank && !(rank != 1 && n.sizesIn(value).size() == 1))
      kept.push_back(n.cast(value, n.element()));
  int64_t dim = n.dim(1, "dim", rank, 0);
  if (n.failed())
    return n.refused();
  if (kept.empty())
    return n.cast(all.front(), n.element());
  return n.concat(kept, dim);
}

Results stack(Node &n) {
  SmallVector<Value> values = n.tensors(0, "tensors");
  int64_t dim = n.dim(1, "dim", n.type().getRank(), 0);
  if (n.failed() || values.empty())
    return n.refuse("an empty list of tensors");
  for (Value &value : values)
    value = n.unsqueeze(n.cast(value, n.element()), dim);
  return n.concat(values, dim);
}

Results flip(Node &n) {
  Value x = n.tensor(0, "self");
  SmallVector<int64_t> dims;
  for (int64_t dim : n.integers(1, "dims"))
    dims.push_back(n.wrapDim(dim, n.rankOf(x)));
  if (n.failed() || dims.empty() || n.rankOf(x) == 0)
    return x;
  llvm::sort(dims);
  return Value(FlipOp::create(n.builder, n.loc, x.getType(), x, n.builder.getDenseI64ArrayAttr(dims)));
}

/// Imports roll(x, s), which consists of the last s elements along a dimension followed by the other elements. If a
/// size or a shift is symbolic, the shift modulo the size is unknown, and the elements are gathered at computed
/// indices.
Results roll(Node &n) {
  Value x = n.tensor(0, "self");
  SmallVector<AffineExpr> shifts = n.sizes(1, "shifts");
  SmallVector<int64_t> dims = n.integers(2, "dims");
  if (n.failed())
    return n.refused();
  Value result = x;
  if (dims.empty()) {
    result = n.reshape(x, {elementCount(n.typeOf(x))});
    dims.push_back(0);
  }
  if (!n.demand(shifts.size() == dims.size(), "there are not as many shifts as dimensions"))
    return n.refused();
  for (auto [shift, rawDim] : llvm::zip_equal(shifts, dims)) {
    if (n.rankOf(result) == 0)
      break;
    int64_t dim = n.wrapDim(rawDim, n.rankOf(result));
    AffineExpr size = n.sizesIn(result)[dim];
    auto constant = dyn_cast<AffineConstantExpr>(size), steps = dyn_cast<AffineConstantExpr>(shift);
    if ((constant && constant.getValue() == 0) || (steps && steps.getValue() == 0))
      continue;
    if (!constant || !steps) {
      Value index = n.op<SubOp>({n.iota({size}, 0, n.i64()), n.indexScalar(shift, n.i64())});
      index = n.op<RemainderOp>({index, n.indexScalar(size, n.i64())});
      result = take(n, result, {index}, dim);
      continue;
    }
    int64_t amount = ((steps.getValue() % constant.getValue()) + constant.getValue()) % constant.getValue();
    if (amount == 0)
      continue;
    AffineExpr rest = n.constantSize(constant.getValue() - amount);
    result = n.concat(
        {n.sliceDim(result, dim, rest, n.constantSize(amount)), n.sliceDim(result, dim, n.constantSize(0), rest)}, dim);
  }
  return n.reshape(result, n.type());
}

/// Pads `x` along a dimension by symbolic amounts, with elements `filler`: `low` elements at the beginning, and at the
/// end so that the size becomes `size`. If the ranges of the symbols do not prove whether x is padded or cropped, the
/// result is gathered at computed indices, and elements at indices outside of x are `filler`.
Value padBySymbols(Node &n, Value x, int64_t dim, AffineExpr low, AffineExpr high, AffineExpr size, Value filler) {
  const AffineExpr own = n.sizesIn(x)[dim];
  const auto [leastLow, mostLow] = rangeOf(low, n.importer.symbols);
  const auto [leastHigh, mostHigh] = rangeOf(high, n.importer.symbols);
  if (leastLow >= 0 && leastHigh >= 0) {
    auto fill = [&](AffineExpr count) {
      SmallVector<AffineExpr> sizes = n.sizesIn(x);
      sizes[dim] = count;
      return n.broadcast(filler, sizes);
    };
    const AffineExpr zero = n.constantSize(0), trailing = canonicalSize(size - own - low);
    SmallVector<Value> parts;
    if (low != zero)
      parts.push_back(fill(low));
    parts.push_back(x);
    if (trailing != zero)
      parts.push_back(fill(trailing));
    return n.concat(parts, dim);
  }
  if (mostLow <= 0 && mostHigh <= 0)
    return n.sliceDim(x, dim, canonicalSize(-low), size);
  if (!n.demand(rangeOf(own, n.importer.symbols).first >= 1,
                "a symbolic pad that may be negative, of a dimension that may be empty"))
    return x;
  SmallVector<AffineExpr> along(n.rankOf(x), n.constantSize(1));
  along[dim] = size;
  Value zero = n.scalarInt(0, n.i64()), last = n.indexScalar(canonicalSize(own - 1), n.i64());
  Value index = n.op<SubOp>({n.iota({size}, 0, n.i64()), n.indexScalar(low, n.i64())});
  Value inside = n.op<BitwiseAndOp>({n.compare<GeOp>(index, zero), n.compare<LeOp>(index, last)});
  index = n.op<MaximumOp>({n.op<MinimumOp>({index, last}), zero});
  return n.where(n.reshape(inside, along), take(n, x, {index}, dim), filler);
}

/// Imports constant_pad_nd. The list of pads begins with those of the last dimension.
Results constantPad(Node &n) {
  Value x = n.tensor(0, "self");
  SmallVector<AffineExpr> pads = n.sizes(1, "pad");
  double value = n.number(2, "value", 0.0);
  if (n.failed())
    return n.refused();
  int64_t rank = n.rankOf(x);
  if (!n.demand(int64_t(pads.size() / 2) <= rank, "pad has entries for more dimensions than there are"))
    return n.refused();
  if (llvm::all_of(pads, [&](AffineExpr pad) { return pad == n.constantSize(0); }))
    return x;
  auto known = [](AffineExpr pad) { return dyn_cast<AffineConstantExpr>(pad); };
  SmallVector<int64_t> low(rank, 0), high(rank, 0), symbolic;
  SmallVector<AffineExpr> whole = sizesOf(n.type()), sizes = n.sizesIn(x);
  for (size_t i = 0; i + 1 < pads.size(); i += 2) {
    int64_t dim = rank - 1 - int64_t(i / 2);
    if (!known(pads[i]) || !known(pads[i + 1])) {
      symbolic.push_back(i);
      continue;
    }
    low[dim] = known(pads[i]).getValue();
    high[dim] = known(pads[i + 1]).getValue();
    sizes[dim] = whole[dim];
  }
  const bool isFloat = isa<FloatType>(n.element());
  const int64_t integer = n.element().isInteger(1) ? value != 0 : int64_t(value);
  Attribute attribute = isFloat ? Attribute(n.builder.getFloatAttr(n.element(), value))
                                : Attribute(n.builder.getIntegerAttr(n.element(), integer));
  Value filler = symbolic.empty() ? Value()
                 : isFloat        ? n.scalar(value, n.element())
                                  : n.scalarInt(integer, n.element());
  if (2 * symbolic.size() < pads.size())
    x = PadOp::create(n.builder, n.loc, tensorWithSizes(sizes, n.element()), x, n.builder.getDenseI64ArrayAttr(low),
                      n.builder.getDenseI64ArrayAttr(high), ::mlir::cast<TypedAttr>(attribute));
  for (int64_t i : symbolic) {
    int64_t dim = rank - 1 - i / 2;
    x = padBySymbols(n, x, dim, pads[i], pads[i + 1], whole[dim], filler);
    if (n.failed())
      return n.refused();
  }
  return x;
}

} // namespace

void registerViews(Table &t) {
  // _unsafe_view and _reshape_alias return a view, because the caller has checked that the strides permit the shape.
  // The schema of _unsafe_view declares a new tensor instead.
  for (llvm::StringRef op : {"view.default", "_unsafe_view.default", "_reshape_alias.default", "unsqueeze.default",
                             "squeeze.default", "squeeze.dim", "squeeze.dims", "unflatten.int"})
    t.add(("aten." + op).str(), Aliasing::View, reshapeToResult);
  // The schemas of reshape and flatten declare a view, but the result is a copy if the strides do not permit a view.
  t.add("aten.reshape.default", Aliasing::Reshape, reshapeToResult);
  t.add("aten.flatten.using_ints", Aliasing::Reshape, reshapeToResult);
  t["aten.view_copy.default"] = t["aten._reshape_copy.default"] = reshapeToResult;
  t.add("aten.view.dtype", Aliasing::Reinterpret, viewDtype);
  t.add("aten.permute.default", Aliasing::View, permuteDims);
  t["aten.permute_copy.default"] = permuteDims;
  t.add("aten.transpose.int", Aliasing::View, transposeDims);
  t.add("aten.t.default", Aliasing::View, transpose2d);
  t.add("aten.mT.default", Aliasing::View, transpose2d);
  t.add("aten.numpy_T.default", Aliasing::View, transpose2d);
  t.add("aten.expand.default", Aliasing::View, expand);
  t["aten.repeat.default"] = repeat;
  t["aten.cat.default"] = concatenate;
  t["aten.stack.default"] = stack;
  t["aten.flip.default"] = flip;
  t["aten.roll.default"] = roll;
  t["aten.constant_pad_nd.default"] = constantPad;
  for (llvm::StringRef op : {"mH", "matrix_H"}) // equal to the transpose for real numbers
    t.add(("aten." + op + ".default").str(), Aliasing::View);
  for (llvm::StringRef op : {"view_as_real", "view_as_complex", "real", "imag", "_neg_view"})
    t.add(("aten." + op + ".default").str(), Aliasing::Reinterpret);
  for (llvm::StringRef op : {"atleast_1d", "atleast_2d", "atleast_3d"}) { // their schemas declare new tensors
    t.add(("aten." + op + ".default").str(), Aliasing::View);
    t.add(("aten." + op + ".Sequence").str(), Aliasing::Unclear);
  }
}

} // namespace tilewright
