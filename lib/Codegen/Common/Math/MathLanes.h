//===- MathLanes.h - arithmetic on lanes, written as formulas ------------------===//
//
//   Lanes r = fma(n, -ln2, x);      // math.fma
//   Lanes y = r * r + 1.0;          // arith.mulf, arith.addf, a splat constant
//
// A `Lanes` is an SSA value of type f32, f64, bf16, i1, i16, i32 or i64, or a vector of one of these types and any
// shape. It also has a builder, which the functions use to create ops. All functions are elementwise and independent of
// the number of lanes.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_COMMON_MATH_MATHLANES_H
#define TILEWRIGHT_LIB_CODEGEN_COMMON_MATH_MATHLANES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tilewright::cpu {

struct Lanes {
  mlir::ImplicitLocOpBuilder *builder;
  mlir::Value value;

  mlir::Type type() const { return value.getType(); }
  mlir::Type element() const { return mlir::getElementTypeOrSelf(type()); }
  bool isFloat() const { return mlir::isa<mlir::FloatType>(element()); }

  template <typename OpTy, typename... Args> Lanes make(Args &&...args) const {
    return {builder, OpTy::create(*builder, builder->getLoc(), std::forward<Args>(args)...)};
  }

  /// Returns the type with the shape of this value and the element type `other`.
  mlir::Type like(mlir::Type other) const {
    if (auto vector = mlir::dyn_cast<mlir::VectorType>(type()))
      return vector.clone(other);
    return other;
  }

  /// Returns a constant of this type.
  Lanes number(double constant) const {
    mlir::TypedAttr attr = builder->getFloatAttr(element(), constant);
    return splat(attr);
  }
  Lanes integer(uint64_t bits) const {
    auto width = element().getIntOrFloatBitWidth();
    return splat(mlir::IntegerAttr::get(element(), llvm::APInt(width, bits, false, /*implicitTrunc=*/true)));
  }

  Lanes asInteger() const {
    return make<mlir::arith::BitcastOp>(like(builder->getIntegerType(element().getIntOrFloatBitWidth())), value);
  }
  Lanes asFloat() const {
    bool wide = element().getIntOrFloatBitWidth() == 64;
    return make<mlir::arith::BitcastOp>(like(wide ? (mlir::Type)builder->getF64Type() : builder->getF32Type()), value);
  }
  Lanes widened() const { return make<mlir::arith::ExtFOp>(like(builder->getF64Type()), value); }
  Lanes narrowed() const { return make<mlir::arith::TruncFOp>(like(builder->getF32Type()), value); }

private:
  Lanes splat(mlir::TypedAttr attr) const {
    if (auto vector = mlir::dyn_cast<mlir::VectorType>(type()))
      attr = mlir::DenseElementsAttr::get(vector, llvm::ArrayRef<mlir::Attribute>(attr));
    return make<mlir::arith::ConstantOp>(attr);
  }
};

inline Lanes operator+(Lanes a, Lanes b) {
  return a.isFloat() ? a.make<mlir::arith::AddFOp>(a.value, b.value) : a.make<mlir::arith::AddIOp>(a.value, b.value);
}
inline Lanes operator-(Lanes a, Lanes b) {
  return a.isFloat() ? a.make<mlir::arith::SubFOp>(a.value, b.value) : a.make<mlir::arith::SubIOp>(a.value, b.value);
}
inline Lanes operator*(Lanes a, Lanes b) { return a.make<mlir::arith::MulFOp>(a.value, b.value); }
inline Lanes operator/(Lanes a, Lanes b) { return a.make<mlir::arith::DivFOp>(a.value, b.value); }
inline Lanes operator-(Lanes a) { return a.make<mlir::arith::NegFOp>(a.value); }
inline Lanes operator+(Lanes a, double b) { return a + a.number(b); }
inline Lanes operator-(Lanes a, double b) { return a - a.number(b); }
inline Lanes operator*(Lanes a, double b) { return a * a.number(b); }
inline Lanes operator/(Lanes a, double b) { return a / a.number(b); }
inline Lanes operator-(double a, Lanes b) { return b.number(a) - b; }
inline Lanes operator/(double a, Lanes b) { return b.number(a) / b; }

