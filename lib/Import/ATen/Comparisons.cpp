//===- Comparisons.cpp - comparisons, logical ops and selection -------------------===//
#include "lib/Import/ATen/Table.h"
#include "lib/Import/Builder/Node.h"

namespace tilewright {
namespace {

/// Imports a comparison, whose result is boolean. Operands are converted to torch.result_type, or to the type of
/// Node::computeType() if `other` is a number.
template <typename OpT> Results comparison(Node &n) {
  constexpr std::pair<unsigned, llvm::StringRef> operands[] = {{0, "self"}, {1, "other"}};
  Type compute = n.promoted(operands);
  if (Type wider = n.computeType(compute, operands, Numbers::Rounded); n.isNumber(1, "other"))
    compute = wider;
  Value a = n.operand(0, "self", compute), b = n.operand(1, "other", compute);
  if (n.failed())
    return n.refused();
  return n.compare<OpT>(a, b);
}

template <typename OpT> Results logical(Node &n) {
  Value a = n.cast(n.tensor(0, "self"), n.i1()), b = n.cast(n.tensor(1, "other"), n.i1());
  if (n.failed())
    return n.refused();
  return n.op<OpT>({a, b}, n.i1());
}

Results logicalNot(Node &n) {
  Value x = n.tensor(0, "self");
  return n.op<LogicalNotOp>({x}, n.i1());
}

template <typename OpT> Results classify(Node &n) {
  Value x = n.tensor(0, "self");
  if (n.failed())
    return n.refused();
  if (!isa<FloatType>(n.elementOf(x))) // integers are finite
    return n.broadcast(n.scalarInt(0, n.i1()), n.sizesIn(x));
  return n.op<OpT>({x}, n.i1());
}

Results isfinite(Node &n) {
  Value x = n.tensor(0, "self");
  if (n.failed())
    return n.refused();
  if (!isa<FloatType>(n.elementOf(x)))
    return n.broadcast(n.scalarInt(1, n.i1()), n.sizesIn(x));
  return n.op<LogicalNotOp>({n.op<LogicalOrOp>({n.op<IsnanOp>({x}, n.i1()), n.op<IsinfOp>({x}, n.i1())})}, n.i1());
}

template <typename OpT> Results signedInfinity(Node &n) {
  Value x = n.tensor(0, "self");
  if (n.failed())
    return n.refused();
  if (!isa<FloatType>(n.elementOf(x)))
    return n.broadcast(n.scalarInt(0, n.i1()), n.sizesIn(x));
  return n.op<LogicalAndOp>({n.op<IsinfOp>({x}, n.i1()), n.compare<OpT>(x, n.scalar(0, n.elementOf(x)))});
}

Results signbit(Node &n) {
  Value x = n.tensor(0, "self");
  if (n.failed())
    return n.refused();
  Value zero = n.scalarInt(0, n.elementOf(x));
  Value negative = n.compare<LtOp>(x, zero);
  if (!isa<FloatType>(n.elementOf(x)))
    return negative;
  return n.op<LogicalOrOp>(
      {negative, n.compare<LtOp>(n.op<ReciprocalOp>({x}), zero)}); // true for -0.0: 1 / -0.0 is -inf
}

Results choose(Node &n) {
  Value condition = n.tensor(0, "condition");
  Value yes = n.operand(1, "self", n.element()), no = n.operand(2, "other", n.element());
  if (n.failed())
    return n.refused();
  return n.where(n.cast(condition, n.i1()), yes, no);
}

/// Imports masked_fill(self, mask, value).
Results maskedFill(Node &n) {
  Value self = n.tensor(0, "self"), mask = n.tensor(1, "mask"), value = n.operand(2, "value", n.element());
  if (n.failed())
    return n.refused();
  return n.broadcast(n.where(mask, value, self), sizesOf(n.type()));
}

} // namespace

void registerComparisons(Table &t) {
  for (llvm::StringRef overload : {"Tensor", "Scalar"}) {
    auto name = [&](llvm::StringRef op) { return ("aten." + op + "." + overload).str(); };
    t[name("eq")] = comparison<EqOp>;
    t[name("ne")] = comparison<NeOp>;
    t[name("lt")] = comparison<LtOp>;
    t[name("le")] = comparison<LeOp>;
    t[name("gt")] = comparison<GtOp>;
    t[name("ge")] = comparison<GeOp>;
    t[name("masked_fill")] = maskedFill;
  }
  t["aten.logical_and.default"] = logical<LogicalAndOp>;
  t["aten.logical_or.default"] = logical<LogicalOrOp>;
  t["aten.logical_xor.default"] = logical<LogicalXorOp>;
  t["aten.logical_not.default"] = logicalNot;
  t["aten.isnan.default"] = classify<IsnanOp>;
  t["aten.isinf.default"] = classify<IsinfOp>;
  t["aten.isfinite.default"] = isfinite;
  t["aten.isposinf.default"] = signedInfinity<GtOp>;
  t["aten.isneginf.default"] = signedInfinity<LtOp>;
  t["aten.signbit.default"] = signbit;
  for (llvm::StringRef overload : {"self", "ScalarSelf", "ScalarOther", "Scalar"})
    t[("aten.where." + overload).str()] = choose;
}

} // namespace tilewright
