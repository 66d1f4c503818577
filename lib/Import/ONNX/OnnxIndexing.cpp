//===- OnnxIndexing.cpp - reads and writes at computed indices -----------------------===//
#include "lib/Import/ONNX/OnnxNode.h"
#include "lib/Import/ONNX/OnnxTable.h"

namespace tilewright {
namespace {

/// Converts indices to i64, and adds `size` to negative indices.
Value fromStart(OnnxNode &n, Value index, AffineExpr size) {
  Value number = n.cast(index, n.i64());
  Value wrapped = n.op<AddOp>({number, n.indexScalar(size, n.i64())});
  return n.where(n.compare<LtOp>(number, n.scalarInt(0, n.i64())), wrapped, number);
}

Results gather(OnnxNode &n) {
  Value x = n.in(0), index = n.in(1);
  int64_t dim = n.axis(n.integer("axis", 0), n.rankOf(x));
  if (n.failed())
    return n.refused();
  Value result = n.take(x, index, dim);
  return n.failed() ? n.refused() : Results(result);
}

Results gatherElements(OnnxNode &n) {
  Value x = n.in(0), index = n.in(1);
  int64_t dim = n.axis(n.integer("axis", 0), n.rankOf(x));
  if (!n.demand(n.rankOf(x) > 0 && n.rankOf(x) == n.rankOf(index),
                "the ranks of its index and its tensor are different"))
    return n.refused();
  return Value(GatherOp::create(n.builder, n.loc, withElementType(n.typeOf(index), n.elementOf(x)), x,
                                fromStart(n, index, n.sizesIn(x)[dim]), dim));
}

/// Returns one index tensor per dimension that GatherND or ScatterND indexes: those that enumerate the `batch` leading
/// dimensions, followed by the columns of the index tuples.
SmallVector<Value> tuples(OnnxNode &n, Value x, Value index, int64_t batch) {
  int64_t rank = n.rankOf(index), width = rank > 0 ? n.staticSize(index, rank - 1) : 0;
  SmallVector<Value> columns;
  if (!n.demand(rank > 0 && width > 0 && batch + width <= n.rankOf(x) && batch < rank && batch >= 0,
                "its index tuples do not fit its tensor"))
    return columns;
  SmallVector<AffineExpr> sizes = n.sizesIn(index);
  sizes.pop_back();
  for (int64_t dim = 0; dim < batch; ++dim)
    columns.push_back(n.iota(sizes, dim, n.i64()));
  for (int64_t k = 0; k < width; ++k) {
    Value column = n.reshape(n.sliceDim(index, rank - 1, n.constantSize(k), n.constantSize(1)), sizes);
    columns.push_back(n.cast(column, n.i64()));
  }
  return columns;
}

Results gatherNd(OnnxNode &n) {
  Value x = n.in(0), index = n.in(1);
  int64_t batch = n.integer("batch_dims", 0);
  if (n.failed())
    return n.refused();
  SmallVector<Value> columns = tuples(n, x, index, batch);
  if (n.failed())
    return n.refused();
  SmallVector<AffineExpr> sizes = n.sizesIn(index), all = n.sizesIn(x);
  sizes.pop_back();
  sizes.append(all.begin() + columns.size(), all.end());
  return Value(TakeOp::create(n.builder, n.loc, tensorWithSizes(sizes, n.elementOf(x)), x, columns, 0));
}

std::optional<ScatterKind> kindOf(OnnxNode &n) {
  std::string reduction = n.text("reduction", "none");
  if (reduction == "none")
    return ScatterKind::Set;
  if (reduction == "add")
    return ScatterKind::Add;
  if (reduction == "mul")
    return ScatterKind::Mul;
  if (reduction == "max")
    return ScatterKind::Max;
  if (reduction == "min")
    return ScatterKind::Min;
  n.refuse("its reduction '" + reduction + "' is not supported");
  return std::nullopt;
}

Results scatterElements(OnnxNode &n) {
  Value x = n.in(0), index = n.in(1), source = n.in(2);
  int64_t dim = n.axis(n.integer("axis", 0), n.rankOf(x));
  auto kind = kindOf(n);
  if (!n.demand(n.rankOf(x) > 0 && n.rankOf(x) == n.rankOf(index) && n.agree(n.sizesIn(index), n.sizesIn(source)),
                "its index and its updates have different shapes"))
    return n.refused();
  return Value(
      ScatterOp::create(n.builder, n.loc, x.getType(), x, fromStart(n, index, n.sizesIn(x)[dim]), source, dim, *kind));
}

Results scatterNd(OnnxNode &n) {
  Value x = n.in(0), index = n.in(1), source = n.in(2);
  auto kind = kindOf(n);
  if (n.failed())
    return n.refused();
  SmallVector<Value> columns = tuples(n, x, index, 0);
  if (n.failed())
    return n.refused();
  return Value(PutOp::create(n.builder, n.loc, x.getType(), x, source, columns, 0, *kind));
}

/// Imports OneHot. Negative indices are counted from the end. The vector of an index out of range consists of the value
/// "off" only.
Results oneHot(OnnxNode &n) {
  Value index = n.in(0), values = n.in(2);
  const KnownElements *depth = n.known(1);
  SmallVector<int64_t> count;
  if (depth && depth->isFloat() && depth->count() == 1)
    count.push_back(int64_t(depth->numbers[0]));
  else
    count = n.integersIn(1, "depth");
  int64_t rank = n.rankOf(index) + 1, dim = n.axis(n.integer("axis", -1), rank);
  if (!n.demand(count.size() == 1 && count[0] >= 0 && n.rankOf(values) == 1, "it needs a depth and two values"))
    return n.refused();
  Value category = n.cast(index, n.i64());
  category = n.unsqueeze(fromStart(n, category, n.constantSize(count[0])), dim);
  SmallVector<AffineExpr> sizes = n.sizesIn(category);
  sizes[dim] = n.constantSize(count[0]);
  auto value = [&](int64_t k) {
    return n.reshape(n.sliceDim(values, 0, n.constantSize(k), n.constantSize(1)), ArrayRef<AffineExpr>());
  };
  return n.where(n.compare<EqOp>(n.iota(sizes, dim, n.i64()), category), value(1), value(0));
}

/// Imports Compress, which selects the rows whose condition is true. The condition must be known at compile time,
/// because the size of the result depends on it.
Results compress(OnnxNode &n) {
  Value x = n.in(0);
  SmallVector<int64_t> condition = n.integersIn(1, "condition"), kept;
  if (n.failed())
    return n.refused();
  int64_t dim = 0;
  if (n.attribute("axis"))
    dim = n.axis(n.integer("axis"), n.rankOf(x));
  else
    x = n.reshape(x, {elementCount(n.typeOf(x))});
  for (auto [i, holds] : llvm::enumerate(condition))
    if (holds)
      kept.push_back(i);
  if (n.failed())
    return n.refused();
  Value result = n.take(x, n.vector(kept, n.i64()), dim);
  return n.failed() ? n.refused() : Results(result);
}

/// Imports TensorScatter, which writes the rows of the update into the cache. Each batch element has a separate start
/// index. In the mode "circular", the indices wrap around at the end of the cache.
Results tensorScatter(OnnxNode &n) {
  Value cache = n.in(0), update = n.in(1), starts = n.optionalIn(2);
  int64_t dim = n.axis(n.integer("axis", -2), n.rankOf(cache));
  bool circular = n.text("mode", "linear") == "circular";
  if (!n.demand(dim > 0 && n.rankOf(cache) == n.rankOf(update), "its axis or its update does not fit its cache"))
    return n.refused();
  SmallVector<AffineExpr> sizes = n.sizesIn(update);
  Value index = n.iota(sizes, dim, n.i64());
  if (starts)
    index = n.op<AddOp>({index, n.alongDim(n.cast(starts, n.i64()), 0, n.rankOf(cache))});
  if (circular)
    index = n.op<RemainderOp>({index, n.indexScalar(n.sizesIn(cache)[dim], n.i64())});
  return Value(ScatterOp::create(n.builder, n.loc, cache.getType(), cache, index, update, dim, ScatterKind::Set));
}

/// Imports MaxUnpool, which moves each element to the index from which MaxPool took it. Indices refer to the flattened
/// result before it is padded to `output_shape`.
Results maxUnpool(OnnxNode &n) {
  Value x = n.in(0), index = n.in(1);
  SmallVector<int64_t> kernel = n.integers("kernel_shape"), stride = n.integers("strides"), pads = n.integers("pads");
  int64_t spatial = n.rankOf(x) - 2;
  if (!n.demand(spatial > 0 && int64_t(kernel.size()) == spatial, "its kernel_shape does not fit"))
    return n.refused();
  stride.resize(spatial, 1);
  pads.resize(2 * spatial, 0);
  SmallVector<AffineExpr> pooled = {n.sizesIn(x)[0], n.sizesIn(x)[1]}; // the shape to which the indices refer
  SmallVector<int64_t> before(spatial + 2, 0), after(spatial + 2, 0);
  for (int64_t i = 0; i < spatial; ++i)
    pooled.push_back(canonicalSize((n.sizesIn(x)[i + 2] - 1) * stride[i] + kernel[i] - pads[i] - pads[i + spatial]));
  if (n.given(2)) {
    SmallVector<int64_t> wanted = n.integersIn(2, "output_shape");
    if (!n.demand(int64_t(wanted.size()) == spatial + 2, "its output_shape has another rank"))
      return n.refused();
    for (int64_t dim = 2; dim < spatial + 2; ++dim) {
      auto more = dyn_cast<AffineConstantExpr>(canonicalSize(n.constantSize(wanted[dim]) - pooled[dim]));
      if (!n.demand(bool(more), "its output_shape is given, but a size of its input is symbolic"))
        return n.refused();
      after[dim] = more.getValue();
    }
  }
  AffineExpr count = n.constantSize(1);
  for (AffineExpr size : pooled)
    count = count * size;
  AffineExpr all = elementCount(n.typeOf(x));
  Value zeros = n.broadcast(n.scalar(0, n.elementOf(x)), {canonicalSize(count)});
  Value flat = ScatterOp::create(n.builder, n.loc, zeros.getType(), zeros, n.reshape(index, {all}), n.reshape(x, {all}),
                                 0, ScatterKind::Set);
  return n.pad(n.reshape(flat, pooled), before, after);
}

} // namespace

void registerOnnxIndexing(OnnxTable &t) {
  t["Gather"] = gather;
  t["GatherElements"] = gatherElements;
  t["GatherND"] = gatherNd;
  t["ScatterElements"] = scatterElements;
  t["Scatter"] = scatterElements;
  t["ScatterND"] = scatterNd;
  t["OneHot"] = oneHot;
  t["Compress"] = compress;
  t["TensorScatter"] = tensorScatter;
  t["MaxUnpool"] = maxUnpool;
}

} // namespace tilewright
