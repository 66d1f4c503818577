//===- LowerWeightGradients.cpp - the gradient of a convolution's weight -------===//
//
// Before (channels-last, as --tw-propagate-layout leaves it):
//   %1 = tw.convolution_weight_grad %x, %g {tw.channels_last, padding = [1, 1], ...}
//          : (tensor<4x8x8x16xf32>, tensor<4x8x8x32xf32>) -> tensor<3x3x16x32xf32>
// After:
//   %p = linalg.generic {%x[n, oh + kh - 1, ow + kw - 1, c], or 0 outside} : tensor<4x8x8x3x3x16xf32>
//   %1 = linalg.contract ins(%p' : tensor<256x144xf32>, %g' : tensor<256x32xf32>) : tensor<144x32xf32>
//
// The elements of %p are the input elements that each tap of the window reads (patches). For a window of one pixel with
// stride 1 and without padding, %p is %x. If the patches of a batch would take more than `mostPatchBytes`, the batch is
// divided into groups of consecutive images, and the products of the groups are added. If an image has few channels, a
// line of a patch is a run of elements of a line of the image. Such a run is extended to a multiple of `runUnit`
// elements:
//
//   image of 3 channels, window of 7 x 7   ->  patches of 7 x 24: 21 elements for a line, and 3 that are not used
//
// The gradient of a depthwise convolution is not a product. It is the sum of the gradients of parts of each image
// (tw_tile.depthwise_gradient). If this op does not support the convolution, for example a channels-first or 3-D one,
// the gradient is a linalg.generic over the taps and channels.
//
// Test: test/Kernels/lower-weight-gradients.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Tile.h"
#include "lib/Kernels/LowerConvolutions.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tilewright/AttributeNames.h"

using namespace mlir;

namespace tilewright::structured {
namespace {

/// In patches of images with few channels, the length of a line is a multiple of this number of elements. Vectors of
/// the patches are then aligned.
constexpr int64_t runUnit = 8;

/// The maximum size in bytes of the patches of one product.
constexpr int64_t mostPatchBytes = int64_t(64) << 20;

AffineExpr productOf(Lowering &l, ArrayRef<AffineExpr> sizes) {
  AffineExpr product = l.constant(1);
  for (AffineExpr size : sizes)
    product = product * size;
  return product;
}

class WeightGradient {
public:
  WeightGradient(Lowering &l, graph::ConvolutionWeightGradOp op)
      : l(l), op(op), conv(Convolution::of(l, op)), element(convolvedType(op.getResult()).getElementType()),
        accumulator(accumulatorType(element)) {
    SmallVector<AffineExpr> weight = graph::sizesOf(convolvedType(op.getResult()));
    inputSizes = graph::sizesOf(convolvedType(conv.source));
    gradSizes = graph::sizesOf(convolvedType(op.getGrad()));
    unsigned d = conv.spatial;
    kernel = llvm::to_vector(ArrayRef(weight).slice(conv.channelsLast ? 0 : 2, d));
    out = llvm::to_vector(ArrayRef(gradSizes).slice(conv.firstSpatialDim(), d));
    channels = weight[conv.channelsLast ? d : 1];
    filters = weight[conv.channelsLast ? d + 1 : 0].floorDiv(conv.groups);
    patchTaps = kernel;
    patchTaps.push_back(channels);
    auto few = dyn_cast<AffineConstantExpr>(channels), width = dyn_cast<AffineConstantExpr>(kernel.back());
    if (!conv.channelsLast || conv.groups > 1 || d != 2 || !few || !width || isPixelwise() ||
        few.getValue() >= runUnit || few.getValue() < 1 || conv.dilation.back() != 1)
      return;
    patchTaps.pop_back();
    patchTaps.back() = l.constant(int64_t(llvm::alignTo(uint64_t(few.getValue() * width.getValue()), runUnit)));
  }

