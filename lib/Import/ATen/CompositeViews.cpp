//===- CompositeViews.cpp - views and reorderings of plain exports ----------------------===//
//
//   tile(x, [2])                 repeat(x, [1, ..., 2])
//   movedim(x, 0, -1)            a permutation
//   pixel_shuffle(x, r)          [c r r, h, w] -> [c, h r, w r], a permutation between two views
//   pad(x, [1, 1], "reflect")    a source index per element, then tw.take along each dimension
//
// Test: test/Python/test_plain_exports.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Composites.h"
#include "lib/Import/ATen/Indexing.h"
#include "lib/Import/ATen/Table.h"

namespace tilewright {

Results narrow(Node &n) {
  return importAs(n, "aten.slice.Tensor",
                  {argumentOf(n, 0, "self"), argumentOf(n, 1, "dim"), argumentOf(n, 2, "start"), Arg(), int64_t(1)});
}

namespace {

Results expandAs(Node &n) {
  Value x = n.tensor(0, "self");
  return n.failed() ? n.refused() : n.broadcast(x, sizesOf(n.type()));
}

Results reshaped(Node &n) {
  Value x = n.tensor(0, "self");
  return n.failed() ? n.refused() : n.reshape(x, n.type());
}

/// Imports tile(self, dims) as repeat. In contrast to repeat, `dims` may have fewer entries than the tensor has
/// dimensions.
Results tile(Node &n) {
  Value x = n.tensor(0, "self");
  const Arg *dims = n.find(1, "dims");
  const auto *given = dims ? std::get_if<ArgList>(dims) : nullptr;
  if (!n.demand(given, "a list of numbers is needed"))
    return n.refused();
  ArgList times(*given);
  while (int64_t(times.size()) < n.rankOf(x))
    times.insert(times.begin(), Arg(int64_t(1)));
  return importAs(n, "aten.repeat.default", {argumentOf(n, 0, "self"), times});
}

/// Imports movedim(self, source, destination). `source` and `destination` are each a number or a list.
Results moveDims(Node &n) {
  Value x = n.tensor(0, "self");
  auto listed = [&](unsigned index, llvm::StringRef name) {
    SmallVector<int64_t> dims =
        n.isNumber(index, name) ? SmallVector<int64_t>{n.integer(index, name)} : n.integers(index, name);
    for (int64_t &dim : dims)
      dim = n.wrapDim(dim, n.rankOf(x));
    return dims;
  };
  SmallVector<int64_t> source = listed(1, "source"), destination = listed(2, "destination");
  if (!n.demand(source.size() == destination.size(), "there are not as many destinations as sources"))
    return n.refused();
  SmallVector<int64_t> order(n.rankOf(x), -1), rest;
  for (auto [from, to] : llvm::zip_equal(source, destination))
    order[to] = from;
  for (int64_t dim : allDims(n.rankOf(x)))
    if (!llvm::is_contained(source, dim))
      rest.push_back(dim);
  if (!n.demand(llvm::count(order, -1) == int64_t(rest.size()), "a dimension is named twice"))
    return n.refused();
  for (int64_t &dim : llvm::reverse(order))
    if (dim < 0)
      dim = rest.pop_back_val();
  return n.permute(x, order);
}

/// Imports repeat_interleave(self, repeats, dim), which repeats each element. The copies of an element are adjacent.
Results repeatInterleave(Node &n) {
  Value x = n.tensor(0, "self");
  AffineExpr times = n.size(1, "repeats");
  if (n.failed())
    return n.refused();
  if (!n.has(2, "dim"))
    x = n.reshape(x, {elementCount(n.typeOf(x))});
  int64_t dim = n.has(2, "dim") ? n.dim(2, "dim", n.rankOf(x)) : 0;
  if (n.rankOf(x) == 0)
    x = n.unsqueeze(x, 0);
  if (n.failed())
    return n.refused();
  SmallVector<AffineExpr> sizes = n.sizesIn(x);
  sizes.insert(sizes.begin() + dim + 1, times);
  return n.reshape(n.broadcast(n.unsqueeze(x, dim + 1), sizes), n.type());
}

/// Imports meshgrid(tensors, indexing). With the indexing "xy", the first two dimensions are swapped.
Results meshgrid(Node &n) {
  SmallVector<Value> axes = n.tensors(0, "tensors");
  bool exchange = n.text(1, "indexing", "ij") == "xy" && axes.size() > 1;
  SmallVector<Value> grids;
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (!n.demand(n.rankOf(axis) <= 1 && i < n.resultCount() && n.type(i).getRank() == int64_t(axes.size()),
                  "an axis of a grid has one dimension"))
      return n.refused();
    int64_t dim = exchange && i < 2 ? 1 - int64_t(i) : int64_t(i);
    Value line = n.rankOf(axis) == 0 ? n.unsqueeze(axis, 0) : axis;
    grids.push_back(n.broadcast(n.alongDim(line, dim, axes.size()), sizesOf(n.type(i))));
  }
  return grids;
}

/// Imports pixel_shuffle(self, upscale_factor). With `back`, imports pixel_unshuffle(self, downscale_factor).
template <bool back> Results pixelShuffle(Node &n) {
  Value x = n.tensor(0, "self");
  int64_t r = n.integer(1, back ? "downscale_factor" : "upscale_factor");
  if (!n.demand(n.rankOf(x) >= 3 && n.type().getRank() == n.rankOf(x) && r > 0 && r < 1 << 15, "it takes images"))
    return n.refused();
  int64_t lead = n.rankOf(x) - 3;
  SmallVector<AffineExpr> large = n.sizesIn(x), small = sizesOf(n.type());
  if (!back)
    std::swap(large, small);
  AffineExpr factor = n.constantSize(r);
  SmallVector<AffineExpr> shape(small.begin(), small.begin() + lead);
  SmallVector<int64_t> order = allDims(lead);
  // [c, r, r, h, w] <-> [c, h, r, w, r]
  AffineExpr c = large[lead], h = small[lead + 1], w = small[lead + 2];
  if (back) {
    shape.append({c, h, factor, w, factor});
    order.append({lead, lead + 2, lead + 4, lead + 1, lead + 3});
  } else {
    shape.append({c, factor, factor, h, w});
    order.append({lead, lead + 3, lead + 1, lead + 4, lead + 2});
  }
  return n.reshape(n.permute(n.reshape(x, shape), order), n.type());
}

/// Pads `x` along `dim` with `low` elements at the beginning, and at the end so that the size becomes `size`. The mode
/// "reflect" mirrors the tensor at its edge elements, "circular" repeats it periodically, and other modes repeat the
/// edge elements.
Value padDim(Node &n, Value x, int64_t dim, int64_t low, AffineExpr size, llvm::StringRef mode) {
  AffineExpr whole = n.sizesIn(x)[dim];
  Value last = n.indexScalar(canonicalSize(whole - 1), n.i64()), zero = n.scalarInt(0, n.i64());
  Value index = n.op<SubOp>({n.iota({size}, 0, n.i64()), n.scalarInt(low, n.i64())});
  if (mode == "reflect") {
    index = n.op<AbsOp>({index});
    index = n.op<SubOp>({last, n.op<AbsOp>({n.op<SubOp>({last, index})})});
  } else if (mode == "circular") {
    Value count = n.indexScalar(whole, n.i64());
    index = n.where(n.compare<LtOp>(index, zero), n.op<AddOp>({index, count}), index);
    index = n.where(n.compare<LtOp>(last, index), n.op<SubOp>({index, count}), index);
  }
  index = n.op<MaximumOp>({n.op<MinimumOp>({index, last}), zero});
  return take(n, x, {index}, dim);
}

/// Imports pad(self, pad, mode, value).
Results pad(Node &n) {
  std::string mode = n.text(2, "mode", "constant");
  if (mode == "constant")
    return importAs(n, "aten.constant_pad_nd.default",
                    {argumentOf(n, 0, "self"), argumentOf(n, 1, "pad"),
                     n.has(3, "value") ? argumentOf(n, 3, "value") : Arg(int64_t(0))});
  Value x = n.tensor(0, "self");
  SmallVector<int64_t> pads = n.integers(1, "pad");
  if (!n.demand(mode == "reflect" || mode == "replicate" || mode == "circular", "unknown mode '" + mode + "'") ||
      !n.demand(int64_t(pads.size()) <= 2 * n.rankOf(x) && pads.size() % 2 == 0 && n.type().getRank() == n.rankOf(x),
                "pad has entries for more dimensions than there are"))
    return n.refused();
  Value result = x;
  for (size_t i = 0; i < pads.size(); i += 2) {
    int64_t dim = n.rankOf(x) - 1 - int64_t(i / 2);
    if (!n.demand(n.sizesIn(x)[dim] != n.constantSize(0), "a dimension without elements"))
      return n.refused();
    if (pads[i] || pads[i + 1])
      result = padDim(n, result, dim, pads[i], sizesOf(n.type())[dim], mode);
  }
  return result;
}

/// Imports broadcast_tensors(tensors). The shape is that of the result types.
Results broadcastTensors(Node &n) {
  SmallVector<Value> tensors = n.tensors(0, "tensors");
  if (!n.demand(n.resultCount() == tensors.size(), "it gives one result per tensor"))
    return n.refused();
  for (auto [i, tensor] : llvm::enumerate(tensors))
    tensor = n.broadcast(tensor, sizesOf(n.type(i)));
  return tensors;
}

/// Imports hstack (`dim` is 1) and vstack (`dim` is 0): adds leading dimensions to tensors of smaller rank, and
/// concatenates along `dim`. hstack concatenates vectors along their only dimension.
template <int64_t dim> Results stackAlong(Node &n) {
  SmallVector<Value> tensors = n.tensors(0, "tensors");
  const int64_t rank = n.type().getRank();
  if (!n.demand(!tensors.empty(), "an empty list of tensors"))
    return n.refused();
  for (Value &tensor : tensors) {
    tensor = n.cast(tensor, n.element());
    while (n.rankOf(tensor) < rank) // a vector becomes a row, and a 0-d tensor becomes a vector or a row
      tensor = n.unsqueeze(tensor, 0);
    if (!n.demand(n.rankOf(tensor) == rank, "its tensors have other ranks"))
      return n.refused();
  }
  return n.concat(tensors, dim == 1 && rank == 1 ? 0 : dim);
}

} // namespace

