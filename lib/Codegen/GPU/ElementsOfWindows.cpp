//===- ElementsOfWindows.cpp - elements of grouped convolutions, as one thread computes them ===//
//
//   grouped_convolution: element (n, y, x, f) = sum over its group's channels and the taps that are inside the input
//   depthwise_gradient:  element (n, p, kh, kw, c) = sum over the pixels of part p whose tap is inside the input
//
// Each line of a window or of a part is summed separately. Otherwise, rounding errors would accumulate along the whole
// window or part.
//
// Tests: test/Codegen/NVPTX/grouped-convolution.mlir, test/Python/test_cuda_kernel_table.py
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Tile.h"
#include "lib/Codegen/GPU/Elements.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

struct Sums {
  OpBuilder &builder;
  Location loc;
  Type type;

  Value zero() { return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type)); }
  Value extended(Value value) {
    return value.getType() == type ? value : arith::ExtFOp::create(builder, loc, type, value).getResult();
  }
  Value add(Value a, Value b) {
    if (!isa<FloatType>(type))
      return arith::AddIOp::create(builder, loc, a, b);
    auto sum = arith::AddFOp::create(builder, loc, a, b);
    sum.setFastmath(arith::FastMathFlags::contract);
    return sum;
  }
  Value multiply(Value a, Value b) {
    if (!isa<FloatType>(type))
      return arith::MulIOp::create(builder, loc, a, b);
    auto product = arith::MulFOp::create(builder, loc, a, b);
    product.setFastmath(arith::FastMathFlags::contract);
    return product;
  }
};

} // namespace

/// Returns the index of the line (or pixel) of the input that is at tap `tap` of the window at `position`. Adds the
/// condition that this index is inside the input to `inside`.
template <typename Op>
static Value underTap(OpBuilder &b, Elements &elements, Op op, int64_t dim, Value position, Value tap, Value extent,
                      Value &inside) {
  Location loc = op.getLoc();
  Value reach = elements.add(elements.multiply(position, elements.constant(op.getStrides()[dim])),
                             elements.multiply(tap, elements.constant(op.getDilations()[dim])));
  // The comparison is unsigned: an index before the first one is a very large unsigned number.
  Value at = arith::SubIOp::create(b, loc, reach, elements.constant(op.getPadding()[dim]));
  Value fits = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, at, extent);
  inside = inside ? arith::AndIOp::create(b, loc, inside, fits).getResult() : fits;
  return at;
}

Value Elements::groupedConvolution(Operation *op, ArrayRef<Value> at) {
  auto grouped = cast<tile::GroupedConvolutionOp>(op);
  Value input = grouped.getInputs()[0], weight = grouped.getInputs()[1];
  auto weightType = cast<RankedTensorType>(weight.getType());
  const int64_t perGroup = weightType.getDimSize(2), filters = weightType.getDimSize(3) / grouped.getGroups();
  Sums sums{builder, op->getLoc(), weightType.getElementType()};
  Value group = arith::DivUIOp::create(builder, op->getLoc(), at[3], constant(filters));
  Value firstChannel = multiply(group, constant(perGroup));
  return inOrder(constant(weightType.getDimSize(0)), sums.zero(), [&](Value line, Value lines) {
    Value inLine = inOrder(constant(weightType.getDimSize(1)), sums.zero(), [&](Value pixel, Value accumulated) {
      Value inside;
      Value y = underTap(builder, *this, grouped, 0, at[1], line, size(input, 1), inside);
      Value x = underTap(builder, *this, grouped, 1, at[2], pixel, size(input, 2), inside);
      auto taken = [&] {
        return inOrder(constant(perGroup), accumulated, [&](Value channel, Value sum) {
          Value a = sums.extended(element(input, {at[0], y, x, add(firstChannel, channel)}));
          return sums.add(sum, sums.multiply(a, element(weight, {line, pixel, channel, at[3]})));
        });
      };
      return choose(inside, sums.type, taken, [&] { return accumulated; });
    });
    return sums.add(lines, inLine);
  });
}

/// Computes elements that differ only in their channel. The code has no branches between the loads of adjacent
/// channels. An index outside of the input is replaced by 0, and the element that is read there by zero.
SmallVector<Value> Elements::depthwiseGradient(Operation *op, ArrayRef<SmallVector<Value>> ats) {
  auto gradient = cast<tile::DepthwiseGradientOp>(op);
  Location loc = op->getLoc();
  Value input = gradient.getInputs()[0], grad = gradient.getInputs()[1];
  Sums sums{builder, loc, cast<ShapedType>(op->getResult(0).getType()).getElementType()};
  ArrayRef<Value> at = ats.front();
  Value first = multiply(at[1], constant(gradient.getLines()));
  Value left = arith::SubIOp::create(builder, loc, size(grad, 1), first);
  Value lines = arith::MinSIOp::create(builder, loc, left, constant(gradient.getLines()));
  auto over = [&](Value extent, ArrayRef<Value> initial,
                  llvm::function_ref<SmallVector<Value>(Value, SmallVector<Value>)> body) {
    auto loop = scf::ForOp::create(builder, loc, constant(0), extent, constant(1), initial);
    inScope([&] {
      builder.setInsertionPointToStart(loop.getBody());
      SmallVector<Value> next = body(loop.getInductionVar(), SmallVector<Value>(loop.getRegionIterArgs()));
      builder.setInsertionPointToEnd(loop.getBody());
      scf::YieldOp::create(builder, loc, next);
    });
    return SmallVector<Value>(loop.getResults());
  };
  const SmallVector<Value> zeros(ats.size(), sums.zero());
  return over(lines, zeros, [&](Value number, SmallVector<Value> all) {
    Value line = add(first, number);
    SmallVector<Value> inLine = over(size(grad, 2), zeros, [&](Value pixel, SmallVector<Value> carried) {
      Value inside;
      Value y = underTap(builder, *this, gradient, 0, line, at[2], size(input, 1), inside);
      Value x = underTap(builder, *this, gradient, 1, pixel, at[3], size(input, 2), inside);
      auto product = [&](ArrayRef<Value> lane, Value sum, Value chosen) {
        Value a = element(input, {at[0], y, x, lane[4]});
        if (chosen)
          a = arith::SelectOp::create(builder, loc, chosen, a,
                                      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(a.getType())));
        Value b = sums.extended(element(grad, {at[0], line, pixel, lane[4]}));
        return sums.add(sum, sums.multiply(sums.extended(a), b));
      };
      if (ats.size() == 1) {
        auto taken = [&] { return product(at, carried[0], Value()); };
        return SmallVector<Value>{choose(inside, sums.type, taken, [&] { return carried[0]; })};
      }
      y = arith::SelectOp::create(builder, loc, inside, y, constant(0));
      x = arith::SelectOp::create(builder, loc, inside, x, constant(0));
      for (auto [lane, sum] : llvm::zip_equal(ats, carried))
        sum = product(lane, sum, inside);
      return carried;
    });
    for (auto [sum, added] : llvm::zip_equal(all, inLine))
      sum = sums.add(sum, added);
    return all;
  });
}

} // namespace tilewright::gpu