  void run() {
    bool depthwise = conv.groups > 1 && channels == l.constant(1) && filters == l.constant(1);
    if (depthwise)
      return setWeight(l.rounded(permutedGroups(isInPlane() ? sumOfParts() : reducedTaps()), partSizes(), element));
    Value input = l.tensor(conv.source), grad = toChannelsLast(op.getGrad());
    int64_t images = runOfImages();
    Value total;
    if (images == 0) {
      total = product(input, grad, inputSizes[0]);
    } else {
      int64_t all = cast<AffineConstantExpr>(inputSizes[0]).getValue();
      for (int64_t first = 0; first < all; first += images) {
        int64_t count = std::min(images, all - first);
        Value part = product(imagesOf(input, first, count), imagesOf(grad, first, count), l.constant(count));
        total = total ? sum(total, part) : part;
      }
    }
    setWeight(l.rounded(total, partSizes(), element));
  }

private:
  /// Returns the sizes of the product's result: [groups], kernel..., channels and filters of a group.
  SmallVector<AffineExpr> partSizes() {
    SmallVector<AffineExpr> sizes;
    if (conv.groups > 1)
      sizes.push_back(l.constant(conv.groups));
    llvm::append_range(sizes, kernel);
    sizes.append({channels, filters});
    return sizes;
  }

  /// Returns the number of images of one product, or 0 if one product has all images.
  int64_t runOfImages() {
    SmallVector<AffineExpr> one(out);
    llvm::append_range(one, patchTaps);
    one.push_back(l.constant(conv.groups));
    auto elements = dyn_cast<AffineConstantExpr>(productOf(l, one)),
         images = dyn_cast<AffineConstantExpr>(inputSizes[0]);
    if (!elements || !images || isPixelwise())
      return 0;
    int64_t bytes = elements.getValue() * convolvedType(op.getInput()).getElementTypeBitWidth() / 8;
    int64_t most = std::max<int64_t>(1, mostPatchBytes / std::max<int64_t>(bytes, 1));
    if (images.getValue() <= most)
      return 0;
    // The groups have similar sizes.
    return llvm::divideCeil(images.getValue(), llvm::divideCeil(images.getValue(), most));
  }

  Value imagesOf(Value tensor, int64_t first, int64_t count) {
    SmallVector<AffineExpr> sizes;
    for (int64_t size : convolvedType(tensor).getShape())
      sizes.push_back(l.constant(size));
    sizes[0] = l.constant(count);
    SmallVector<OpFoldResult> offsets(sizes.size(), l.builder.getIndexAttr(0));
    SmallVector<OpFoldResult> ones(sizes.size(), l.builder.getIndexAttr(1));
    offsets[0] = l.builder.getIndexAttr(first);
    return l.extractSlice(tensor, offsets, sizes, ones);
  }

  Value sum(Value x, Value y) {
    SmallVector<AffineExpr> sizes = partSizes();
    Read reads[] = {Lowering::of(x, l.identity(sizes.size())), Lowering::of(y, l.identity(sizes.size()))};
    return l.elementwise(sizes, accumulator, reads, [&](OpBuilder &b, Location at, ValueRange in, ValueRange) {
      return SmallVector<Value>{arith::AddFOp::create(b, at, in[0], in[1], contractFlag(b))};
    });
  }

  /// Returns the value as images x spatial... x channels.
  Value toChannelsLast(Value graphValue) {
    if (conv.channelsLast)
      return l.tensor(graphValue);
    SmallVector<AffineExpr> from = graph::sizesOf(convolvedType(graphValue)), sizes(from), at(from.size());
    std::rotate(sizes.begin() + 1, sizes.begin() + 2, sizes.end());
    for (unsigned i = 0; i < from.size(); ++i)
      at[i] = l.dim(i == 0 ? 0 : i == 1 ? from.size() - 1 : i - 1);
    return l.copied(sizes, storageType(convolvedType(graphValue).getElementType()),
                    Lowering::stored(l.read(graphValue, l.map(from.size(), at))));
  }

  /// Returns true if the window is one pixel, with stride 1 and without padding.
  bool isPixelwise() {
    return llvm::all_of(kernel, [&](AffineExpr size) { return size == l.constant(1); }) &&
           llvm::all_of(conv.stride, [](int64_t step) { return step == 1; }) &&
           llvm::all_of(conv.before, [](int64_t amount) { return amount == 0; }) &&
           llvm::all_of(conv.after, [](int64_t amount) { return amount == 0; });
  }

