//===- Reductions.cpp - sums, maxima and variances along dimensions ------------------===//
//
// Reductions of f16 or bf16 are computed in f32 and rounded once. tw.reduce accumulates in f32. For functions of
// several ops, such as a mean, the input is cast to f32, and the result is cast back.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Table.h"
#include "lib/Import/Builder/Node.h"

namespace tilewright {
namespace {

struct Reduced {
  Value input;
  SmallVector<int64_t> dims;
  bool keepdim = false;
};

/// Reads the arguments of a reduction op(self, dim, keepdim, ...). Without `hasDims`, the op reduces all dimensions.
Reduced readReduced(Node &n, bool hasDims) {
  Reduced r;
  r.input = n.tensor(0, "self");
  r.dims = hasDims ? n.dims(1, "dim", n.rankOf(r.input)) : allDims(n.rankOf(r.input));
  r.keepdim = hasDims && n.flag(2, "keepdim");
  return r;
}

template <ReduceKind kind, bool hasDims> Results reduction(Node &n) {
  Reduced r = readReduced(n, hasDims);
  if (n.failed())
    return n.refused();
  return n.reduce(kind, n.cast(r.input, n.element()), r.dims, r.keepdim);
}

/// Imports prod.dim_int(self, dim, keepdim), whose argument `dim` is one dimension instead of a list.
Results prodAlong(Node &n) { return reduction<ReduceKind::Prod, true>(n); }

template <bool hasDims> Results mean(Node &n) {
  Reduced r = readReduced(n, hasDims);
  if (n.failed())
    return n.refused();
  Type compute = n.accumulator(n.element());
  Value sum = n.reduce(ReduceKind::Sum, n.cast(r.input, compute), r.dims, r.keepdim);
  return n.cast(n.op<DivOp>({sum, n.countAlong(r.input, r.dims, compute)}), n.element());
}

/// Imports aten.any and aten.all. Nonzero elements are true. The result of a uint8 tensor is uint8.
template <ReduceKind kind, bool hasDims> Results logicalReduction(Node &n) {
  Reduced r = readReduced(n, hasDims);
  if (n.failed())
    return n.refused();
  return n.cast(n.reduce(kind, n.cast(r.input, n.i1()), r.dims, r.keepdim), n.element());
}

template <ReduceKind kind> Results argReduction(Node &n) {
  Value x = n.tensor(0, "self");
  bool flat = !n.has(1, "dim"), keepdim = n.flag(2, "keepdim");
  int64_t dim = flat ? 0 : n.dim(1, "dim", n.rankOf(x));
  if (n.failed())
    return n.refused();
  if (flat || n.rankOf(x) == 0) {
    x = n.reshape(x, {elementCount(n.typeOf(x))});
    dim = 0;
  }
  SmallVector<AffineExpr> sizes = n.sizesIn(x);
  sizes.erase(sizes.begin() + dim);
  Value index = ArgReduceOp::create(n.builder, n.loc, tensorWithSizes(sizes, n.i64()), x, kind, dim, false);
  (void)keepdim;
  return n.reshape(index, n.type());
}

/// Imports max.dim and min.dim, which return values and indices.
template <ReduceKind kind> Results extremeWithIndex(Node &n) {
  Value x = n.tensor(0, "self");
  int64_t dim = n.dim(1, "dim", n.rankOf(x));
  if (n.failed())
    return n.refused();
  if (n.rankOf(x) == 0)
    return {x, n.scalarInt(0, n.i64())};
  Value value = n.reduce(kind, x, {dim}, false);
  Value index = ArgReduceOp::create(n.builder, n.loc, withElementType(n.typeOf(value), n.i64()), x, kind, dim, false);
  return {n.reshape(value, n.type(0)), n.reshape(index, n.type(1))};
}

/// Returns variance and mean. float32 elements are summed in float64, as in eager's kernel (std_var_kernel). Otherwise
/// a mean near 0 would have the rounding errors of larger elements.
std::pair<Value, Value> varianceOf(Node &n, Reduced r, double correction) {
  Type compute = n.accumulator(n.element());
  if (compute.isF32() && n.element().isF32())
    compute = n.builder.getF64Type();
  Value shape = n.reduce(ReduceKind::Sum, n.cast(r.input, compute), r.dims, r.keepdim);
  Type type = shape.getType();
  shape.getDefiningOp()->erase();
  auto op = VarMeanOp::create(n.builder, n.loc, TypeRange{type, type}, n.cast(r.input, compute),
                              n.builder.getDenseI64ArrayAttr(r.dims), n.builder.getF64FloatAttr(correction),
                              r.keepdim ? n.builder.getUnitAttr() : UnitAttr());
  return {op.getVariance(), op.getMean()};
}

Reduced readVariance(Node &n, double &correction) {
  Reduced r;
  r.input = n.tensor(0, "self");
  if (n.target.ends_with(".dim")) { // for var.dim(self, dim, unbiased, keepdim)
    r.dims = n.dims(1, "dim", n.rankOf(r.input));
    correction = n.flag(2, "unbiased", true);
    r.keepdim = n.flag(3, "keepdim");
  } else { // for var.correction(self, dim, *, correction, keepdim)
    r.dims = n.dims(1, "dim", n.rankOf(r.input));
    correction = n.number(99, "correction", 1.0);
    r.keepdim = n.flag(99, "keepdim");
  }
  return r;
}

Results variance(Node &n) {
  double correction;
  Reduced r = readVariance(n, correction);
  if (n.failed())
    return n.refused();
  return n.cast(varianceOf(n, r, correction).first, n.element());
}

Results standardDeviation(Node &n) {
  double correction;
  Reduced r = readVariance(n, correction);
  if (n.failed())
    return n.refused();
  return n.cast(n.op<SqrtOp>({varianceOf(n, r, correction).first}), n.element());
}

Results varianceAndMean(Node &n) {
  double correction;
  Reduced r = readVariance(n, correction);
  if (n.failed())
    return n.refused();
  auto [var, mean] = varianceOf(n, r, correction);
  return {n.cast(var, n.element(0)), n.cast(mean, n.element(1))};
}

/// Returns log(sum(exp(x))). The maximum of x is subtracted before exp() unless it is infinite, and added to the
/// result.
Results logsumexp(Node &n) {
  Reduced r = readReduced(n, true);
  if (n.failed())
    return n.refused();
  Type compute = n.accumulator(n.element());
  Value x = n.cast(r.input, compute);
  Value most = n.reduce(ReduceKind::Max, x, r.dims, true);
  Value shift = n.where(n.op<IsinfOp>({most}, n.i1()), n.broadcast(n.scalar(0, compute), n.sizesIn(most)), most);
  Value sum = n.reduce(ReduceKind::Sum, n.op<ExpOp>({n.op<SubOp>({x, shift})}), r.dims, true);
  return n.reshape(n.cast(n.op<AddOp>({n.op<LogOp>({sum}), shift}), n.element()), n.type());
}

} // namespace

void registerReductions(Table &t) {
  t["aten.sum.default"] = reduction<ReduceKind::Sum, false>;
  t["aten.sum.dim_IntList"] = reduction<ReduceKind::Sum, true>;
  t["aten.prod.default"] = reduction<ReduceKind::Prod, false>;
  t["aten.prod.dim_int"] = prodAlong;
  t["aten.amax.default"] = reduction<ReduceKind::Max, true>;
  t["aten.amin.default"] = reduction<ReduceKind::Min, true>;
  t["aten.max.default"] = reduction<ReduceKind::Max, false>;
  t["aten.min.default"] = reduction<ReduceKind::Min, false>;
  t["aten.max.dim"] = extremeWithIndex<ReduceKind::Max>;
  t["aten.min.dim"] = extremeWithIndex<ReduceKind::Min>;
  t["aten.mean.default"] = mean<false>;
  t["aten.mean.dim"] = mean<true>;
  t["aten.any.default"] = logicalReduction<ReduceKind::Any, false>;
  t["aten.all.default"] = logicalReduction<ReduceKind::All, false>;
  for (llvm::StringRef overload : {"dim", "dims"}) {
    t[("aten.any." + overload).str()] = logicalReduction<ReduceKind::Any, true>;
    t[("aten.all." + overload).str()] = logicalReduction<ReduceKind::All, true>;
  }
  t["aten.argmax.default"] = argReduction<ReduceKind::Max>;
  t["aten.argmin.default"] = argReduction<ReduceKind::Min>;
  for (llvm::StringRef overload : {"correction", "dim"}) {
    t[("aten.var." + overload).str()] = variance;
    t[("aten.std." + overload).str()] = standardDeviation;
    t[("aten.var_mean." + overload).str()] = varianceAndMean;
  }
  t["aten.logsumexp.default"] = logsumexp;
}

} // namespace tilewright
