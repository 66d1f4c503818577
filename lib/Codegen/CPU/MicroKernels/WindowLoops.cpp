//===- WindowLoops.cpp - loops over lines of windows -------------------------------===//
#include "lib/Codegen/CPU/MicroKernels/WindowLoops.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tilewright::cpu {

Value WindowLoops::constant(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
Value WindowLoops::size(Value value, int64_t dim) {
  return getValueOrCreateConstantIndexOp(builder, loc, memref::getMixedSize(builder, loc, value, dim));
}
Value WindowLoops::sum(Value a, Value b) { return arith::AddIOp::create(builder, loc, a, b); }
Value WindowLoops::larger(Value a, Value b) { return arith::MaxSIOp::create(builder, loc, a, b); }
Value WindowLoops::smaller(Value a, Value b) { return arith::MinSIOp::create(builder, loc, a, b); }
Value WindowLoops::apply(AffineExpr expr, ArrayRef<Value> dims) {
  return getValueOrCreateConstantIndexOp(builder, loc,
                                         affine::makeComposedFoldedAffineApply(builder, loc,
                                                                               AffineMap::get(dims.size(), 0, expr),
                                                                               getAsOpFoldResult(dims)));
}

void WindowLoops::loop(Value from, Value to, function_ref<void(Value)> inside, int64_t step) {
  std::optional<int64_t> low = getConstantIntValue(from), high = getConstantIntValue(to);
  if (low && high && *high <= *low)
    return;
  if (low && high && *high - *low <= step)
    return inside(from);
  auto nest = scf::ForOp::create(builder, loc, from, to, constant(step));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(nest.getBody());
  inside(nest.getInductionVar());
}

SmallVector<Value> WindowLoops::carry(Value from, Value to, ArrayRef<Value> sums,
                                      function_ref<SmallVector<Value>(Value, ArrayRef<Value>)> inside, int64_t step) {
  auto nest = scf::ForOp::create(builder, loc, from, to, constant(step), sums);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(nest.getBody());
  SmallVector<Value> carried = llvm::to_vector_of<Value>(nest.getRegionIterArgs());
  scf::YieldOp::create(builder, loc, inside(nest.getInductionVar(), carried));
  return llvm::to_vector_of<Value>(nest.getResults());
}

void WindowLoops::overlapping(int64_t count, int64_t step, function_ref<void(Value)> inside) {
  const int64_t whole = count / step * step;
  loop(constant(0), constant(whole), inside, step);
  if (whole < count)
    inside(constant(count - step));
}

std::pair<Value, Value> WindowLoops::tapsInside(const Steps &steps, Value start, Value size) {
  Value from = larger(apply((-d0()).ceilDiv(steps.dilation), {start}), constant(0));
  Value to = smaller(apply((d1() - d0()).ceilDiv(steps.dilation), {start, size}), constant(steps.kernel));
  return {from, to};
}

void WindowLoops::overKnownPixels(int64_t count, int64_t width, int64_t most,
                                  function_ref<void(const PixelBlock &)> body) {
  if (count == 0)
    return;
  const int64_t each = llvm::divideCeil(count, llvm::divideCeil(count, most));
  const Steps steps = pixels;
  auto meets = [=](int64_t pixel, int64_t tap) {
    int64_t position = pixel * steps.stride + tap * steps.dilation - steps.padding;
    return position >= 0 && position < width;
  };
  auto inside = [&](int64_t first) {
    return first + each <= count && meets(first, 0) && meets(first + each - 1, steps.kernel - 1);
  };
  auto emit = [&](Value first, int64_t here, std::function<bool(int64_t, int64_t)> meetsHere) {
    body({first, here, apply(d0() * steps.stride - steps.padding, {first}), Value(), Value(), std::move(meetsHere)});
  };
  for (int64_t first = 0; first < count;) {
    int64_t end = first;
    while (inside(end))
      end += each;
    if (end > first) {
      loop(constant(first), constant(end), [&](Value at) { emit(at, each, PixelBlock().meets); }, each);
      first = end;
      continue;
    }
    emit(constant(first), std::min(each, count - first),
         [=](int64_t pixel, int64_t tap) { return meets(first + pixel, tap); });
    first += each;
  }
}

void WindowLoops::overPixels(Value firstPixel, Value count, Value width, int64_t most,
                             function_ref<void(const PixelBlock &)> body) {
  std::optional<int64_t> knownCount = getConstantIntValue(count), knownWidth = getConstantIntValue(width);
  if (knownCount && knownWidth && (!firstPixel || isConstantIntValue(firstPixel, 0)) && !hasLongLine())
    return overKnownPixels(*knownCount, *knownWidth, most, body);
  Value offset = firstPixel ? firstPixel : constant(0), zero = constant(0);
  auto leftOf = [&](Value pixel) { return apply((d0() + d1()) * pixels.stride - pixels.padding, {offset, pixel}); };
  // Windows with an index of at least `inner` start inside the image, and windows with an index below `outer` end
  // inside it.
  Value inner = larger(apply((-d0() * pixels.stride + pixels.padding).ceilDiv(pixels.stride), {offset}), zero);
  inner = smaller(inner, count);
  const int64_t reach = (pixels.kernel - 1) * pixels.dilation;
  Value outer = apply((d1() + (pixels.padding - reach - 1)).floorDiv(pixels.stride) + 1 - d0(), {offset, width});
  outer = larger(smaller(outer, count), inner);
  Value end = apply(d0() + (d1() - d0()).floorDiv(most) * most, {inner, outer});
  auto single = [&](Value pixel) {
    Value left = leftOf(pixel);
    auto [from, to] = tapsInside(pixels, left, width);
    body({pixel, 1, left, from, to});
  };
  loop(zero, inner, single);
  loop(inner, end, [&](Value pixel) { body({pixel, most, leftOf(pixel), Value(), Value()}); }, most);
  loop(end, count, single);
}

void WindowLoops::overPixelsOfLongLines(Value firstPixel, Value count, int64_t most,
                                        function_ref<void(const PixelBlock &)> body) {
  Value offset = firstPixel ? firstPixel : constant(0), zero = constant(0);
  Value end = apply(d0().floorDiv(most) * most, {count});
  auto emit = [&](Value pixel, int64_t pixelsHere) {
    Value left = apply((d0() + d1()) * pixels.stride - pixels.padding, {offset, pixel});
    body({pixel, pixelsHere, left, Value(), Value()});
  };
  loop(zero, end, [&](Value pixel) { emit(pixel, most); }, most);
  loop(end, count, [&](Value pixel) { emit(pixel, 1); });
}

PixelBlock WindowLoops::fromTap(const PixelBlock &block, Value tap) {
  return {block.first, 1, apply(d0() + d1() * pixels.dilation, {block.left, tap}), Value(), Value()};
}

Value WindowLoops::loadVector(Value memory, ArrayRef<Value> indices, VectorType computed) {
  Type element = typeOf(memory).getElementType();
  Value loaded = vector::LoadOp::create(builder, loc, computed.clone(element), memory, indices);
  return element == computed.getElementType() ? loaded
                                              : arith::ExtFOp::create(builder, loc, computed, loaded).getResult();
}

} // namespace tilewright::cpu