  /// Computes the gradient of the given images as patches^T x gradient, per group.
  Value product(Value input, Value grad, AffineExpr images) {
    bool grouped = conv.groups > 1;
    SmallVector<AffineExpr> pixels{images}, taps(patchTaps);
    llvm::append_range(pixels, out);
    SmallVector<AffineExpr> group(grouped ? 1 : 0, l.constant(conv.groups));
    auto joined = [](std::initializer_list<ArrayRef<AffineExpr>> parts) {
      SmallVector<AffineExpr> all;
      for (ArrayRef<AffineExpr> part : parts)
        llvm::append_range(all, part);
      return all;
    };
    SmallVector<AffineExpr> grads(pixels);
    grads.push_back(gradSizes[conv.channelDim()]);
    AffineExpr k = productOf(l, pixels), m = productOf(l, taps);
    Value lhs = inRuns() ? runs(input, images) : patches(input, images);
    lhs = l.reshaped(lhs, joined({pixels, group, taps}), joined({{k}, group, {m}}));
    Value rhs = l.reshaped(grad, grads, joined({{k}, group, {filters}}));
    NamedAttribute name(l.builder.getStringAttr(opAttrName), l.builder.getStringAttr(l.name));
    if (!grouped) {
      Value made = contracted(l, {lhs, true}, {rhs, true}, m, filters, k, accumulator, name);
      return inRuns() ? withoutFilling(made) : l.reshaped(made, {m, filters}, partSizes());
    }
    // The loops are g, m, n, and k.
    SmallVector<AffineExpr> sizes{group[0], m, filters};
    AffineMap maps[] = {l.map(4, {l.dim(3), l.dim(0), l.dim(1)}), l.map(4, {l.dim(3), l.dim(0), l.dim(2)}),
                        l.map(4, {l.dim(0), l.dim(1), l.dim(2)})};
    return l.reshaped(l.contract(lhs, rhs, maps, sizes, accumulator, name), sizes, partSizes());
  }

  /// Returns true if a line of a patch is a run of elements of a line of the image.
  bool inRuns() const { return patchTaps.size() == kernel.size(); }

  /// Returns the patches as runs: images x out... x lines of the window x elements of a run. Elements after the end of
  /// a window are other elements of the image, or zeros.
  Value runs(Value input, AffineExpr images) {
    SmallVector<AffineExpr> sizes{images}, from(inputSizes), merged;
    llvm::append_range(sizes, out);
    llvm::append_range(sizes, patchTaps);
    from[0] = images;
    merged = {from[0], from[1], from[2] * from[3]};
    Value lines = l.reshaped(input, from, merged);
    Type stored = convolvedType(input).getElementType();
    Value nothing = arith::ConstantOp::create(l.builder, l.loc, conv.zero(stored));
    const int64_t perPixel = cast<AffineConstantExpr>(channels).getValue();
    Value extents[] = {l.size(merged[1]), l.size(merged[2])};
    return l.elementwise(sizes, stored, {}, [&](OpBuilder &b, Location at, ValueRange, ValueRange) {
      auto index = [&](unsigned dim) { return linalg::IndexOp::create(b, at, dim).getResult(); };
      auto number = [&](int64_t value) { return arith::ConstantIndexOp::create(b, at, value).getResult(); };
      auto position = [&](Value window, int64_t stride, Value tap, int64_t dilation, int64_t padding) -> Value {
        Value first = arith::MulIOp::create(b, at, window, number(stride));
        first = arith::SubIOp::create(b, at, first, number(padding));
        return arith::AddIOp::create(b, at, first, arith::MulIOp::create(b, at, tap, number(dilation)));
      };
      SmallVector<Value> indices{index(0),
                                 position(index(1), conv.stride[0], index(3), conv.dilation[0], conv.before[0]),
                                 position(index(2), conv.stride[1] * perPixel, index(4), 1, conv.before[1] * perPixel)};
      return SmallVector<Value>{extractInside(b, at, lines, indices, {{1, extents[0]}, {2, extents[1]}}, nothing)};
    });
  }

  /// Returns the gradient of the taps of a window. `made` is the gradient of all elements of the window's runs.
  Value withoutFilling(Value made) {
    SmallVector<AffineExpr> filled(patchTaps), taken;
    filled.push_back(filters);
    taken = filled;
    taken[1] = kernel[1] * channels;
    Value inLines = l.reshaped(made, {productOf(l, patchTaps), filters}, filled);
    SmallVector<OpFoldResult> zeros(3, l.builder.getIndexAttr(0)), ones(3, l.builder.getIndexAttr(1));
    return l.reshaped(l.extractSlice(inLines, zeros, taken, ones), taken, partSizes());
  }

