//===- EmitWindows.cpp - the schedule `windows`: grouped convolutions in registers ----------===//
//
// Before (a depthwise convolution of 3 x 3 and an elementwise op):
//   %0 = tw_tile.grouped_convolution {padding = [1, 1]} ins(%x, %w) outs(...) ; %1 = linalg.generic {relu} ins(%0)
//       tw.schedule = #tw_gpu.schedule<kind = windows, threads = 128, vector = 8, tile = [1, 4]>
// After, for one thread, which has channels f ... f + 7 of the pixels (y, x) ... (y, x + 3):
//   for line in 0 .. 3 {                      // unrolled if the window is small
//     w[0 .. 2] = weight[line, 0 .. 2, 0, f ... f + 7]
//     for column in 0 .. 5 {                  // unrolled
//       a = x[n, y + line - 1, x + column - 1, f ... f + 7], or zeros outside of the image
//       sums[column - tap] += a * w[tap] for each tap with 0 <= column - tap < 4 } }
//   relu(sums), stored to the pixels that are inside of the result
//
// Without this schedule, each element of the result is a separate sequence of loads of one weight and of one element of
// the input. Here, each weight is read once for all pixels of the tile, and each element of the input once for all taps
// of a line. Indices outside of the image are replaced by 0, and the element that is read there by zero. Therefore, the
// loads are not conditional, and several are in flight.
//
// Tests: test/Codegen/NVPTX/grouped-convolution.mlir, test/Python/test_cuda_windows.py
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Sizes.h"
#include "lib/Codegen/GPU/Schedule/Windows.h"
#include "lib/Codegen/GPU/ThreadCode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

class WindowEmitter : ThreadCode {
public:
  WindowEmitter(ThreadKernel &kernel, tile::GroupedConvolutionOp op)
      : ThreadCode(kernel), op(op), window(op), input(op.getInputs()[0]), weight(op.getInputs()[1]),
        type(cast<ShapedType>(op->getResult(0).getType()).getElementType()), lines(schedule.tileM),
        pixels(schedule.tileN), vector(schedule.vector) {}

  LogicalResult run() {
    locate();
    when(inGrid, [&] {
      SmallVector<Value> sums(lines * pixels * vector, zero());
      sums = window.unrollsWindow() ? wholeWindow(sums) : lineByLine(sums);
      provideSums(sums);
      writeAll();
    });
    return success();
  }

private:
  /// Computes the position of the thread's tile, and the size of the grid.
  void locate() {
    Value result = kernel.results().front().second;
    SmallVector<Value> extents = elements.extents(result);
    SmallVector<Value> tiles{extents[0], divideUp(extents[1], lines), divideUp(extents[2], pixels),
                             quotientOf(extents[3])};
    Value number = elements.add(elements.multiply(kernel.block, index(schedule.threads)), kernel.thread);
    Value count = index(1);
    for (Value tile : tiles)
      count = elements.multiply(count, tile);
    inGrid = isLess(number, count);
    SmallVector<Value> at = elements.delinearize(number, tiles);
    image = at[0];
    firstLine = elements.multiply(at[1], index(lines));
    firstPixel = elements.multiply(at[2], index(pixels));
    firstChannel = elements.multiply(at[3], index(vector));
    elements.assumeMultiple(firstChannel, vector);
    height = extents[1];
    width = extents[2];
    SmallVector<AffineExpr> sizes = tile::sizesOf(result);
    AffineExpr all = sizes[0] * sizes[1].ceilDiv(lines) * sizes[2].ceilDiv(pixels) * sizes[3].floorDiv(vector);
    kernel.setGrid(all.ceilDiv(schedule.threads));
    for (int64_t lane = 0; lane < vector; ++lane)
      channels.push_back(elements.add(firstChannel, index(lane)));
    for (int64_t line = 0; line < lines; ++line)
      outLines.push_back(elements.add(firstLine, index(line)));
    for (int64_t pixel = 0; pixel < pixels; ++pixel)
      outPixels.push_back(elements.add(firstPixel, index(pixel)));
    locateGroups();
  }

