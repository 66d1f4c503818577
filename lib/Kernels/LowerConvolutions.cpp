//===- LowerConvolutions.cpp - convolutions to linalg ------------------------===//
//
// Before (channels-last, as --tw-propagate-layout leaves it):
//   %1 = tw.convolution %x, %w {tw.channels_last, padding = [1, 1], ...}
//          : (tensor<1x8x8x4xf32>, tensor<3x3x4x16xf32>) -> tensor<1x8x8x16xf32>
// After:
//   %p = linalg.generic {%x[n, h - 1, w - 1, c], or 0 outside} : tensor<1x10x10x4xf32>
//   %0 = linalg.fill ins(0.0) outs(tensor.empty)
//   %1 = linalg.conv_2d_nhwc_hwcf ins(%p, %w) outs(%0)
//
// Only 2-D channels-last convolutions with one group become a linalg.conv_2d_nhwc_hwcf. Other files lower three kinds
// of convolutions: LowerGroupedConvolutions.cpp lowers grouped 2-D channels-last convolutions of floats whose channels
// and weight sizes are known, LowerTransposedConvolutions.cpp lowers transposed convolutions, and
// LowerWeightGradients.cpp lowers gradients of weights. All other convolutions, such as channels-first and 3-D ones,
// become a linalg.generic with the input map `o * stride + k * dilation`.
//
// Test: test/Kernels/lower-convolutions.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Kernels/LowerConvolutions.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tilewright/AttributeNames.h"

using namespace mlir;

