//===- OnnxElementwise.cpp - arithmetic, comparisons and conversions -----------------===//
#include "lib/Import/ONNX/OnnxNarrow.h"
#include "lib/Import/ONNX/OnnxTable.h"

namespace tilewright {
namespace {

/// Refuses the attribute `broadcast`, which specifies before operator set 7 how operands are broadcast.
void checkBroadcast(OnnxNode &n) {
  if (n.version < 7 && n.integer("broadcast", 0))
    n.refuse("the attribute broadcast of operator sets before 7 is not supported");
}

template <typename OpT> Results unary(OnnxNode &n) {
  Value x = n.in(0);
  if (n.failed())
    return n.refused();
  return n.op<OpT>({x});
}

/// Imports a rounding function. Integers are returned unchanged.
template <typename OpT> Results rounding(OnnxNode &n) {
  Value x = n.in(0);
  if (n.failed() || !isa<FloatType>(n.elementOf(x)))
    return x;
  return n.op<OpT>({x});
}

template <typename OpT> Results binary(OnnxNode &n) {
  checkBroadcast(n);
  Value a = n.in(0), b = n.in(1);
  if (n.failed())
    return n.refused();
  return n.op<OpT>({a, b});
}

template <typename OpT> Results comparison(OnnxNode &n) {
  checkBroadcast(n);
  Value a = n.in(0), b = n.in(1);
  if (n.failed())
    return n.refused();
  return n.compare<OpT>(a, b);
}

Results divide(OnnxNode &n) {
  checkBroadcast(n);
  Value a = n.in(0), b = n.in(1);
  if (n.failed())
    return n.refused();
  return isa<FloatType>(n.elementOf(a)) ? n.op<DivOp>({a, b}) : n.op<DivTruncOp>({a, b});
}

/// Imports Mod. The remainder has the sign of the divisor or, with fmod, the sign of the dividend.
Results modulo(OnnxNode &n) {
  Value a = n.in(0), b = n.in(1);
  bool fmod = n.integer("fmod", 0);
  if (n.failed())
    return n.refused();
  return fmod ? n.op<FmodOp>({a, b}) : n.op<RemainderOp>({a, b});
}

/// Imports Pow, which computes base ** exponent. The result has the type of the base; the exponent may have another
/// type.
Results power(OnnxNode &n) {
  checkBroadcast(n);
  Value base = n.in(0), exponent = n.in(1);
  if (n.failed())
    return n.refused();
  Type element = n.elementOf(base), other = n.elementOf(exponent), compute = element;
  if (!isa<FloatType>(element) && isa<FloatType>(other))
    compute = element.getIntOrFloatBitWidth() > 32 || other.isF64() ? n.f64() : n.f32();
  else if (isa<Float16Type, BFloat16Type>(element))
    compute = n.f32();
  return n.convert(n.op<PowOp>({n.cast(base, compute), n.cast(exponent, compute)}), element);
}

template <typename OpT> Results variadic(OnnxNode &n) {
  SmallVector<Value> values = n.allIn();
  if (n.failed())
    return n.refused();
  Value result = values[0];
  for (Value value : ArrayRef(values).drop_front())
    result = n.op<OpT>({result, value});
  return result;
}

Results mean(OnnxNode &n) {
  SmallVector<Value> values = n.allIn();
  if (n.failed())
    return n.refused();
  Type element = n.elementOf(values[0]), compute = n.accumulator(element);
  Value result = n.cast(values[0], compute);
  for (Value value : ArrayRef(values).drop_front())
    result = n.op<AddOp>({result, n.cast(value, compute)});
  return n.cast(n.op<DivOp>(result, double(values.size())), element);
}

Results bitShift(OnnxNode &n) {
  std::string direction = n.text("direction");
  Value a = n.in(0), b = n.in(1);
  if (n.failed())
    return n.refused();
  if (direction == "LEFT")
    return n.op<ShiftLeftOp>({a, b});
  if (direction == "RIGHT")
    return n.op<ShiftRightOp>({a, b});
  return n.refuse("its direction '" + direction + "' is neither LEFT nor RIGHT");
}

Results where(OnnxNode &n) {
  Value condition = n.in(0), yes = n.in(1), no = n.in(2);
  if (n.failed())
    return n.refused();
  return n.where(condition, yes, no);
}

Results isInf(OnnxNode &n) {
  Value x = n.in(0);
  bool negative = n.integer("detect_negative", 1), positive = n.integer("detect_positive", 1);
  if (n.failed())
    return n.refused();
  Value infinite = n.op<IsinfOp>({x}, n.i1()), zero = n.scalar(0, n.elementOf(x));
  if (!positive)
    infinite = n.op<LogicalAndOp>({infinite, n.compare<LtOp>(x, zero)}, n.i1());
  if (!negative)
    infinite = n.op<LogicalAndOp>({infinite, n.compare<GtOp>(x, zero)}, n.i1());
  return infinite;
}

Results isNan(OnnxNode &n) {
  Value x = n.in(0);
  if (n.failed())
    return n.refused();
  return n.op<IsnanOp>({x}, n.i1());
}

Results logicalNot(OnnxNode &n) {
  Value x = n.in(0);
  if (n.failed())
    return n.refused();
  return n.op<LogicalNotOp>({x}, n.i1());
}

/// Imports Cast or CastLike to `type`. Numbers that are too large for an 8-bit float become its largest number, unless
/// the attribute `saturate` is 0.
Results convertTo(OnnxNode &n, onnx::ElementType type, Type element) {
  if (isNarrow(type)) {
    n.narrowResult = type;
    bool saturate = n.integer("saturate", 1);
    if (n.narrowOf(0) == type)
      return n.anyIn(0);
    Value bytes = numbersToNarrow(n, n.numbersOf(0), type, saturate);
    return n.failed() ? n.refused() : Results(bytes);
  }
  Value x = n.numbersOf(0);
  return n.failed() ? n.refused() : Results(n.convert(x, element));
}

Results castTo(OnnxNode &n) {
  onnx::ElementType type = n.typeNamed("to");
  return convertTo(n, type, isNarrow(type) ? Type() : n.elementNamed("to"));
}

Results castLike(OnnxNode &n) {
  onnx::ElementType narrow = n.narrowOf(1);
  if (isNarrow(narrow))
    return convertTo(n, narrow, {});
  RankedTensorType like = n.typeIn(1);
  return n.failed() ? n.refused() : convertTo(n, onnx::ElementType::Undefined, like.getElementType());
}

/// Imports Clip. Each of the two bounds may be missing.
Results clip(OnnxNode &n) {
  Value x = n.in(0), low, high;
  Type element = n.elementOf(x);
  if (n.version < 11) {
    low = n.attribute("min") ? n.scalar(n.number("min"), element) : Value();
    high = n.attribute("max") ? n.scalar(n.number("max"), element) : Value();
  } else {
    low = n.optionalIn(1);
    high = n.optionalIn(2);
  }
  if (n.failed())
    return n.refused();
  auto bound = [&](Value value) {
    if (n.rankOf(value) > 0 &&
        n.demand(elementCount(n.typeOf(value)) == n.constantSize(1), "a bound is not a single number"))
      value = n.reshape(value, ArrayRef<AffineExpr>());
    return value;
  };
  if (low)
    x = n.op<MaximumOp>({x, bound(low)});
  if (high)
    x = n.op<MinimumOp>({x, bound(high)});
  return x;
}

Results identity(OnnxNode &n) {
  n.narrowResult = n.narrowOf(0);
  return n.anyIn(0);
}

} // namespace

void registerOnnxElementwise(OnnxTable &t) {
#define TW_UNARY_FUNCTION(OP, ONNX, ...)                                                                               \
  if (ONNX[0])                                                                                                         \
    t[ONNX] = unary<OP>;
#include "dialects/Graph/ScalarFunctions.def"
  t["Abs"] = unary<AbsOp>;
  t["Neg"] = unary<NegOp>;
  t["Sqrt"] = unary<SqrtOp>;
  t["Reciprocal"] = unary<ReciprocalOp>;
  t["Sign"] = unary<SignOp>;
  t["Sigmoid"] = unary<SigmoidOp>;
  t["BitwiseNot"] = unary<BitwiseNotOp>;
  t["Floor"] = rounding<FloorOp>;
  t["Ceil"] = rounding<CeilOp>;
  t["Round"] = rounding<RoundOp>;
  t["Add"] = binary<AddOp>;
  t["Sub"] = binary<SubOp>;
  t["Mul"] = binary<MulOp>;
  t["Div"] = divide;
  t["Mod"] = modulo;
  t["Pow"] = power;
  t["BitwiseAnd"] = binary<BitwiseAndOp>;
  t["BitwiseOr"] = binary<BitwiseOrOp>;
  t["BitwiseXor"] = binary<BitwiseXorOp>;
  t["BitShift"] = bitShift;
  t["Equal"] = comparison<EqOp>;
  t["Less"] = comparison<LtOp>;
  t["LessOrEqual"] = comparison<LeOp>;
  t["Greater"] = comparison<GtOp>;
  t["GreaterOrEqual"] = comparison<GeOp>;
  t["And"] = comparison<LogicalAndOp>;
  t["Or"] = comparison<LogicalOrOp>;
  t["Xor"] = comparison<LogicalXorOp>;
  t["Not"] = logicalNot;
  t["IsNaN"] = isNan;
  t["IsInf"] = isInf;
  t["Where"] = where;
  t["Max"] = variadic<MaximumOp>;
  t["Min"] = variadic<MinimumOp>;
  t["Sum"] = variadic<AddOp>;
  t["Mean"] = mean;
  t["Clip"] = clip;
  t["Cast"] = castTo;
  t["CastLike"] = castLike;
  t["Identity"] = identity;
}

} // namespace tilewright
