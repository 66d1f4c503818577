//===- Scatters.cpp - writes at computed indices ---------------------------------------------===//
#include "lib/Import/ATen/Indexing.h"
#include "lib/Import/ATen/Norms.h"
#include "lib/Import/ATen/Table.h"

namespace tilewright {
namespace {

std::optional<ScatterKind> kindNamed(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<ScatterKind>>(name)
      .Cases({"sum", "add"}, ScatterKind::Add)
      .Cases({"prod", "multiply"}, ScatterKind::Mul)
      .Case("amax", ScatterKind::Max)
      .Case("amin", ScatterKind::Min)
      .Default(std::nullopt);
}

/// The operands of a scatter along the dimension `dim`. All have at least one dimension.
struct ScatterOperands {
  Value x, indices, source;
  int64_t dim = 0;
};

/// Reads the arguments (self, dim, index, src or value). As in torch, a source that is larger than the index tensor is
/// cropped to the shape of the index tensor. For a maximum or minimum, `x` and `source` are cast to a type in which
/// elements can be compared.
ScatterOperands readScatter(Node &n, ScatterKind kind) {
  ScatterOperands s;
  s.x = n.tensor(0, "self");
  s.indices = asIndex(n, n.tensor(2, "index"));
  s.dim = n.dim(1, "dim", n.rankOf(s.x));
  const bool fromTensor = n.isTensor(3, "src");
  s.source = fromTensor ? n.cast(n.tensor(3, "src"), n.element()) : n.operand(3, "value", n.element());
  if (n.failed())
    return s;
  if (kind == ScatterKind::Max || kind == ScatterKind::Min) {
    Type compute = n.ordered(n.element());
    s.x = n.cast(s.x, compute);
    s.source = n.cast(s.source, compute);
  }
  auto atLeast1d = [&](Value value) { return n.rankOf(value) ? value : n.unsqueeze(value, 0); };
  s.indices = atLeast1d(s.indices);
  s.x = atLeast1d(s.x);
  SmallVector<AffineExpr> sizes = n.sizesIn(s.indices);
  if (!fromTensor || n.rankOf(s.source) == 0)
    s.source = n.broadcast(s.source, sizes);
  else if (n.sizesIn(s.source) != sizes)
    s.source = n.slice(s.source, SmallVector<AffineExpr>(sizes.size(), n.constantSize(0)),
                       SmallVector<int64_t>(sizes.size(), 1), sizes);
  return s;
}

/// Emits tw.scatter. As in eager, negative indices are errors.
Value emitScatter(Node &n, const ScatterOperands &s, ScatterKind kind) {
  return scatterAlong(n, s.x, s.indices, s.source, s.dim, kind);
}

/// Returns `s` with the tensor `x`, and with a source whose elements all are `scalar`.
ScatterOperands withScalar(Node &n, ScatterOperands s, Value x, Value scalar) {
  s.x = x;
  s.source = n.broadcast(scalar, n.sizesIn(s.indices));
  return s;
}

/// Returns true if the argument `index` is a tensor without elements, which may have any dtype, as in eager.
bool hasNoIndices(Node &n) { return n.isTensor(2, "index") && n.isEmpty(n.tensor(2, "index")); }

Results scatterWith(Node &n, ScatterKind kind) {
  if (hasNoIndices(n))
    return n.tensor(0, "self");
  ScatterOperands operands = readScatter(n, kind);
  if (n.failed())
    return n.refused();
  return n.cast(n.reshape(emitScatter(n, operands, kind), sizesOf(n.type())), n.element());
}
Results scatter(Node &n) { return scatterWith(n, ScatterKind::Set); }
Results scatterAdd(Node &n) { return scatterWith(n, ScatterKind::Add); }

/// Imports an operator with the arguments `reduce` and `include_self`, whose other arguments `read` reads.
Results reducingScatter(Node &n, ScatterOperands (*read)(Node &, ScatterKind)) {
  std::string name = n.text(4, "reduce");
  const bool isMean = name == "mean", includesSelf = n.flag(5, "include_self", true);
  std::optional<ScatterKind> kind = isMean ? ScatterKind::Add : kindNamed(name);
  if (!kind)
    return n.refuse("reduce='" + name + "' is not supported; sum, prod, mean, amax and amin are");
  if (isMean && n.element().isInteger(1))
    return n.refuse("the mean of booleans is not supported");
  if (hasNoIndices(n))
    return n.tensor(0, "self");
  ScatterOperands operands = read(n, *kind);
  if (n.failed())
    return n.refused();
  if (!includesSelf) { // an element that has sources starts from the identity, or from one of its sources
    const bool isExtreme = *kind == ScatterKind::Max || *kind == ScatterKind::Min;
    Value identity = n.scalarInt(*kind == ScatterKind::Mul, n.elementOf(operands.x));
    operands.x = emitScatter(n, isExtreme ? operands : withScalar(n, operands, operands.x, identity), ScatterKind::Set);
  }
  Value result = emitScatter(n, operands, *kind);
  if (isMean) {
    Type compute = n.accumulator(n.element());
    Value one = n.scalarInt(1, compute), counts = n.broadcast(one, n.sizesIn(operands.x));
    if (!includesSelf)
      counts = emitScatter(n, withScalar(n, operands, counts, n.scalarInt(0, compute)), ScatterKind::Set);
    counts = emitScatter(n, withScalar(n, operands, counts, one), ScatterKind::Add);
    if (!includesSelf) // an element without a source keeps its value
      counts = n.where(n.compare<EqOp>(counts, n.scalarInt(0, compute)), one, counts);
    result = n.cast(result, compute);
    result = isa<FloatType>(compute) ? n.op<DivOp>({result, counts}) : n.op<DivFloorOp>({result, counts});
  }
  return n.cast(n.reshape(result, sizesOf(n.type())), n.element());
}

/// Imports scatter.reduce(self, dim, index, src, *, reduce), scatter.value_reduce(self, dim, index, value, *, reduce)
/// and scatter_reduce.two(self, dim, index, src, reduce, *, include_self).
Results scatterReduce(Node &n) { return reducingScatter(n, readScatter); }

/// Reads the arguments (self, dim, index, source) of index_reduce. Slice k of the source is combined with the slice of
/// `self` at element k of `index`.
ScatterOperands readIndexReduce(Node &n, ScatterKind kind) {
  ScatterOperands s;
  s.x = n.tensor(0, "self");
  Value index = asIndex(n, n.tensor(2, "index"));
  s.dim = n.dim(1, "dim", n.rankOf(s.x));
  s.source = n.cast(n.tensor(3, "source"), n.element());
  if (!n.demand(n.rankOf(index) <= 1 && n.rankOf(s.source) == n.rankOf(s.x),
                "its index is not a list, or its source has another rank than the tensor"))
    return s;
  if (kind == ScatterKind::Max || kind == ScatterKind::Min) {
    s.x = n.cast(s.x, n.ordered(n.element()));
    s.source = n.cast(s.source, n.ordered(n.element()));
  }
  for (Value *value : {&s.x, &s.source, &index})
    if (n.rankOf(*value) == 0)
      *value = n.unsqueeze(*value, 0);
  s.indices = n.broadcast(n.alongDim(index, s.dim, n.rankOf(s.x)), n.sizesIn(s.source));
  return s;
}

/// Imports index_reduce(self, dim, index, source, reduce, *, include_self).
Results indexReduce(Node &n) { return reducingScatter(n, readIndexReduce); }

/// Imports embedding_renorm(self, indices, max_norm, norm_type), which scales the rows at `indices` so that their norms
/// are at most `max_norm`.
Results embeddingRenorm(Node &n) {
  Type compute = n.accumulator(n.element());
  Value weight = n.cast(n.tensor(0, "self"), compute), indices = asIndex(n, n.tensor(1, "indices"));
  const double most = n.number(2, "max_norm"), order = n.number(3, "norm_type");
  if (!n.demand(n.rankOf(weight) == 2 && isa<FloatType>(compute), "its table is not a matrix of floats"))
    return n.refused();
  AffineExpr rows = n.sizesIn(weight)[0], count = elementCount(n.typeOf(indices));
  Value norms = normOf(n, weight, order, {1}, /*keepdim=*/false, compute);
  Value none = n.broadcast(n.scalarInt(0, n.i1()), {rows}), ones = n.broadcast(n.scalarInt(1, n.i1()), {count});
  Value isRead = PutOp::create(n.builder, n.loc, none.getType(), none, ones, ValueRange{n.reshape(indices, {count})}, 0,
                               ScatterKind::Set);
  Value isLong = n.op<LogicalAndOp>({isRead, n.compare<GtOp>(norms, n.scalar(most, compute))}, n.i1());
  constexpr double eps = 1e-7; // as in ATen/native/Embedding.cpp
  Value scale = n.op<DivOp>({n.scalar(most, compute), n.op<AddOp>(norms, eps)});
  Value scaled = n.op<MulOp>({weight, n.unsqueeze(scale, 1)});
  return n.cast(n.where(n.unsqueeze(isLong, 1), scaled, weight), n.element());
}

/// Imports index_put(self, indices, values, accumulate).
Results indexPut(Node &n) {
  Value x = n.tensor(0, "self"), values = n.tensor(2, "values");
  SmallVector<Value> indices = n.optionalTensors(1, "indices");
  bool accumulate = n.flag(3, "accumulate");
  if (n.failed())
    return n.refused();
  values = n.cast(values, n.element());
  // Lower an assignment x[mask] = value, where `value` has one element, to a select.
  if (indices.size() == 1 && indices[0] && n.elementOf(indices[0]).isInteger(1) &&
      elementCount(n.typeOf(values)) == n.constantSize(1) && !accumulate) {
    SmallVector<AffineExpr> sizes = n.sizesIn(indices[0]);
    sizes.resize(n.rankOf(x), n.constantSize(1));
    return n.where(n.reshape(indices[0], sizes), n.reshape(values, ArrayRef<AffineExpr>{}), x);
  }
  IndexPlan plan = planIndices(n, x, indices);
  if (n.failed())
    return n.refused();
  Value base = n.permute(x, plan.order);
  Value result = PutOp::create(n.builder, n.loc, base.getType(), base, values, ValueRange(plan.indices), plan.dim,
                               accumulate ? ScatterKind::Add : ScatterKind::Set);
  SmallVector<int64_t> back(plan.order.size());
  for (auto [position, dim] : llvm::enumerate(plan.order))
    back[dim] = position;
  return n.permute(result, back);
}

/// Imports index_add(self, dim, index, source, *, alpha) and index_copy(self, dim, index, source).
template <ScatterKind kind> Results indexWrite(Node &n) {
  Value x = n.tensor(0, "self"), index = asIndex(n, n.tensor(2, "index")),
        source = n.cast(n.tensor(3, "source"), n.element());
  int64_t dim = n.dim(1, "dim", n.rankOf(x));
  double alpha = n.number(4, "alpha", 1.0);
  if (n.failed())
    return n.refused();
  if (n.element().isInteger(1))
    alpha = alpha != 0;
  if (alpha != 1.0)
    source = n.op<MulOp>(source, alpha);
  if (n.rankOf(x) == 0) {
    x = n.unsqueeze(x, 0);
    source = n.reshape(source, {n.constantSize(1)});
  }
  if (n.rankOf(index) == 0)
    index = n.unsqueeze(index, 0);
  return n.reshape(putAlong(n, x, index, source, dim, kind), n.type());
}

/// Imports put(self, index, source, accumulate), which writes at indices of the flattened tensor.
Results putFlat(Node &n) {
  Value x = n.tensor(0, "self"), index = asIndex(n, n.tensor(1, "index")),
        source = n.cast(n.tensor(2, "source"), n.element());
  bool accumulate = n.flag(3, "accumulate");
  AffineExpr count = elementCount(n.typeOf(index)), given = elementCount(n.typeOf(source));
  if (!n.demand(n.agree({count}, {given}), "it has as many elements as indices"))
    return n.refused();
  Value flat = n.reshape(x, {elementCount(n.typeOf(x))});
  Value put = PutOp::create(n.builder, n.loc, flat.getType(), flat, n.withSizes(n.reshape(source, {given}), {count}),
                            ValueRange{n.reshape(index, {count})}, 0, accumulate ? ScatterKind::Add : ScatterKind::Set);
  return n.reshape(put, n.typeOf(x));
}

/// Imports embedding_dense_backward(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq).
Results embeddingBackward(Node &n) {
  Value grad = n.tensor(0, "grad_output"), indices = asIndex(n, n.tensor(1, "indices"));
  int64_t padding = n.integer(3, "padding_idx", -1);
  if (n.flag(4, "scale_grad_by_freq"))
    return n.refuse("scale_grad_by_freq=True is not supported");
  if (n.failed())
    return n.refused();
  if (padding >= 0) {
    Value isPadding = n.compare<EqOp>(indices, n.scalarInt(padding, n.elementOf(indices)));
    grad = n.where(n.unsqueeze(isPadding, n.rankOf(isPadding)), n.scalar(0, n.elementOf(grad)), grad);
  }
  Value zeros = n.zeros();
  return Value(PutOp::create(n.builder, n.loc, n.type(), zeros, grad, ValueRange{indices}, 0, ScatterKind::Add));
}

} // namespace

void registerScatters(Table &t) {
  t["aten.scatter.src"] = scatter;
  t["aten.scatter.value"] = scatter;
  t["aten.scatter_add.default"] = scatterAdd;
  t["aten.scatter.reduce"] = scatterReduce;
  t["aten.scatter.value_reduce"] = scatterReduce;
  t["aten.scatter_reduce.two"] = scatterReduce;
  t["aten.index_reduce.default"] = indexReduce;
  t["aten.embedding_renorm.default"] = embeddingRenorm;
  t["aten.index_put.default"] = indexPut;
  t["aten._unsafe_index_put.default"] = indexPut;
  t["aten.index_add.default"] = indexWrite<ScatterKind::Add>;
  t["aten.index_copy.default"] = indexWrite<ScatterKind::Set>;
  t["aten.put.default"] = putFlat;
  t["aten.embedding_dense_backward.default"] = embeddingBackward;
}

} // namespace tilewright
