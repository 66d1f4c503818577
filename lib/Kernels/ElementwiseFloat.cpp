//===- ElementwiseFloat.cpp - elementwise ops on floats ----------------------===//
//
// Elements are f32 or f64. NaN propagates as in torch. The only fast-math flags are contract and, for maxima and
// minima, nsz, because a user's NaN and infinities must be preserved.
//
//===----------------------------------------------------------------------===//
#include "lib/Kernels/Lowering.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::structured {
namespace {

using FloatPredicate = arith::CmpFPredicate;

/// Helper functions with short names, which create the float ops of a body.
struct FloatBody {
  OpBuilder &b;
  Location loc;
  Type type;
  arith::FastMathFlagsAttr flags = contractFlag(b);

  Value c(double value) { return floatConstant(b, loc, type, value); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y, flags); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y, flags); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y, flags); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, loc, x, y, flags); }
  Value neg(Value x) { return arith::NegFOp::create(b, loc, x, flags); }
  Value fmod(Value x, Value y) { return arith::RemFOp::create(b, loc, x, y, flags); }
  Value cmp(FloatPredicate p, Value x, Value y) { return arith::CmpFOp::create(b, loc, p, x, y); }
  Value select(Value c, Value x, Value y) { return arith::SelectOp::create(b, loc, c, x, y); }
  Value both(Value x, Value y) { return arith::AndIOp::create(b, loc, x, y); }
  Value differ(Value x, Value y) { return arith::XOrIOp::create(b, loc, x, y); }
  template <typename MathOp> Value math(Value x) { return MathOp::create(b, loc, x, flags); }
  Value exp(Value x) { return math<math::ExpOp>(x); }

  /// 1 + e^-x
  Value onePlusExpNeg(Value x) { return add(exp(neg(x)), c(1)); }

  /// Returns true if the divisor must be added to the remainder, which is the case if the remainder is not zero and its
  /// sign differs from the divisor's.
  Value wrongSide(Value remainder, Value divisor) {
    Value negative = cmp(FloatPredicate::OLT, remainder, c(0)),
          divisorNegative = cmp(FloatPredicate::OLT, divisor, c(0));
    return both(cmp(FloatPredicate::UNE, remainder, c(0)), differ(negative, divisorNegative));
  }

  Value remainder(Value x, Value y) {
    Value r = fmod(x, y);
    return select(wrongSide(r, y), add(r, y), r);
  }

  /// Computes the quotient from the exact remainder, like torch's div_floor_floating, so that it is not off by one.
  Value divFloor(Value x, Value y) {
    Value r = fmod(x, y), plain = div(x, y);
    Value quotient = div(sub(x, r), y);
    quotient = select(wrongSide(r, y), sub(quotient, c(1)), quotient);
    Value whole = math<math::FloorOp>(quotient);
    whole = select(cmp(FloatPredicate::OGT, sub(quotient, whole), c(0.5)), add(whole, c(1)), whole);
    Value zero = math::CopySignOp::create(b, loc, c(0), plain, flags);
    whole = select(cmp(FloatPredicate::OEQ, quotient, c(0)), zero, whole);
    return select(cmp(FloatPredicate::OEQ, y, c(0)), plain, whole);
  }

  /// Computes x ** y. For the constant exponents that torch implements without pow, emits the same operations as torch.
  Value power(Value x, Value y) {
    FloatAttr exponent;
    if (matchPattern(y, m_Constant(&exponent))) {
      double e = exponent.getValueAsDouble();
      if (e == 1)
        return x;
      if (e == 2)
        return mul(x, x);
      if (e == 3)
        return mul(mul(x, x), x);
      if (e == 0.5)
        return math<math::SqrtOp>(x);
      if (e == -0.5)
        return math<math::RsqrtOp>(x);
      if (e == -1)
        return div(c(1), x);
      if (e == -2)
        return div(c(1), mul(x, x));
    }
    return math::PowFOp::create(b, loc, x, y, flags);
  }

  Value gelu(Value x) { // x/2 (1 + erf(x / sqrt 2))
    Value erf = math<math::ErfOp>(mul(x, c(0.70710678118654752440)));
    return mul(mul(x, c(0.5)), add(erf, c(1)));
  }
  Value geluTanh(Value x) { // x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
    Value cube = mul(mul(x, x), x);
    Value inner = mul(add(x, mul(cube, c(0.044715))), c(0.79788456080286535588));
    return mul(mul(x, c(0.5)), add(math<math::TanhOp>(inner), c(1)));
  }
  Value sign(Value x) { // zero for NaN, as in torch
    Value positive = arith::UIToFPOp::create(b, loc, type, cmp(FloatPredicate::OGT, x, c(0)));
    Value negative = arith::UIToFPOp::create(b, loc, type, cmp(FloatPredicate::OLT, x, c(0)));
    return sub(positive, negative);
  }
  Value nonZero(Value x) { return cmp(FloatPredicate::UNE, x, c(0)); }
};

} // namespace

