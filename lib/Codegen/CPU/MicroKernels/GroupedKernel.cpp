//===- GroupedKernel.cpp - convolutions with small groups -------------------------===//
//
// Before (depthwise: one input channel and one filter per group):
//   tw_tile.grouped_convolution {strides = [1, 1], padding = [1, 1], ...} ins(%x: memref<1x56x56x144xf32>,
//     %w: memref<3x3x1x144xf32>) first(%line, %c0) outs(%y: memref<1x2x56x144xf32>)
// After:
//   scf.for %oh = 0 to 2 { 4 times, each 14 pixels of the line:
//     scf.for %f = 0 to 144 step 16 {
//       %acc:14 = scf.for %kh = (taps that meet the image) iter_args(14 x vector<16xf32>) {
//         3 loads of %w[%kh, 0...2, 0, %f], 16 of %x[0, line, pixel, %f]; 42 fma }
//       14 stores } }
//
// The elements of a vector are consecutive filters. In each pass over a block of pixels, a vector of the input is
// loaded once for all pixels whose windows contain it, and a vector of the weight is loaded once for all pixels. Taps
// outside of the image are skipped. The bounds of the loop over kh skip whole lines of the window. If the set of taps
// in the image is known at compile time (WindowLoops.h), no code is emitted for the other taps. Otherwise, the bounds
// of a loop over kw skip these taps for pixels near the ends of the line. There are two ways to multiply filters by
// channels:
//   spread: a vector contains the filters of several groups. It is multiplied by a vector in which all lanes of a group
//     contain the same channel of this group.
//   broadcast: a vector contains filters of one group. It is multiplied by a vector whose lanes all contain one channel
//     of this group.
// If the number of filters (of all groups for spread, of a group for broadcast) is not a multiple of the vector length,
// the last vector overlaps the previous vector, so no masks are needed.
//
// Test: test/Codegen/CPU/MicroKernels/grouped-convolution.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/CPU/MicroKernels/WindowKernels.h"
#include "lib/Codegen/CPU/MicroKernels/WindowLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::cpu {
namespace {

/// The maximum number of taps along a line that one pass over a block of pixels multiplies. More taps would need too
/// many registers for their weights.
constexpr int64_t mostTapsAtOnce = 8;
/// The maximum number of pixels in a block. 14 accumulators are enough to hide the latency of an FMA.
constexpr int64_t mostPixels = 14;
/// The maximum number of channels for which the loop over channels is unrolled in the form `broadcast`. In the form
/// `spread`, this loop is always unrolled.
constexpr int64_t mostChannelSteps = 8;
/// If a window has more than 2 * `longSum` products, its sum is computed as partial sums. A partial sum has the
/// products of one line of the window for a range of channels. The range has at least one channel, and its length is
/// limited so that the partial sum has at most `longSum` products. The rounding error then grows with the length of a
/// partial sum plus the number of partial sums, not with the total number of products.
constexpr int64_t longSum = 64;

class GroupedEmitter : WindowLoops {
public:
  GroupedEmitter(tile::GroupedConvolutionOp op, int64_t machineLanes, int64_t registers)
      : WindowLoops(op, stepsOf(op, 0), stepsOf(op, 1)), op(op), in(op.getInputs()[0]), weight(op.getInputs()[1]),
        out(op.getOutputs()[0]), element(typeOf(out).getElementType()), inElement(typeOf(in).getElementType()),
        channels(typeOf(weight).getDimSize(2)), filters(typeOf(out).getDimSize(3)) {
    groups = op.getGroups();
    perGroup = filters / groups;
    lanes = element.isF64() ? machineLanes / 2 : machineLanes;
    lanes = std::min<int64_t>(lanes, llvm::bit_floor<uint64_t>(filters));
    spread = perGroup < lanes && lanes % perGroup == 0 && lanes / perGroup * channels <= 4 * lanes;
    if (!spread)
      lanes = std::min<int64_t>(lanes, llvm::bit_floor<uint64_t>(perGroup));
    vectors = !spread && registers >= 32 && perGroup >= 2 * lanes ? 2 : 1;
    vectorType = VectorType::get({lanes}, element);
    taps = std::min(pixels.kernel, mostTapsAtOnce);
    blockPixels = std::clamp<int64_t>((registers - taps * vectors - 2) / vectors, 1, mostPixels);
    if (channels * lines.kernel * pixels.kernel > 2 * longSum)
      channelsPerSum = std::clamp<int64_t>(longSum / pixels.kernel, 1, channels);
  }

