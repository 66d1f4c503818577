//===- SplitDepth.cpp - --tw-split-depth: 3-D convolutions as 2-D ones ----------===//
//
// Before (channels-last, as --tw-propagate-layout leaves it):
//   %1 = tw.convolution %x, %w {tw.channels_last, padding = [1, 1, 1], ...}
//          : (tensor<1x8x28x28x64xf32>, tensor<3x3x3x64x32xf32>) -> tensor<1x8x28x28x32xf32>
// After:
//   %p = tw.pad %x {low = [0, 1, 0, 0, 0], high = [0, 1, 0, 0, 0]} : -> tensor<1x10x28x28x64xf32>
//   %d = tw.concat (tw.slice %p [0, t, 0, 0, 0] for t = 0, 1, 2) {dim = 4} : -> tensor<1x8x28x28x192xf32>
//   %v = tw.reshape (tw.permute (tw.reshape %w : -> tensor<3x9x2048xf32>) {1, 0, 2}) : -> tensor<3x3x192x32xf32>
//   %r = tw.convolution (tw.reshape %d : -> tensor<8x28x28x192xf32>), %v {tw.channels_last, padding = [1, 1], ...}
//   %1 = tw.reshape %r : -> tensor<1x8x28x28x32xf32>
//
// Each plane of the result reads several planes of the input. These planes are concatenated as channels of one image,
// and the product sums over them, so that all optimizations of 2-D convolutions apply. A transposed convolution (the
// gradient of the input) reads the planes in the opposite order. With a stride s along the depth, the transposed
// convolution is divided into s phases. Phase r computes the planes of the result whose index modulo s is r. It is a
// transposed convolution with stride 1 along the depth and only the taps that contribute to these planes. The results
// of the phases are then interleaved. The gradient of the weight is a sum over the planes of the input. For each plane
// of the input, the gradients of the result's planes that read this plane are concatenated as filters. With a stride
// along the depth, the gradient is a sum over the planes of the result instead.
//
// The pass does not split depthwise convolutions (their loops are over channels), windows of more than 16 planes,
// transposed convolutions with both a stride and a dilation along the depth, convolutions of a symbolic depth that need
// a padding of symbolic size, or convolutions with a symbolic depth and a symbolic batch (their product is not a size).
//
// Test: test/Graph/split-depth.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tilewright {
#define GEN_PASS_DEF_SPLITDEPTH
#include "tilewright/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace tilewright::graph {
namespace {

using Sizes = SmallVector<AffineExpr>;

Sizes sizesOfValue(Value value) { return sizesOf(cast<RankedTensorType>(value.getType())); }

/// For plane o of the result, tap t reads plane firsts[t] + o * step of the input. The result has `count` planes.
struct Planes {
  SmallVector<int64_t> firsts;
  int64_t step;
  AffineExpr count;
};

class DepthSplitter {
public:
  explicit DepthSplitter(Operation *op) : op(op), builder(op), loc(op->getLoc()) {}

  void run() {
    Value made = TypeSwitch<Operation *, Value>(op)
                     .Case<ConvolutionOp>([&](ConvolutionOp op) { return split(op); })
                     .Case<ConvolutionWeightGradOp>([&](ConvolutionWeightGradOp op) { return split(op); });
    if (!made)
      return;
    op->getResult(0).replaceAllUsesWith(made);
    op->erase();
  }

private:
  /// The maximum number of taps along the depth. The concatenated planes take up to this many times the memory of the
  /// input.
  static constexpr int64_t mostTaps = 16;

  Value split(ConvolutionOp op) {
    groups = op.getGroups();
    const Sizes result = sizesOfValue(op.getResult());
    auto taps = dyn_cast<AffineConstantExpr>(sizesOfValue(op.getWeight())[0]);
    if (!taps || taps.getValue() > mostTaps || isDepthwise(op.getInput(), op.getResult()))
      return {};
    const int64_t stride = op.getStride()[0], dilation = op.getDilation()[0], padding = op.getPadding()[0];
    if (!op.getTransposed())
      return inPlanes(op, forward(taps.getValue(), dilation, padding, stride, result[1]), op.getWeight());
    if (stride == 1)
      return inPlanes(op, backward(taps.getValue(), dilation, padding, result[1]), op.getWeight());
    return dilation == 1 ? inPhases(op, taps.getValue(), stride, padding) : Value();
  }