  /// Returns the input element that each tap reads, or zero outside of the image, in the shape images x out... x
  /// [groups] x kernel... x channels.
  Value patches(Value input, AffineExpr images) {
    bool grouped = conv.groups > 1;
    unsigned d = conv.spatial, firstTap = 1 + d + grouped;
    SmallVector<AffineExpr> sizes{images};
    llvm::append_range(sizes, out);
    if (grouped)
      sizes.push_back(l.constant(conv.groups));
    llvm::append_range(sizes, kernel);
    sizes.push_back(channels);
    if (isPixelwise() && conv.channelsLast) {
      SmallVector<AffineExpr> from(inputSizes);
      from[0] = images;
      return l.reshaped(input, from, sizes);
    }
    Type stored = convolvedType(input).getElementType();
    Value nothing = arith::ConstantOp::create(l.builder, l.loc, conv.zero(stored));
    SmallVector<Value> extents;
    for (unsigned i = 0; i < d; ++i)
      extents.push_back(l.size(inputSizes[conv.firstSpatialDim() + i]));
    Value perGroup = l.size(channels);
    return l.elementwise(sizes, stored, {}, [&](OpBuilder &b, Location at, ValueRange, ValueRange) {
      auto index = [&](unsigned dim) { return linalg::IndexOp::create(b, at, dim).getResult(); };
      auto number = [&](int64_t value) { return arith::ConstantIndexOp::create(b, at, value).getResult(); };
      auto times = [&](Value x, Value y) { return arith::MulIOp::create(b, at, x, y).getResult(); };
      auto plus = [&](Value x, Value y) { return arith::AddIOp::create(b, at, x, y).getResult(); };
      SmallVector<Value> indices(inputSizes.size());
      SmallVector<std::pair<unsigned, Value>> bounds;
      indices[0] = index(0);
      for (unsigned i = 0; i < d; ++i) {
        Value window = times(index(1 + i), number(conv.stride[i]));
        Value tap = times(index(firstTap + i), number(conv.dilation[i]));
        unsigned dim = conv.firstSpatialDim() + i;
        indices[dim] = arith::SubIOp::create(b, at, plus(window, tap), number(conv.before[i]));
        bounds.push_back({dim, extents[i]});
      }
      Value channel = index(firstTap + d);
      indices[conv.channelDim()] = grouped ? plus(times(index(1 + d), perGroup), channel) : channel;
      return SmallVector<Value>{extractInside(b, at, input, indices, bounds, nothing)};
    });
  }

  /// Returns the gradient of a depthwise convolution as kernel x channels. Each element is the sum of input times
  /// gradient over the images and their pixels.
  Value reducedTaps() {
    unsigned d = conv.spatial, channel = d, image = d + 1, pixel = d + 2;
    Value input = conv.padSource(), grad = l.tensor(op.getGrad());
    SmallVector<AffineExpr> inputAt(d + 2), gradAt(d + 2), sizes(kernel);
    inputAt[0] = gradAt[0] = l.dim(image);
    inputAt[conv.channelDim()] = gradAt[conv.channelDim()] = l.dim(channel);
    for (unsigned i = 0; i < d; ++i) {
      unsigned at = conv.firstSpatialDim() + i;
      gradAt[at] = l.dim(pixel + i);
      inputAt[at] = l.dim(pixel + i) * conv.stride[i] + l.dim(i) * conv.dilation[i];
    }
    sizes.push_back(l.constant(conv.groups));
    unsigned loops = 2 * d + 2;
    SmallVector<utils::IteratorType> iterators(d + 1, utils::IteratorType::parallel);
    iterators.append(loops - iterators.size(), utils::IteratorType::reduction);
    SmallVector<AffineExpr> outAt;
    for (unsigned i = 0; i <= d; ++i)
      outAt.push_back(l.dim(i));
    Read reads[] = {Lowering::of(input, l.map(loops, inputAt)), Lowering::of(grad, l.map(loops, gradAt))};
    Value init = l.filled(sizes, conv.zero(accumulator));
    Value result = l.generic(reads, init, l.map(loops, outAt), iterators,
                             [&](OpBuilder &b, Location at, ValueRange in, ValueRange acc) {
                               return multiplyAdd(b, at, in, acc[0]);
                             })
                       .getResult(0);
    return result;
  }

  /// Returns true for 2-D channels-last convolutions of floats with a known kernel, which tw_tile.depthwise_gradient
  /// supports.
  bool isInPlane() {
    auto known = [](AffineExpr size) { return isa<AffineConstantExpr>(size); };
    return conv.channelsLast && conv.spatial == 2 && llvm::all_of(kernel, known) && isa<FloatType>(element);
  }