inline Lanes fma(Lanes a, Lanes b, Lanes c) { return a.make<mlir::math::FmaOp>(a.value, b.value, c.value); }
inline Lanes fma(Lanes a, double b, Lanes c) { return fma(a, a.number(b), c); }
inline Lanes fma(Lanes a, Lanes b, double c) { return fma(a, b, a.number(c)); }
inline Lanes fma(Lanes a, double b, double c) { return fma(a, a.number(b), a.number(c)); }

inline Lanes abs(Lanes a) { return a.make<mlir::math::AbsFOp>(a.value); }
inline Lanes sqrt(Lanes a) { return a.make<mlir::math::SqrtOp>(a.value); }
inline Lanes roundToEven(Lanes a) { return a.make<mlir::math::RoundEvenOp>(a.value); }
/// Returns the magnitude of `a` with the sign of `b`.
inline Lanes copySign(Lanes a, Lanes b) { return a.make<mlir::math::CopySignOp>(a.value, b.value); }

inline Lanes operator&(Lanes a, Lanes b) { return a.make<mlir::arith::AndIOp>(a.value, b.value); }
inline Lanes operator&(Lanes a, uint64_t b) { return a & a.integer(b); }
inline Lanes operator^(Lanes a, Lanes b) { return a.make<mlir::arith::XOrIOp>(a.value, b.value); }
inline Lanes operator|(Lanes a, Lanes b) { return a.make<mlir::arith::OrIOp>(a.value, b.value); }
inline Lanes shiftLeft(Lanes a, int by) { return a.make<mlir::arith::ShLIOp>(a.value, a.integer(by).value); }
/// Shifts arithmetically, that is, copies the sign bit.
inline Lanes shiftRight(Lanes a, int by) { return a.make<mlir::arith::ShRSIOp>(a.value, a.integer(by).value); }

/// Compares floats by ordered predicates, which are false for a lane with NaN.
inline Lanes less(Lanes a, Lanes b) {
  return a.make<mlir::arith::CmpFOp>(mlir::arith::CmpFPredicate::OLT, a.value, b.value);
}
inline Lanes less(Lanes a, double b) { return less(a, a.number(b)); }
inline Lanes greater(Lanes a, Lanes b) {
  return a.make<mlir::arith::CmpFOp>(mlir::arith::CmpFPredicate::OGT, a.value, b.value);
}
inline Lanes greater(Lanes a, double b) { return greater(a, a.number(b)); }
inline Lanes equal(Lanes a, Lanes b) {
  return a.isFloat() ? a.make<mlir::arith::CmpFOp>(mlir::arith::CmpFPredicate::OEQ, a.value, b.value)
                     : a.make<mlir::arith::CmpIOp>(mlir::arith::CmpIPredicate::eq, a.value, b.value);
}
inline Lanes equal(Lanes a, double b) { return equal(a, a.number(b)); }
/// Returns true where `a` and `b` differ or one of them is NaN.
inline Lanes differs(Lanes a, Lanes b) {
  return a.make<mlir::arith::CmpFOp>(mlir::arith::CmpFPredicate::UNE, a.value, b.value);
}
inline Lanes select(Lanes condition, Lanes a, Lanes b) {
  return a.make<mlir::arith::SelectOp>(condition.value, a.value, b.value);
}
inline Lanes select(Lanes condition, double a, Lanes b) { return select(condition, b.number(a), b); }
inline Lanes select(Lanes condition, Lanes a, double b) { return select(condition, a, a.number(b)); }

/// These functions return `x` limited by a bound, and NaN for NaN. A bound is one instruction: vmaxps and vminps return
/// their second operand for NaN.
inline Lanes atLeast(Lanes x, double bound) { return select(less(x, bound), bound, x); }
inline Lanes atMost(Lanes x, double bound) { return select(greater(x, bound), bound, x); }
inline Lanes clamp(Lanes x, double low, double high) { return atMost(atLeast(x, low), high); }

/// Returns c[0] + x c[1] + x^2 c[2] + ... by Horner's rule, one FMA per degree.
inline Lanes polynomial(Lanes x, llvm::ArrayRef<double> c) {
  Lanes sum = x.number(c.back());
  for (double next : llvm::reverse(c.drop_back()))
    sum = fma(sum, x, next);
  return sum;
}

/// If |x| < 2^22 (f32) or 2^51 (f64), the sum of x and this constant has x, rounded to an integer, in its low bits.
inline constexpr double roundingShift32 = 0x1.8p23, roundingShift64 = 0x1.8p52;

} // namespace tilewright::cpu

#endif