  Value split(ConvolutionWeightGradOp op) {
    groups = op.getGroups();
    const Sizes input = sizesOfValue(op.getInput()), grad = sizesOfValue(op.getGrad()),
                result = sizesOfValue(op.getResult());
    auto taps = dyn_cast<AffineConstantExpr>(result[0]);
    if (!taps || taps.getValue() > mostTaps || isDepthwise(op.getInput(), op.getGrad()))
      return {};
    const int64_t count = taps.getValue(), stride = op.getStride()[0], dilation = op.getDilation()[0],
                  padding = op.getPadding()[0];
    const bool ofInput = stride == 1; // sum over the planes of the input, not of the result
    Value images =
        ofInput ? planesOf(op.getInput()) : windows(op.getInput(), forward(count, dilation, padding, stride, grad[1]));
    Value grads =
        ofInput ? windows(op.getGrad(), backward(count, dilation, padding, input[1])) : planesOf(op.getGrad());
    if (!images || !grads)
      return {};
    // The sizes are height, width, channels of a group, and filters. The depth taps are merged with the channels or the
    // filters.
    Sizes flat{result[1], result[2], ofInput ? result[3] : result[3] * count, ofInput ? result[4] * count : result[4]};
    auto plane = ConvolutionWeightGradOp::create(builder, loc, typeOf(flat, op.getResult()), images, grads,
                                                 inPlane(op.getStride()), inPlane(op.getPadding()),
                                                 inPlane(op.getDilation()), groups);
    plane->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    Sizes parts{result[1], result[2]};
    SmallVector<int64_t> order{2, 0, 1, 3, 4}; // the permutation of `parts` to the order of the result
    if (ofInput && groups > 1) {
      parts.append({result[3], constant(groups), constant(count), result[4].floorDiv(groups)});
      order = {4, 0, 1, 2, 3, 5};
    } else if (ofInput) {
      parts.append({result[3], constant(count), result[4]});
      order = {3, 0, 1, 2, 4};
    } else {
      parts.append({constant(count), result[3], result[4]});
    }
    Value gradient = reshaped(plane, parts);
    if (int64_t(order.size()) == int64_t(result.size())) // permute directly to the user's order
      for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
        if (auto permute = dyn_cast<PermuteOp>(user)) {
          permute.getResult().replaceAllUsesWith(permuted(
              gradient, llvm::map_to_vector(permute.getPermutation(), [&](int64_t dim) { return order[dim]; })));
          permute.erase();
        }
    return reshaped(permuted(gradient, order), result);
  }

  /// Returns the entries of an attribute for the height and the width.
  static ArrayRef<int64_t> inPlane(ArrayRef<int64_t> values) { return values.drop_front(); }

  /// Returns the planes of the input that each plane of a convolution's result reads.
  static Planes forward(int64_t taps, int64_t dilation, int64_t padding, int64_t stride, AffineExpr count) {
    Planes planes{{}, stride, count};
    for (int64_t t = 0; t < taps; ++t)
      planes.firsts.push_back(t * dilation - padding);
    return planes;
  }
  /// Returns, for a convolution with stride 1, the planes of the result that read each plane of the input.
  static Planes backward(int64_t taps, int64_t dilation, int64_t padding, AffineExpr count) {
    Planes planes{{}, 1, count};
    for (int64_t t = 0; t < taps; ++t)
      planes.firsts.push_back(padding - t * dilation);
    return planes;
  }

  bool isDepthwise(Value input, Value result) {
    return groups > 1 && sizesOfValue(input).back() == constant(groups) &&
           sizesOfValue(result).back() == constant(groups);
  }

  AffineExpr constant(int64_t value) { return getAffineConstantExpr(value, op->getContext()); }
  static Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }
  /// Returns a type with the element type of `like`.
  static RankedTensorType typeOf(ArrayRef<AffineExpr> sizes, Value like) {
    return tensorWithSizes(sizes, elementOf(like));
  }
  Value reshaped(Value value, ArrayRef<AffineExpr> sizes) {
    RankedTensorType type = typeOf(sizes, value);
    return value.getType() == type ? value : ReshapeOp::create(builder, loc, type, value).getResult();
  }
  Value sliced(Value value, unsigned dim, int64_t first, int64_t step, AffineExpr count) {
    Sizes sizes = sizesOfValue(value), offsets(sizes.size(), constant(0));
    if (first == 0 && step == 1 && sizes[dim] == count)
      return value;
    SmallVector<int64_t> steps(sizes.size(), 1);
    offsets[dim] = constant(first);
    steps[dim] = step;
    sizes[dim] = count;
    return SliceOp::create(builder, loc, typeOf(sizes, value), value, AffineMap::get(0, 0, offsets, op->getContext()),
                           steps);
  }
  Value joined(ArrayRef<Value> values, unsigned dim) {
    if (values.size() == 1)
      return values.front();
    Sizes sizes = sizesOfValue(values.front());
    sizes[dim] = sizes[dim] * int64_t(values.size());
    return ConcatOp::create(builder, loc, typeOf(sizes, values.front()), values, dim);
  }

