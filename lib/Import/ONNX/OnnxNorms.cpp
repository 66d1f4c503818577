//===- OnnxNorms.cpp - normalizations ------------------------------------------------===//
//
// LayerNormalization and RMSNormalization become one tw op if their scale and bias have the normalized shape. With
// other shapes, they are decomposed. RMSNormalization is also decomposed if the types of scale and input differ.
// BatchNormalization, InstanceNormalization and GroupNormalization are always decomposed.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ONNX/OnnxNode.h"
#include "lib/Import/ONNX/OnnxTable.h"

namespace tilewright {
namespace {

struct Moments {
  Value mean, rstd, centred;
};

/// Returns the mean, 1 / sqrt(variance + eps) and x - mean, where mean and variance are over `dims`. These dimensions
/// have size 1 in the first two results.
Moments momentsOf(OnnxNode &n, Value x, ArrayRef<int64_t> dims, double eps) {
  SmallVector<AffineExpr> sizes = n.sizesIn(x);
  for (int64_t dim : dims)
    sizes[dim] = n.constantSize(1);
  RankedTensorType type = tensorWithSizes(sizes, n.elementOf(x));
  auto op = VarMeanOp::create(n.builder, n.loc, TypeRange{type, type}, x, n.builder.getDenseI64ArrayAttr(dims),
                              n.builder.getF64FloatAttr(0), n.builder.getUnitAttr());
  return {op.getMean(), n.op<RsqrtOp>({n.op<AddOp>(op.getVariance(), eps)}), n.op<SubOp>({x, op.getMean()})};
}

bool hasShape(OnnxNode &n, Value value, ArrayRef<AffineExpr> sizes) {
  return !value || ArrayRef<AffineExpr>(n.sizesIn(value)) == sizes;
}

/// Returns the type in which a normalization of elements of the type `element` is computed: f64 for f64, otherwise at
/// least f32. The attribute stash_type, whose default is f32, can specify a wider type.
Type stashType(OnnxNode &n, Type element) {
  Type stash = n.elementNamed("stash_type", onnx::ElementType::F32);
  return element.isF64() ? element : n.accumulator(stash);
}

Results layerNorm(OnnxNode &n) {
  Value x = n.in(0), scale = n.in(1), bias = n.optionalIn(2);
  int64_t rank = n.rankOf(x), axis = n.axis(n.integer("axis", -1), rank);
  double eps = n.number("epsilon", 1e-5);
  Type element = n.elementOf(x), compute = stashType(n, element),
       stash = n.elementNamed("stash_type", onnx::ElementType::F32);
  if (!n.demand(rank > 0, "a single number has no rows"))
    return n.refused();
  SmallVector<AffineExpr> sizes = n.sizesIn(x), stats = sizes;
  SmallVector<int64_t> dims;
  for (int64_t dim = axis; dim < rank; ++dim) {
    stats[dim] = n.constantSize(1);
    dims.push_back(dim);
  }
  ArrayRef<AffineExpr> row = ArrayRef(sizes).drop_front(axis);
  if (hasShape(n, scale, row) && hasShape(n, bias, row)) {
    Type accumulator = n.accumulator(element);
    RankedTensorType statistics = tensorWithSizes(stats, accumulator);
    auto op = LayerNormOp::create(n.builder, n.loc, TypeRange{x.getType(), statistics, statistics}, x, scale, bias,
                                  n.builder.getI64IntegerAttr(rank - axis), n.builder.getF64FloatAttr(eps));
    return {op.getResult(), n.cast(op.getMean(), stash), n.cast(op.getRstd(), stash)};
  }
  Moments m = momentsOf(n, n.cast(x, compute), dims, eps);
  Value result = n.cast(n.op<MulOp>({m.centred, m.rstd}), element);
  result = n.op<MulOp>({result, scale});
  if (bias)
    result = n.op<AddOp>({result, bias});
  return {result, n.cast(m.mean, stash), n.cast(m.rstd, stash)};
}

Results rmsNorm(OnnxNode &n) {
  Value x = n.in(0), scale = n.in(1);
  int64_t rank = n.rankOf(x), axis = n.axis(n.integer("axis", -1), rank);
  double eps = n.number("epsilon", 1e-5);
  Type element = n.elementOf(x), compute = stashType(n, element);
  if (!n.demand(rank > 0, "a single number has no rows"))
    return n.refused();
  SmallVector<AffineExpr> sizes = n.sizesIn(x), stats = sizes;
  SmallVector<int64_t> dims;
  for (int64_t dim = axis; dim < rank; ++dim) {
    stats[dim] = n.constantSize(1);
    dims.push_back(dim);
  }
  if (n.elementOf(scale) == element && hasShape(n, scale, ArrayRef(sizes).drop_front(axis))) {
    auto op =
        RMSNormOp::create(n.builder, n.loc, TypeRange{x.getType(), tensorWithSizes(stats, n.accumulator(element))}, x,
                          scale, n.builder.getI64IntegerAttr(rank - axis), n.builder.getF64FloatAttr(eps));
    return Value(op.getResult());
  }
  Value wide = n.cast(x, compute);
  Value rstd = n.op<RsqrtOp>({n.op<AddOp>(n.meanOf(n.op<MulOp>({wide, wide}), dims, true), eps)});
  Value normal = n.cast(n.op<MulOp>({wide, rstd}), n.elementOf(scale));
  return n.op<MulOp>({normal, scale});
}

/// Returns (x - mean) / sqrt(variance + eps) * scale + bias. `mean`, `variance`, `scale` and `bias` have one number per
/// channel.
Value perChannel(OnnxNode &n, Value x, Value mean, Value variance, Value scale, Value bias, double eps) {
  Type element = n.elementOf(x), compute = n.accumulator(element);
  int64_t rank = n.rankOf(x);
  auto along = [&](Value value) { return n.alongDim(n.cast(value, compute), rank > 1 ? 1 : 0, rank); };
  Value rstd = n.op<RsqrtOp>({n.op<AddOp>(along(variance), eps)});
  Value normal = n.op<MulOp>({n.op<SubOp>({n.cast(x, compute), along(mean)}), rstd});
  return n.cast(n.op<AddOp>({n.op<MulOp>({normal, along(scale)}), along(bias)}), element);
}

Results batchNorm(OnnxNode &n) {
  Value x = n.in(0), scale = n.in(1), bias = n.in(2), mean = n.in(3), variance = n.in(4);
  double eps = n.number("epsilon", 1e-5), momentum = n.number("momentum", 0.9);
  bool training = n.version >= 14 ? n.integer("training_mode", 0) : n.version < 7 && !n.integer("is_test", 0);
  int64_t rank = n.rankOf(x);
  if (!n.demand(rank >= 2 && n.rankOf(scale) == 1 && n.rankOf(bias) == 1 && n.rankOf(mean) == 1 &&
                    n.rankOf(variance) == 1,
                "it needs channels, and vectors for them"))
    return n.refused();
  if (!training)
    return perChannel(n, x, mean, variance, scale, bias, eps);
  if (n.version < 14)
    return n.refuse("training is not supported");
  SmallVector<int64_t> dims = {0};
  for (int64_t dim = 2; dim < rank; ++dim)
    dims.push_back(dim);
  Value wide = n.cast(x, n.accumulator(n.elementOf(x)));
  RankedTensorType type = tensorWithSizes({n.sizesIn(x)[1]}, n.elementOf(wide));
  auto op = VarMeanOp::create(n.builder, n.loc, TypeRange{type, type}, wide, n.builder.getDenseI64ArrayAttr(dims),
                              n.builder.getF64FloatAttr(0), UnitAttr());
  auto running = [&](Value old, Value now) {
    Value kept = n.op<MulOp>(n.cast(old, n.elementOf(now)), momentum);
    return n.cast(n.op<AddOp>({kept, n.op<MulOp>(now, 1 - momentum)}), n.elementOf(old));
  };
  return {perChannel(n, x, op.getMean(), op.getVariance(), scale, bias, eps), running(mean, op.getMean()),
          running(variance, op.getVariance())};
}

Results instanceNorm(OnnxNode &n) {
  Value x = n.in(0), scale = n.in(1), bias = n.in(2);
  double eps = n.number("epsilon", 1e-5);
  int64_t rank = n.rankOf(x);
  if (!n.demand(rank >= 3 && n.rankOf(scale) == 1 && n.rankOf(bias) == 1, "it needs channels and spatial dimensions"))
    return n.refused();
  Type element = n.elementOf(x), compute = n.accumulator(element);
  SmallVector<int64_t> dims;
  for (int64_t dim = 2; dim < rank; ++dim)
    dims.push_back(dim);
  Moments m = momentsOf(n, n.cast(x, compute), dims, eps);
  auto along = [&](Value value) { return n.alongDim(n.cast(value, compute), 1, rank); };
  Value normal = n.op<MulOp>({m.centred, m.rstd});
  return n.cast(n.op<AddOp>({n.op<MulOp>({normal, along(scale)}), along(bias)}), element);
}

/// Imports GroupNormalization. Before operator set 21, scale and bias have one number per group. From this operator set
/// on, they have one number per channel.
Results groupNorm(OnnxNode &n) {
  Value x = n.in(0), scale = n.in(1), bias = n.in(2);
  double eps = n.number("epsilon", 1e-5);
  int64_t groups = n.integer("num_groups"), rank = n.rankOf(x);
  if (!n.demand(rank >= 2 && groups > 0, "it needs channels and groups"))
    return n.refused();
  int64_t channels = n.staticSize(x, 1);
  if (!n.demand(channels % groups == 0, "its channels are not a multiple of its groups"))
    return n.refused();
  Type element = n.elementOf(x), compute = n.accumulator(element);
  SmallVector<AffineExpr> sizes = n.sizesIn(x),
                          grouped = {sizes[0], n.constantSize(groups), n.constantSize(channels / groups)};
  grouped.append(sizes.begin() + 2, sizes.end());
  SmallVector<int64_t> dims;
  for (int64_t dim = 2; dim <= rank; ++dim)
    dims.push_back(dim);
  Moments m = momentsOf(n, n.reshape(n.cast(x, compute), grouped), dims, eps);
  Value normal = n.op<MulOp>({m.centred, m.rstd});
  auto along = [&](Value value, int64_t ofRank) { return n.alongDim(n.cast(value, compute), 1, ofRank); };
  bool perGroup = n.version < 21;
  if (!perGroup)
    normal = n.reshape(normal, sizes);
  int64_t ofRank = perGroup ? rank + 1 : rank;
  normal = n.op<AddOp>({n.op<MulOp>({normal, along(scale, ofRank)}), along(bias, ofRank)});
  return n.cast(n.reshape(normal, sizes), element);
}

Results meanVariance(OnnxNode &n) {
  Value x = n.in(0);
  SmallVector<int64_t> axes = n.attribute("axes") ? n.integers("axes") : SmallVector<int64_t>{0, 2, 3}, dims;
  for (int64_t axis : axes)
    dims.push_back(n.axis(axis, n.rankOf(x)));
  if (n.failed())
    return n.refused();
  Type element = n.elementOf(x);
  Value wide = n.cast(x, n.accumulator(element));
  // ONNX defines MeanVarianceNormalization with the epsilon added to the deviation, not to the variance.
  Value mean = n.meanOf(wide, dims, true), squares = n.meanOf(n.op<MulOp>({wide, wide}), dims, true);
  Value deviation = n.op<SqrtOp>({n.op<SubOp>({squares, n.op<MulOp>({mean, mean})})});
  return n.cast(n.op<DivOp>({n.op<SubOp>({wide, mean}), n.op<AddOp>(deviation, 1e-9)}), element);
}

/// Imports LpNormalization, which returns x / norm, or 0 if the norm is 0.
Results lpNorm(OnnxNode &n) {
  Value x = n.in(0);
  int64_t dim = n.axis(n.integer("axis", -1), n.rankOf(x)), p = n.integer("p", 2);
  if (!n.demand(p == 1 || p == 2, "its p is neither 1 nor 2"))
    return n.refused();
  Type element = n.elementOf(x), compute = n.accumulator(element);
  Value wide = n.cast(x, compute);
  Value norm = n.reduce(ReduceKind::Sum, p == 1 ? n.op<AbsOp>({wide}) : n.op<MulOp>({wide, wide}), {dim}, true);
  if (p == 2)
    norm = n.op<SqrtOp>({norm});
  Value zero = n.scalar(0, compute);
  return n.cast(n.where(n.compare<EqOp>(norm, zero), zero, n.op<DivOp>({wide, norm})), element);
}

/// Imports Dropout. In training, only a ratio of 0 is supported, because the random numbers of other implementations
/// cannot be reproduced.
Results dropout(OnnxNode &n) {
  Value x = n.in(0);
  double ratio = n.version < 12 ? n.number("ratio", 0.5) : 0.5;
  bool training = n.version < 7 && !n.integer("is_test", 0);
  if (n.version >= 12) {
    if (n.given(2)) {
      SmallVector<int64_t> mode = n.integersIn(2, "training_mode");
      training = !mode.empty() && mode[0];
    }
    if (training && n.given(1)) {
      SmallVector<double> given = n.numbersIn(1, "ratio");
      ratio = given.empty() ? 0.5 : given[0];
    }
  }
  if (n.failed())
    return n.refused();
  if (training && ratio != 0)
    return n.refuse("it drops elements at random in training; export the model for inference");
  Type mask = n.version >= 10 ? n.i1() : n.elementOf(x);
  return {x, n.broadcast(n.scalarInt(1, mask), n.sizesIn(x))};
}

} // namespace

void registerOnnxNorms(OnnxTable &t) {
  t["LayerNormalization"] = layerNorm;
  t["RMSNormalization"] = rmsNorm;
  t["BatchNormalization"] = batchNorm;
  t["InstanceNormalization"] = instanceNorm;
  t["GroupNormalization"] = groupNorm;
  t["MeanVarianceNormalization"] = meanVariance;
  t["LpNormalization"] = lpNorm;
  t["Dropout"] = dropout;
}

} // namespace tilewright
