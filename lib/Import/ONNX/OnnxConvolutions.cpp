//===- OnnxConvolutions.cpp - convolutions, Col2Im, and the windows of convolutions and pools ---===//
//
// ONNX pads each side of a dimension by a separate amount, but tw.convolution has one amount for both sides. If the
// amounts differ or are negative, a tw.pad precedes the convolution. A transposed convolution is computed without
// padding. Its result is then cropped to the requested size, or extended by output_padding.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Windows.h"
#include "lib/Import/ONNX/OnnxTable.h"
#include "lib/Import/ONNX/OnnxWindows.h"

namespace tilewright {
namespace {

SmallVector<int64_t> perDim(OnnxNode &n, llvm::StringRef name, size_t spatial, int64_t otherwise, int64_t least) {
  SmallVector<int64_t> values = n.integers(name);
  if (values.empty())
    values.assign(spatial, otherwise);
  if (!n.demand(values.size() == spatial, "its " + name + " are not one per spatial dimension"))
    values.assign(spatial, otherwise);
  for (int64_t &value : values)
    if (!n.demand(value >= least && value < (1 << 30), "its " + name + " are out of range"))
      value = otherwise;
  return values;
}

SmallVector<int64_t> kernelOf(OnnxNode &n, Value weight) {
  SmallVector<int64_t> kernel;
  for (int64_t dim = 2; dim < n.rankOf(weight); ++dim)
    kernel.push_back(n.staticSize(weight, dim));
  if (n.attribute("kernel_shape"))
    n.demand(n.integers("kernel_shape") == kernel, "kernel_shape differs from the shape of its weight");
  return kernel;
}

bool checkOperands(OnnxNode &n, Value x, Value weight) {
  int64_t rank = n.rankOf(x);
  return n.demand(rank >= 3 && rank <= 5,
                  "it has " + llvm::Twine(rank - 2) + " spatial dimensions; 1 to 3 are supported") &&
         n.demand(n.rankOf(weight) == rank, "the ranks of its weight and its input are different");
}

Value withBias(OnnxNode &n, Value result, Value bias) {
  if (!bias)
    return result;
  if (!n.demand(n.rankOf(bias) == 1, "its bias is not a vector"))
    return result;
  return n.op<AddOp>({result, n.alongDim(bias, 1, n.rankOf(result))});
}

Results convolution(OnnxNode &n) {
  Value x = n.in(0), weight = n.in(1), bias = n.optionalIn(2);
  int64_t groups = n.integer("group", 1);
  if (n.failed() || !checkOperands(n, x, weight))
    return n.refused();
  OnnxWindows w = readWindows(n, x, kernelOf(n, weight));
  Value result = convolve(n, x, weight, w, groups);
  return n.failed() ? n.refused() : Results(withBias(n, result, bias));
}

Results transposed(OnnxNode &n) {
  Value x = n.in(0), weight = n.in(1), bias = n.optionalIn(2);
  int64_t groups = n.integer("group", 1);
  if (n.failed() || !checkOperands(n, x, weight) || !n.demand(groups > 0, "its group is not positive"))
    return n.refused();
  SmallVector<int64_t> kernel = kernelOf(n, weight);
  size_t spatial = kernel.size();
  SmallVector<int64_t> stride = perDim(n, "strides", spatial, 1, 1), dilation = perDim(n, "dilations", spatial, 1, 1),
                       outside = perDim(n, "output_padding", spatial, 0, 0), pads = n.integers("pads"),
                       wanted = n.integers("output_shape");
  std::string mode = n.text("auto_pad", "NOTSET");
  if (pads.empty())
    pads.assign(2 * spatial, 0);
  if (!n.demand(pads.size() == 2 * spatial, "it needs two pads per spatial dimension"))
    return n.refused();
  if (wanted.size() == spatial + 2)
    wanted.erase(wanted.begin(), wanted.begin() + 2);
  if (!n.demand(wanted.empty() || wanted.size() == spatial, "output_shape is not one size per spatial dimension"))
    return n.refused();
  bool automatic = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  SmallVector<AffineExpr> whole = {n.sizesIn(x)[0], n.sizesIn(weight)[1] * groups};
  SmallVector<int64_t> low(spatial + 2, 0), high(spatial + 2, 0);
  for (size_t i = 0; i < spatial; ++i) {
    AffineExpr size = n.sizesIn(x)[i + 2];
    AffineExpr full = (size - 1) * stride[i] + (kernel[i] - 1) * dilation[i] + 1;
    whole.push_back(canonicalSize(full));
    int64_t before = pads[i], after = pads[i + spatial];
    if (!wanted.empty() || automatic) {
      AffineExpr target = wanted.empty() ? size * stride[i] : n.constantSize(wanted[i]);
      auto total = dyn_cast<AffineConstantExpr>(canonicalSize(full + outside[i] - target));
      if (!n.demand(bool(total), "its padding follows from a symbolic size"))
        return n.refused();
      // If the result is too small, `all` is negative, and the result is extended at the end.
      int64_t all = total.getValue(), half = std::max<int64_t>(all, 0) / 2;
      before = mode == "SAME_UPPER" ? half : std::max<int64_t>(all, 0) - half;
      after = all - before;
    }
    low[i + 2] = -before;
    high[i + 2] = outside[i] - after;
  }
  SmallVector<int64_t> none(spatial, 0);
  Value result = n.call(
      "aten.convolution.default",
      {n.ref(x), n.ref(weight), Arg(), n.list(stride), n.list(none), n.list(dilation), true, n.list(none), groups},
      tensorWithSizes(whole, n.elementOf(x)));
  if (n.failed())
    return n.refused();
  result = withBias(n, n.pad(result, low, high), bias);
  return n.failed() ? n.refused() : Results(result);
}

/// Imports Col2Im, which combines blocks into an image. Elements of overlapping blocks are added.
Results columnsToImage(OnnxNode &n) {
  Value x = n.in(0);
  SmallVector<AffineExpr> image = n.sizesFrom(1, "image_shape");
  const size_t rank = image.size();
  SmallVector<int64_t> block = n.integersIn(2, "block_shape"), strides = perDim(n, "strides", rank, 1, 1),
                       dilations = perDim(n, "dilations", rank, 1, 1), pads = n.integers("pads");
  if (pads.empty())
    pads.assign(2 * rank, 0);
  if (!n.demand(rank >= 1 && rank <= 3, "its image has " + llvm::Twine(rank) + " dimensions; 1 to 3 are supported") ||
      !n.demand(block.size() == rank && pads.size() == 2 * rank,
                "block_shape has one number per dimension of the image, and pads two"))
    return n.refused();
  SmallVector<FoldedWindows, 3> windows;
  for (size_t i = 0; i < rank; ++i) {
    FoldedWindows w{block[i], strides[i], dilations[i], pads[i], pads[rank + i], image[i]};
    constexpr int64_t most = 1 << 20;
    auto within = [&](int64_t value, int64_t least) { return value >= least && value < most; };
    if (!n.demand(within(w.kernel, 1) && within(w.stride, 1) && within(w.dilation, 1) && within(w.low, 0) &&
                      within(w.high, 0),
                  "the number of its blocks is out of range"))
      return n.refused();
    windows.push_back(w);
  }
  Value made = imageOfWindows(n, x, windows);
  return n.failed() ? n.refused() : Results(made);
}

} // namespace

OnnxWindows readWindows(OnnxNode &n, Value x, ArrayRef<int64_t> kernel) {
  OnnxWindows w;
  size_t spatial = std::max<int64_t>(n.rankOf(x) - 2, 0);
  w.kernel = kernel.empty() ? n.integers("kernel_shape") : SmallVector<int64_t>(kernel);
  n.demand(spatial > 0 && w.kernel.size() == spatial, "its kernel_shape is not one size per spatial dimension");
  w.kernel.resize(spatial, 1);
  for (int64_t &size : w.kernel)
    if (!n.demand(size > 0 && size < (1 << 20), "its kernel_shape is out of range"))
      size = 1;
  w.stride = perDim(n, "strides", spatial, 1, 1);
  w.dilation = perDim(n, "dilations", spatial, 1, 1);
  SmallVector<int64_t> pads = n.integers("pads");
  std::string mode = n.text("auto_pad", "NOTSET");
  if (pads.empty() || mode == "VALID")
    pads.assign(2 * spatial, 0);
  if (!n.demand(pads.size() == 2 * spatial, "it needs two pads per spatial dimension"))
    pads.assign(2 * spatial, 0);
  bool ceil = n.integer("ceil_mode", 0);
  for (size_t i = 0; i < spatial; ++i) {
    AffineExpr size = n.sizesIn(x)[i + 2];
    int64_t span = (w.kernel[i] - 1) * w.dilation[i] + 1, before = pads[i], after = pads[i + spatial];
    n.demand(std::abs(before) < (1 << 30) && std::abs(after) < (1 << 30), "its pads are out of range");
    auto known = dyn_cast<AffineConstantExpr>(size);
    if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
      int64_t total = span - 1; // for stride 1, the padding does not depend on the size
      if (w.stride[i] != 1 && !known) {
        if (!n.demand(span >= w.stride[i] && !ceil, "its windows leave gaps along a symbolic size"))
          return w;
        AffineExpr count = size.ceilDiv(w.stride[i]), all = (count - 1) * w.stride[i] + span - size;
        AffineExpr half = all.floorDiv(2), first = mode == "SAME_UPPER" ? half : all - half;
        w.low.push_back(mode == "SAME_UPPER" ? total / 2 : total - total / 2);
        w.high.push_back(total);
        w.more.push_back(0);
        w.count.push_back(canonicalSize(count));
        w.start.push_back(canonicalSize(w.low.back() - first));
        w.length.push_back(canonicalSize(size + all));
        continue;
      }
      if (w.stride[i] != 1) {
        int64_t count = (known.getValue() + w.stride[i] - 1) / w.stride[i];
        total = std::max<int64_t>(0, (count - 1) * w.stride[i] + span - known.getValue());
      }
      before = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
      after = total - before;
    }
    AffineExpr slack = canonicalSize(size + before + after - span);
    AffineExpr count = slack.floorDiv(w.stride[i]) + 1;
    int64_t more = 0;
    if (ceil) {
      if (!n.demand(bool(known), "ceil_mode along a symbolic size is not supported"))
        return w;
      int64_t left = cast<AffineConstantExpr>(slack).getValue();
      int64_t windows = left < 0 ? 0 : (left + w.stride[i] - 1) / w.stride[i] + 1;
      if ((windows - 1) * w.stride[i] >= known.getValue() + before) // the last window begins after the end of the input
        --windows;
      more = std::max<int64_t>(0, (windows - 1) * w.stride[i] - left);
      count = n.constantSize(windows);
    }
    if (auto constant = dyn_cast<AffineConstantExpr>(slack))
      n.demand(constant.getValue() >= 0, "its windows are larger than its padded input");
    else
      n.require(slack, n.constantSize(0), /*atLeast=*/true);
    w.low.push_back(before);
    w.high.push_back(after);
    w.more.push_back(more);
    w.start.push_back({});
    w.length.push_back({});
    w.count.push_back(canonicalSize(count));
  }
  return w;
}

