//===- Pooling.cpp - maximum and average pooling with equal windows ---------------------------===//
#include "lib/Import/ATen/Pooling.h"
#include "lib/Import/ATen/Table.h"

namespace tilewright {

SmallVector<int64_t> perDim(Node &n, unsigned index, llvm::StringRef name, int64_t spatial,
                            SmallVector<int64_t> otherwise) {
  SmallVector<int64_t> values = n.integers(index, name);
  if (values.empty())
    values = otherwise;
  if (values.size() == 1)
    values.resize(spatial, values[0]);
  const int64_t least = name == "padding" ? 0 : 1;
  for (int64_t value : values)
    if (value < least) // eager's messages for these errors differ between the pooling ops
      n.refuse(llvm::Twine(name) + " should be at least " + llvm::Twine(least) + ", but is " + llvm::Twine(value));
  if (int64_t(values.size()) != spatial)
    n.refuse(llvm::Twine(name) + " has " + llvm::Twine(values.size()) + " entries for " + llvm::Twine(spatial) +
             " spatial dimensions");
  return values;
}

Value batched(Node &n, Value value, int64_t spatial) {
  return n.rankOf(value) == spatial + 1 ? n.unsqueeze(value, 0) : value;
}
RankedTensorType batchedType(RankedTensorType type, int64_t spatial) {
  SmallVector<AffineExpr> sizes = sizesOf(type);
  if (int64_t(sizes.size()) == spatial + 1)
    sizes.insert(sizes.begin(), getAffineConstantExpr(1, type.getContext()));
  return tensorWithSizes(sizes, type.getElementType());
}

namespace {

/// Imports max_poolNd_with_indices(self, kernel, stride, padding, dilation, ceil_mode).
template <int64_t spatial> Results maxPool(Node &n) {
  Value x = n.tensor(0, "self");
  SmallVector<int64_t> kernel = perDim(n, 1, "kernel_size", spatial, {}),
                       stride = perDim(n, 2, "stride", spatial, kernel);
  SmallVector<int64_t> padding = perDim(n, 3, "padding", spatial, {0}),
                       dilation = perDim(n, 4, "dilation", spatial, {1});
  if (n.failed())
    return n.refused();
  Builder &b = n.builder;
  RankedTensorType type = batchedType(n.type(0), spatial);
  auto op = MaxPoolOp::create(n.builder, n.loc, TypeRange{type, withElementType(type, n.i64())}, batched(n, x, spatial),
                              b.getDenseI64ArrayAttr(kernel), b.getDenseI64ArrayAttr(stride),
                              b.getDenseI64ArrayAttr(padding), b.getDenseI64ArrayAttr(dilation));
  SmallVector<Value> results{n.reshape(op.getResult(), n.type(0))};
  if (n.resultCount() > 1)
    results.push_back(n.reshape(op.getIndices(), n.type(1)));
  return results;
}

/// Imports avg_poolNd(self, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override).
template <int64_t spatial> Results avgPool(Node &n) {
  Value x = n.tensor(0, "self");
  SmallVector<int64_t> kernel = perDim(n, 1, "kernel_size", spatial, {}),
                       stride = perDim(n, 2, "stride", spatial, kernel);
  SmallVector<int64_t> padding = perDim(n, 3, "padding", spatial, {0});
  bool includePad = n.flag(5, "count_include_pad", true);
  std::optional<int64_t> divisor;
  if (n.has(6, "divisor_override"))
    divisor = n.integer(6, "divisor_override");
  if (n.failed())
    return n.refused();
  Builder &b = n.builder;
  Value result = AvgPoolOp::create(n.builder, n.loc, batchedType(n.type(), spatial), batched(n, x, spatial),
                                   b.getDenseI64ArrayAttr(kernel), b.getDenseI64ArrayAttr(stride),
                                   b.getDenseI64ArrayAttr(padding), includePad ? b.getUnitAttr() : UnitAttr(),
                                   divisor ? b.getI64IntegerAttr(*divisor) : IntegerAttr());
  return n.reshape(result, n.type());
}

} // namespace

void registerPooling(Table &t) {
  t["aten.max_pool2d_with_indices.default"] = maxPool<2>;
  t["aten.max_pool3d_with_indices.default"] = maxPool<3>;
  t["aten.avg_pool1d.default"] = avgPool<1>;
  t["aten.avg_pool2d.default"] = avgPool<2>;
  t["aten.avg_pool3d.default"] = avgPool<3>;
}

} // namespace tilewright
