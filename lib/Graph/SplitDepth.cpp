//===- SplitDepth.cpp - --tw-split-depth: 3-d convolutions in planes ------------===//
//
// Before (channels-last, as --tw-propagate-layout leaves it):
//   %1 = tw.convolution %x, %w {tw.channels_last, padding = [1, 1, 1], ...}
//          : (tensor<1x8x28x28x64xf32>, tensor<3x3x3x64x32xf32>) -> tensor<1x8x28x28x32xf32>
// After:
//   %p = tw.pad %x {low = [0, 1, 0, 0, 0], high = [0, 1, 0, 0, 0]} : -> tensor<1x10x28x28x64xf32>
//   %d = tw.concat (tw.slice %p [0, t, 0, 0, 0] for t = 0, 1, 2) {dim = 4} : -> tensor<1x8x28x28x192xf32>
//   %v = tw.reshape (tw.permute %w {1, 2, 0, 3, 4}) : -> tensor<3x3x192x32xf32>
//   %r = tw.convolution (tw.reshape %d : -> tensor<8x28x28x192xf32>), %v {tw.channels_last, padding = [1, 1], ...}
//   %1 = tw.reshape %r : -> tensor<1x8x28x28x32xf32>
//
// The planes that a result's plane meets lie beside each other as channels of one image, and the product sums over
// them, so that everything made for convolutions in a plane serves. A transposed convolution (the gradient by the
// input) reads the planes in the other order. With a stride along the depth, planes of the result whose depths leave
// the same remainder are one transposed convolution without that stride, by the taps that reach them, and these are
// interleaved.
//
// Not split: depthwise convolutions (their loops run over channels), a symbolic depth whose relation to the result's
// is no constant, and symbolic depth and batch together (their product is no size).
//
// Test: test/Graph/split-depth.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"

namespace tilewright {
#define GEN_PASS_DEF_SPLITDEPTH
#include "tilewright/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace tilewright::graph {
namespace {

using Sizes = SmallVector<AffineExpr>;

Sizes sizesOfValue(Value value) { return sizesOf(cast<RankedTensorType>(value.getType())); }

/// Of the result's plane number o, tap t meets the plane firsts[t] + o * step of the input; there are `count` planes.
struct Planes {
  SmallVector<int64_t> firsts;
  int64_t step;
  AffineExpr count;
};

class DepthSplitter {
public:
  explicit DepthSplitter(ConvolutionOp op)
      : op(op), builder(op), loc(op.getLoc()), groups(op.getGroups()), input(sizesOfValue(op.getInput())),
        weight(sizesOfValue(op.getWeight())), result(sizesOfValue(op.getResult())) {}

  void run() {
    auto taps = dyn_cast<AffineConstantExpr>(weight[0]);
    if (!taps || isDepthwise())
      return;
    const int64_t stride = op.getStride()[0], dilation = op.getDilation()[0], padding = op.getPadding()[0];
    Value made;
    if (!op.getTransposed()) {
      Planes planes{{}, stride, result[1]};
      for (int64_t t = 0; t < taps.getValue(); ++t)
        planes.firsts.push_back(t * dilation - padding);
      made = inPlanes(planes, op.getWeight());
    } else if (stride == 1) {
      Planes planes{{}, 1, result[1]};
      for (int64_t t = 0; t < taps.getValue(); ++t)
        planes.firsts.push_back(padding - t * dilation);
      made = inPlanes(planes, op.getWeight());
    } else if (dilation == 1) {
      made = inPhases(taps.getValue(), stride, padding);
    }
    if (!made)
      return;
    op.getResult().replaceAllUsesWith(made);
    op.erase();
  }

private:
  bool isDepthwise() {
    AffineExpr all = getAffineConstantExpr(groups, op.getContext());
    return groups > 1 && input.back() == all && result.back() == all;
  }