Value floatScalar(OpBuilder &b, Location loc, Operation *op, ValueRange args) {
  using namespace graph;
  FloatBody f{b, loc, args[0].getType()};
  Value x = args[0], y = args.size() > 1 ? args[1] : Value();
  return TypeSwitch<Operation *, Value>(op)
      .Case<AddOp>([&](auto) { return f.add(x, y); })
      .Case<SubOp>([&](auto) { return f.sub(x, y); })
      .Case<MulOp>([&](auto) { return f.mul(x, y); })
      .Case<DivOp>([&](auto) { return f.div(x, y); })
      .Case<MaximumOp>([&](auto) { return arith::MaximumFOp::create(b, loc, x, y, extremeFlags(b)); })
      .Case<MinimumOp>([&](auto) { return arith::MinimumFOp::create(b, loc, x, y, extremeFlags(b)); })
      .Case<PowOp>([&](auto) { return f.power(x, y); })
      .Case<DivTruncOp>([&](auto) { return f.math<math::TruncOp>(f.div(x, y)); })
      .Case<DivFloorOp>([&](auto) { return f.divFloor(x, y); })
      .Case<FmodOp>([&](auto) { return f.fmod(x, y); })
      .Case<RemainderOp>([&](auto) { return f.remainder(x, y); })
      .Case<Atan2Op>([&](auto) { return math::Atan2Op::create(b, loc, x, y, f.flags); })
      .Case<EqOp>([&](auto) { return f.cmp(FloatPredicate::OEQ, x, y); })
      .Case<NeOp>([&](auto) { return f.cmp(FloatPredicate::UNE, x, y); })
      .Case<LtOp>([&](auto) { return f.cmp(FloatPredicate::OLT, x, y); })
      .Case<LeOp>([&](auto) { return f.cmp(FloatPredicate::OLE, x, y); })
      .Case<GtOp>([&](auto) { return f.cmp(FloatPredicate::OGT, x, y); })
      .Case<GeOp>([&](auto) { return f.cmp(FloatPredicate::OGE, x, y); })
      .Case<LogicalAndOp>([&](auto) { return f.both(f.nonZero(x), f.nonZero(y)); })
      .Case<LogicalOrOp>([&](auto) { return arith::OrIOp::create(b, loc, f.nonZero(x), f.nonZero(y)); })
      .Case<LogicalXorOp>([&](auto) { return f.differ(f.nonZero(x), f.nonZero(y)); })
      .Case<LogicalNotOp>([&](auto) { return f.cmp(FloatPredicate::OEQ, x, f.c(0)); })
      .Case<IsnanOp>([&](auto) { return f.cmp(FloatPredicate::UNO, x, x); })
      .Case<IsinfOp>([&](auto) {
        return f.cmp(FloatPredicate::OEQ, f.math<math::AbsFOp>(x), f.c(std::numeric_limits<double>::infinity()));
      })
#define TW_UNARY_FUNCTION(OP, ONNX, MATH, ...) .Case<OP>([&](auto) { return f.math<math::MATH>(x); })
#include "dialects/Graph/ScalarFunctions.def"
      .Case<AbsOp>([&](auto) { return f.math<math::AbsFOp>(x); })
      .Case<NegOp>([&](auto) { return f.neg(x); })
      .Case<SqrtOp>([&](auto) { return f.math<math::SqrtOp>(x); })
      .Case<RsqrtOp>([&](auto) { return f.math<math::RsqrtOp>(x); })
      .Case<ReciprocalOp>([&](auto) { return f.div(f.c(1), x); })
      .Case<SigmoidOp>([&](auto) { return f.div(f.c(1), f.onePlusExpNeg(x)); })
      .Case<SiluOp>([&](auto) { return f.div(x, f.onePlusExpNeg(x)); })
      .Case<ReluOp>([&](auto) { return arith::MaximumFOp::create(b, loc, x, f.c(0), extremeFlags(b)); })
      .Case<GeluOp>([&](auto) { return f.gelu(x); })
      .Case<GeluTanhOp>([&](auto) { return f.geluTanh(x); })
      .Case<FloorOp>([&](auto) { return f.math<math::FloorOp>(x); })
      .Case<CeilOp>([&](auto) { return f.math<math::CeilOp>(x); })
      .Case<RoundOp>([&](auto) { return f.math<math::RoundEvenOp>(x); })
      .Case<TruncOp>([&](auto) { return f.math<math::TruncOp>(x); })
      .Case<SignOp>([&](auto) { return f.sign(x); })
      .Default([](Operation *) { return Value(); });
}

} // namespace tilewright::structured
