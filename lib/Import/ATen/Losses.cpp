//===- Losses.cpp - losses of pairs of elements --------------------------------------------===//
//
// A loss is computed for each pair of an element x and its target t, and may then be reduced to a sum or a mean:
//
//   mse_loss(x, t) = mean((x - t)^2)
//
// Losses of f16 and bf16 are computed in f32, and rounded once. Except for binary_cross_entropy, only plain exports
// (files of torch.export.save) contain these operators. Other callers decompose them.
//
// Test: test/Python/test_plain_exports.py, test/Python/test_data_dependent_errors.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Losses.h"
#include "lib/Import/ATen/Table.h"
#include <cmath>

namespace tilewright {

Value reducedLoss(Node &n, Value loss, int64_t reduction) {
  if (reduction == noReduction)
    return n.cast(loss, n.element());
  SmallVector<int64_t> dims = allDims(n.rankOf(loss));
  Value sum = n.reduce(ReduceKind::Sum, loss, dims, /*keepdim=*/false);
  if (reduction == meanReduction)
    sum = n.op<DivOp>({sum, n.countAlong(loss, dims, n.elementOf(sum))});
  return n.cast(sum, n.element());
}

namespace {

/// The operands of a loss, in the type in which it is computed.
struct Pair {
  Value x, target;
};

Pair pairOf(Node &n, unsigned first = 0, llvm::StringRef name = "self") {
  Type compute = n.accumulator(n.element());
  Pair pair{n.cast(n.tensor(first, name), compute), n.cast(n.tensor(first + 1, "target"), compute)};
  n.demand(isa<FloatType>(compute), "the loss of " + dtypeName(compute) + " tensors");
  return pair;
}

Value difference(Node &n, const Pair &pair) { return n.op<SubOp>({pair.x, pair.target}); }

/// Imports a loss with the arguments (self, target, reduction) and the further arguments that `lossOf` reads.
template <Value (*lossOf)(Node &, const Pair &)> Results elementLoss(Node &n) {
  Pair pair = pairOf(n);
  const int64_t reduction = n.integer(2, "reduction", meanReduction);
  if (n.failed())
    return n.refused();
  Value loss = lossOf(n, pair);
  return n.failed() ? n.refused() : Results(reducedLoss(n, loss, reduction));
}

Value squaredDifference(Node &n, const Pair &pair) {
  Value d = difference(n, pair);
  return n.op<MulOp>({d, d});
}

Value absoluteDifference(Node &n, const Pair &pair) { return n.op<AbsOp>({difference(n, pair)}); }

/// Returns the loss of smooth_l1_loss(self, target, reduction, beta), which is |d| - beta / 2 where |d| >= beta, and
/// d^2 / (2 beta) elsewhere.
Value smoothL1(Node &n, const Pair &pair) {
  const double beta = n.number(3, "beta", 1);
  Value d = absoluteDifference(n, pair);
  Value square = n.op<DivOp>(n.op<MulOp>({n.op<MulOp>(d, 0.5), d}), beta);
  Value isSmall = n.compare<LtOp>(d, n.scalar(beta, n.elementOf(d)));
  return n.where(isSmall, square, n.op<AddOp>(d, -0.5 * beta));
}

/// Returns the loss of huber_loss(self, target, reduction, delta), which is delta * (|d| - delta / 2) where |d| >
/// delta, and d^2 / 2 elsewhere.
Value huber(Node &n, const Pair &pair) {
  const double delta = n.number(3, "delta", 1);
  Value d = absoluteDifference(n, pair);
  Value square = n.op<MulOp>({n.op<MulOp>(d, 0.5), d}), line = n.op<MulOp>(n.op<AddOp>(d, -0.5 * delta), delta);
  return n.where(n.compare<LeOp>(d, n.scalar(delta, n.elementOf(d))), square, line);
}

/// Returns log(1 + exp(-x t)).
Value softMargin(Node &n, const Pair &pair) {
  Value product = n.op<NegOp>({n.op<MulOp>({pair.x, pair.target})});
  return n.op<Log1pOp>({n.op<ExpOp>({product})});
}

/// Returns the loss of kl_div(self, target, reduction, *, log_target), which is t (log(t) - x). With log_target, the
/// target is log(t).
Value klDivergence(Node &n, const Pair &pair) {
  if (n.flag(3, "log_target"))
    return n.op<MulOp>({n.op<ExpOp>({pair.target}), n.op<SubOp>({pair.target, pair.x})});
  Value zero = n.scalar(0, n.elementOf(pair.x));
  Value entropy =
      n.where(n.compare<EqOp>(pair.target, zero), zero, n.op<MulOp>({pair.target, n.op<LogOp>({pair.target})}));
  return n.op<SubOp>({entropy, n.op<MulOp>({pair.target, pair.x})});
}

/// Multiplies `loss` by the optional argument `weight`.
Value weighted(Node &n, Value loss, unsigned argument) {
  Value weight = n.optionalTensor(argument, "weight");
  return weight ? n.op<MulOp>({loss, n.cast(weight, n.elementOf(loss))}) : loss;
}

/// Imports binary_cross_entropy(self, target, weight, reduction). As in eager, logarithms are clamped to at least -100.
Results binaryCrossEntropy(Node &n) {
  Pair pair = pairOf(n);
  const int64_t reduction = n.integer(3, "reduction", meanReduction);
  if (n.failed())
    return n.refused();
  constexpr double least = -100; // as in ATen/native/Loss.cpp
  Value x = n.checked(n.isBetween(pair.x, 0, 1), pair.x, "all elements of input should be between 0 and 1");
  Value ofTrue = n.op<MaximumOp>(n.op<LogOp>({x}), least);
  Value ofFalse = n.op<MaximumOp>(n.op<Log1pOp>({n.op<NegOp>({x})}), least);
  Value loss =
      n.op<SubOp>({n.op<MulOp>({n.op<AddOp>(pair.target, -1.0), ofFalse}), n.op<MulOp>({pair.target, ofTrue})});
  return reducedLoss(n, weighted(n, loss, 2), reduction);
}

/// Imports binary_cross_entropy_with_logits(self, target, weight, pos_weight, reduction).
Results binaryCrossEntropyOfLogits(Node &n) {
  Pair pair = pairOf(n);
  Value positive = n.optionalTensor(3, "pos_weight");
  const int64_t reduction = n.integer(4, "reduction", meanReduction);
  if (n.failed())
    return n.refused();
  // log(sigmoid(x)) = min(x, 0) - log(1 + exp(-|x|))
  Value decay = n.op<ExpOp>({n.op<NegOp>({n.op<AbsOp>({pair.x})})});
  Value logarithm = n.op<SubOp>({n.op<MinimumOp>(pair.x, 0.0), n.op<Log1pOp>({decay})});
  if (positive) {
    Value excess = n.op<AddOp>(n.cast(positive, n.elementOf(pair.x)), -1.0);
    logarithm = n.op<MulOp>({n.op<AddOp>(n.op<MulOp>({excess, pair.target}), 1.0), logarithm});
  }
  Value rest = n.op<MulOp>({n.op<AddOp>(n.op<NegOp>({pair.target}), 1.0), pair.x});
  return reducedLoss(n, weighted(n, n.op<SubOp>({rest, logarithm}), 2), reduction);
}

/// Imports poisson_nll_loss(input, target, log_input, full, eps, reduction). With `full`, Stirling's approximation of
/// log(t!) is added where t > 1.
Results poissonLoss(Node &n) {
  Pair pair = pairOf(n, 0, "input");
  const bool isLogarithm = n.flag(2, "log_input"), full = n.flag(3, "full");
  const double eps = n.number(4, "eps");
  const int64_t reduction = n.integer(5, "reduction");
  if (n.failed())
    return n.refused();
  Value t = pair.target, x = pair.x;
  Value loss = isLogarithm ? n.op<SubOp>({n.op<ExpOp>({x}), n.op<MulOp>({t, x})})
                           : n.op<SubOp>({x, n.op<MulOp>({t, n.op<LogOp>({n.op<AddOp>(x, eps)})})});
  if (full) {
    Value zero = n.scalar(0, n.elementOf(t)), one = n.scalar(1, n.elementOf(t));
    Value stirling = n.op<SubOp>({n.op<MulOp>({t, n.op<LogOp>({t})}), t});
    stirling = n.op<AddOp>({stirling, n.op<MulOp>(n.op<LogOp>({n.op<MulOp>(t, 2 * M_PI)}), 0.5)});
    loss = n.op<AddOp>({loss, n.where(n.compare<LeOp>(t, one), zero, stirling)});
  }
  return reducedLoss(n, loss, reduction);
}

/// Imports hinge_embedding_loss(self, target, margin, reduction), which is x where t = 1, and max(margin - x, 0) where
/// t = -1.
Results hingeEmbeddingLoss(Node &n) {
  Pair pair = pairOf(n);
  const double margin = n.number(2, "margin", 1);
  const int64_t reduction = n.integer(3, "reduction", meanReduction);
  if (n.failed())
    return n.refused();
  Type compute = n.elementOf(pair.x);
  Value zero = n.scalar(0, compute);
  Value away = n.op<MaximumOp>(n.op<AddOp>(n.op<NegOp>({pair.x}), margin), 0.0);
  Value ofOthers = n.where(n.compare<NeOp>(pair.target, n.scalar(1, compute)), away, zero);
  Value ofEqual = n.where(n.compare<NeOp>(pair.target, n.scalar(-1, compute)), pair.x, zero);
  return reducedLoss(n, n.op<AddOp>({ofOthers, ofEqual}), reduction);
}

/// Imports margin_ranking_loss(input1, input2, target, margin, reduction), which is max(-t (x1 - x2) + margin, 0).
Results marginRankingLoss(Node &n) {
  Type compute = n.accumulator(n.element());
  Value first = n.cast(n.tensor(0, "input1"), compute), second = n.cast(n.tensor(1, "input2"), compute);
  Value target = n.cast(n.tensor(2, "target"), compute);
  const double margin = n.number(3, "margin", 0);
  const int64_t reduction = n.integer(4, "reduction", meanReduction);
  if (!n.demand(isa<FloatType>(compute), "the loss of " + dtypeName(compute) + " tensors"))
    return n.refused();
  Value product = n.op<MulOp>({n.op<NegOp>({target}), n.op<SubOp>({first, second})});
  return reducedLoss(n, n.op<MaximumOp>(n.op<AddOp>(product, margin), 0.0), reduction);
}

} // namespace

void registerCheckedLosses(Table &t) { t["aten.binary_cross_entropy.default"] = binaryCrossEntropy; }

void registerLosses(Table &t) {
  t["aten.mse_loss.default"] = elementLoss<squaredDifference>;
  t["aten.l1_loss.default"] = elementLoss<absoluteDifference>;
  t["aten.smooth_l1_loss.default"] = elementLoss<smoothL1>;
  t["aten.huber_loss.default"] = elementLoss<huber>;
  t["aten.binary_cross_entropy_with_logits.default"] = binaryCrossEntropyOfLogits;
  t["aten.soft_margin_loss.default"] = elementLoss<softMargin>;
  t["aten.kl_div.default"] = elementLoss<klDivergence>;
  t["aten.poisson_nll_loss.default"] = poissonLoss;
  t["aten.hinge_embedding_loss.default"] = hingeEmbeddingLoss;
  t["aten.margin_ranking_loss.default"] = marginRankingLoss;
}

} // namespace tilewright
