//===- Pooling.cpp - maximum and average pooling ---------------------------------------------===//
#include "lib/Import/ATen/Indexing.h"
#include "lib/Import/ATen/Table.h"
#include "lib/Import/Builder/Node.h"

namespace tilewright {
namespace {

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

/// Adds a batch dimension of size 1 to `value` if it has none. torch's pools accept tensors without a batch dimension.
Value batched(Node &n, Value value, int64_t spatial) {
  return n.rankOf(value) == spatial + 1 ? n.unsqueeze(value, 0) : value;
}
RankedTensorType batchedType(RankedTensorType type, int64_t spatial) {
  SmallVector<AffineExpr> sizes = sizesOf(type);
  if (int64_t(sizes.size()) == spatial + 1)
    sizes.insert(sizes.begin(), getAffineConstantExpr(1, type.getContext()));
  return tensorWithSizes(sizes, type.getElementType());
}

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

/// Imports max_poolNd_with_indices_backward: adds the gradient at the saved indices, which refer to the flattened
/// spatial dimensions.
template <int64_t spatial> Results maxPoolBackward(Node &n) {
  Value grad = n.tensor(0, "grad_output"), indices = n.tensor(7, "indices");
  if (n.failed())
    return n.refused();
  auto planes = [&](RankedTensorType type) {
    SmallVector<AffineExpr> sizes = sizesOf(type);
    AffineExpr lead = n.constantSize(1), plane = n.constantSize(1);
    for (auto [i, size] : llvm::enumerate(sizes)) {
      AffineExpr &part = int64_t(i) < int64_t(sizes.size()) - spatial ? lead : plane;
      part = part * size;
    }
    return SmallVector<AffineExpr>{canonicalSize(lead), canonicalSize(plane)};
  };
  Value zeros = n.broadcast(n.scalar(0, n.element()), planes(n.type()));
  Value flatIndices = n.reshape(indices, planes(n.typeOf(indices))), flatGrad = n.reshape(grad, planes(n.typeOf(grad)));
  Value sum = ScatterOp::create(n.builder, n.loc, zeros.getType(), zeros, flatIndices, flatGrad, 1, ScatterKind::Add);
  return n.reshape(sum, n.type());
}

Value averagePool(Node &n, Value x, RankedTensorType type, ArrayRef<int64_t> kernel, ArrayRef<int64_t> stride,
                  ArrayRef<int64_t> padding, bool includePad, std::optional<int64_t> divisor, int64_t spatial) {
  Builder &b = n.builder;
  Value result = AvgPoolOp::create(n.builder, n.loc, batchedType(type, spatial), batched(n, x, spatial),
                                   b.getDenseI64ArrayAttr(kernel), b.getDenseI64ArrayAttr(stride),
                                   b.getDenseI64ArrayAttr(padding), includePad ? b.getUnitAttr() : UnitAttr(),
                                   divisor ? b.getI64IntegerAttr(*divisor) : IntegerAttr());
  return n.reshape(result, type);
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
  return averagePool(n, x, n.type(), kernel, stride, padding, includePad, divisor, spatial);
}

/// Returns averages along `dim` over windows of different sizes. Window i is from floor(i * in / out) to
/// ceil((i + 1) * in / out). All windows are read with the length of the longest window, and elements after the end of
/// a window are replaced by 0. (A product with a matrix of weights is wrong: 0 * inf of an element that is outside of a
/// window is NaN.) If the number of windows is symbolic, each window is read with the length of the whole dimension.
Value averageUnequal(Node &n, Value x, int64_t dim, AffineExpr out) {
  AffineExpr in = n.sizesIn(x)[dim], longest = in;
  auto inSize = dyn_cast<AffineConstantExpr>(in), outSize = dyn_cast<AffineConstantExpr>(out);
  if (inSize && outSize) {
    int64_t most = 1;
    for (int64_t i = 0; i < outSize.getValue(); ++i)
      most = std::max<int64_t>(most, llvm::divideCeil((i + 1) * inSize.getValue(), outSize.getValue()) -
                                         i * inSize.getValue() / outSize.getValue());
    longest = n.constantSize(most);
  } else if (outSize) {
    longest = canonicalSize(in.floorDiv(out) + 2); // an upper bound
  }
  Type index = n.i64();
  Value size = n.indexScalar(in, index), windows = n.indexScalar(out, index), one = n.scalarInt(1, index);
  Value window = n.iota({out, n.constantSize(1)}, 0, index), step = n.iota({n.constantSize(1), longest}, 1, index);
  Value start = n.op<DivFloorOp>({n.op<MulOp>({window, size}), windows});
  Value last = n.op<SubOp>({n.op<MulOp>({n.op<AddOp>({window, one}), size}), one});
  Value end = n.op<AddOp>({n.op<DivFloorOp>({last, windows}), one});
  Value position = n.op<AddOp>({start, step}), inside = n.compare<LtOp>(position, end);
  position = n.where(inside, position, n.broadcast(start, n.sizesIn(position)));
  Value values = take(n, x, {position}, dim, /*wraps=*/false);
  auto alongWindows = [&](Value value) { // adds the dimensions of x after `dim`
    SmallVector<AffineExpr> sizes = n.sizesIn(value);
    sizes.append(n.rankOf(x) - 1 - dim, n.constantSize(1));
    return n.reshape(value, sizes);
  };
  values = n.where(alongWindows(inside), values, n.scalar(0, n.elementOf(x)));
  Value sums = n.reduce(ReduceKind::Sum, values, {dim + 1}, true);
  Value lengths = n.cast(alongWindows(n.op<SubOp>({end, start})), n.elementOf(x));
  SmallVector<AffineExpr> sizes = n.sizesIn(x);
  sizes[dim] = out;
  return n.reshape(n.op<DivOp>({sums, lengths}), sizes);
}

/// Imports adaptive_avg_poolNd. If the output's size divides the input's size, all windows have the same size. If the
/// output's size is 1, the result is a mean.
template <int64_t spatial> Results adaptiveAvgPool(Node &n) {
  Value x = n.tensor(0, "self");
  if (!n.demand(n.rankOf(x) > spatial && n.type().getRank() == n.rankOf(x), "too few dimensions"))
    return n.refused();
  SmallVector<AffineExpr> in = n.sizesIn(x), out = sizesOf(n.type());
  if (elementCount(n.type()) == n.constantSize(0))
    return n.full(n.scalar(0, n.element()), n.type());
  SmallVector<int64_t> dims, kernel;
  bool global = true;
  for (int64_t i = n.rankOf(x) - spatial; i < n.rankOf(x); ++i) {
    dims.push_back(i);
    global &= out[i] == n.constantSize(1);
    auto a = ::mlir::dyn_cast<AffineConstantExpr>(in[i]), b = ::mlir::dyn_cast<AffineConstantExpr>(out[i]);
    kernel.push_back(a && b && b.getValue() && a.getValue() % b.getValue() == 0 ? a.getValue() / b.getValue() : 0);
  }
  if (global) {
    Type compute = n.accumulator(n.element());
    Value sum = n.reduce(ReduceKind::Sum, n.cast(x, compute), dims, true);
    return n.cast(n.op<DivOp>({sum, n.countAlong(x, dims, compute)}), n.element());
  }
  if (llvm::is_contained(kernel, 0)) {
    if (!n.demand(isa<FloatType>(n.element()) && !llvm::is_contained(in, n.constantSize(0)), "an empty input"))
      return n.refused();
    Value result = n.cast(x, n.accumulator(n.element()));
    for (int64_t dim : dims)
      if (in[dim] != out[dim])
        result = averageUnequal(n, result, dim, out[dim]);
    return n.cast(result, n.element());
  }
  return averagePool(n, x, n.type(), kernel, kernel, SmallVector<int64_t>(spatial, 0), true, std::nullopt, spatial);
}

} // namespace

void registerPooling(Table &t) {
  t["aten.max_pool2d_with_indices.default"] = maxPool<2>;
  t["aten.max_pool3d_with_indices.default"] = maxPool<3>;
  t["aten.max_pool2d_with_indices_backward.default"] = maxPoolBackward<2>;
  t["aten.max_pool3d_with_indices_backward.default"] = maxPoolBackward<3>;
  t["aten.avg_pool1d.default"] = avgPool<1>;
  t["aten.avg_pool2d.default"] = avgPool<2>;
  t["aten.avg_pool3d.default"] = avgPool<3>;
  t["aten._adaptive_avg_pool2d.default"] = adaptiveAvgPool<2>;
  t["aten._adaptive_avg_pool3d.default"] = adaptiveAvgPool<3>;
  t["aten.adaptive_avg_pool1d.default"] = adaptiveAvgPool<1>;
}

} // namespace tilewright