  /// Returns the same gradient as reducedTaps(), computed as a sum of the gradients of parts of the images. A part
  /// consists of at least one line. If it has several lines, they have at most `pixelsPerPart` pixels in total. An
  /// unknown width is assumed to be `unknownWidth`.
  Value sumOfParts() {
    constexpr int64_t pixelsPerPart = 512, unknownWidth = 64;
    auto width = dyn_cast<AffineConstantExpr>(out[1]), height = dyn_cast<AffineConstantExpr>(out[0]);
    int64_t lines = std::max<int64_t>(1, pixelsPerPart / std::max<int64_t>(1, width ? width.getValue() : unknownWidth));
    if (height)
      lines = std::min(lines, std::max<int64_t>(1, height.getValue()));
    SmallVector<AffineExpr> sizes{inputSizes[0], out[0].ceilDiv(lines)}, result(kernel);
    result.push_back(l.constant(conv.groups));
    llvm::append_range(sizes, result);
    Value init = l.empty(sizes, accumulator);
    auto parts = tile::DepthwiseGradientOp::create(l.builder, l.loc, TypeRange{init.getType()},
                                                   ValueRange{l.tensor(conv.source), l.tensor(op.getGrad())}, Value(),
                                                   ValueRange{init}, conv.stride, conv.dilation, conv.before, lines);
    parts->setAttr(opAttrName, l.builder.getStringAttr(l.name));
    SmallVector<utils::IteratorType> iterators(3, utils::IteratorType::parallel);
    iterators.append(2, utils::IteratorType::reduction);
    AffineMap from = l.map(5, {l.dim(3), l.dim(4), l.dim(0), l.dim(1), l.dim(2)});
    return l
        .generic(Lowering::of(parts->getResult(0), from), l.filled(result, conv.zero(accumulator)),
                 l.map(5, {l.dim(0), l.dim(1), l.dim(2)}), iterators,
                 [&](OpBuilder &b, Location at, ValueRange in, ValueRange acc) {
                   return SmallVector<Value>{arith::AddFOp::create(b, at, acc[0], in[0], reductionFlags(b))};
                 })
        .getResult(0);
  }

  /// Returns `taps`, with the dimensions kernel... x groups, in the shape [groups] kernel... 1 1.
  Value permutedGroups(Value taps) {
    unsigned d = conv.spatial;
    SmallVector<AffineExpr> at;
    for (unsigned i = 0; i < d; ++i)
      at.push_back(l.dim(1 + i));
    at.push_back(l.dim(0));
    return l.copied(partSizes(), accumulator, Lowering::of(taps, l.map(d + 3, at)));
  }

  /// Sets the result of the op to `parts` ([groups], kernel..., channels, filters), permuted to the graph's layout.
  void setWeight(Value parts) {
    bool grouped = conv.groups > 1;
    unsigned d = conv.spatial, g = 0, c = grouped + d, f = c + 1, count = f + 1;
    SmallVector<unsigned> order; // for each dimension of the weight, the dimension of `parts`
    auto taps = [&] {
      for (unsigned i = 0; i < d; ++i)
        order.push_back(grouped + i);
    };
    if (conv.channelsLast) {
      taps();
      order.push_back(c);
    }
    if (grouped)
      order.push_back(g);
    order.push_back(f);
    if (!conv.channelsLast) {
      order.push_back(c);
      taps();
    }
    SmallVector<AffineExpr> at(count), from = partSizes(), sizes;
    for (unsigned i = 0; i < count; ++i) {
      at[order[i]] = l.dim(i);
      sizes.push_back(from[order[i]]);
    }
    Read read{parts, l.map(count, at), TypedAttr(), element};
    if (!grouped)
      return l.setRead(op, read);
    Value transposed = l.copied(sizes, storageType(element), Lowering::stored(read));
    l.set(op, l.reshaped(transposed, sizes, graph::sizesOf(convolvedType(op.getResult()))));
  }

  Lowering &l;
  graph::ConvolutionWeightGradOp op;
  Convolution conv;
  Type element, accumulator;
  SmallVector<AffineExpr> inputSizes, gradSizes, kernel, out;
  AffineExpr channels, filters; // numbers of channels and filters of a group
  // The sizes of a patch: kernel... and channels or, if lines of patches are runs, lines and elements of a run.
  SmallVector<AffineExpr> patchTaps;
};

} // namespace

LogicalResult lowerWeightGradient(Lowering &l, graph::ConvolutionWeightGradOp op) {
  WeightGradient(l, op).run();
  return success();
}

} // namespace tilewright::structured