  AffineExpr constant(int64_t value) { return getAffineConstantExpr(value, op.getContext()); }
  Type element() { return cast<RankedTensorType>(op.getInput().getType()).getElementType(); }
  RankedTensorType typeOf(ArrayRef<AffineExpr> sizes) { return tensorWithSizes(sizes, element()); }
  Value reshaped(Value value, ArrayRef<AffineExpr> sizes) {
    return value.getType() == typeOf(sizes) ? value : ReshapeOp::create(builder, loc, typeOf(sizes), value).getResult();
  }
  Value sliced(Value value, unsigned dim, int64_t first, int64_t step, AffineExpr count) {
    Sizes sizes = sizesOfValue(value), offsets(sizes.size(), constant(0));
    if (first == 0 && step == 1 && sizes[dim] == count)
      return value;
    SmallVector<int64_t> steps(sizes.size(), 1);
    offsets[dim] = constant(first);
    steps[dim] = step;
    sizes[dim] = count;
    return SliceOp::create(builder, loc, typeOf(sizes), value, AffineMap::get(0, 0, offsets, op.getContext()), steps);
  }
  Value joined(ArrayRef<Value> values, unsigned dim) {
    if (values.size() == 1)
      return values.front();
    Sizes sizes = sizesOfValue(values.front());
    sizes[dim] = sizes[dim] * int64_t(values.size());
    return ConcatOp::create(builder, loc, typeOf(sizes), values, dim);
  }

  /// batch x depth as one size; null where no size says it.
  AffineExpr images(AffineExpr depth) {
    if (!isa<AffineConstantExpr>(input[0]) && !isa<AffineConstantExpr>(depth))
      return {};
    return input[0] * depth;
  }

  /// The input with so many planes of zeros around it that all taps read inside; null where that is not known.
  Value surrounded(const Planes &planes, int64_t &before) {
    const int64_t least = *llvm::min_element(planes.firsts), most = *llvm::max_element(planes.firsts);
    auto behind =
        dyn_cast<AffineConstantExpr>(canonicalSize((planes.count - 1) * planes.step + constant(most) + 1 - input[1]));
    if (!behind)
      return {};
    SmallVector<int64_t> low(input.size(), 0), high(low);
    before = low[1] = std::max<int64_t>(0, -least);
    high[1] = std::max<int64_t>(0, behind.getValue());
    if (low[1] == 0 && high[1] == 0)
      return op.getInput();
    Sizes sizes(input);
    sizes[1] = sizes[1] + (low[1] + high[1]);
    return PadOp::create(builder, loc, typeOf(sizes), op.getInput(), low, high,
                         cast<TypedAttr>(builder.getZeroAttr(element())));
  }

  /// The planes as images whose channels are those of all taps, group by group.
  Value windows(const Planes &planes) {
    int64_t before = 0;
    AffineExpr all = images(planes.count);
    Value whole = all ? surrounded(planes, before) : Value();
    if (!whole)
      return {};
    SmallVector<Value> taps;
    for (int64_t first : planes.firsts)
      taps.push_back(sliced(whole, 1, first + before, planes.step, planes.count));
    Sizes sizes = sizesOfValue(taps.front());
    const bool regroup = groups > 1 && taps.size() > 1;
    if (regroup) {
      Sizes split(sizes);
      split.back() = constant(groups);
      split.push_back(sizes.back().floorDiv(groups));
      for (Value &tap : taps)
        tap = reshaped(tap, split);
    }
    Value both = joined(taps, regroup ? 5 : 4);
    return reshaped(both, {all, sizes[2], sizes[3], sizes[4] * int64_t(taps.size())});
  }

