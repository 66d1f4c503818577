//===- ViewCopies.cpp - copies of views, and writes into views -------------------------===//
//
//   narrow_copy(x, 0, 2, 3)        a slice
//   channel_shuffle(x, g)          [b, g c, h, w] viewed as [b, g, c, h, w], with g and c swapped
//   diagonal_scatter(x, y)         tw.put of y at the index tensors [0, 1, ..] of the rows and of the columns
//
// The copies of other views are in the tables of the files of these views, such as Views.cpp.
//
// Test: test/Python/ops/test_decomposed.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Composites.h"
#include "lib/Import/ATen/Table.h"
#include <limits>

namespace tilewright {
namespace {

/// Imports channel_shuffle(self, groups), which permutes the channels from the order [g, c] to [c, g].
Results shuffleChannels(Node &n) {
  Value x = n.tensor(0, "self");
  AffineExpr groups = n.size(1, "groups");
  n.require(groups, n.constantSize(1), /*atLeast=*/true);
  if (!n.demand(n.rankOf(x) > 2, "it has no channels"))
    return n.refused();
  SmallVector<AffineExpr> sizes = n.sizesIn(x);
  AffineExpr perGroup = canonicalSize(sizes[1].floorDiv(groups));
  n.require(canonicalSize(perGroup * groups), sizes[1]);
  if (n.failed())
    return n.refused();
  SmallVector<AffineExpr> grouped = sizes;
  grouped[1] = groups;
  grouped.insert(grouped.begin() + 2, perGroup);
  return n.reshape(n.transpose(n.reshape(x, grouped), 1, 2), sizes);
}

/// Imports diagonal_scatter(self, src, offset, dim1, dim2), which writes `src` to a diagonal.
Results diagonalScatter(Node &n) {
  Value x = n.tensor(0, "self"), source = n.cast(n.tensor(1, "src"), n.element());
  const int64_t rank = n.rankOf(x), offset = n.integer(2, "offset", 0);
  const int64_t dim1 = n.dim(3, "dim1", rank, 0), dim2 = n.dim(4, "dim2", rank, 1);
  if (!n.demand(rank > 1 && dim1 != dim2 && n.rankOf(source) + 1 == rank, "a diagonal is of two dimensions") ||
      !n.demand(offset != std::numeric_limits<int64_t>::min(), "its offset is too large"))
    return n.refused();
  SmallVector<int64_t> order{dim1, dim2}, back(rank), lastFirst{rank - 2};
  for (int64_t dim : allDims(rank))
    if (dim != dim1 && dim != dim2)
      order.push_back(dim);
  for (auto [position, dim] : llvm::enumerate(order))
    back[dim] = position;
  llvm::append_range(lastFirst, allDims(rank - 2));
  Value along = n.iota({n.sizesIn(source).back()}, 0, n.i64());
  auto from = [&](int64_t first) { return first ? n.op<AddOp>({along, n.scalarInt(first, n.i64())}) : along; };
  Value rows = from(std::max<int64_t>(-offset, 0)), columns = from(std::max<int64_t>(offset, 0));
  Value base = n.permute(x, order);
  auto made = PutOp::create(n.builder, n.loc, base.getType(), base, n.permute(source, lastFirst),
                            ValueRange{rows, columns}, 0, ScatterKind::Set);
  made->setAttr(fromStartAttrName, n.builder.getUnitAttr());
  return n.permute(made, back);
}

} // namespace

void registerViewCopies(Table &t) {
  t["aten.narrow_copy.default"] = narrow;
  t["aten.diagonal_scatter.default"] = diagonalScatter;
  // The schemas declare a new tensor, and on a CPU the result is one. On other devices, a shuffle that moves no channel
  // returns its operand.
  t.add("aten.channel_shuffle.default", Aliasing::Unclear, shuffleChannels);
  t.add("aten.native_channel_shuffle.default", Aliasing::Unclear, shuffleChannels);
}

} // namespace tilewright
