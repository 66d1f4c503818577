//===- LayerNorms.cpp - layer, RMS and group normalization --------------------------------===//
//
// The backward pass of layer_norm computes the gradients below, where g is the result's gradient, w the weight, xhat =
// (x - mean) rstd, h = g w, and N the number of normalized elements:
//
//   dx = rstd (h - sum(h)/N - xhat sum(h xhat)/N),  dw = sum(g xhat),  db = sum(g)
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Layers.h"
#include "lib/Import/ATen/Table.h"

namespace tilewright {

LayerNormOp layerNormOf(Node &n, Value x, Value weight, Value bias, int64_t rank, double eps, Type statistics) {
  SmallVector<AffineExpr> sizes = n.sizesIn(x);
  std::fill(sizes.end() - rank, sizes.end(), n.constantSize(1));
  RankedTensorType rows = tensorWithSizes(sizes, statistics);
  return LayerNormOp::create(n.builder, n.loc, TypeRange{x.getType(), rows, rows}, x, weight, bias,
                             n.builder.getI64IntegerAttr(rank), n.builder.getF64FloatAttr(eps));
}

namespace {

/// Imports native_layer_norm(input, normalized_shape, weight, bias, eps), and layer_norm, which has only the first
/// result.
Results layerNorm(Node &n) {
  Value x = n.tensor(0, "input"), weight = n.optionalTensor(2, "weight"), bias = n.optionalTensor(3, "bias");
  int64_t rank = n.sizes(1, "normalized_shape").size();
  double eps = n.number(4, "eps", 1e-5);
  if (n.failed())
    return n.refused();
  if (rank < 1 || rank > n.rankOf(x))
    return n.refuse("normalized_shape has " + llvm::Twine(rank) + " dimensions for an input of rank " +
                    llvm::Twine(n.rankOf(x)));
  if (!n.demand(n.resultCount() <= 3, "it gives three results"))
    return n.refused();
  Type statistics = n.resultCount() > 1 && n.type(1) ? n.element(1) : n.accumulator(n.element());
  LayerNormOp op = layerNormOf(n, x, weight, bias, rank, eps, statistics);
  SmallVector<Value> results{op.getResult(), op.getMean(), op.getRstd()};
  for (unsigned i = 1; i < n.resultCount(); ++i) // for an empty input, torch may return empty statistics
    if (n.type(i) && n.type(i) != results[i].getType())
      results[i] = n.type(i).getNumElements() == 0 ? n.full(n.scalar(0, n.element(i)), n.type(i)) : results[i];
  return results;
}

/// Imports native_layer_norm_backward(grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask).
Results layerNormBackward(Node &n) {
  Value grad = n.tensor(0, "grad_out"), input = n.tensor(1, "input"), mean = n.tensor(3, "mean"),
        rstd = n.tensor(4, "rstd");
  Value weight = n.optionalTensor(5, "weight");
  int64_t rank = n.sizes(2, "normalized_shape").size();
  SmallVector<bool> wanted = n.flags(7, "output_mask");
  if (n.failed() || wanted.size() != 3)
    return n.refuse("output_mask needs three entries");
  Type compute = n.accumulator(n.elementOf(input));
  Value g = n.cast(grad, compute), x = n.cast(input, compute);
  mean = n.cast(mean, compute);
  rstd = n.cast(rstd, compute);
  SmallVector<int64_t> inner, outer;
  for (int64_t dim : allDims(n.rankOf(x)))
    (dim < n.rankOf(x) - rank ? outer : inner).push_back(dim);
  Value xhat = n.op<MulOp>({n.op<SubOp>({x, mean}), rstd});
  Value dx, dw, db;
  if (wanted[0]) {
    Value h = weight ? n.op<MulOp>({g, n.cast(weight, compute)}) : g;
    Value count = n.countAlong(x, inner, compute);
    Value a = n.op<DivOp>({n.reduce(ReduceKind::Sum, h, inner, true), count});
    Value b = n.op<DivOp>({n.reduce(ReduceKind::Sum, n.op<MulOp>({h, xhat}), inner, true), count});
    dx = n.op<MulOp>({rstd, n.op<SubOp>({n.op<SubOp>({h, a}), n.op<MulOp>({xhat, b})})});
    dx = n.cast(dx, n.element(0));
  }
  if (wanted[1] && weight)
    dw = n.cast(n.reduce(ReduceKind::Sum, n.op<MulOp>({g, xhat}), outer, false), n.element(1));
  if (wanted[2])
    db = n.cast(n.reduce(ReduceKind::Sum, g, outer, false), n.element(2));
  return {dx, dw, db};
}

/// Imports _fused_rms_norm(input, normalized_shape, weight, eps) -> output, rstd, and rms_norm, which has only the
/// first result.
Results rmsNorm(Node &n) {
  Value x = n.tensor(0, "input"), weight = n.optionalTensor(2, "weight");
  int64_t rank = n.sizes(1, "normalized_shape").size();
  if (!n.demand(isa<FloatType>(n.elementOf(x)), "a norm of " + dtypeName(n.elementOf(x))))
    return n.refused();
  const llvm::fltSemantics &semantics = ::mlir::cast<FloatType>(n.accumulator(n.elementOf(x))).getFloatSemantics();
  double epsilon = llvm::APFloat::semanticsPrecision(semantics) > 30 ? 2.220446049250313e-16 : 1.1920928955078125e-07;
  double eps = n.number(3, "eps", epsilon);
  if (n.failed())
    return n.refused();
  SmallVector<AffineExpr> sizes = n.sizesIn(x);
  if (rank < 1 || rank > int64_t(sizes.size()))
    return n.refuse("normalized_shape has " + llvm::Twine(rank) + " dimensions for an input of rank " +
                    llvm::Twine(sizes.size()));
  std::fill(sizes.end() - rank, sizes.end(), n.constantSize(1));
  Type statistics = n.resultCount() > 1 && n.type(1) ? n.element(1) : n.accumulator(n.element());
  auto op = RMSNormOp::create(n.builder, n.loc, TypeRange{n.type(0), tensorWithSizes(sizes, statistics)}, x, weight,
                              n.builder.getI64IntegerAttr(rank), n.builder.getF64FloatAttr(eps));
  return {op.getResult(), op.getRstd()};
}

/// Imports native_group_norm(input, weight, bias, N, C, HxW, group, eps) -> output, mean and rstd [N, group]. N, C and
/// HxW are read from the input instead.
Results groupNorm(Node &n) {
  Value input = n.tensor(0, "input"), weight = n.optionalTensor(1, "weight"), bias = n.optionalTensor(2, "bias");
  int64_t groups = n.integer(6, "group");
  double eps = n.number(7, "eps");
  if (!n.demand(n.rankOf(input) >= 2 && groups > 0, "a group norm needs a batch, channels and groups"))
    return n.refused();
  SmallVector<AffineExpr> all = n.sizesIn(input);
  AffineExpr batch = all[0], channels = all[1], plane = n.product(ArrayRef(all).drop_front(2));
  Type compute = n.accumulator(n.element());
  AffineExpr perGroup = canonicalSize(channels.floorDiv(groups) * plane);
  Value x = n.reshape(n.cast(input, compute), {batch, n.constantSize(groups), perGroup});
  SmallVector<AffineExpr> rows{batch, n.constantSize(groups), n.constantSize(1)};
  auto rowType = tensorWithSizes(rows, compute);
  auto statistics =
      VarMeanOp::create(n.builder, n.loc, TypeRange{rowType, rowType}, x, n.builder.getDenseI64ArrayAttr({2}),
                        n.builder.getF64FloatAttr(0), n.builder.getUnitAttr());
  Value rstd = n.op<RsqrtOp>({n.op<AddOp>(statistics.getVariance(), eps)});
  Value normal = n.op<MulOp>({n.op<SubOp>({x, statistics.getMean()}), rstd});
  Value y = n.reshape(normal, sizesOf(n.type(0)));
  if (weight)
    y = n.op<MulOp>({y, n.alongDim(n.cast(weight, compute), 0, n.rankOf(y) - 1)});
  if (bias)
    y = n.op<AddOp>({y, n.alongDim(n.cast(bias, compute), 0, n.rankOf(y) - 1)});
  auto shaped = [&](Value value, unsigned i) {
    return n.type(i) ? n.reshape(n.cast(value, n.element(i)), n.type(i)) : Value();
  };
  return {n.cast(y, n.element(0)), shaped(statistics.getMean(), 1), shaped(rstd, 2)};
}

/// Imports _weight_norm_interface_backward(grad_w, saved_v, saved_g, saved_norms, dim). Returns the gradients of
/// g v / |v| with respect to v and g, where |v| is the norm over all dimensions except `dim`.
Results weightNormBackward(Node &n) {
  Value grad = n.tensor(0, "grad_w"), norms = n.tensor(3, "saved_norms");
  Type element = n.elementOf(grad), compute = n.elementOf(norms);
  Value v = n.cast(n.tensor(1, "saved_v"), compute), g = n.cast(n.tensor(2, "saved_g"), compute);
  int64_t dim = n.dim(4, "dim", n.rankOf(v));
  if (!n.demand(isa<FloatType>(compute) && n.rankOf(v) > 0 && n.rankOf(grad) == n.rankOf(v),
                "a norm is of a float tensor with dimensions"))
    return n.refused();
  SmallVector<int64_t> others = allDims(n.rankOf(v));
  others.erase(others.begin() + dim);
  Value part = n.cast(grad, compute), products = n.op<MulOp>({part, v});
  Value along = others.empty() ? products : n.reduce(ReduceKind::Sum, products, others, true);
  Value parallel = n.op<MulOp>({v, n.op<DivOp>({along, n.op<MulOp>({norms, norms})})});
  Value ofV = n.op<MulOp>({n.op<DivOp>({g, norms}), n.op<SubOp>({part, parallel})});
  return {n.cast(ofV, element), n.cast(n.op<DivOp>({along, norms}), element)};
}

} // namespace

void registerLayerNorms(Table &t) {
  t["aten.native_layer_norm.default"] = layerNorm;
  t["aten.layer_norm.default"] = layerNorm;
  t["aten.native_layer_norm_backward.default"] = layerNormBackward;
  t["aten._fused_rms_norm.default"] = rmsNorm;
  t["aten.rms_norm.default"] = rmsNorm;
  t["aten.native_group_norm.default"] = groupNorm;
  t["aten._weight_norm_interface_backward.default"] = weightNormBackward;
}

} // namespace tilewright