  void run() {
    if (filters == 0 || lines.kernel == 0 || pixels.kernel == 0) {
      op->erase();
      return;
    }
    bool whole = op.getFirst().empty();
    loop(constant(0), size(out, 0), [&](Value n) {
      loop(constant(0), size(out, 1), [&](Value line) {
        image = n;
        outLine = line;
        Value here = whole ? line : sum(op.getFirst()[0], line);
        inLine = apply(d0() * lines.stride - lines.padding, {here});
        std::tie(firstTap, endTap) = tapsInside(lines, inLine, size(in, 1));
        Value firstPixel = whole ? Value() : op.getFirst()[1];
        auto body = [&](const PixelBlock &block) { overFilters(block); };
        if (hasLongLine())
          overPixelsOfLongLines(firstPixel, size(out, 2), blockPixels, body);
        else
          overPixels(firstPixel, size(out, 2), size(in, 2), blockPixels, body);
      });
    });
    op->erase();
  }

private:
  static Steps stepsOf(tile::GroupedConvolutionOp op, int64_t dim) {
    return {typeOf(op.getInputs()[1]).getDimSize(dim), op.getStrides()[dim], op.getDilations()[dim],
            op.getPadding()[dim]};
  }

  //===-- filters ---------------------------------------------------------===//

  void overFilters(const PixelBlock &block) {
    if (spread) {
      overlapping(filters, vectors * lanes,
                  [&](Value filter) { convolve(block, filter, apply(d0().floorDiv(perGroup) * channels, {filter})); });
      return;
    }
    loop(constant(0), constant(groups), [&](Value group) {
      overlapping(perGroup, vectors * lanes, [&](Value filter) {
        convolve(block, apply(d0() * perGroup + d1(), {group, filter}), apply(d0() * channels, {group}));
      });
    });
  }

  //===-- sums ------------------------------------------------------------===//

  Value outAt(const PixelBlock &block, int64_t pixel, Value filter, int64_t v, Value stored) {
    Value indices[] = {image, outLine, sum(block.first, pixel), sum(filter, v * lanes)};
    if (!stored)
      return vector::LoadOp::create(builder, loc, vectorType, out, indices);
    vector::StoreOp::create(builder, loc, stored, out, indices);
    return {};
  }

