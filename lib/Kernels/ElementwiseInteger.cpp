//===- ElementwiseInteger.cpp - elementwise ops on integers ------------------===//
//
// Integers wrap around. No op traps: a division by zero makes a call on a CPU fail (tw_tile.divisor), the smallest
// integer divided by -1 is itself, and a shift by n, which may exceed the bit width, has the result of n shifts by one
// bit. A negative n has the same effect as a large one.
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Tile.h"
#include "lib/Kernels/Lowering.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::structured {
namespace {

using IntegerPredicate = arith::CmpIPredicate;

/// Helper functions with short names, which create the integer ops of a body.
struct IntegerBody {
  OpBuilder &b;
  Location loc;
  Type type;
  bool isUnsigned;

  Value c(int64_t value) { return intConstant(b, loc, type, value); }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubIOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return arith::MulIOp::create(b, loc, x, y); }
  Value both(Value x, Value y) { return arith::AndIOp::create(b, loc, x, y); }
  Value either(Value x, Value y) { return arith::OrIOp::create(b, loc, x, y); }
  Value differ(Value x, Value y) { return arith::XOrIOp::create(b, loc, x, y); }
  Value select(Value c, Value x, Value y) { return arith::SelectOp::create(b, loc, c, x, y); }
  Value cmp(IntegerPredicate signedPredicate, Value x, Value y) {
    IntegerPredicate p = signedPredicate;
    if (isUnsigned)
      p = p == IntegerPredicate::slt   ? IntegerPredicate::ult
          : p == IntegerPredicate::sle ? IntegerPredicate::ule
          : p == IntegerPredicate::sgt ? IntegerPredicate::ugt
          : p == IntegerPredicate::sge ? IntegerPredicate::uge
                                       : p;
    return arith::CmpIOp::create(b, loc, p, x, y);
  }
  Value isZero(Value x) { return cmp(IntegerPredicate::eq, x, c(0)); }
  Value nonZero(Value x) { return cmp(IntegerPredicate::ne, x, c(0)); }
  Value isMinusOne(Value x) {
    return isUnsigned ? intConstant(b, loc, b.getI1Type(), 0) : cmp(IntegerPredicate::eq, x, c(-1));
  }
  /// Returns `y`, or 1 at run time if a division by `y` could trap, that is, if `y` is 0 (which is reported) or, in a
  /// signed type, -1.
  Value safeDivisor(Value y) {
    APInt known;
    if (matchPattern(y, m_ConstantInt(&known)) && !known.isZero() && (isUnsigned || !known.isAllOnes()))
      return y;
    Value divisor = tile::DivisorOp::create(b, loc, y);
    return isUnsigned ? divisor : select(isMinusOne(y), c(1), divisor);
  }
  Value max(Value x, Value y) { return combineScalar(b, loc, tile::Combiner::Maximum, x, y, isUnsigned); }
  Value min(Value x, Value y) { return combineScalar(b, loc, tile::Combiner::Minimum, x, y, isUnsigned); }

  Value rem(Value x, Value y) { // the result has the sign of x
    Value safe = safeDivisor(y);
    return isUnsigned ? arith::RemUIOp::create(b, loc, x, safe).getResult()
                      : arith::RemSIOp::create(b, loc, x, safe).getResult();
  }
  Value quotient(Value x, Value y) {
    Value safe = safeDivisor(y);
    Value q = isUnsigned ? arith::DivUIOp::create(b, loc, x, safe).getResult()
                         : arith::DivSIOp::create(b, loc, x, safe).getResult();
    return isUnsigned ? q : select(isMinusOne(y), sub(c(0), x), q);
  }
  Value wrongSide(Value r, Value y) {
    return both(nonZero(r), differ(cmp(IntegerPredicate::slt, r, c(0)), cmp(IntegerPredicate::slt, y, c(0))));
  }
  Value divFloor(Value x, Value y) {
    Value q = quotient(x, y);
    return isUnsigned ? q : select(wrongSide(rem(x, y), y), sub(q, c(1)), q);
  }
  Value remainder(Value x, Value y) {
    Value r = rem(x, y);
    return isUnsigned ? r : select(wrongSide(r, y), add(r, y), r);
  }