  /// Permutes `value`: dimension i of the result is dimension wanted[i] of `value`. A dimension of constant size that
  /// follows the same dimension before and after the permutation is first merged with it.
  Value permuted(Value value, ArrayRef<int64_t> wanted) {
    SmallVector<int64_t> order(wanted);
    if (auto inner = value.getDefiningOp<PermuteOp>()) {
      for (int64_t &dim : order)
        dim = inner.getPermutation()[dim];
      value = inner.getInput();
    }
    const Sizes from = sizesOfValue(value);
    SmallVector<SmallVector<int64_t>> runs; // dimensions of the value, in the order of the result
    for (int64_t dim : order)
      if (!runs.empty() && runs.back().back() + 1 == dim && isa<AffineConstantExpr>(from[dim]))
        runs.back().push_back(dim);
      else
        runs.push_back({dim});
    SmallVector<int64_t> sorted = llvm::to_vector(llvm::seq<int64_t>(runs.size())), merged(runs.size());
    llvm::sort(sorted, [&](int64_t x, int64_t y) { return runs[x].front() < runs[y].front(); });
    Sizes flat(runs.size()), flatPermuted(runs.size()), to;
    for (auto [at, run] : llvm::enumerate(sorted)) {
      merged[run] = at;
      flat[at] = constant(1);
      for (int64_t dim : runs[run])
        flat[at] = flat[at] * from[dim];
      flatPermuted[run] = flat[at];
    }
    for (int64_t dim : order)
      to.push_back(from[dim]);
    return reshaped(PermuteOp::create(builder, loc, typeOf(flatPermuted, value), reshaped(value, flat),
                                      builder.getDenseI64ArrayAttr(merged)),
                    to);
  }

  /// Returns batch x depth x height x width x channels as images. Returns null if batch x depth cannot be expressed as
  /// a size.
  Value planesOf(Value value) {
    Sizes sizes = sizesOfValue(value);
    if (!isa<AffineConstantExpr>(sizes[0]) && !isa<AffineConstantExpr>(sizes[1]))
      return {};
    return reshaped(value, {sizes[0] * sizes[1], sizes[2], sizes[3], sizes[4]});
  }

  /// Returns `value`, padded with planes of zeros so that no tap reads outside of the result. Sets `before` to the
  /// number of planes before `value`. Returns null if the number of planes after `value` is not constant.
  Value surrounded(Value value, const Planes &planes, int64_t &before) {
    Sizes sizes = sizesOfValue(value);
    const int64_t least = *llvm::min_element(planes.firsts), most = *llvm::max_element(planes.firsts);
    auto after =
        dyn_cast<AffineConstantExpr>(canonicalSize((planes.count - 1) * planes.step + constant(most) + 1 - sizes[1]));
    if (!after)
      return {};
    SmallVector<int64_t> low(sizes.size(), 0), high(low);
    before = low[1] = std::max<int64_t>(0, -least);
    high[1] = std::max<int64_t>(0, after.getValue());
    if (low[1] == 0 && high[1] == 0)
      return value;
    sizes[1] = sizes[1] + (low[1] + high[1]);
    return PadOp::create(builder, loc, typeOf(sizes, value), value, low, high,
                         cast<TypedAttr>(builder.getZeroAttr(elementOf(value))));
  }

  /// Returns one 2-D image per plane of the result: the planes of `value` that the taps of this plane read,
  /// concatenated along the channels. The channels are ordered by group, and within a group by tap. Returns null if
  /// surrounded() or planesOf() returns null.
  Value windows(Value value, const Planes &planes) {
    int64_t before = 0;
    Value whole = surrounded(value, planes, before);
    if (!whole)
      return {};
    SmallVector<Value> taps;
    for (int64_t first : planes.firsts)
      taps.push_back(sliced(whole, 1, first + before, planes.step, planes.count));
    Sizes sizes = sizesOfValue(taps.front()), all(sizes);
    all[4] = sizes[4] * int64_t(taps.size());
    const bool regroup = groups > 1 && taps.size() > 1;
    if (regroup) {
      Sizes split(sizes);
      split.back() = constant(groups);
      split.push_back(sizes.back().floorDiv(groups));
      for (Value &tap : taps)
        tap = reshaped(tap, split);
    }
    return planesOf(reshaped(joined(taps, regroup ? 5 : 4), all));
  }

