//===- ClassLosses.cpp - classification losses ----------------------------------------------===//
//
// The class dimension of an input is dimension 1, or dimension 0 if the input has rank 1. A target has a class index
// for each element of the other dimensions, or class probabilities in the shape of the input.
//
//   nll_loss(x, t)            mean(-x[t] w[t])
//   cross_entropy_loss(x, t)  nll_loss(log_softmax(x), t); with label smoothing e, the target distribution is
//                             (1 - e) t + e / classes
//
// For class indices, the mean is weighted: the sum of the losses is divided by the sum of the weights w[t]. Elements
// whose class index is ignore_index are not counted.
//
// Test: test/Python/test_plain_exports.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Indexing.h"
#include "lib/Import/ATen/Losses.h"
#include "lib/Import/ATen/Table.h"

namespace tilewright {
namespace {

/// The arguments of a classification loss.
struct ClassLoss {
  Value x, target, weight; ///< `weight` may be null
  Value ignored;
  int64_t reduction = meanReduction;
  int64_t dim = 0; ///< the class dimension
};

ClassLoss readClassLoss(Node &n) {
  Type compute = n.accumulator(n.element());
  ClassLoss c;
  c.x = n.cast(n.tensor(0, "self"), compute);
  c.target = n.tensor(1, "target");
  if (Value weight = n.optionalTensor(2, "weight"))
    c.weight = n.cast(weight, compute);
  c.reduction = n.integer(3, "reduction", meanReduction);
  c.ignored = n.has(4, "ignore_index") ? n.operand(4, "ignore_index", n.i64()) : n.scalarInt(-100, n.i64());
  c.dim = n.rankOf(c.x) < 2 ? 0 : 1;
  n.demand(isa<FloatType>(compute) && n.rankOf(c.x) > 0,
           "the loss requires a floating-point input of at least one dimension");
  n.demand(!c.weight || n.rankOf(c.weight) == 1, "the weight has one element for each class");
  return c;
}

/// The parts of a loss of class indices, each in the shape of the target.
struct ClassNumbers {
  Value counts;  ///< false where the class index is ignore_index
  Value loss;    ///< -x[t] w[t], or 0
  Value weights; ///< w[t], or 0
};

ClassNumbers lossesOfNumbers(Node &n, ClassLoss &c) {
  Value target = n.cast(c.target, n.i64());
  Type compute = n.elementOf(c.x);
  Value zero = n.scalar(0, compute), none = n.scalarInt(0, n.i64());
  ClassNumbers result;
  result.counts = n.compare<NeOp>(target, c.ignored);
  Value safe = n.where(result.counts, target, none);
  SmallVector<AffineExpr> sizes = n.sizesIn(target);
  Value picked = n.reshape(gatherAlong(n, c.x, n.unsqueeze(safe, c.dim), c.dim), sizes);
  Value weights = c.weight ? take(n, c.weight, {safe}, 0, /*wraps=*/false) : n.broadcast(n.scalar(1, compute), sizes);
  result.weights = n.where(result.counts, weights, zero);
  Value loss = n.op<NegOp>({c.weight ? n.op<MulOp>({picked, weights}) : picked});
  result.loss = n.where(result.counts, loss, zero);
  return result;
}

Value sumOf(Node &n, Value value) {
  return n.reduce(ReduceKind::Sum, value, allDims(n.rankOf(value)), /*keepdim=*/false);
}

/// Reduces losses of class indices. A mean is divided by the sum of the weights.
Value reducedByWeights(Node &n, Value loss, Value weights, int64_t reduction) {
  if (reduction != meanReduction)
    return reducedLoss(n, loss, reduction);
  return n.cast(n.op<DivOp>({sumOf(n, loss), sumOf(n, weights)}), n.element());
}

bool hasClassNumbers(Node &n, const ClassLoss &c) {
  return n.demand(isa<IntegerType>(n.elementOf(c.target)) && n.rankOf(c.target) + 1 == n.rankOf(c.x),
                  "the target has one class index for each element of the other dimensions");
}

/// Imports nll_loss, nll_loss2d and nll_loss_nd(self, target, weight, reduction, ignore_index).
Results nllLoss(Node &n) {
  ClassLoss c = readClassLoss(n);
  if (n.failed() || !hasClassNumbers(n, c))
    return n.refused();
  ClassNumbers numbers = lossesOfNumbers(n, c);
  return reducedByWeights(n, numbers.loss, numbers.weights, c.reduction);
}

/// Returns the loss for class probabilities. With the reduction `mean`, the sum is divided by the number of elements
/// outside of the class dimension.
Value lossOfProbabilities(Node &n, ClassLoss &c, double smoothing) {
  Type compute = n.elementOf(c.x);
  Value target = n.cast(c.target, compute), classes = n.countAlong(c.x, {c.dim}, compute);
  if (smoothing > 0) {
    Value share = n.op<DivOp>({n.scalar(smoothing, compute), classes});
    target = n.op<AddOp>({n.op<MulOp>(target, 1 - smoothing), share});
  }
  Value product = n.op<NegOp>({n.op<MulOp>({c.x, target})});
  if (c.weight)
    product = n.op<MulOp>({product, n.alongDim(c.weight, c.dim, n.rankOf(c.x))});
  return reducedLoss(n, n.reduce(ReduceKind::Sum, product, {c.dim}, /*keepdim=*/false), c.reduction);
}

/// Imports cross_entropy_loss(self, target, weight, reduction, ignore_index, label_smoothing).
Results crossEntropyLoss(Node &n) {
  ClassLoss c = readClassLoss(n);
  const double smoothing = n.number(5, "label_smoothing", 0);
  if (!n.demand(smoothing >= 0 && smoothing <= 1, "label_smoothing is not between 0 and 1"))
    return n.refused();
  c.x = SoftmaxOp::create(n.builder, n.loc, c.x.getType(), c.x, n.builder.getI64IntegerAttr(c.dim),
                          /*log=*/n.builder.getUnitAttr(), UnitAttr());
  if (isa<FloatType>(n.elementOf(c.target)))
    return n.demand(n.rankOf(c.target) == n.rankOf(c.x), "its probabilities have another shape than the input")
               ? lossOfProbabilities(n, c, smoothing)
               : n.refused();
  if (!hasClassNumbers(n, c))
    return n.refused();
  ClassNumbers numbers = lossesOfNumbers(n, c);
  if (smoothing == 0)
    return reducedByWeights(n, numbers.loss, numbers.weights, c.reduction);
  // The loss is (1 - e) nll + e / classes * sum over all classes of -x w.
  Type compute = n.elementOf(c.x);
  Value all = n.op<NegOp>({c.weight ? n.op<MulOp>({c.x, n.alongDim(c.weight, c.dim, n.rankOf(c.x))}) : c.x});
  Value sum = n.reduce(ReduceKind::Sum, all, {c.dim}, /*keepdim=*/false);
  sum = n.where(numbers.counts, sum, n.scalar(0, compute));
  Value share = n.op<DivOp>({n.scalar(smoothing, compute), n.countAlong(c.x, {c.dim}, compute)});
  Value loss = n.op<AddOp>({n.op<MulOp>(numbers.loss, 1 - smoothing), n.op<MulOp>({sum, share})});
  return reducedByWeights(n, loss, numbers.weights, c.reduction);
}

} // namespace

void registerClassLosses(Table &t) {
  t["aten.nll_loss.default"] = t["aten.nll_loss2d.default"] = t["aten.nll_loss_nd.default"] = nllLoss;
  t["aten.cross_entropy_loss.default"] = crossEntropyLoss;
}

} // namespace tilewright