void registerCompositeViews(Table &t) {
  t.add("aten.expand_as.default", Aliasing::View, expandAs);
  t.add("aten.broadcast_to.default", Aliasing::View, expandAs);
  t.add("aten.view_as.default", Aliasing::View, reshaped);
  t.add("aten.reshape_as.default", Aliasing::Reshape, reshaped);
  t.add("aten.ravel.default", Aliasing::Reshape, reshaped);
  t["aten.tile.default"] = tile;
  for (llvm::StringRef op : {"movedim.int", "movedim.intlist", "moveaxis.int", "moveaxis.intlist"})
    t.add(("aten." + op).str(), Aliasing::View, moveDims);
  t.add("aten.narrow.default", Aliasing::View, narrow);
  t.add("aten.narrow.Tensor", Aliasing::View);
  t["aten.repeat_interleave.self_int"] = repeatInterleave;
  // The schemas of meshgrid and broadcast_tensors declare new tensors as results. However, each result is a view of an
  // operand.
  t.add("aten.meshgrid.default", Aliasing::Unclear, meshgrid);
  t.add("aten.meshgrid.indexing", Aliasing::Unclear, meshgrid);
  t["aten.pixel_shuffle.default"] = pixelShuffle<false>;
  t["aten.pixel_unshuffle.default"] = pixelShuffle<true>;
  t["aten.pad.default"] = pad;
  t.add("aten.broadcast_tensors.default", Aliasing::Unclear, broadcastTensors);
  t["aten.hstack.default"] = stackAlong<1>;
  t["aten.vstack.default"] = stackAlong<0>;
}

} // namespace tilewright
