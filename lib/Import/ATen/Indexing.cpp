//===- Indexing.cpp - reads at computed indices ---------------------------------------------===//
//
// If the indexed dimensions of an aten.index are adjacent, the operator becomes tw.take at the first of them. If they
// are not adjacent, the result of torch begins with the dimensions of the index tensors. The indexed tensor is then
// permuted first, so that the indexed dimensions are its first dimensions.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Indexing.h"
#include "lib/Import/ATen/Table.h"

namespace tilewright {

Value asIndex(Node &n, Value index) {
  Type element = n.elementOf(index);
  if (element.isInteger(1) || element.isUnsignedInteger(8)) {
    n.refuse("indexing with a " + dtypeName(element) + " mask gives a size that depends on the data; use torch.where");
    return index;
  }
  return element.isSignlessInteger(32) || element.isSignlessInteger(64) ? index : n.cast(index, n.i64());
}

Value constantIndices(Node &n, ArrayRef<int64_t> values, ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, n.i64());
  return ConstantOp::create(n.builder, n.loc, type, ::mlir::cast<TypedAttr>(DenseElementsAttr::get(type, values)));
}

IndexPlan planIndices(Node &n, Value tensor, ArrayRef<Value> indices) {
  IndexPlan plan;
  SmallVector<int64_t> indexed;
  for (auto [dim, index] : llvm::enumerate(indices))
    if (index) {
      indexed.push_back(dim);
      plan.indices.push_back(asIndex(n, index));
    }
  plan.order = allDims(n.rankOf(tensor));
  if (indexed.empty()) {
    n.refuse("no index tensor is given");
    return plan;
  }
  plan.dim = indexed.front();
  if (indexed.back() - indexed.front() + 1 == int64_t(indexed.size()))
    return plan;
  plan.dim = 0;
  plan.order = indexed;
  for (int64_t dim : allDims(n.rankOf(tensor)))
    if (!llvm::is_contained(indexed, dim))
      plan.order.push_back(dim);
  return plan;
}

Value take(Node &n, Value tensor, ArrayRef<Value> indices, int64_t dim, bool wraps) {
  SmallVector<AffineExpr> sizes = n.sizesIn(tensor), result(sizes.begin(), sizes.begin() + dim);
  llvm::append_range(result, n.broadcastSizes(indices));
  result.append(sizes.begin() + dim + indices.size(), sizes.end());
  auto made = TakeOp::create(n.builder, n.loc, tensorWithSizes(result, n.elementOf(tensor)), tensor,
                             ValueRange(indices), n.builder.getI64IntegerAttr(dim));
  if (!wraps)
    made->setAttr(fromStartAttrName, n.builder.getUnitAttr());
  return made;
}

Value gatherAlong(Node &n, Value x, Value indices, int64_t dim) {
  auto made = GatherOp::create(n.builder, n.loc, tensorWithSizes(n.sizesIn(indices), n.elementOf(x)), x, indices,
                               n.builder.getI64IntegerAttr(dim));
  made->setAttr(fromStartAttrName, n.builder.getUnitAttr());
  return made;
}

Value scatterAlong(Node &n, Value x, Value indices, Value source, int64_t dim, ScatterKind kind) {
  auto made = ScatterOp::create(n.builder, n.loc, x.getType(), x, indices, source, dim, kind);
  made->setAttr(fromStartAttrName, n.builder.getUnitAttr());
  return made;
}

Value putAlong(Node &n, Value x, Value index, Value source, int64_t dim, ScatterKind kind) {
  auto made = PutOp::create(n.builder, n.loc, x.getType(), x, source, ValueRange{index}, dim, kind);
  made->setAttr(fromStartAttrName, n.builder.getUnitAttr());
  return made;
}

namespace {

/// Imports index.Tensor(self, indices).
Results index(Node &n) {
  Value x = n.tensor(0, "self");
  SmallVector<Value> indices = n.optionalTensors(1, "indices");
  if (n.failed())
    return n.refused();
  IndexPlan plan = planIndices(n, x, indices);
  if (n.failed())
    return n.refused();
  return take(n, n.permute(x, plan.order), plan.indices, plan.dim);
}

/// Imports embedding(weight, indices, padding_idx, ...).
Results embedding(Node &n) {
  Value weight = n.tensor(0, "weight"), indices = asIndex(n, n.tensor(1, "indices"));
  if (n.failed())
    return n.refused();
  return take(n, weight, {indices}, 0, /*wraps=*/false);
}

/// Imports index_select(self, dim, index).
Results indexSelect(Node &n) {
  Value x = n.tensor(0, "self"), indices = asIndex(n, n.tensor(2, "index"));
  int64_t dim = n.dim(1, "dim", n.rankOf(x));
  if (n.failed())
    return n.refused();
  if (n.rankOf(x) == 0)
    x = n.unsqueeze(x, 0);
  if (n.rankOf(indices) == 0)
    indices = n.unsqueeze(indices, 0);
  return n.reshape(take(n, x, {indices}, dim, /*wraps=*/false), n.type());
}

/// Imports gather(self, dim, index).
Results gather(Node &n) {
  Value x = n.tensor(0, "self"), indices = n.tensor(2, "index");
  int64_t dim = n.dim(1, "dim", n.rankOf(x));
  if (n.failed())
    return n.refused();
  if (n.isEmpty(indices)) // an empty index may have any dtype and any dimensions
    return n.zeros();
  indices = asIndex(n, indices);
  if (n.failed())
    return n.refused();
  if (n.rankOf(x) == 0)
    x = n.unsqueeze(x, 0);
  if (n.rankOf(indices) == 0)
    indices = n.unsqueeze(indices, 0);
  return n.reshape(gatherAlong(n, x, indices, dim), n.type());
}

/// Imports take(self, index), which indexes the flattened tensor.
Results takeFlat(Node &n) {
  Value x = n.tensor(0, "self"), indices = asIndex(n, n.tensor(1, "index"));
  if (n.failed())
    return n.refused();
  return take(n, n.reshape(x, {elementCount(n.typeOf(x))}), {indices}, 0);
}

} // namespace

void registerIndexing(Table &t) {
  t["aten.index.Tensor"] = index;
  t["aten._unsafe_index.Tensor"] = index;
  t["aten.embedding.default"] = embedding;
  t["aten.index_select.default"] = indexSelect;
  t["aten.gather.default"] = gather;
  t["aten.take.default"] = takeFlat;
}

} // namespace tilewright