  /// The weight of a convolution in a plane by windows() of as many taps.
  Value flatWeight(Value taps) {
    Sizes sizes = sizesOfValue(taps); // depth, height, width, channels of a group (of all, transposed), filters
    Sizes flat{sizes[1], sizes[2], sizes[3] * sizes[0], sizes[4]};
    if (sizes[0] == constant(1))
      return reshaped(taps, flat);
    SmallVector<int64_t> order{1, 2, 0, 3, 4};
    if (op.getTransposed() && groups > 1) {
      sizes = {sizes[0], sizes[1], sizes[2], constant(groups), sizes[3].floorDiv(groups), sizes[4]};
      taps = reshaped(taps, sizes);
      order = {1, 2, 3, 0, 4, 5};
    }
    Sizes turned;
    for (int64_t from : order)
      turned.push_back(sizes[from]);
    return reshaped(PermuteOp::create(builder, loc, typeOf(turned), taps, builder.getDenseI64ArrayAttr(order)), flat);
  }

  /// The planes' convolution with the taps of `weight`, as batch x count x height x width x filters; null where
  /// windows() are none.
  Value inPlanes(const Planes &planes, Value weight) {
    Value images = windows(planes);
    if (!images)
      return {};
    Sizes sizes{sizesOfValue(images)[0], result[2], result[3], result[4]};
    auto rest = [](ArrayRef<int64_t> values) { return values.drop_front(); };
    auto plane = ConvolutionOp::create(builder, loc, typeOf(sizes), images, flatWeight(weight), rest(op.getStride()),
                                       rest(op.getPadding()), rest(op.getDilation()), op.getTransposed(),
                                       rest(op.getOutputPadding()), groups);
    plane->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    return reshaped(plane, {result[0], planes.count, result[2], result[3], result[4]});
  }

  /// A transposed convolution with a stride along the depth. Plane stride * m + rest of the result meets, by the taps
  /// phase, phase + stride, ..., the planes m + ahead, m + ahead - 1, ... of the input.
  Value inPhases(int64_t taps, int64_t stride, int64_t padding) {
    const AffineExpr count = canonicalSize(result[1].ceilDiv(stride));
    SmallVector<Value> phases;
    for (int64_t rest = 0; rest < stride; ++rest) {
      const int64_t phase = llvm::mod(rest + padding, stride), ahead = (rest + padding - phase) / stride;
      const int64_t reached = std::max<int64_t>(0, llvm::divideCeil(taps - phase, stride));
      Sizes sizes{result[0], count, constant(1), result[2], result[3], result[4]};
      Value part;
      if (reached == 0) {
        auto zero = cast<TypedAttr>(builder.getZeroAttr(element()));
        auto scalarType = RankedTensorType::get({}, element());
        Value scalar =
            ConstantOp::create(builder, loc, scalarType, DenseElementsAttr::get(scalarType, ArrayRef<Attribute>{zero}));
        part = BroadcastOp::create(builder, loc, typeOf(sizes), scalar);
      } else {
        Planes planes{{}, 1, count};
        for (int64_t j = 0; j < reached; ++j)
          planes.firsts.push_back(ahead - j);
        part = inPlanes(planes, sliced(op.getWeight(), 0, phase, stride, constant(reached)));
        if (!part)
          return {};
        part = reshaped(part, sizes);
      }
      phases.push_back(part);
    }
    Value all = reshaped(joined(phases, 2), {result[0], count * stride, result[2], result[3], result[4]});
    return sliced(all, 1, 0, 1, result[1]);
  }

  ConvolutionOp op;
  OpBuilder builder;
  Location loc;
  int64_t groups;
  Sizes input, weight, result;
};

struct SplitDepth : impl::SplitDepthBase<SplitDepth> {
  void runOnOperation() override {
    if (failed(requireForm(getOperation(), IRForm::Graph, getArgument())))
      return signalPassFailure();
    SmallVector<ConvolutionOp> found;
    getOperation().walk([&](ConvolutionOp op) {
      if (op->hasAttr(channelsLastAttrName) && cast<RankedTensorType>(op.getInput().getType()).getRank() == 5)
        found.push_back(op);
    });
    for (ConvolutionOp op : found)
      DepthSplitter(op).run();
  }
};

} // namespace
} // namespace tilewright::graph