  Value shift(Value x, Value y, bool left) {
    int64_t width = type.getIntOrFloatBitWidth();
    Value inRange =
        arith::CmpIOp::create(b, loc, IntegerPredicate::ult, y, c(width)); // a negative amount is a large unsigned one
    bool fills = !left && !isUnsigned;                                     // the shift copies the sign bit
    Value safe = select(inRange, y, c(fills ? width - 1 : 0));
    Value shifted = left         ? arith::ShLIOp::create(b, loc, x, safe).getResult()
                    : isUnsigned ? arith::ShRUIOp::create(b, loc, x, safe).getResult()
                                 : arith::ShRSIOp::create(b, loc, x, safe).getResult();
    return fills ? shifted : select(inRange, shifted, c(0));
  }

  /// Computes x ** y by repeated squaring: multiplies the powers x^1, x^2, x^4, ... that the bits of the exponent
  /// select. Products wrap around. With a negative exponent, only the powers of 1 and -1 are not 0.
  Value power(Value x, Value y) {
    APInt exponent;
    int64_t bits = type.getIntOrFloatBitWidth() - (isUnsigned ? 0 : 1);
    bool known = matchPattern(y, m_ConstantInt(&exponent));
    if (known && (isUnsigned || !exponent.isNegative()))
      bits = std::min<int64_t>(bits, exponent.getActiveBits());
    Value result = c(1), square = x;
    for (int64_t bit = 0; bit < bits; ++bit) {
      if (!known)
        result = select(nonZero(both(y, c(int64_t(1) << bit))), mul(result, square), result);
      else if (exponent[bit])
        result = mul(result, square);
      if (bit + 1 < bits)
        square = mul(square, square);
    }
    if (isUnsigned || (known && !exponent.isNegative()))
      return result;
    Value odd = nonZero(both(y, c(1)));
    Value ofMinusOne = select(odd, c(-1), c(1));
    Value inverse = select(cmp(IntegerPredicate::eq, x, c(1)), c(1), select(isMinusOne(x), ofMinusOne, c(0)));
    return select(cmp(IntegerPredicate::slt, y, c(0)), inverse, result);
  }

  Value widenBool(Value flag) { return arith::ExtUIOp::create(b, loc, type, flag); }
};

} // namespace

