//===- CompositeNorms.cpp - norms of plain exports --------------------------------------===//
//
//   batch_norm(x, w, b, mean, var, false, ...)    _native_batch_norm_legit_no_training(x, w, b, mean, var, ...)
//   linalg_vector_norm(x, 2, [1])                 sqrt(sum(x * x, 1))
//   cdist(a, b, 3)                                _cdist_forward(a, b, 3, None)
//
// Test: test/Python/test_plain_exports.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Composites.h"
#include "lib/Import/ATen/Elementwise.h"
#include "lib/Import/ATen/Norms.h"
#include "lib/Import/ATen/Table.h"
#include <cmath>

namespace tilewright {

Value normOf(Node &n, Value x, double order, ArrayRef<int64_t> dims, bool keepdim, Type compute) {
  Value magnitude = n.op<AbsOp>({n.cast(x, compute)});
  SmallVector<AffineExpr> sizes = n.sizesIn(x);
  auto sum = [&](Value terms) { return n.reduce(ReduceKind::Sum, terms, dims, keepdim); };
  if (order == 0)
    return sum(n.cast(n.op<NeOp>({magnitude, n.scalar(0, compute)}, n.i1()), compute));
  // As in torch, the norm of one element is exactly its magnitude.
  if (std::isinf(order) || llvm::all_of(dims, [&](int64_t dim) { return sizes[dim] == n.constantSize(1); }))
    return n.reduce(order > 0 ? ReduceKind::Max : ReduceKind::Min, magnitude, dims, keepdim);
  return powerOf(n, sum(powerOf(n, magnitude, order)), 1 / order);
}

namespace {

/// Imports batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled).
Results batchNorm(Node &n) {
  const bool training = n.flag(5, "training");
  if (training && !n.has(3, "running_mean") && !n.has(4, "running_var"))
    return importAs(n, "aten._native_batch_norm_legit.no_stats",
                    {argumentOf(n, 0, "input"), argumentOf(n, 1, "weight"), argumentOf(n, 2, "bias"), true,
                     argumentOf(n, 6, "momentum"), argumentOf(n, 7, "eps")});
  if (training)
    return n.refuse("batch norm in training writes its running statistics, and a compiled model keeps no state between "
                    "calls: call model.eval() before it is exported");
  return importAs(n, "aten._native_batch_norm_legit_no_training.default",
                  {argumentOf(n, 0, "input"), argumentOf(n, 1, "weight"), argumentOf(n, 2, "bias"),
                   argumentOf(n, 3, "running_mean"), argumentOf(n, 4, "running_var"), argumentOf(n, 6, "momentum"),
                   argumentOf(n, 7, "eps")});
}

/// Imports group_norm(input, num_groups, weight, bias, eps). The size arguments of native_group_norm are omitted,
/// because its importer reads the sizes from the input.
Results plainGroupNorm(Node &n) {
  RankedTensorType none;
  return importAs(n, "aten.native_group_norm.default",
                  {argumentOf(n, 0, "input"), argumentOf(n, 2, "weight"), argumentOf(n, 3, "bias"), Arg(), Arg(), Arg(),
                   argumentOf(n, 1, "num_groups"), argumentOf(n, 4, "eps", 1e-5)},
                  {n.type(), none, none});
}

/// Imports a vector norm with the arguments (self, order, dim, keepdim). `name` is the name of the argument `order`.
Results vectorNorm(Node &n, llvm::StringRef name) {
  Value x = n.tensor(0, "self");
  double order = n.has(1, name) ? n.number(1, name) : 2;
  SmallVector<int64_t> dims = n.dims(2, "dim", n.rankOf(x));
  bool keepdim = n.flag(3, "keepdim");
  if (!n.demand(isa<FloatType>(n.element()), "a norm of integers"))
    return n.refused();
  return n.cast(normOf(n, x, order, dims, keepdim, n.accumulator(n.element())), n.element());
}

Results linalgVectorNorm(Node &n) { return vectorNorm(n, "ord"); }
Results scalarNorm(Node &n) { return vectorNorm(n, "p"); }

/// Imports linalg_norm(self, ord, dim, keepdim). Only vector norms are supported.
Results linalgNorm(Node &n) {
  Value x = n.tensor(0, "self");
  if (n.has(1, "ord") && (!n.isNumber(1, "ord") || n.dims(2, "dim", n.rankOf(x)).size() != 1))
    return n.refuse("norms of matrices are not supported");
  return vectorNorm(n, "ord");
}

/// Imports _weight_norm(v, g, dim), which is v * g / |v|. The norms are over all dimensions except `dim`, or over all
/// dimensions if `dim` is -1.
Results weightNorm(Node &n) {
  Value v = n.tensor(0, "v"), g = n.tensor(1, "g");
  int64_t dim = n.integer(2, "dim", 0);
  if (n.failed())
    return n.refused();
  SmallVector<int64_t> dims = allDims(n.rankOf(v));
  if (dim != -1)
    dims.erase(dims.begin() + n.wrapDim(dim, n.rankOf(v)));
  if (n.failed())
    return n.refused();
  Type compute = n.accumulator(n.element());
  Value norm = normOf(n, v, 2, dims, true, compute);
  return n.cast(n.op<MulOp>({n.cast(v, compute), n.op<DivOp>({n.cast(g, compute), norm})}), n.element());
}

/// Imports cdist(x1, x2, p, compute_mode).
Results distancesOfRows(Node &n) {
  return importAs(n, "aten._cdist_forward.default",
                  {argumentOf(n, 0, "x1"), argumentOf(n, 1, "x2"), argumentOf(n, 2, "p", 2.0), Arg()});
}

/// Imports pdist(self, p).
Results distancesOfPairs(Node &n) {
  return importAs(n, "aten._pdist_forward.default", {argumentOf(n, 0, "self"), argumentOf(n, 1, "p", 2.0)});
}

/// Imports instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps,
/// cudnn_enabled).
Results instanceNorm(Node &n) {
  Value x = n.tensor(0, "input");
  if (!n.demand(n.rankOf(x) > 2, "it has no dimensions after its channels"))
    return n.refused();
  if (!n.flag(5, "use_input_stats"))
    return importAs(n, "aten._native_batch_norm_legit_no_training.default",
                    {argumentOf(n, 0, "input"), argumentOf(n, 1, "weight"), argumentOf(n, 2, "bias"),
                     argumentOf(n, 3, "running_mean"), argumentOf(n, 4, "running_var"), argumentOf(n, 6, "momentum"),
                     argumentOf(n, 7, "eps")});
  if (n.has(3, "running_mean"))
    return n.refuse("it writes its running statistics, and a compiled model keeps no state between calls: call "
                    "model.eval() before it is exported");
  auto channels = dyn_cast<AffineConstantExpr>(n.sizesIn(x)[1]);
  if (!channels)
    return n.refuse("the number of channels is symbolic");
  RankedTensorType none;
  return importAs(n, "aten.native_group_norm.default",
                  {argumentOf(n, 0, "input"), argumentOf(n, 1, "weight"), argumentOf(n, 2, "bias"), Arg(), Arg(), Arg(),
                   channels.getValue(), argumentOf(n, 7, "eps", 1e-5)},
                  {n.type(), none, none});
}

} // namespace

void registerCompositeNorms(Table &t) {
  t["aten.batch_norm.default"] = batchNorm;
  t["aten.group_norm.default"] = plainGroupNorm;
  t["aten.instance_norm.default"] = instanceNorm;
  t["aten.linalg_vector_norm.default"] = linalgVectorNorm;
  t["aten.linalg_norm.default"] = linalgNorm;
  t["aten.norm.Scalar"] = t["aten.norm.ScalarOpt_dim"] = scalarNorm;
  t["aten._weight_norm.default"] = weightNorm;
  t["aten.cdist.default"] = distancesOfRows;
  t["aten.pdist.default"] = distancesOfPairs;
}

} // namespace tilewright
