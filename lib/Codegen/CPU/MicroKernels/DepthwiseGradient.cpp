//===- DepthwiseGradient.cpp - the gradient of a depthwise weight -----------------------===//
//
// Before:
//   tw_tile.depthwise_gradient {lines = 9, padding = [1, 1], ...} ins(%x: memref<1x56x56x144xf32>,
//     %g: memref<1x56x56x144xf32>) first_part(%p) outs(%w: memref<1x1x3x3x144xf32>)
// After:
//   scf.for %c = 0 to 128 step 64, and %c = 80 {
//     36 vectors of zeros to %w
//     scf.for %oh = (lines of the part) { scf.for %kh = (taps that meet the image) { 4 times, each 14 pixels of the
//     line:
//       14 x 4 loads of %g, 16 x 4 of %x; 14 x 12 fma into 12 sums from zero, which are added to %w } } }
//
// The elements of a vector are consecutive channels. For each block of pixels, and for up to eight taps of a line of
// the window, each vector of the input and of the gradient is loaded once. The products of a block of pixels are summed
// in registers, and these partial sums are added to the sums in memory. The rounding error therefore grows with the
// number of partial sums, which is smaller than the number of pixels.
//
// Test: test/Codegen/CPU/MicroKernels/depthwise-gradient.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/CPU/MicroKernels/WindowKernels.h"
#include "lib/Codegen/CPU/MicroKernels/WindowLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::cpu {
namespace {

/// The maximum number of pixels whose products form one partial sum.
constexpr int64_t pixelsPerSum = 14;
/// The maximum number of channel vectors, and of taps of a line of the window, in a loop body. The accumulators of the
/// body must fit into the registers.
constexpr int64_t mostChannelVectors = 4, mostGradientTaps = 8;

class GradientEmitter : WindowLoops {
public:
  GradientEmitter(tile::DepthwiseGradientOp op, int64_t machineLanes, int64_t registers)
      : WindowLoops(op, stepsOf(op, 0), stepsOf(op, 1)), op(op), in(op.getInputs()[0]), grad(op.getInputs()[1]),
        out(op.getOutputs()[0]), channels(typeOf(out).getDimSize(4)) {
    Type element = typeOf(out).getElementType();
    lanes = std::min<int64_t>(element.isF64() ? machineLanes / 2 : machineLanes,
                              llvm::bit_floor<uint64_t>(std::max<int64_t>(channels, 1)));
    vectorType = VectorType::get({lanes}, element);
    taps = std::min(pixels.kernel, mostGradientTaps);
    // The registers contain the sums, a pixel of the gradient, and the input pixels by which this pixel is multiplied.
    vectors = std::clamp<int64_t>((registers - 1) / (2 * taps + 1), 1, mostChannelVectors);
    vectors = std::min(vectors, std::max<int64_t>(channels / lanes, 1));
  }

  void run() {
    if (channels > 0 && lines.kernel > 0 && pixels.kernel > 0)
      loop(constant(0), size(out, 0), [&](Value n) {
        loop(constant(0), size(out, 1), [&](Value p) {
          image = n;
          part = p;
          overlapping(channels, vectors * lanes, [&](Value channel) { ofChannels(channel); });
        });
      });
    op->erase();
  }

private:
  static Steps stepsOf(tile::DepthwiseGradientOp op, int64_t dim) {
    return {typeOf(op.getOutputs()[0]).getDimSize(2 + dim), op.getStrides()[dim], op.getDilations()[dim],
            op.getPadding()[dim]};
  }