Value integerScalar(OpBuilder &b, Location loc, Operation *op, ValueRange args, bool isUnsigned) {
  using namespace graph;
  IntegerBody i{b, loc, args[0].getType(), isUnsigned};
  Value x = args[0], y = args.size() > 1 ? args[1] : Value();
  return TypeSwitch<Operation *, Value>(op)
      .Case<AddOp>([&](auto) { return i.add(x, y); })
      .Case<SubOp>([&](auto) { return i.sub(x, y); })
      .Case<MulOp>([&](auto) { return i.mul(x, y); })
      .Case<DivTruncOp>([&](auto) { return i.quotient(x, y); })
      .Case<DivFloorOp>([&](auto) { return i.divFloor(x, y); })
      .Case<FmodOp>([&](auto) { return i.rem(x, y); })
      .Case<RemainderOp>([&](auto) { return i.remainder(x, y); })
      .Case<PowOp>([&](auto) { return i.power(x, y); })
      .Case<MaximumOp>([&](auto) { return i.max(x, y); })
      .Case<MinimumOp>([&](auto) { return i.min(x, y); })
      .Case<BitwiseAndOp>([&](auto) { return i.both(x, y); })
      .Case<BitwiseOrOp>([&](auto) { return i.either(x, y); })
      .Case<BitwiseXorOp>([&](auto) { return i.differ(x, y); })
      .Case<BitwiseNotOp>([&](auto) { return i.differ(x, i.c(-1)); })
      .Case<ShiftLeftOp>([&](auto) { return i.shift(x, y, /*left=*/true); })
      .Case<ShiftRightOp>([&](auto) { return i.shift(x, y, /*left=*/false); })
      .Case<EqOp>([&](auto) { return i.cmp(IntegerPredicate::eq, x, y); })
      .Case<NeOp>([&](auto) { return i.cmp(IntegerPredicate::ne, x, y); })
      .Case<LtOp>([&](auto) { return i.cmp(IntegerPredicate::slt, x, y); })
      .Case<LeOp>([&](auto) { return i.cmp(IntegerPredicate::sle, x, y); })
      .Case<GtOp>([&](auto) { return i.cmp(IntegerPredicate::sgt, x, y); })
      .Case<GeOp>([&](auto) { return i.cmp(IntegerPredicate::sge, x, y); })
      .Case<LogicalAndOp>([&](auto) { return i.both(i.nonZero(x), i.nonZero(y)); })
      .Case<LogicalOrOp>([&](auto) { return i.either(i.nonZero(x), i.nonZero(y)); })
      .Case<LogicalXorOp>([&](auto) { return i.differ(i.nonZero(x), i.nonZero(y)); })
      .Case<LogicalNotOp>([&](auto) { return i.isZero(x); })
      .Case<IsnanOp, IsinfOp>([&](auto) { return intConstant(b, loc, b.getI1Type(), 0); })
      .Case<AbsOp>([&](auto) { return isUnsigned ? x : i.max(x, i.sub(i.c(0), x)); })
      .Case<NegOp>([&](auto) { return i.sub(i.c(0), x); })
      .Case<ReluOp>([&](auto) { return i.max(x, i.c(0)); })
      .Case<SignOp>([&](auto) {
        return i.sub(i.widenBool(i.cmp(IntegerPredicate::sgt, x, i.c(0))),
                     i.widenBool(i.cmp(IntegerPredicate::slt, x, i.c(0))));
      })
      .Case<FloorOp, CeilOp, RoundOp, TruncOp>([&](auto) { return x; })
      .Default([](Operation *) { return Value(); });
}

Value booleanScalar(OpBuilder &b, Location loc, Operation *op, ValueRange args) {
  using namespace graph;
  Value x = args[0], y = args.size() > 1 ? args[1] : Value();
  auto compare = [&](IntegerPredicate p) { return arith::CmpIOp::create(b, loc, p, x, y).getResult(); };
  return TypeSwitch<Operation *, Value>(op)
      .Case<AddOp, MaximumOp, BitwiseOrOp, LogicalOrOp>([&](auto) { return arith::OrIOp::create(b, loc, x, y); })
      .Case<MulOp, MinimumOp, BitwiseAndOp, LogicalAndOp>([&](auto) { return arith::AndIOp::create(b, loc, x, y); })
      .Case<SubOp, NeOp, BitwiseXorOp, LogicalXorOp>([&](auto) { return arith::XOrIOp::create(b, loc, x, y); })
      .Case<BitwiseNotOp, LogicalNotOp>(
          [&](auto) { return arith::XOrIOp::create(b, loc, x, intConstant(b, loc, b.getI1Type(), 1)); })
      .Case<EqOp>([&](auto) { return compare(IntegerPredicate::eq); })
      .Case<LtOp>([&](auto) { return compare(IntegerPredicate::ult); })
      .Case<LeOp>([&](auto) { return compare(IntegerPredicate::ule); })
      .Case<GtOp>([&](auto) { return compare(IntegerPredicate::ugt); })
      .Case<GeOp>([&](auto) { return compare(IntegerPredicate::uge); })
      .Case<PowOp>([&](auto) { // the power of two booleans is false only for false ** true
        Value notY = arith::XOrIOp::create(b, loc, y, intConstant(b, loc, b.getI1Type(), 1));
        return arith::OrIOp::create(b, loc, x, notY);
      })
      .Case<IsnanOp, IsinfOp>([&](auto) { return intConstant(b, loc, b.getI1Type(), 0); })
      .Case<AbsOp, ReluOp, SignOp>([&](auto) { return x; })
      .Default([](Operation *) { return Value(); });
}

} // namespace tilewright::structured
