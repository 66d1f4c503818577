//===- ElementsOfSort.cpp - elements of sorted rows, as one thread computes them ----------===//
//
// Element r of a sorted row is the element of rank r. Its key is determined bit by bit, from the highest bit to the
// lowest. In each step, consider the elements whose higher bits equal the known bits of the key. Elements whose next
// bit is zero come first, so if the number of these elements is at most r, the next bit of the key is one, and the
// number is subtracted from r. After the last bit, r is the rank among the elements that have this key. The result is
// the element with this key that exactly r elements with the same key precede, so the sort is stable.
//
// Keys are unsigned integers with the same order as the elements. The key of a positive float is the float with the
// sign bit set, and the key of a negative float has all bits inverted. The key of NaN has all bits set, and the key of
// -0 is that of 0. The key of a signed integer is the integer with the sign bit inverted. For a descending sort, all
// bits of the keys are inverted.
//
// A row may have any length, and the sort needs no extra memory. Each thread reads the row once per bit of the key, and
// once more to find the element.
//
// Tests: test/Codegen/NVPTX/sort.mlir, test/Python/test_cuda_kernel_table.py
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Tile.h"
#include "lib/Codegen/GPU/Elements.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// Returns the key of `value`, an unsigned integer of the same bit width. The keys have the order of the sort.
Value orderOf(OpBuilder &b, tile::SortOp op, Value value) {
  Location loc = op.getLoc();
  Type type = value.getType();
  auto bits = b.getIntegerType(type.getIntOrFloatBitWidth());
  auto number = [&](const llvm::APInt &number) -> Value {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(bits, number));
  };
  Value sign = number(llvm::APInt::getSignMask(bits.getWidth())),
        ones = number(llvm::APInt::getAllOnes(bits.getWidth()));
  Value key;
  if (isa<FloatType>(type)) {
    Value none = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
    Value isZero = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, value, none);
    Value isNone = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, value, value);
    value = arith::SelectOp::create(b, loc, isZero, none, value);
    key = arith::BitcastOp::create(b, loc, bits, value);
    Value zero = number(llvm::APInt::getZero(bits.getWidth()));
    Value negative = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, key, zero);
    key = arith::XOrIOp::create(b, loc, key, arith::SelectOp::create(b, loc, negative, ones, sign));
    key = arith::SelectOp::create(b, loc, isNone, ones, key);
  } else {
    // A boolean has no sign bit.
    key = op->hasAttr("tw.unsigned") || bits.getWidth() == 1 ? value
                                                             : arith::XOrIOp::create(b, loc, value, sign).getResult();
  }
  return op.getDescending() ? arith::XOrIOp::create(b, loc, key, ones).getResult() : key;
}

} // namespace

Value Elements::sort(OpResult result, ArrayRef<Value> at) {
  auto sort = cast<tile::SortOp>(result.getOwner());
  Location loc = sort.getLoc();
  const int64_t dim = int64_t(sort.getDim());
  Value input = sort.getInputs()[0];
  auto indicesAt = [&](Value position) {
    SmallVector<Value> from(at);
    from[size_t(dim)] = position;
    return from;
  };
  auto positions = cast<OpResult>(sort->getResult(1));
  if (result != positions) { // the value is the element of the input at the position that the other result contains
    Value position = element(positions, at);
    return element(input, indicesAt(arith::IndexCastOp::create(builder, loc, builder.getIndexType(), position)));
  }
  Type type = cast<ShapedType>(input.getType()).getElementType();
  auto bits = builder.getIntegerType(type.getIntOrFloatBitWidth());
  Value length = size(input, dim), one = arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(bits, 1)),
        zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(bits));
  auto key = [&](Value position) { return orderOf(builder, sort, element(input, indicesAt(position))); };
  auto isEqual = [&](Value a, Value b) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, a, b);
  };
  auto select = [&](Value condition, Value yes, Value no) -> Value {
    return arith::SelectOp::create(builder, loc, condition, yes, no);
  };
  auto loop = scf::ForOp::create(builder, loc, constant(0), constant(bits.getWidth()), constant(1),
                                 ValueRange{zero, at[size_t(dim)]});
  inScope([&] {
    builder.setInsertionPointToStart(loop.getBody());
    Value found = loop.getRegionIterArg(0), rank = loop.getRegionIterArg(1);
    Value left = arith::SubIOp::create(builder, loc, constant(bits.getWidth() - 1), loop.getInductionVar());
    Value shift = bits.getWidth() == 1 ? zero : arith::IndexCastOp::create(builder, loc, bits, left).getResult();
    // The known bits of the key, followed by a zero. A boolean has only one bit.
    Value begins = bits.getWidth() == 1 ? zero : arith::ShLIOp::create(builder, loc, found, one).getResult();
    Value count = inOrder(length, constant(0), [&](Value position, Value accumulated) {
      Value high = arith::ShRUIOp::create(builder, loc, key(position), shift);
      return select(isEqual(high, begins), add(accumulated, constant(1)), accumulated);
    });
    Value isZero = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, rank, count);
    Value more = arith::OrIOp::create(builder, loc, begins, one);
    Value fewer = arith::SubIOp::create(builder, loc, rank, count);
    SmallVector<Value> next{select(isZero, begins, more), select(isZero, rank, fewer)};
    scf::YieldOp::create(builder, loc, next);
  });
  Value found = loop.getResult(0), rank = loop.getResult(1);
  // Find the element with this key that has `rank` elements with equal keys before it.
  auto search = scf::ForOp::create(builder, loc, constant(0), length, constant(1), ValueRange{rank, constant(0)});
  inScope([&] {
    builder.setInsertionPointToStart(search.getBody());
    Value position = search.getInductionVar(), before = search.getRegionIterArg(0), chosen = search.getRegionIterArg(1);
    Value equal = isEqual(key(position), found);
    Value here = arith::AndIOp::create(builder, loc, equal, isEqual(before, constant(0)));
    Value less = arith::SubIOp::create(builder, loc, before, constant(1));
    SmallVector<Value> next{select(equal, less, before), select(here, position, chosen)};
    scf::YieldOp::create(builder, loc, next);
  });
  return arith::IndexCastOp::create(builder, loc, builder.getI64Type(), search.getResult(1));
}

} // namespace tilewright::gpu
