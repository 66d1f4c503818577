//===- Elementwise.cpp - elementwise arithmetic ---------------------------------===//
#include "lib/Import/ATen/Elementwise.h"
#include "lib/Import/ATen/Table.h"
#include <limits>

namespace tilewright {

/// Returns `x` to the power `exponent` if at most two simple ops compute it, otherwise null.
static Value simplePower(Node &n, Value x, double exponent) {
  bool isFloat = isa<FloatType>(n.elementOf(x));
  if (exponent == 1)
    return x;
  if (exponent == 2)
    return n.op<MulOp>({x, x});
  if (exponent == 3)
    return n.op<MulOp>({n.op<MulOp>({x, x}), x});
  if (exponent == 0.5 && isFloat)
    return n.op<SqrtOp>({x});
  if (exponent == -0.5 && isFloat)
    return n.op<RsqrtOp>({x});
  if (exponent == -1 && isFloat)
    return n.op<ReciprocalOp>({x});
  return {};
}

Value powerOf(Node &n, Value x, double exponent) {
  Value simple = simplePower(n, x, exponent);
  return simple ? simple : n.op<PowOp>(x, exponent);
}

Value logAddExp(Node &n, Value a, Value b) {
  Value large = n.op<MaximumOp>({a, b});
  Value sum = n.op<AddOp>({large, n.op<Log1pOp>({n.op<ExpOp>({n.op<NegOp>({n.op<AbsOp>({n.op<SubOp>({a, b})})})})})});
  Value same = n.op<LogicalAndOp>({n.op<IsinfOp>({a}, n.i1()), n.compare<EqOp>(a, b)});
  return n.where(same, n.broadcast(a, n.sizesIn(sum)), sum);
}

namespace {

using Names = ArrayRef<std::pair<unsigned, llvm::StringRef>>;
constexpr std::pair<unsigned, llvm::StringRef> selfAndOther[] = {{0, "self"}, {1, "other"}};

/// Imports a function of one operand, computed in the result's type, or in f64 if Node::isWide() is true for the
/// operand.
template <typename OpT> Results unary(Node &n) {
  Value x = n.tensor(0, "self");
  if (n.failed())
    return n.refused();
  Type compute = Node::isWide(x) ? n.f64() : n.element();
  return n.cast(n.op<OpT>({n.cast(x, compute)}), n.element());
}

/// Imports a rounding function. Integers are returned unchanged.
template <typename OpT> Results rounding(Node &n) {
  Value x = n.tensor(0, "self");
  if (n.failed() || !isa<FloatType>(n.element()))
    return x;
  return n.op<OpT>({n.cast(x, n.element())});
}

template <typename OpT, Numbers numbers = Numbers::Rounded> Results binary(Node &n) {
  Type compute = n.computeType(n.element(), selfAndOther, numbers);
  Value a = n.operand(0, "self", compute), b = n.operand(1, "other", compute);
  if (n.failed())
    return n.refused();
  return n.cast(n.op<OpT>({a, b}), n.element());
}

/// Imports add and sub, x +- alpha * y, and with `reversed` rsub, y - alpha * x. As in eager, alpha and the sum are
/// rounded to the result's type, but the product is not rounded.
template <typename OpT, bool reversed> Results scaledSum(Node &n) {
  Type compute = n.computeType(n.element(), {{0, "self"}, {1, "other"}, {2, "alpha"}}, Numbers::Rounded);
  Value a = n.operand(0, "self", compute), b = n.operand(1, "other", compute);
  bool scaled = n.has(2, "alpha");
  Value alpha = scaled ? n.operand(2, "alpha", compute) : Value();
  if (n.failed())
    return n.refused();
  if (reversed)
    std::swap(a, b);
  if (scaled && !(n.find(2, "alpha") && n.isNumber(2, "alpha") &&
                  !std::holds_alternative<SymbolicInt>(*n.find(2, "alpha")) && n.number(2, "alpha") == 1.0)) {
    Type wide = n.accumulator(compute);
    a = n.cast(a, wide);
    b = n.op<MulOp>({n.cast(alpha, wide), n.cast(b, wide)});
  }
  return n.cast(n.op<OpT>({a, b}), n.element());
}

Results divide(Node &n) {
  std::string mode = n.text(2, "rounding_mode");
  Type compute = n.computeType(n.element(), selfAndOther, Numbers::Unrounded);
  Value a = n.operand(0, "self", compute), b = n.operand(1, "other", compute);
  if (n.failed())
    return n.refused();
  Value result = mode == "trunc"   ? n.op<DivTruncOp>({a, b})
                 : mode == "floor" ? n.op<DivFloorOp>({a, b})
                                   : n.op<DivOp>({a, b});
  return n.cast(result, n.element());
}

Results floorDivide(Node &n) {
  Type compute = n.computeType(n.element(), selfAndOther, Numbers::Unrounded);
  Value a = n.operand(0, "self", compute), b = n.operand(1, "other", compute);
  if (n.failed())
    return n.refused();
  return n.cast(n.op<DivFloorOp>({a, b}), n.element());
}

/// Imports pow(self, exponent). For the constant exponents of simplePower(), emits products, roots or reciprocals.
Results power(Node &n) {
  constexpr std::pair<unsigned, llvm::StringRef> operands[] = {{0, "self"}, {1, "exponent"}};
  Type compute = n.computeType(n.element(), operands, Numbers::Rounded);
  if (n.isNumber(1, "exponent") && n.isTensor(0, "self") &&
      !std::holds_alternative<SymbolicInt>(*n.find(1, "exponent"))) {
    double exponent = n.number(1, "exponent");
    Value x = n.cast(n.tensor(0, "self"), n.accumulator(n.element()));
    if (n.failed())
      return n.refused();
    if (Value result = simplePower(n, x, exponent))
      return n.cast(result, n.element());
  }
  if (n.isNumber(0, "self") && n.element().isF32() && n.type().getRank() == 0)
    compute = n.f64(); // see Node::isWide
  Value a = n.operand(0, "self", compute), b = n.operand(1, "exponent", compute);
  if (n.failed())
    return n.refused();
  return n.cast(n.op<PowOp>({a, b}), n.element());
}

Results square(Node &n) {
  Value x = n.cast(n.tensor(0, "self"), n.element());
  return n.op<MulOp>({x, x});
}

/// Imports clamp(self, min, max). If x or a bound is NaN, the result is NaN, as in maximum and minimum.
Results clamp(Node &n) {
  bool lower = n.has(1, "min"), upper = n.has(2, "max");
  Type compute = n.computeType(n.element(), {{0, "self"}, {1, "min"}, {2, "max"}}, Numbers::Rounded);
  Value x = n.operand(0, "self", compute);
  Value low = lower ? n.operand(1, "min", compute) : Value(), high = upper ? n.operand(2, "max", compute) : Value();
  if (n.failed())
    return n.refused();
  if (low)
    x = n.op<MaximumOp>({x, low});
  if (high)
    x = n.op<MinimumOp>({x, high});
  return n.cast(x, n.element());
}

template <typename OpT> Results clampOneSide(Node &n) {
  Type compute = n.computeType(n.element(), {{0, "self"}, {1, "bound"}}, Numbers::Rounded);
  Value x = n.operand(0, "self", compute),
        bound = n.has(1, "min") ? n.operand(1, "min", compute) : n.operand(1, "max", compute);
  if (n.failed())
    return n.refused();
  return n.cast(n.op<OpT>({x, bound}), n.element());
}

/// Imports fmax and fmin. If one operand is NaN, the result is the other operand.
template <typename OpT> Results ignoringNan(Node &n) {
  Value a = n.operand(0, "self", n.element()), b = n.operand(1, "other", n.element());
  if (n.failed())
    return n.refused();
  Value both = n.op<OpT>({a, b});
  if (!isa<FloatType>(n.element()))
    return both;
  Value aNan = n.op<IsnanOp>({a}, n.i1()), bNan = n.op<IsnanOp>({b}, n.i1());
  return n.where(aNan, n.broadcast(b, n.sizesIn(both)), n.where(bNan, n.broadcast(a, n.sizesIn(both)), both));
}

/// Imports addcmul, self + value * tensor1 * tensor2, and addcdiv, self + value * tensor1 / tensor2.
template <typename OpT> Results addProduct(Node &n) {
  Type compute = n.accumulator(n.element());
  Value self = n.operand(0, "self", compute), a = n.operand(1, "tensor1", compute),
        b = n.operand(2, "tensor2", compute);
  double value = n.number(3, "value", 1.0);
  if (n.failed())
    return n.refused();
  if (value != 1.0)
    a = n.op<MulOp>(a, value);
  return n.cast(n.op<AddOp>({self, n.op<OpT>({a, b})}), n.element());
}

/// Imports prims.fma(a, b, c), to which torch's decompositions lower addcdiv and addcmul.
Results fma(Node &n) {
  Type compute = n.accumulator(n.element());
  Value a = n.operand(0, "a", compute), b = n.operand(1, "b", compute), c = n.operand(2, "c", compute);
  if (n.failed())
    return n.refused();
  return n.cast(n.op<AddOp>({n.op<MulOp>({a, b}), c}), n.element());
}

/// Imports lerp(self, end, weight), which is self + weight * (end - self). As in torch, the result is computed from
/// `end` instead if |weight| is at least 0.5.
Results lerp(Node &n) {
  Type compute = n.accumulator(n.element());
  Value self = n.operand(0, "self", compute), end = n.operand(1, "end", compute),
        weight = n.operand(2, "weight", compute);
  if (n.failed())
    return n.refused();
  Value difference = n.op<SubOp>({end, self});
  Value near = n.op<AddOp>({self, n.op<MulOp>({weight, difference})});
  Value far = n.op<SubOp>({end, n.op<MulOp>({difference, n.op<SubOp>({n.scalar(1, compute), weight})})});
  if (n.isNumber(2, "weight"))
    return n.cast(std::abs(n.number(2, "weight")) < 0.5 ? near : far, n.element());
  Value isNear = n.compare<LtOp>(n.op<AbsOp>({weight}), n.scalar(0.5, compute));
  return n.cast(n.where(isNear, near, far), n.element());
}

Results frac(Node &n) {
  Value x = n.tensor(0, "self");
  return n.op<SubOp>({x, n.op<TruncOp>({x})});
}

/// Returns |a| with b's sign.
Results copysign(Node &n) {
  Value a = n.operand(0, "self", n.element()), b = n.operand(1, "other", n.element());
  if (n.failed() || !isa<FloatType>(n.element()))
    return n.refuse("the sign of an integer result is not supported");
  // The sign of 1 / b distinguishes -0.0 from 0.0.
  Value magnitude = n.op<AbsOp>({a});
  Value zero = n.scalar(0, n.element());
  Value negative = n.op<LogicalOrOp>({n.compare<LtOp>(b, zero), n.compare<LtOp>(n.op<ReciprocalOp>({b}), zero)});
  return n.where(negative, n.op<NegOp>({magnitude}), magnitude);
}

Results hypot(Node &n) {
  Type compute = n.accumulator(n.element());
  Value a = n.op<AbsOp>({n.operand(0, "self", compute)}), b = n.op<AbsOp>({n.operand(1, "other", compute)});
  if (n.failed())
    return n.refused();
  // The result is large * sqrt(1 + (small / large)^2), unless `large` is 0 or infinite.
  Value large = n.op<MaximumOp>({a, b}), small = n.op<MinimumOp>({a, b});
  Value ratio = n.op<DivOp>({small, large});
  Value root = n.op<SqrtOp>({n.op<AddOp>(n.op<MulOp>({ratio, ratio}), 1.0)});
  Value infinite = n.op<LogicalOrOp>({n.op<IsinfOp>({a}, n.i1()), n.op<IsinfOp>({b}, n.i1())}); // also for (inf, NaN)
  Value length = n.where(n.compare<EqOp>(large, n.scalar(0, compute)), large, n.op<MulOp>({large, root}));
  return n.cast(n.where(infinite, n.scalar(std::numeric_limits<double>::infinity(), compute), length), n.element());
}

Results logaddexp(Node &n) {
  Type compute = n.accumulator(n.element());
  Value a = n.operand(0, "self", compute), b = n.operand(1, "other", compute);
  if (n.failed())
    return n.refused();
  return n.cast(logAddExp(n, a, b), n.element());
}

Results nanToNum(Node &n) {
  Value x = n.tensor(0, "self");
  if (n.failed() || !isa<FloatType>(n.element()))
    return x;
  const llvm::fltSemantics &semantics = cast<FloatType>(n.element()).getFloatSemantics();
  llvm::APFloat most = llvm::APFloat::getLargest(semantics);
  bool inexact;
  most.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  double largest = most.convertToDouble();
  Value nan = n.scalar(n.number(1, "nan", 0.0), n.element());
  Value positive = n.scalar(n.number(2, "posinf", largest), n.element());
  Value negative = n.scalar(n.number(3, "neginf", -largest), n.element());
  Value zero = n.scalar(0, n.element());
  Value infinite = n.op<IsinfOp>({x}, n.i1());
  Value ends = n.where(n.compare<GtOp>(x, zero), positive, negative);
  return n.where(n.op<IsnanOp>({x}, n.i1()), nan, n.where(infinite, ends, x));
}

} // namespace

void registerElementwise(Table &t) {
#define TW_UNARY_FUNCTION(OP, ONNX, MATH, NAME, ...) t["aten." #NAME ".default"] = unary<OP>;
#include "dialects/Graph/ScalarFunctions.def"
  t["aten.abs.default"] = unary<AbsOp>;
  t["aten.neg.default"] = unary<NegOp>;
  t["aten.sqrt.default"] = unary<SqrtOp>;
  t["aten.rsqrt.default"] = unary<RsqrtOp>;
  t["aten.reciprocal.default"] = unary<ReciprocalOp>;
  t["aten.sign.default"] = unary<SignOp>;
  t["aten.bitwise_not.default"] = unary<BitwiseNotOp>;
  t["aten.square.default"] = square;
  t["aten.frac.default"] = frac;
  t["aten.floor.default"] = rounding<FloorOp>;
  t["aten.ceil.default"] = rounding<CeilOp>;
  t["aten.round.default"] = rounding<RoundOp>;
  t["aten.trunc.default"] = rounding<TruncOp>;
  for (llvm::StringRef overload : {"Tensor", "Scalar"}) {
    auto name = [&](llvm::StringRef op) { return ("aten." + op + "." + overload).str(); };
    t[name("add")] = scaledSum<AddOp, false>;
    t[name("sub")] = scaledSum<SubOp, false>;
    t[name("rsub")] = scaledSum<SubOp, true>;
    t[name("mul")] = binary<MulOp, Numbers::Unrounded>;
    t[name("div")] = divide;
    t[name("true_divide")] = divide;
    t[(name("div") + "_mode")] = divide;
    t[name("fmod")] = binary<FmodOp>;
    t[name("remainder")] = binary<RemainderOp>;
    t[name("bitwise_and")] = binary<BitwiseAndOp>;
    t[name("bitwise_or")] = binary<BitwiseOrOp>;
    t[name("bitwise_xor")] = binary<BitwiseXorOp>;
    t[name("__and__")] = binary<BitwiseAndOp>;
    t[name("__or__")] = binary<BitwiseOrOp>;
    t[name("__xor__")] = binary<BitwiseXorOp>;
    t[name("__lshift__")] = binary<ShiftLeftOp>;
    t[name("__rshift__")] = binary<ShiftRightOp>;
    t[name("copysign")] = copysign;
    t[name("lerp")] = lerp;
  }
  for (llvm::StringRef overload : {"Tensor", "Tensor_Scalar"}) {
    t[("aten.bitwise_left_shift." + overload).str()] = binary<ShiftLeftOp>;
    t[("aten.bitwise_right_shift." + overload).str()] = binary<ShiftRightOp>;
  }
  t["aten.remainder.Scalar_Tensor"] = binary<RemainderOp>;
  t["aten.floor_divide.default"] = floorDivide;
  t["aten.floor_divide.Scalar"] = floorDivide;
  t["aten.pow.Tensor_Tensor"] = power;
  t["aten.pow.Tensor_Scalar"] = power;
  t["aten.pow.Scalar"] = power;
  t["aten.maximum.default"] = binary<MaximumOp>;
  t["aten.minimum.default"] = binary<MinimumOp>;
  t["aten.fmax.default"] = ignoringNan<MaximumOp>;
  t["aten.fmin.default"] = ignoringNan<MinimumOp>;
  t["aten.atan2.default"] = binary<Atan2Op>;
  t["aten.hypot.default"] = hypot;
  t["aten.logaddexp.default"] = logaddexp;
  t["aten.nan_to_num.default"] = nanToNum;
  t["aten.clamp.default"] = clamp;
  t["aten.clamp.Tensor"] = clamp;
  t["aten.clamp_min.default"] = clampOneSide<MaximumOp>;
  t["aten.clamp_min.Tensor"] = clampOneSide<MaximumOp>;
  t["aten.clamp_max.default"] = clampOneSide<MinimumOp>;
  t["aten.clamp_max.Tensor"] = clampOneSide<MinimumOp>;
  t["prims.fma.default"] = fma;
  t["aten.addcmul.default"] = addProduct<MulOp>;
  t["aten.addcdiv.default"] = addProduct<DivOp>;
}

} // namespace tilewright