  /// Computes the results of `block` for `vectors` vectors of filters, starting at filter `filter`. The channels of
  /// these filters start at `channel`.
  void convolve(const PixelBlock &block, Value filter, Value channel) {
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType));
    SmallVector<Value> zeros(block.count * vectors, zero);
    auto overSums = [&](function_ref<void(int64_t, int64_t, int64_t)> inside) {
      for (int64_t pixel = 0; pixel < block.count; ++pixel)
        for (int64_t v = 0; v < vectors; ++v)
          inside(pixel, v, pixel * vectors + v);
    };
    auto store = [&](ArrayRef<Value> sums) {
      overSums([&](int64_t pixel, int64_t v, int64_t at) { outAt(block, pixel, filter, v, sums[at]); });
    };
    auto moveTo = [&](Value tapLine) { window = {apply(d0() + d1() * lines.dilation, {inLine, tapLine}), tapLine}; };
    if (!channelsPerSum)
      return store(carry(firstTap, endTap, zeros, [&](Value tapLine, ArrayRef<Value> sums) {
        moveTo(tapLine);
        return windowLine(block, filter, {channel, 0, Value(), channels}, llvm::to_vector(sums));
      }));
    store(zeros);
    auto add = [&](const Channels &part) {
      SmallVector<Value> sums = windowLine(block, filter, part, zeros);
      overSums([&](int64_t pixel, int64_t v, int64_t at) {
        Value before = outAt(block, pixel, filter, v, Value());
        outAt(block, pixel, filter, v, arith::AddFOp::create(builder, loc, before, sums[at]));
      });
    };
    loop(firstTap, endTap, [&](Value tapLine) {
      moveTo(tapLine);
      const int64_t whole = channels / channelsPerSum * channelsPerSum;
      if (spread) {
        for (int64_t c = 0; c < channels; c += channelsPerSum)
          add({channel, c, Value(), std::min(channelsPerSum, channels - c)});
        return;
      }
      loop(constant(0), constant(whole), [&](Value c) { add({channel, 0, c, channelsPerSum}); }, channelsPerSum);
      if (whole < channels)
        add({channel, 0, constant(whole), channels - whole});
    });
  }

  /// The same range of channels in each group of a vector of filters. `group` is the first channel of the first of
  /// these groups. The range has `count` channels, starting at channel `first` (plus `firstAt` if it is not null) of a
  /// group.
  struct Channels {
    Value group;
    int64_t first;
    Value firstAt;
    int64_t count;
  };

  /// The current line of the window: its index in the input and in the weight.
  struct WindowLine {
    Value inLine, tapLine;
  };

  /// Returns `sums` plus the products of one line of the window.
  SmallVector<Value> windowLine(const PixelBlock &block, Value filter, const Channels &channel,
                                SmallVector<Value> sums) {
    if (hasLongLine())
      return longWindowLine(block, filter, channel, std::move(sums));
    if (block.fromTap)
      return carry(block.fromTap, block.toTap, sums, [&](Value tap, ArrayRef<Value> carried) {
        PixelBlock one = fromTap(block, tap);
        return overChannels(one, filter, channel, tap, 0, 1, llvm::to_vector(carried));
      });
    for (int64_t first = 0; first < pixels.kernel; first += taps)
      sums = overChannels(block, filter, channel, constant(0), first, std::min(first + taps, pixels.kernel), sums);
    return sums;
  }

  /// Returns the same value as windowLine() for a window with many taps per line. Taps that are in the image for all
  /// pixels of the block are computed in a loop over groups of taps. Near an end of the line, some taps are in the
  /// image only for some pixels of the block. A separate loop for each pixel computes these taps.
  SmallVector<Value> longWindowLine(const PixelBlock &block, Value filter, const Channels &channel,
                                    SmallVector<Value> sums) {
    Value width = size(in, 2);
    auto leftOf = [&](int64_t pixel) { return sum(block.left, pixel * pixels.stride); };
    auto at = [&](const PixelBlock &from, Value tap) {
      PixelBlock moved = fromTap(from, tap);
      moved.count = from.count;
      return moved;
    };
    // The first pixel of the block has the greatest first tap that is inside of the image. The last pixel has the
    // smallest last tap that is inside of the image.
    Value begin = smaller(tapsInside(pixels, leftOf(0), width).first, constant(pixels.kernel));
    Value end = larger(tapsInside(pixels, leftOf(block.count - 1), width).second, begin);
    Value grouped = apply(d0() + (d1() - d0()).floorDiv(taps) * taps, {begin, end});
    auto together = [&](int64_t count) {
      return [&, count](Value tap, ArrayRef<Value> carried) {
        return overChannels(at(block, tap), filter, channel, tap, 0, count, llvm::to_vector(carried));
      };
    };
    sums = carry(begin, grouped, sums, together(taps), taps);
    sums = carry(grouped, end, sums, together(1));
    for (int64_t pixel = 0; pixel < block.count; ++pixel) {
      const PixelBlock one{sum(block.first, pixel), 1, leftOf(pixel), Value(), Value()};
      auto [from, to] = tapsInside(pixels, one.left, width);
      auto alone = [&](Value tap, ArrayRef<Value> carried) {
        return overChannels(at(one, tap), filter, channel, tap, 0, 1, llvm::to_vector(carried));
      };
      SmallVector<Value> own(ArrayRef<Value>(sums).slice(pixel * vectors, vectors));
      own = carry(from, smaller(begin, to), own, alone);
      own = carry(larger(end, from), to, own, alone);
      llvm::copy(own, sums.begin() + pixel * vectors);
    }
    return sums;
  }

  /// Returns `sums` plus the products of the taps firstTapHere + [from, to) for the channels `part`.
  SmallVector<Value> overChannels(const PixelBlock &block, Value filter, const Channels &part, Value firstTapHere,
                                  int64_t from, int64_t to, SmallVector<Value> sums) {
    if (spread) {
      for (int64_t c = part.first; c < part.first + part.count; ++c)
        sums = products(block, filter, part.group, c, constant(c), firstTapHere, from, to, sums);
      return sums;
    }
    auto one = [&](Value c, ArrayRef<Value> carried) {
      Value at = part.firstAt ? sum(part.firstAt, c) : c;
      return products(block, filter, sum(part.group, at), 0, at, firstTapHere, from, to, llvm::to_vector(carried));
    };
    if (part.count <= mostChannelSteps) {
      for (int64_t c = 0; c < part.count; ++c)
        sums = one(constant(c), sums);
      return sums;
    }
    return carry(constant(0), constant(part.count), sums, one);
  }

  /// Returns `sums` plus the products of one channel of each group, for the taps firstTapHere + [from, to). In the
  /// first group, this channel has index `channel` + `number` in the input. In the weight, the channel has index
  /// `weightChannel`. Each pixel of the input is loaded once, and is used for all pairs of a result pixel and a tap to
  /// which it belongs.
  SmallVector<Value> products(const PixelBlock &block, Value filter, Value channel, int64_t number, Value weightChannel,
                              Value firstTapHere, int64_t from, int64_t to, SmallVector<Value> sums) {
    const int64_t stride = pixels.stride, dilation = pixels.dilation;
    std::map<int64_t, SmallVector<std::pair<int64_t, int64_t>>> pairsAt;
    for (int64_t pixel = 0; pixel < block.count; ++pixel)
      for (int64_t tap = from; tap < to; ++tap)
        if (block.meets(pixel, tap))
          pairsAt[pixel * stride + tap * dilation].push_back({pixel, tap});
    std::map<int64_t, SmallVector<Value>> weights;
    auto weightOf = [&](int64_t tap) -> ArrayRef<Value> {
      SmallVector<Value> &loaded = weights[tap];
      for (int64_t v = loaded.size(); v < vectors; ++v)
        loaded.push_back(vector::LoadOp::create(
            builder, loc, vectorType, weight,
            ValueRange{window.tapLine, sum(firstTapHere, tap), weightChannel, sum(filter, v * lanes)}));
      return loaded;
    };
    for (auto &[column, pairs] : pairsAt) {
      Value x = inputVector(sum(block.left, column), channel, number);
      for (auto [pixel, tap] : pairs) {
        ArrayRef<Value> w = weightOf(tap);
        for (int64_t v = 0; v < vectors; ++v) {
          Value &total = sums[pixel * vectors + v];
          total = vector::FMAOp::create(builder, loc, x, w[v], total);
        }
      }
    }
    return sums;
  }

  /// Returns the vector of input values by which a vector of filters is multiplied. `pixel` is the index of the pixel
  /// in the line of the input.
  Value inputVector(Value pixel, Value channel, int64_t number) {
    if (!spread) {
      Value x = memref::LoadOp::create(builder, loc, in, ValueRange{image, window.inLine, pixel, sum(channel, number)});
      if (inElement != element)
        x = arith::ExtFOp::create(builder, loc, element, x);
      return vector::BroadcastOp::create(builder, loc, vectorType, x);
    }
    // Load all channels of the groups of the vector. Lane l is a filter of group l / perGroup.
    const int64_t together = lanes / perGroup * channels;
    Value x = vector::LoadOp::create(builder, loc, VectorType::get({together}, inElement), in,
                                     ValueRange{image, window.inLine, pixel, channel});
    if (channels != 1 || perGroup != 1) {
      SmallVector<int64_t> from;
      for (int64_t lane = 0; lane < lanes; ++lane)
        from.push_back(lane / perGroup * channels + number);
      x = vector::ShuffleOp::create(builder, loc, x, x, from);
    }
    return inElement == element ? x : arith::ExtFOp::create(builder, loc, vectorType, x).getResult();
  }

  tile::GroupedConvolutionOp op;
  Value in, weight, out;
  Type element, inElement;
  int64_t channels, filters;         ///< number of channels of a group; number of filters
  int64_t groups = 1, perGroup = 1;  ///< number of groups; number of filters of a group
  int64_t lanes = 1, vectors = 1;    ///< number of elements of a vector; number of vectors of filters per step
  int64_t blockPixels = 1, taps = 1; ///< number of pixels of a block; number of taps of one pass over a block
  bool spread = false;               ///< true: a vector contains the filters of several groups
  int64_t channelsPerSum = 0;        ///< channels of a line of the window in a partial sum; 0: all in one sum
  VectorType vectorType;
  Value image, outLine, inLine; ///< batch index; line of the result; first line of the window in the input
  Value firstTap, endTap;       ///< lines of the window that are inside of the image
  WindowLine window;
};

} // namespace

void expandGroupedConvolution(tile::GroupedConvolutionOp op, int64_t lanes, int64_t registers) {
  GroupedEmitter(op, lanes, registers).run();
}

} // namespace tilewright::cpu