namespace tilewright::structured {

void Convolution::absorbPads() {
  while (auto pad = source.getDefiningOp<graph::PadOp>()) {
    auto splat = dyn_cast<DenseElementsAttr>(pad.getValue());
    Attribute value = splat && splat.isSplat() ? splat.getSplatValue<Attribute>() : Attribute(pad.getValue());
    if (!matchPattern(value, m_AnyZeroFloat()) && !matchPattern(value, m_Zero()))
      return;
    for (int64_t dim = 0; dim < int64_t(spatial) + 2; ++dim) {
      const unsigned i = unsigned(dim) - firstSpatialDim();
      const bool inSpace = i < spatial;
      const int64_t low = pad.getLow()[dim], high = pad.getHigh()[dim];
      if (inSpace ? low < 0 || high < 0 || before[i] < 0 || after[i] < 0 : low != 0 || high != 0)
        return;
    }
    for (unsigned i = 0; i < spatial; ++i) {
      before[i] += pad.getLow()[firstSpatialDim() + i];
      after[i] += pad.getHigh()[firstSpatialDim() + i];
    }
    source = pad.getInput();
  }
}

Value Convolution::padSource() {
  SmallVector<AffineExpr> sizes = graph::sizesOf(convolvedType(source)), cropped(sizes), paddedSizes(sizes);
  SmallVector<OpFoldResult> low(sizes.size(), l.builder.getIndexAttr(0)), high(low), offsets(low);
  SmallVector<OpFoldResult> ones(sizes.size(), l.builder.getIndexAttr(1));
  for (unsigned i = 0; i < spatial; ++i) {
    unsigned at = firstSpatialDim() + i;
    low[at] = l.builder.getIndexAttr(std::max<int64_t>(before[i], 0));
    high[at] = l.builder.getIndexAttr(std::max<int64_t>(after[i], 0));
    offsets[at] = l.builder.getIndexAttr(std::max<int64_t>(-before[i], 0));
    cropped[at] = sizes[at] + std::min<int64_t>(before[i], 0) + std::min<int64_t>(after[i], 0);
    paddedSizes[at] = sizes[at] + before[i] + after[i];
  }
  Value tensor = l.tensor(source);
  if (cropped != sizes)
    tensor = l.extractSlice(tensor, offsets, cropped, ones);
  return padded(l, tensor, cropped, low, high, paddedSizes, zero(convolvedType(tensor).getElementType()),
                /*byRows=*/true);
}

Value Convolution::splitGroups(Value tensor, SmallVector<AffineExpr> &sizes, unsigned dim) {
  SmallVector<AffineExpr> split(sizes);
  split[dim] = l.constant(groups);
  split.insert(split.begin() + dim + 1, sizes[dim].floorDiv(groups));
  Value result = l.reshaped(tensor, sizes, split);
  sizes = split;
  return result;
}

Value Convolution::planeConvolution(Value input, Value weight, ArrayRef<AffineExpr> sizes, ArrayRef<int64_t> steps,
                                    ArrayRef<int64_t> gaps, Type accumulator) {
  Value init = l.filled(sizes, zero(accumulator));
  auto named = linalg::Conv2DNhwcHwcfOp::create(l.builder, l.loc, init.getType(), ValueRange{input, weight}, init,
                                                l.builder.getI64TensorAttr(steps), l.builder.getI64TensorAttr(gaps));
  named->setAttr(opAttrName, l.builder.getStringAttr(l.name));
  return named.getResult(0);
}

SmallVector<Value> multiplyAdd(OpBuilder &b, Location at, ValueRange in, Value accumulator) {
  auto widen = [&](Value x) -> Value {
    if (x.getType() == accumulator.getType())
      return x;
    if (!isa<FloatType>(accumulator.getType()))
      return arith::ExtSIOp::create(b, at, accumulator.getType(), x);
    return isa<FloatType>(x.getType())
               ? arith::ExtFOp::create(b, at, accumulator.getType(), x, contractFlag(b)).getResult()
               : x;
  };
  if (!isa<FloatType>(accumulator.getType()))
    return {arith::AddIOp::create(b, at, accumulator, arith::MulIOp::create(b, at, widen(in[0]), widen(in[1])))};
  Value product = arith::MulFOp::create(b, at, widen(in[0]), widen(in[1]), contractFlag(b));
  return {arith::AddFOp::create(b, at, accumulator, product, reductionFlags(b))};
}

namespace {

/// Loop positions of the general convolution; -1 for loops that are not needed.
struct ConvolutionLoops {
  int64_t n = -1, g = -1, f = -1, c = -1, firstOut = -1, firstKernel = -1;
  unsigned count = 0;
};

/// Returns o * stride + k * dilation for each spatial dimension.
SmallVector<AffineExpr> windowExprs(Convolution &conv, const ConvolutionLoops &loops, ArrayRef<int64_t> stride) {
  SmallVector<AffineExpr> exprs;
  for (unsigned i = 0; i < conv.spatial; ++i)
    exprs.push_back(conv.l.dim(loops.firstOut + i) * stride[i] + conv.l.dim(loops.firstKernel + i) * conv.dilation[i]);
  return exprs;
}

/// Returns the map of an activation: n, the channels (the loops g and `channel`, if they exist), and the expressions
/// `where` for the spatial dimensions.
AffineMap activationMap(Convolution &conv, const ConvolutionLoops &loops, int64_t channel, ArrayRef<AffineExpr> where) {
  SmallVector<AffineExpr> channels, results{conv.l.dim(loops.n)};
  for (int64_t loop : {loops.g, channel})
    if (loop >= 0)
      channels.push_back(conv.l.dim(loop));
  if (!conv.channelsLast)
    llvm::append_range(results, channels);
  llvm::append_range(results, where);
  if (conv.channelsLast)
    llvm::append_range(results, channels);
  return conv.l.map(loops.count, results);
}

/// Lowers a convolution to a linalg.generic. The input is already padded, and has zeros between its elements if the
/// convolution is transposed. `weight` has the graph's layout. If `swapped`, its channels and filters are exchanged.
Value generalConvolution(Convolution &conv, Value input, SmallVector<AffineExpr> inputSizes, Value weight,
                         SmallVector<AffineExpr> weightSizes, ArrayRef<AffineExpr> outSizes, ArrayRef<int64_t> stride,
                         bool swapped, Type accumulator) {
  Lowering &l = conv.l;
  unsigned d = conv.spatial;
  AffineExpr outChannels = outSizes[conv.channelDim()], inChannels = inputSizes[conv.channelDim()];
  bool depthwise = conv.groups > 1 && outChannels == l.constant(conv.groups) && inChannels == l.constant(conv.groups);
  ConvolutionLoops loops;
  loops.n = loops.count++;
  auto channelLoops = [&] {
    if (conv.groups > 1)
      loops.g = loops.count++;
    if (!depthwise)
      loops.f = loops.count++;
  };
  if (!conv.channelsLast)
    channelLoops();
  loops.firstOut = loops.count;
  loops.count += d;
  if (conv.channelsLast)
    channelLoops();
  unsigned parallel = loops.count;
  loops.firstKernel = loops.count;
  loops.count += d;
  if (!depthwise)
    loops.c = loops.count++;
  SmallVector<utils::IteratorType> iterators(parallel, utils::IteratorType::parallel);
  iterators.append(loops.count - parallel, utils::IteratorType::reduction);

  // The weight is k... c [g] f or, if swapped, k... [g] c f in channels-last; otherwise [g] f c k... or [g] c f k...
  SmallVector<AffineExpr> kernel, out, w;
  for (unsigned i = 0; i < d; ++i) {
    kernel.push_back(l.dim(loops.firstKernel + i));
    out.push_back(l.dim(loops.firstOut + i));
  }
  AffineExpr c = depthwise ? l.constant(0) : l.dim(loops.c);
  SmallVector<AffineExpr> group;
  if (loops.g >= 0)
    group.push_back(l.dim(loops.g));
  if (conv.channelsLast) {
    llvm::append_range(w, kernel);
    if (swapped)
      llvm::append_range(w, group);
    w.push_back(c);
    if (!swapped)
      llvm::append_range(w, group);
    if (!depthwise)
      w.push_back(l.dim(loops.f));
    if (conv.groups > 1 && !depthwise)
      weight = conv.splitGroups(weight, weightSizes, swapped ? d : d + 1);
  } else {
    llvm::append_range(w, group);
    if (depthwise)
      w.push_back(c);
    else if (swapped)
      w.append({c, l.dim(loops.f)});
    else
      w.append({l.dim(loops.f), c});
    llvm::append_range(w, kernel);
    if (conv.groups > 1 && !depthwise)
      weight = conv.splitGroups(weight, weightSizes, 0);
  }
  SmallVector<AffineExpr> resultSizes(outSizes);
  if (conv.groups > 1 && !depthwise) {
    input = conv.splitGroups(input, inputSizes, conv.channelDim());
    resultSizes[conv.channelDim()] = outChannels.floorDiv(conv.groups);
    resultSizes.insert(resultSizes.begin() + conv.channelDim(), l.constant(conv.groups));
  }
  Value init = l.filled(resultSizes, conv.zero(accumulator));
  Read inputRead = Lowering::of(input, activationMap(conv, loops, loops.c, windowExprs(conv, loops, stride)));
  Read weightRead = Lowering::of(weight, l.map(loops.count, w));
  Value result = l.generic({inputRead, weightRead}, init, activationMap(conv, loops, loops.f, out), iterators,
                           [&](OpBuilder &b, Location at, ValueRange in, ValueRange acc) {
                             return multiplyAdd(b, at, in, acc[0]);
                           })
                     .getResult(0);
  return l.reshaped(result, resultSizes, outSizes);
}

LogicalResult lowerForward(Lowering &l, graph::ConvolutionOp op) {
  RankedTensorType type = convolvedType(op.getResult());
  Convolution conv = Convolution::of(l, op);
  SmallVector<AffineExpr> sizes = graph::sizesOf(type), inputSizes = graph::sizesOf(convolvedType(op.getInput())),
                          weightSizes = graph::sizesOf(convolvedType(op.getWeight()));
  Type accumulator = accumulatorType(type.getElementType());
  SmallVector<int64_t> stride(conv.stride);
  Value input, weight;
  if (Value phases = transposedInPhases(conv, op)) {
    l.set(op, l.rounded(phases, sizes, type.getElementType()));
    return success();
  }
  if (conv.inGroups(op)) {
    Value result = op.getTransposed() ? inGroupsTransposed(conv, op, accumulator)
                                      : conv.groupedConvolution(l.tensor(conv.source),
                                                                groupedWeight(conv, op.getWeight(), accumulator), sizes,
                                                                conv.stride, conv.dilation, conv.before, accumulator);
    l.set(op, l.rounded(result, sizes, type.getElementType()));
    return success();
  }
  if (op.getTransposed()) {
    input = spreadInput(conv, op, inputSizes, weightSizes);
    weight = flippedWeight(conv, op.getWeight());
    stride.assign(conv.spatial, 1);
  } else {
    input = conv.padSource();
    weight = l.tensor(op.getWeight());
    for (unsigned i = 0; i < conv.spatial; ++i)
      inputSizes[conv.firstSpatialDim() + i] = inputSizes[conv.firstSpatialDim() + i] + 2 * conv.padding[i];
  }
  Value result;
  if (conv.inPlane()) {
    result = conv.planeConvolution(input, weight, sizes, stride, conv.dilation, accumulator);
  } else {
    result = generalConvolution(conv, input, inputSizes, weight, weightSizes, sizes, stride, op.getTransposed(),
                                accumulator);
  }
  l.set(op, l.rounded(result, sizes, type.getElementType()));
  return success();
}

} // namespace

LogicalResult lowerConvolution(Lowering &l, Operation *op) {
  if (auto forward = dyn_cast<graph::ConvolutionOp>(op))
    return lowerForward(l, forward);
  return lowerWeightGradient(l, cast<graph::ConvolutionWeightGradOp>(op));
}

} // namespace tilewright::structured