  /// Returns `taps`, the weight of a 3-D convolution, as the weight of a 2-D convolution whose input is a result of
  /// windows() with the same number of taps.
  Value flatWeight(ConvolutionOp op, Value taps) {
    Sizes sizes = sizesOfValue(taps); // depth, height, width, channels of a group (transposed: of all), filters
    Sizes flat{sizes[1], sizes[2], sizes[3] * sizes[0], sizes[4]};
    if (sizes[0] == constant(1))
      return reshaped(taps, flat);
    if (!op.getTransposed() || groups == 1)
      return reshaped(permuted(taps, {1, 2, 0, 3, 4}), flat);
    Sizes split{sizes[0], sizes[1], sizes[2], constant(groups), sizes[3].floorDiv(groups), sizes[4]};
    return reshaped(permuted(reshaped(taps, split), {1, 2, 3, 0, 4, 5}), flat);
  }

  /// Returns the 2-D convolution of the planes with the taps of `weight`, in the shape batch x count x height x width x
  /// filters. Returns null if windows() returns null.
  Value inPlanes(ConvolutionOp op, const Planes &planes, Value weight) {
    Value images = windows(op.getInput(), planes);
    if (!images)
      return {};
    const Sizes result = sizesOfValue(op.getResult());
    Sizes sizes{sizesOfValue(images)[0], result[2], result[3], result[4]};
    auto plane = ConvolutionOp::create(builder, loc, typeOf(sizes, op.getResult()), images, flatWeight(op, weight),
                                       inPlane(op.getStride()), inPlane(op.getPadding()), inPlane(op.getDilation()),
                                       op.getTransposed(), inPlane(op.getOutputPadding()), groups);
    plane->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    return reshaped(plane, {result[0], planes.count, result[2], result[3], result[4]});
  }

  /// Lowers a transposed convolution with a stride and without a dilation along the depth. Plane stride * m + remainder
  /// of the result reads the planes m + ahead, m + ahead - 1, ... of the input, by the taps phase, phase + stride, ....
  Value inPhases(ConvolutionOp op, int64_t taps, int64_t stride, int64_t padding) {
    const Sizes result = sizesOfValue(op.getResult());
    const AffineExpr count = canonicalSize(result[1].ceilDiv(stride));
    SmallVector<Value> phases;
    for (int64_t remainder = 0; remainder < stride; ++remainder) {
      const int64_t phase = llvm::mod(remainder + padding, stride), ahead = (remainder + padding - phase) / stride;
      const int64_t reached = std::max<int64_t>(0, llvm::divideCeilSigned(taps - phase, stride));
      Sizes sizes{result[0], count, constant(1), result[2], result[3], result[4]};
      Value part;
      if (reached == 0) {
        Type element = elementOf(op.getResult());
        auto zero = cast<TypedAttr>(builder.getZeroAttr(element));
        auto scalarType = RankedTensorType::get({}, element);
        Value scalar =
            ConstantOp::create(builder, loc, scalarType, DenseElementsAttr::get(scalarType, ArrayRef<Attribute>{zero}));
        part = BroadcastOp::create(builder, loc, typeOf(sizes, scalar), scalar);
      } else {
        part = inPlanes(op, backward(reached, 1, ahead, count),
                        sliced(op.getWeight(), 0, phase, stride, constant(reached)));
        if (!part)
          return {};
        part = reshaped(part, sizes);
      }
      phases.push_back(part);
    }
    Value all = reshaped(joined(phases, 2), {result[0], count * stride, result[2], result[3], result[4]});
    return sliced(all, 1, 0, 1, result[1]);
  }

  Operation *op;
  OpBuilder builder;
  Location loc;
  int64_t groups = 1;
};

struct SplitDepth : impl::SplitDepthBase<SplitDepth> {
  void runOnOperation() override {
    if (failed(requireForm(getOperation(), IRForm::Graph, getArgument())))
      return signalPassFailure();
    SmallVector<Operation *> found;
    getOperation().walk([&](Operation *op) {
      if (isa<ConvolutionOp, ConvolutionWeightGradOp>(op) && op->hasAttr(channelsLastAttrName) &&
          cast<RankedTensorType>(op->getOperand(0).getType()).getRank() == 5)
        found.push_back(op);
    });
    for (Operation *op : found)
      DepthSplitter(op).run();
  }
};

} // namespace
} // namespace tilewright::graph