  Value zero() { return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType)); }
  SmallVector<Value> outAt(Value tapLine, Value tap, Value channel, int64_t v) {
    return {image, part, tapLine, tap, sum(channel, v * lanes)};
  }

  /// Computes the gradient for `vectors` vectors of channels, starting at `channel`, as a sum over the lines of the
  /// current part of the image. The operand first_part is the number of the tile's first part (null: 0). Part i begins
  /// at line i * op.getLines().
  void ofChannels(Value channel) {
    Value none = zero();
    loop(constant(0), constant(lines.kernel), [&](Value tapLine) {
      loop(constant(0), constant(pixels.kernel), [&](Value tap) {
        for (int64_t v = 0; v < vectors; ++v)
          vector::StoreOp::create(builder, loc, none, out, outAt(tapLine, tap, channel, v));
      });
    });
    Value number = op.getFirstPart() ? sum(op.getFirstPart(), part) : part;
    Value first = apply(d0() * op.getLines(), {number});
    Value end = smaller(sum(first, op.getLines()), size(grad, 1));
    loop(first, end, [&](Value line) {
      gradLine = line;
      Value top = apply(d0() * lines.stride - lines.padding, {line});
      auto [from, to] = tapsInside(lines, top, size(in, 1));
      loop(from, to, [&](Value tapLine) {
        inLine = apply(d0() + d1() * lines.dilation, {top, tapLine});
        overPixels(Value(), size(grad, 2), size(in, 2), pixelsPerSum, [&](const PixelBlock &block) {
          if (!block.fromTap && hasLongLine()) {
            auto ofTaps = [&](int64_t count) {
              return [&, count](Value tap) {
                PixelBlock moved = fromTap(block, tap);
                moved.count = block.count;
                addProducts(moved, channel, tapLine, tap, 0, count);
              };
            };
            const int64_t whole = pixels.kernel / taps * taps;
            loop(constant(0), constant(whole), ofTaps(taps), taps);
            loop(constant(whole), constant(pixels.kernel), ofTaps(1));
            return;
          }
          if (!block.fromTap) {
            for (int64_t tap = 0; tap < pixels.kernel; tap += taps)
              addProducts(block, channel, tapLine, constant(0), tap, std::min(tap + taps, pixels.kernel));
            return;
          }
          loop(block.fromTap, block.toTap, [&](Value tap) {
            PixelBlock one = fromTap(block, tap);
            addProducts(one, channel, tapLine, tap, 0, 1);
          });
        });
      });
    });
  }

  /// Adds the products of a block of pixels with the taps firstTap + [from, to) of a line of the window to the sums in
  /// memory.
  void addProducts(const PixelBlock &block, Value channel, Value tapLine, Value firstTap, int64_t from, int64_t to) {
    SmallVector<Value> sums((to - from) * vectors, zero());
    std::map<int64_t, SmallVector<Value>> inputs;
    auto vectorsAt = [&](Value memory, Value line, Value pixel) {
      SmallVector<Value> loaded;
      for (int64_t v = 0; v < vectors; ++v)
        loaded.push_back(loadVector(memory, {image, line, pixel, sum(channel, v * lanes)}, vectorType));
      return loaded;
    };
    for (int64_t pixel = 0; pixel < block.count; ++pixel) {
      SmallVector<Value> g;
      for (int64_t tap = from; tap < to; ++tap) {
        if (!block.meets(pixel, tap))
          continue;
        if (g.empty())
          g = vectorsAt(grad, gradLine, sum(block.first, pixel));
        int64_t column = pixel * pixels.stride + tap * pixels.dilation;
        SmallVector<Value> &x = inputs[column];
        if (x.empty())
          x = vectorsAt(in, inLine, sum(block.left, column));
        for (int64_t v = 0; v < vectors; ++v) {
          Value &total = sums[(tap - from) * vectors + v];
          total = vector::FMAOp::create(builder, loc, x[v], g[v], total);
        }
      }
    }
    for (int64_t tap = from; tap < to; ++tap)
      for (int64_t v = 0; v < vectors; ++v) {
        SmallVector<Value> at = outAt(tapLine, sum(firstTap, tap), channel, v);
        Value before = vector::LoadOp::create(builder, loc, vectorType, out, at);
        Value after = arith::AddFOp::create(builder, loc, before, sums[(tap - from) * vectors + v]);
        vector::StoreOp::create(builder, loc, after, out, at);
      }
  }

  tile::DepthwiseGradientOp op;
  Value in, grad, out;
  int64_t channels, lanes = 1, vectors = 1, taps = 1;
  VectorType vectorType;
  Value image, part, gradLine, inLine;
};

} // namespace

void expandDepthwiseGradient(tile::DepthwiseGradientOp op, int64_t lanes, int64_t registers) {
  GradientEmitter(op, lanes, registers).run();
}

} // namespace tilewright::cpu