Value paddedFor(OnnxNode &n, Value x, const OnnxWindows &w, Attribute filler) {
  SmallVector<int64_t> low(2, 0), high(2, 0);
  low.append(w.low.begin(), w.low.end());
  for (auto [after, more] : llvm::zip_equal(w.high, w.more))
    high.push_back(after + more);
  x = n.pad(x, low, high, filler);
  for (auto [i, start] : llvm::enumerate(w.start))
    if (start)
      x = n.sliceDim(x, int64_t(i) + 2, start, w.length[i]);
  return x;
}

RankedTensorType windowedType(OnnxNode &n, Value x, AffineExpr channels, const OnnxWindows &w) {
  SmallVector<AffineExpr> sizes = {n.sizesIn(x)[0], channels};
  sizes.append(w.count.begin(), w.count.end());
  return tensorWithSizes(sizes, n.elementOf(x));
}

Value convolve(OnnxNode &n, Value x, Value weight, const OnnxWindows &w, int64_t groups) {
  if (n.failed())
    return x;
  bool symmetric = w.symmetric() && llvm::all_of(w.low, [](int64_t p) { return p >= 0; });
  if (!symmetric)
    x = paddedFor(n, x, w);
  SmallVector<int64_t> none(w.kernel.size(), 0);
  return n.call("aten.convolution.default",
                {n.ref(x), n.ref(weight), Arg(), n.list(w.stride), n.list(symmetric ? w.low : none), n.list(w.dilation),
                 false, n.list(none), groups},
                windowedType(n, x, n.sizesIn(weight)[0], w));
}

void registerOnnxConvolutions(OnnxTable &t) {
  t["Conv"] = convolution;
  t["ConvTranspose"] = transposed;
  t["Col2Im"] = columnsToImage;
}

} // namespace tilewright
