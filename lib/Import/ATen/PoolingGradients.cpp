//===- PoolingGradients.cpp - gradients of pooling -------------------------------------------===//
//
// The gradient of a maximum is added at the saved index of the maximum. For fixed windows, tw.max_pool_grad computes
// each element from the few windows that contain it, and other pools scatter. The gradient of an average is divided by
// the divisor of the average (usually the number of elements of the window), and added to each element of the window:
//
//   fixed windows      along each dimension, the gradient is spread into lines with gaps, and shifted lines are added
//   adaptive windows   the gradient is multiplied along each dimension by a matrix with the weights of the elements
//
// Gradients of averages are computed in f32 for f16 and bf16, and rounded once. Gradients of maxima are added in the
// type of the gradient, or by tw.max_pool_grad in f32 for f16 and bf16.
//
// Test: test/Python/ops/test_decomposed.py, test/Python/test_plain_exports.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Indexing.h"
#include "lib/Import/ATen/Padding.h"
#include "lib/Import/ATen/Pooling.h"
#include "lib/Import/ATen/Table.h"

namespace tilewright {
namespace {

/// Checks the ranks and the element type of a gradient and of the tensor whose gradient is computed.
bool checkGradient(Node &n, Value grad, int64_t spatial) {
  return n.demand(n.type() && n.rankOf(grad) == n.type().getRank() && n.rankOf(grad) > spatial, "too few dimensions") &&
         n.demand(isa<FloatType>(n.elementOf(grad)) && isa<FloatType>(n.element()), "elements that are not floats");
}

/// Imports adaptive_max_poolNd_backward and fractional_max_poolNd_backward. The argument at position `last` has the
/// indices of the maxima in the flattened spatial dimensions.
template <int64_t spatial, unsigned last> Results gradientOfMaxima(Node &n) {
  Value grad = n.tensor(0, "grad_output"), indices = asIndex(n, n.tensor(last, "indices"));
  if (!checkGradient(n, grad, spatial) ||
      !n.demand(n.rankOf(indices) == n.rankOf(grad), "its indices have another rank"))
    return n.refused();
  auto planes = [&](RankedTensorType type) {
    SmallVector<AffineExpr> sizes = sizesOf(type);
    return SmallVector<AffineExpr>{n.product(ArrayRef(sizes).drop_back(spatial)),
                                   n.product(ArrayRef(sizes).take_back(spatial))};
  };
  Value zeros = n.broadcast(n.scalar(0, n.element()), planes(n.type()));
  Value flatIndices = n.reshape(indices, planes(n.typeOf(indices)));
  Value flatGrad = n.reshape(n.cast(grad, n.element()), planes(n.typeOf(grad)));
  Value sum = scatterAlong(n, zeros, flatIndices, flatGrad, 1, ScatterKind::Add);
  return n.reshape(sum, n.type());
}

/// Imports max_poolNd_with_indices_backward(grad_output, self, kernel_size, stride, padding, dilation, ceil_mode,
/// indices).
template <int64_t spatial> Results gradientOfFixedMaxima(Node &n) {
  // tw.max_pool_grad reads this many windows for each element at most. If more windows overlap, the importer scatters.
  constexpr int64_t mostWindows = 64;
  Value grad = n.tensor(0, "grad_output"), indices = asIndex(n, n.tensor(7, "indices"));
  SmallVector<int64_t> kernel = perDim(n, 2, "kernel_size", spatial, {}),
                       stride = perDim(n, 3, "stride", spatial, kernel),
                       padding = perDim(n, 4, "padding", spatial, {0}),
                       dilation = perDim(n, 5, "dilation", spatial, {1});
  if (n.failed() || !checkGradient(n, grad, spatial) ||
      !n.demand(n.rankOf(indices) == n.rankOf(grad), "its indices have another rank"))
    return n.refused();
  if (n.isEmpty(grad))
    return n.zeros();
  int64_t windows = 1;
  for (int64_t i = 0; i < spatial && windows <= mostWindows; ++i)
    windows *= llvm::divideCeil((kernel[i] - 1) * dilation[i] + 1, stride[i]);
  if (windows > mostWindows)
    return gradientOfMaxima<spatial, 7>(n);
  Builder &b = n.builder;
  grad = batched(n, n.cast(grad, n.element()), spatial);
  indices = batched(n, n.cast(indices, n.i64()), spatial);
  Value sum = MaxPoolGradOp::create(n.builder, n.loc, batchedType(n.type(), spatial), grad, indices,
                                    b.getDenseI64ArrayAttr(kernel), b.getDenseI64ArrayAttr(stride),
                                    b.getDenseI64ArrayAttr(padding), b.getDenseI64ArrayAttr(dilation));
  return n.reshape(sum, n.type());
}

/// The windows of a pool along one dimension of an input of size `size`.
struct FixedWindows {
  int64_t kernel, stride, padding;
  AffineExpr size, count;
};

/// The maximum size of overlapping windows along one dimension. spread() emits one addition for each element of the
/// window except the first.
constexpr int64_t few = 64;

/// Returns the number of elements of each window, [count]. The last windows may end after the padded input. The
/// elements of the padding are counted if `withPadding` is set.
Value lengthsOf(Node &n, const FixedWindows &w, bool withPadding, Type element) {
  Type index = n.i64();
  Value begin = n.op<MulOp>({n.iota({w.count}, 0, index), n.scalarInt(w.stride, index)});
  begin = n.op<SubOp>({begin, n.scalarInt(w.padding, index)});
  Value end = n.op<AddOp>({begin, n.scalarInt(w.kernel, index)});
  end = n.op<MinimumOp>({end, n.indexScalar(withPadding ? canonicalSize(w.size + w.padding) : w.size, index)});
  if (!withPadding)
    begin = n.op<MaximumOp>({begin, n.scalarInt(0, index)});
  return n.cast(n.op<SubOp>({end, begin}), element);
}

/// Adds each element of `x` to all elements of its window along the dimension `dim`, which gets the size `w.size`.
Value spread(Node &n, Value x, int64_t dim, const FixedWindows &w) {
  SmallVector<AffineExpr> sizes = n.sizesIn(x);
  const bool apart = w.kernel <= w.stride;
  Value line = n.unsqueeze(x, dim + 1);
  if (apart) {
    SmallVector<AffineExpr> wide = n.sizesIn(line);
    wide[dim + 1] = n.constantSize(w.kernel);
    line = n.broadcast(line, wide);
  }
  line = padWithZeros(n, line, dim + 1, 0, w.stride - (apart ? w.kernel : 1));
  AffineExpr length = canonicalSize(w.count * w.stride);
  sizes[dim] = length;
  line = n.reshape(line, sizes);
  if (!apart) { // index p of the padded line is in the windows that begin at p, p - 1, ..., p - kernel + 1
    length = canonicalSize(length + w.kernel - w.stride);
    Value padded = padWithZeros(n, line, dim, w.kernel - 1, w.kernel - w.stride);
    line = n.sliceDim(padded, dim, n.constantSize(0), length);
    for (int64_t step = 1; step < w.kernel; ++step)
      line = n.op<AddOp>({line, n.sliceDim(padded, dim, n.constantSize(step), length)});
  }
  // Elements of the input after the last window have the gradient 0. If their number is symbolic, as many zeros are
  // appended as its upper bound, and the slice below removes the zeros that are not needed.
  auto missing = dyn_cast<AffineConstantExpr>(canonicalSize(w.size + w.padding - length));
  const int64_t reach = missing ? std::max<int64_t>(missing.getValue(), 0) : std::max(w.kernel, w.stride);
  return n.sliceDim(padWithZeros(n, line, dim, 0, reach), dim, n.constantSize(w.padding), w.size);
}

/// Imports avg_poolNd_backward(grad_output, self, kernel_size, stride, padding, ceil_mode, count_include_pad,
/// divisor_override).
template <int64_t spatial> Results gradientOfAverages(Node &n) {
  Value grad = n.tensor(0, "grad_output");
  SmallVector<int64_t> kernel = perDim(n, 2, "kernel_size", spatial, {}),
                       stride = perDim(n, 3, "stride", spatial, kernel),
                       padding = perDim(n, 4, "padding", spatial, {0});
  const bool ceilMode = n.flag(5, "ceil_mode"), withPadding = n.flag(6, "count_include_pad", true);
  const bool hasDivisor = n.has(7, "divisor_override");
  const int64_t divisor = n.integer(7, "divisor_override", 1);
  if (!checkGradient(n, grad, spatial) || !n.demand(divisor != 0, "its divisor is 0"))
    return n.refused();
  if (n.isEmpty(grad))
    return n.zeros();
  const int64_t rank = n.rankOf(grad), lead = rank - spatial;
  const SmallVector<AffineExpr> sizes = sizesOf(n.type()), counts = n.sizesIn(grad);
  SmallVector<FixedWindows> windows;
  double elements = 1;
  bool padded = false;
  for (int64_t i = 0; i < spatial; ++i) {
    FixedWindows w{kernel[i], stride[i], padding[i], sizes[lead + i], counts[lead + i]};
    constexpr int64_t limit = 1 << 30;
    if (!n.demand(w.kernel <= w.stride || w.kernel <= few,
                  "windows of more than " + llvm::Twine(few) + " elements that overlap are not supported") ||
        !n.demand(std::max({w.kernel, w.stride, w.padding}) < limit, "a number of its windows is out of range"))
      return n.refused();
    // The last window begins inside the input or the padding before it.
    AffineExpr last = canonicalSize((w.count - 1) * w.stride + 1 - w.padding);
    auto known = dyn_cast<AffineConstantExpr>(canonicalSize(w.size - last));
    if (!n.demand(!known || known.getValue() >= 0, "its gradient has more windows than the input"))
      return n.refused();
    windows.push_back(w);
    elements *= double(w.kernel);
    padded |= w.padding > 0;
  }
  Value part = n.cast(grad, n.accumulator(n.element()));
  if (hasDivisor) {
    part = n.op<DivOp>(part, double(divisor));
  } else if (!ceilMode && (withPadding || !padded)) {
    part = n.op<DivOp>(part, elements);
  } else {
    Value lengths;
    for (auto [i, w] : llvm::enumerate(windows)) {
      Value along = n.alongDim(lengthsOf(n, w, withPadding, n.elementOf(part)), i, spatial);
      lengths = lengths ? n.op<MulOp>({lengths, along}) : along;
    }
    part = n.op<DivOp>({part, lengths});
  }
  for (auto [i, w] : llvm::enumerate(windows))
    part = spread(n, part, lead + i, w);
  return n.reshape(n.cast(part, n.element()), n.type());
}

/// Imports _adaptive_avg_poolNd_backward(grad_output, self).
template <int64_t spatial> Results gradientOfAdaptiveAverages(Node &n) {
  Value grad = n.tensor(0, "grad_output");
  if (!checkGradient(n, grad, spatial))
    return n.refused();
  if (n.isEmpty(grad))
    return n.zeros();
  const SmallVector<AffineExpr> wanted = sizesOf(n.type());
  const int64_t rank = n.rankOf(grad);
  Value part = n.cast(grad, n.accumulator(n.element()));
  for (int64_t dim = rank - spatial; dim < rank; ++dim) {
    SmallVector<AffineExpr> sizes = n.sizesIn(part);
    const AffineExpr size = wanted[dim], count = sizes[dim];
    if (size == count) // each window is one element
      continue;
    AdaptiveWindows windows = adaptiveWindows(n, size, count);
    Value at = n.iota({n.constantSize(1), size}, 1, n.i64()), one = n.scalar(1, n.elementOf(part));
    Value inside = n.op<LogicalAndOp>({n.compare<LeOp>(windows.start, at), n.compare<LtOp>(at, windows.end)}, n.i1());
    Value weight = n.op<DivOp>({one, n.cast(n.op<SubOp>({windows.end, windows.start}), n.elementOf(part))});
    Value weights = n.where(inside, weight, n.scalar(0, n.elementOf(part))); // [count, size]
    const AffineExpr lead = n.product(ArrayRef(sizes).take_front(dim)),
                     rest = n.product(ArrayRef(sizes).drop_front(dim + 1));
    sizes[dim] = size;
    if (dim + 1 == rank)
      part = n.matmul(n.reshape(part, {lead, count}), weights);
    else
      part =
          n.matmul(n.broadcast(n.transpose(weights, 0, 1), {lead, size, count}), n.reshape(part, {lead, count, rest}));
    part = n.reshape(part, sizes);
  }
  return n.reshape(n.cast(part, n.element()), n.type());
}

} // namespace

void registerPoolingGradients(Table &t) {
  t["aten.max_pool2d_with_indices_backward.default"] = gradientOfFixedMaxima<2>;
  t["aten.max_pool3d_with_indices_backward.default"] = gradientOfFixedMaxima<3>;
  t["aten.adaptive_max_pool2d_backward.default"] = gradientOfMaxima<2, 2>;
  t["aten.adaptive_max_pool3d_backward.default"] = gradientOfMaxima<3, 2>;
  t["aten.fractional_max_pool2d_backward.default"] = gradientOfMaxima<2, 4>;
  t["aten.fractional_max_pool3d_backward.default"] = gradientOfMaxima<3, 4>;
  t["aten.avg_pool2d_backward.default"] = gradientOfAverages<2>;
  t["aten.avg_pool3d_backward.default"] = gradientOfAverages<3>;
  t["aten._adaptive_avg_pool2d_backward.default"] = gradientOfAdaptiveAverages<2>;
  t["aten._adaptive_avg_pool3d_backward.default"] = gradientOfAdaptiveAverages<3>;
}

} // namespace tilewright
