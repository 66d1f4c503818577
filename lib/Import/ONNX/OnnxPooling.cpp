//===- OnnxPooling.cpp - maximum, mean or norm of windows ----------------------------===//
//
// If windows are dilated, if their padding is uneven, negative or dependent on a symbolic size, or if they extend
// beyond the padding (ceil_mode), their mean is a sum divided by a count. The sum and the count are convolutions with
// weights of 1. The input of the convolution for the count is 1 inside the image and, with count_include_pad, in its
// padding.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ONNX/OnnxTable.h"
#include "lib/Import/ONNX/OnnxWindows.h"

namespace tilewright {
namespace {

bool checkInput(OnnxNode &n, Value x) {
  int64_t rank = n.rankOf(x);
  return !n.failed() && n.demand(rank >= 3 && rank <= 5,
                                 "it has " + llvm::Twine(rank - 2) + " spatial dimensions; 1 to 3 are supported");
}

/// Returns the sum of the elements of each window in each channel.
Value windowSums(OnnxNode &n, Value x, OnnxWindows w) {
  SmallVector<AffineExpr> sizes = n.sizesIn(x), planes = {sizes[0] * sizes[1], n.constantSize(1)},
                          ones(2, n.constantSize(1));
  planes.append(sizes.begin() + 2, sizes.end());
  for (int64_t size : w.kernel)
    ones.push_back(n.constantSize(size));
  Value weight = n.broadcast(n.scalar(1, n.elementOf(x)), ones);
  Value sums = convolve(n, n.reshape(x, planes), weight, w, 1);
  return n.failed() ? x : n.reshape(sums, windowedType(n, x, sizes[1], w));
}

Results averagePool(OnnxNode &n) {
  Value x = n.in(0);
  if (!checkInput(n, x))
    return n.refused();
  bool includePad = n.integer("count_include_pad", 0);
  OnnxWindows w = readWindows(n, x);
  if (n.failed())
    return n.refused();
  bool dilated = llvm::any_of(w.dilation, [](int64_t d) { return d != 1; });
  Type element = n.elementOf(x), compute = n.accumulator(element);
  AffineExpr channels = n.sizesIn(x)[1];
  if (w.symmetric() && !dilated && llvm::all_of(w.low, [](int64_t p) { return p >= 0; })) {
    Builder &b = n.builder;
    return Value(AvgPoolOp::create(n.builder, n.loc, windowedType(n, x, channels, w), x,
                                   b.getDenseI64ArrayAttr(w.kernel), b.getDenseI64ArrayAttr(w.stride),
                                   b.getDenseI64ArrayAttr(w.low), includePad ? b.getUnitAttr() : UnitAttr(),
                                   IntegerAttr()));
  }
  SmallVector<AffineExpr> plane = n.sizesIn(x);
  plane[0] = plane[1] = n.constantSize(1);
  Value ones = n.broadcast(n.scalar(1, compute), plane);
  OnnxWindows counted = w;
  if (includePad) { // count the padding, too, but not the elements that ceil_mode adds
    OnnxWindows asked = w;
    asked.more.assign(w.more.size(), 0);
    ones = paddedFor(n, ones, asked, n.builder.getFloatAttr(compute, 1.0));
    counted.low.assign(w.low.size(), 0);
    counted.high.assign(w.low.size(), 0);
    counted.start.assign(w.low.size(), {});
  }
  Value sums = windowSums(n, n.cast(x, compute), w), counts = windowSums(n, ones, counted);
  if (n.failed())
    return n.refused();
  return n.cast(n.op<DivOp>({sums, counts}), element);
}

Results lpPool(OnnxNode &n) {
  Value x = n.in(0);
  double p = n.version < 2 ? n.number("p", 2.0) : double(n.integer("p", 2));
  if (!checkInput(n, x) || !n.demand(p > 0, "its p is not positive"))
    return n.refused();
  OnnxWindows w = readWindows(n, x);
  Type element = n.elementOf(x), compute = n.accumulator(element);
  Value magnitude = n.op<AbsOp>({n.cast(x, compute)});
  Value powers = p == 1 ? magnitude : p == 2 ? n.op<MulOp>({magnitude, magnitude}) : n.op<PowOp>(magnitude, p);
  Value sums = windowSums(n, powers, w);
  if (n.failed())
    return n.refused();
  Value root = p == 1 ? sums : p == 2 ? n.op<SqrtOp>({sums}) : n.op<PowOp>(sums, 1 / p);
  return n.cast(root, element);
}

Attribute lowestOf(OnnxNode &n, Type element) {
  if (auto floats = ::mlir::dyn_cast<FloatType>(element))
    return n.builder.getFloatAttr(element, llvm::APFloat::getInf(floats.getFloatSemantics(), true));
  unsigned width = element.getIntOrFloatBitWidth();
  return n.builder.getIntegerAttr(element, element.isUnsignedInteger() ? llvm::APInt(width, 0)
                                                                       : llvm::APInt::getSignedMinValue(width));
}

/// Converts indices within the spatial dimensions to indices of the flattened tensor. The tensor is flattened in
/// row-major order or, with `columns`, with the last two dimensions in column-major order.
Value indicesOf(OnnxNode &n, Value x, Value planeIndices, bool columns) {
  SmallVector<AffineExpr> sizes = n.sizesIn(x), resultSizes = n.sizesIn(planeIndices);
  AffineExpr plane = n.constantSize(1);
  for (AffineExpr size : ArrayRef(sizes).drop_front(2))
    plane = plane * size;
  Value indices = planeIndices;
  if (columns) { // replace y * width + x by x * height + y
    if (!n.demand(sizes.size() == 4, "column-major indices of other than two dimensions are not supported"))
      return indices;
    Value height = n.indexScalar(sizes[2], n.i64()), width = n.indexScalar(sizes[3], n.i64());
    Value row = n.op<DivTruncOp>({indices, width}), column = n.op<RemainderOp>({indices, width});
    indices = n.op<AddOp>({n.op<MulOp>({column, height}), row});
  }
  Value batch = n.op<MulOp>({n.iota(resultSizes, 0, n.i64()), n.indexScalar(sizes[1], n.i64())});
  Value channel = n.op<AddOp>({batch, n.iota(resultSizes, 1, n.i64())});
  return n.op<AddOp>({n.op<MulOp>({channel, n.indexScalar(canonicalSize(plane), n.i64())}), indices});
}

Results maxPool(OnnxNode &n) {
  Value x = n.in(0);
  if (!checkInput(n, x))
    return n.refused();
  bool columns = n.integer("storage_order", 0);
  OnnxWindows w = readWindows(n, x);
  if (n.failed())
    return n.refused();
  bool wantsIndices = n.wantsOutput(1), symmetric = w.symmetric();
  if (wantsIndices && !symmetric)
    return n.refuse("indices of unevenly padded windows are not supported");
  SmallVector<int64_t> none(w.kernel.size(), 0);
  Type element = n.elementOf(x);
  bool narrow = element.isInteger(8) || element.isUnsignedInteger(8);
  Value input = narrow ? n.cast(x, n.builder.getI32Type()) : x;
  // tw.max_pool supports a padding of at most half of the window.
  for (auto [low, kernel] : llvm::zip_equal(w.low, w.kernel))
    symmetric &= low >= 0 && 2 * low <= kernel;
  if (wantsIndices && !symmetric)
    return n.refuse("indices of windows that are padded by more than their half are not supported");
  if (!symmetric)
    input = paddedFor(n, input, w, lowestOf(n, n.elementOf(input)));
  Builder &b = n.builder;
  RankedTensorType type = windowedType(n, input, n.sizesIn(x)[1], w);
  auto op = MaxPoolOp::create(n.builder, n.loc, TypeRange{type, withElementType(type, n.i64())}, input,
                              b.getDenseI64ArrayAttr(w.kernel), b.getDenseI64ArrayAttr(w.stride),
                              b.getDenseI64ArrayAttr(symmetric ? w.low : none), b.getDenseI64ArrayAttr(w.dilation));
  Value result = n.cast(op.getResult(), element);
  if (!wantsIndices)
    return result;
  Value indices = indicesOf(n, x, op.getIndices(), columns);
  return n.failed() ? n.refused() : Results({result, indices});
}

SmallVector<int64_t> spatialDims(OnnxNode &n, Value x) {
  SmallVector<int64_t> dims;
  for (int64_t dim = 2; dim < n.rankOf(x); ++dim)
    dims.push_back(dim);
  n.demand(!dims.empty(), "it needs spatial dimensions");
  return dims;
}

Results globalAverage(OnnxNode &n) {
  Value x = n.in(0);
  SmallVector<int64_t> dims = spatialDims(n, x);
  return n.failed() ? n.refused() : Results(n.meanOf(x, dims, true));
}

Results globalMax(OnnxNode &n) {
  Value x = n.in(0);
  SmallVector<int64_t> dims = spatialDims(n, x);
  return n.failed() ? n.refused() : Results(n.reduce(ReduceKind::Max, x, dims, true));
}

/// Imports LRN, which returns x / (bias + alpha / size * s) ^ beta, where s is the sum of squares of `size` adjacent
/// channels.
Results localResponse(OnnxNode &n) {
  Value x = n.in(0);
  int64_t size = n.integer("size"), rank = n.rankOf(x);
  double alpha = n.number("alpha", 0.0001), beta = n.number("beta", 0.75), bias = n.number("bias", 1.0);
  if (!n.demand(rank >= 2 && size > 0 && size < 4096, "it needs channels and a size"))
    return n.refused();
  Type element = n.elementOf(x), compute = n.accumulator(element);
  Value wide = n.cast(x, compute), squares = n.op<MulOp>({wide, wide});
  SmallVector<int64_t> low(rank, 0), high(rank, 0);
  low[1] = (size - 1) / 2;
  high[1] = size - 1 - low[1];
  Value around = n.pad(squares, low, high), sum;
  for (int64_t i = 0; i < size; ++i) {
    Value part = n.sliceDim(around, 1, n.constantSize(i), n.sizesIn(x)[1]);
    sum = sum ? n.op<AddOp>({sum, part}) : part;
  }
  Value scale = n.op<PowOp>(n.op<AddOp>(n.op<MulOp>(sum, alpha / double(size)), bias), beta);
  return n.cast(n.op<DivOp>({wide, scale}), element);
}

} // namespace

void registerOnnxPooling(OnnxTable &t) {
  t["AveragePool"] = averagePool;
  t["MaxPool"] = maxPool;
  t["LpPool"] = lpPool;
  t["GlobalAveragePool"] = globalAverage;
  t["GlobalMaxPool"] = globalMax;
  t["LRN"] = localResponse;
}

} // namespace tilewright