  Value quotientOf(Value extent) { return index(*getConstantIntValue(extent) / vector); }

  /// Computes, for each lane, the first input channel of the lane's group.
  void locateGroups() {
    const int64_t filters = window.filters;
    for (int64_t lane = 0; lane < vector; ++lane) {
      Value group;
      if (filters == 1)
        group = channels[lane];
      else if (filters % vector == 0)
        group = lane == 0 ? quotient(firstChannel, filters) : groups.front();
      else if (vector % filters == 0)
        group = elements.add(quotient(firstChannel, filters), index(lane / filters));
      else
        group = quotient(channels[lane], filters);
      groups.push_back(group);
    }
    for (Value group : groups)
      groupBegins.push_back(elements.multiply(group, index(window.perGroup)));
  }

  Value zero() { return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type)); }

  Value multiplyAdd(Value a, Value b, Value sum) {
    auto product = arith::MulFOp::create(builder, loc, a, b);
    product.setFastmath(arith::FastMathFlags::contract);
    auto added = arith::AddFOp::create(builder, loc, sum, product);
    added.setFastmath(arith::FastMathFlags::contract);
    return added;
  }

  Value &sumOf(SmallVector<Value> &sums, int64_t line, int64_t pixel, int64_t lane) {
    return sums[(line * pixels + pixel) * vector + lane];
  }

  /// An index of the input along one dimension, and the condition that it is inside; null means always.
  struct Position {
    Value at, inside;
  };

  /// Returns position `first * stride + offset` of the input along dimension `dim` (0: lines, 1: pixels), minus the
  /// padding. A position outside of the input becomes 0.
  Position position(unsigned dim, Value first, Value offset) {
    Value at = elements.add(elements.multiply(first, index(op.getStrides()[dim])), offset);
    const int64_t padding = op.getPadding()[dim];
    if (padding != 0)
      at = arith::SubIOp::create(builder, loc, at, index(padding));
    if (staysInside(dim))
      return {at, Value()};
    // The comparison is unsigned: an index before the first one is a very large unsigned number.
    Value inside = isLess(at, elements.size(input, 1 + dim));
    return {arith::SelectOp::create(builder, loc, inside, at, index(0)), inside};
  }

  /// Returns true if no tile reads outside of the input along a dimension.
  bool staysInside(unsigned dim) {
    const int64_t taps = dim == 0 ? window.lines : window.pixels, perTile = dim == 0 ? lines : pixels;
    std::optional<int64_t> extent = getConstantIntValue(elements.size(input, 1 + dim)),
                           results = getConstantIntValue(dim == 0 ? height : width);
    if (!extent || !results || op.getPadding()[dim] > 0)
      return false;
    const int64_t last = int64_t(llvm::alignTo(*results, perTile)) - 1;
    return last * op.getStrides()[dim] + (taps - 1) * op.getDilations()[dim] - op.getPadding()[dim] < *extent;
  }

  /// Returns the elements of the input at a position, one per lane, in the type of the sums. Lanes of one group read
  /// the same element.
  SmallVector<Value> inputAt(const Position &line, const Position &pixel, Value channel) {
    Value inside = both(line.inside, pixel.inside);
    SmallVector<Value> loaded;
    if (groupBegins == channels) // a depthwise convolution
      elements.loadTogether(input, {image, line.at, pixel.at, firstChannel}, channels);
    for (int64_t lane = 0; lane < vector; ++lane) {
      if (lane > 0 && groups[lane] == groups[lane - 1]) {
        loaded.push_back(loaded.back());
        continue;
      }
      Value a = elements.element(input, {image, line.at, pixel.at, elements.add(groupBegins[lane], channel)});
      if (inside)
        a = arith::SelectOp::create(builder, loc, inside, a,
                                    arith::ConstantOp::create(builder, loc, builder.getZeroAttr(a.getType())));
      loaded.push_back(a.getType() == type ? a : arith::ExtFOp::create(builder, loc, type, a).getResult());
    }
    return loaded;
  }

  SmallVector<Value> weightAt(Value line, Value pixel, Value channel) {
    elements.loadTogether(weight, {line, pixel, channel, firstChannel}, channels);
    return llvm::map_to_vector(channels,
                               [&](Value filter) { return elements.element(weight, {line, pixel, channel, filter}); });
  }

  /// Adds the taps of one line of the window. `linesOfSums` lists the lines of the tile that read this line of the
  /// input, each with its line of the window.
  void addLine(SmallVector<Value> &sums, const Position &line, ArrayRef<std::pair<int64_t, Value>> linesOfSums,
               Value channel) {
    const int64_t stride = op.getStrides()[1], dilation = op.getDilations()[1];
    // For each column: the pixels and taps that read it.
    std::map<int64_t, SmallVector<std::pair<int64_t, int64_t>>> readers;
    for (int64_t pixel = 0; pixel < pixels; ++pixel)
      for (int64_t tap = 0; tap < window.pixels; ++tap)
        readers[pixel * stride + tap * dilation].push_back({pixel, tap});
    std::map<std::pair<const void *, int64_t>, SmallVector<Value>> weights;
    for (auto [tileLine, windowLine] : linesOfSums)
      for (int64_t tap = 0; tap < window.pixels; ++tap)
        weights[{windowLine.getAsOpaquePointer(), tap}] = weightAt(windowLine, index(tap), channel);
    for (auto &[column, pairs] : readers) {
      SmallVector<Value> a = inputAt(line, position(1, firstPixel, index(column)), channel);
      for (auto [tileLine, windowLine] : linesOfSums)
        for (auto [pixel, tap] : pairs)
          for (int64_t lane = 0; lane < vector; ++lane) {
            Value &sum = sumOf(sums, tileLine, pixel, lane);
            sum = multiplyAdd(a[lane], weights[{windowLine.getAsOpaquePointer(), tap}][lane], sum);
          }
    }
  }

  /// Unrolls all lines of the window. Each line of the input is read once for all lines of the tile.
  SmallVector<Value> wholeWindow(SmallVector<Value> sums) {
    const int64_t stride = op.getStrides()[0], dilation = op.getDilations()[0];
    // For each line of the input: the lines of the tile and the taps.
    std::map<int64_t, SmallVector<std::pair<int64_t, Value>>> readers;
    for (int64_t line = 0; line < lines; ++line)
      for (int64_t tap = 0; tap < window.lines; ++tap)
        readers[line * stride + tap * dilation].push_back({line, index(tap)});
    for (auto &[line, pairs] : readers)
      addLine(sums, position(0, firstLine, index(line)), pairs, index(0));
    return sums;
  }

  using Body = llvm::function_ref<SmallVector<Value>(Value, SmallVector<Value>)>;
  SmallVector<Value> loopOver(int64_t extent, ArrayRef<Value> carried, Body body) {
    if (extent == 1)
      return body(index(0), SmallVector<Value>(carried));
    auto loop = scf::ForOp::create(builder, loc, index(0), index(extent), index(1), carried);
    keepRolled(loop); // the body has the code for all results of the tile
    elements.inScope([&] {
      builder.setInsertionPointToStart(loop.getBody());
      SmallVector<Value> next = body(loop.getInductionVar(), SmallVector<Value>(loop.getRegionIterArgs()));
      builder.setInsertionPointToEnd(loop.getBody());
      scf::YieldOp::create(builder, loc, next);
    });
    return SmallVector<Value>(loop.getResults());
  }

  /// Emits loops over the lines of the window and the channels of a group. The tile must have one line.
  SmallVector<Value> lineByLine(SmallVector<Value> sums) {
    const bool separate = window.sumsLines();
    return loopOver(window.lines, sums, [&](Value line, SmallVector<Value> total) {
      Position at = position(0, firstLine, elements.multiply(line, index(op.getDilations()[0])));
      SmallVector<Value> start = separate ? SmallVector<Value>(total.size(), zero()) : total;
      SmallVector<Value> inLine = loopOver(window.perGroup, start, [&](Value channel, SmallVector<Value> carried) {
        if (!window.unrollsLine())
          return tapByTap(carried, at, line, channel);
        addLine(carried, at, {{0, line}}, channel);
        return carried;
      });
      if (!separate)
        return inLine;
      for (auto [all, added] : llvm::zip_equal(total, inLine))
        all = arith::AddFOp::create(builder, loc, all, added);
      return total;
    });
  }

  /// Emits a loop over the taps of a line of the window. Each pixel of the tile reads its own element of the input.
  SmallVector<Value> tapByTap(SmallVector<Value> sums, const Position &line, Value windowLine, Value channel) {
    return loopOver(window.pixels, sums, [&](Value tap, SmallVector<Value> carried) {
      SmallVector<Value> weights = weightAt(windowLine, tap, channel);
      Value offset = elements.multiply(tap, index(op.getDilations()[1]));
      for (int64_t pixel = 0; pixel < pixels; ++pixel) {
        SmallVector<Value> a = inputAt(line, position(1, outPixels[pixel], offset), channel);
        for (int64_t lane = 0; lane < vector; ++lane) {
          Value &sum = sumOf(carried, 0, pixel, lane);
          sum = multiplyAdd(a[lane], weights[lane], sum);
        }
      }
      return carried;
    });
  }

  void provideSums(const SmallVector<Value> &sums) {
    std::map<std::vector<const void *>, Value> known;
    for (int64_t line = 0; line < lines; ++line)
      for (int64_t pixel = 0; pixel < pixels; ++pixel)
        for (int64_t lane = 0; lane < vector; ++lane)
          known[keyOf({image, outLines[line], outPixels[pixel], channels[lane]})] =
              sums[(line * pixels + pixel) * vector + lane];
    elements.provide(op->getResult(0), [known, keyOf = keyOf](ArrayRef<Value> at) { return known.at(keyOf(at)); });
  }

  static std::vector<const void *> keyOf(ArrayRef<Value> at) {
    std::vector<const void *> key;
    for (Value index : at)
      key.push_back(index.getAsOpaquePointer());
    return key;
  }

  /// Computes the ops after the convolution, and stores the pixels of the tile that are inside of the result.
  void writeAll() {
    for (int64_t line = 0; line < lines; ++line)
      for (int64_t pixel = 0; pixel < pixels; ++pixel) {
        Value inside = both(dividesEvenly(height, lines) ? Value() : isLess(outLines[line], height),
                            dividesEvenly(width, pixels) ? Value() : isLess(outPixels[pixel], width));
        when(inside, [&] { write(outLines[line], outPixels[pixel]); });
      }
  }

  void write(Value line, Value pixel) {
    // Compute all results before storing any of them, because a result may be stored in the memory of an operand.
    SmallVector<std::pair<SmallVector<Value>, BlockArgument>> made;
    for (auto [value, destination] : kernel.results())
      made.push_back(
          {llvm::map_to_vector(channels,
                               [&](Value channel) { return elements.element(value, {image, line, pixel, channel}); }),
           destination});
    for (auto &[values, destination] : made)
      elements.storeTogether(values, destination, {image, line, pixel, firstChannel}, channels,
                             kernel.pointers[destination]);
  }

  tile::GroupedConvolutionOp op;
  WindowSizes window;
  Value input, weight;
  Type type; ///< element type of the sums and of the weight
  int64_t lines, pixels, vector;
  Value image, firstLine, firstPixel, firstChannel, height, width, inGrid;
  SmallVector<Value> channels, outLines, outPixels; ///< indices in the result of the tile's channels, lines and pixels
  /// For each lane: the index of its group, and the group's first input channel.
  SmallVector<Value> groups, groupBegins;
};

} // namespace

LogicalResult emitWindows(ThreadKernel &kernel) {
  tile::GroupedConvolutionOp op = matchWindows(kernel.from);
  if (!op)
    return kernel.from.emitOpError(
        "its schedule `windows` supports only a grouped convolution, followed by elementwise "
        "ops of the same shape");
  if (std::string reason = whyNotWindows(kernel.schedule, op); !reason.empty())
    return kernel.from.emitOpError("its schedule `windows` does not fit: ") << reason;
  return WindowEmitter(kernel, op).run();
}

} // namespace tilewright::gpu
