//===- LossGradients.cpp - gradients of losses -----------------------------------------===//
//
// The gradient of nll_loss compares each element's class with the target class of its row:
//
//   where(iota [1, classes] == target [rows, 1], -grad * weight, 0)
//
// The comparison is elementwise, and can be fused into the kernel that reads the gradient. torch's decomposition
// scatters into a tensor of zeros in the shape of the input and multiplies, which needs two additional tensors. For a
// language model, these have the size of the logits.
//
// Test: test/Python/ops/test_decomposed.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Losses.h"
#include "lib/Import/ATen/Table.h"

namespace tilewright {
namespace {

/// Imports nll_loss_backward and nll_loss2d_backward(grad_output, self, target, weight, reduction, ignore_index,
/// total_weight). The shape of `self` is [classes], [rows, classes] or [rows, classes, h, w]. The gradient is
/// -grad_output * weight for the target class, divided by total_weight if the reduction is the mean. It is 0 for all
/// other classes, and in rows whose target is ignore_index.
Results nllLossBackward(Node &n) {
  Type compute = n.accumulator(n.element());
  Value grad = n.cast(n.tensor(0, "grad_output"), compute), x = n.tensor(1, "self");
  Value target = n.cast(n.tensor(2, "target"), n.i64()), weight = n.optionalTensor(3, "weight");
  int64_t reduction = n.integer(4, "reduction");
  Value ignored = n.operand(5, "ignore_index", n.i64()), totalWeight = n.cast(n.tensor(6, "total_weight"), compute);
  const int64_t rank = n.rankOf(x), dim = rank < 2 ? 0 : 1;
  if (!n.demand(isa<FloatType>(n.element()) && rank > 0, "elements that are not floats, or no dimension"))
    return n.refused();
  AffineExpr one = n.constantSize(1), classes = n.sizesIn(x)[dim];
  if (rank == 1 && n.rankOf(target) == 1 && n.sizesIn(target)[0] == one)
    target = n.reshape(target, ArrayRef<AffineExpr>());
  if (!n.demand(n.rankOf(target) + 1 == rank, "it has one target for each row of classes") ||
      !n.demand(!weight || n.rankOf(weight) == 1, "it has one weight for each class"))
    return n.refused();
  target = n.unsqueeze(target, dim);
  if (n.rankOf(grad) > 0 && rank > n.rankOf(grad))
    grad = n.unsqueeze(grad, dim);
  grad = n.op<NegOp>({grad});
  if (reduction == meanReduction)
    grad = n.op<DivOp>({grad, totalWeight});
  if (weight)
    grad = n.op<MulOp>({grad, n.alongDim(n.cast(weight, compute), dim, rank)});
  Value isTarget = n.compare<EqOp>(n.alongDim(n.iota({classes}, 0, n.i64()), dim, rank), target);
  Value counts = n.op<LogicalAndOp>({isTarget, n.compare<NeOp>(target, ignored)});
  return n.where(counts, n.cast(grad, n.element()), n.scalar(0, n.element()));
}

/// Imports soft_margin_loss_backward(grad_output, self, target, reduction). The derivative of log(1 + exp(-z)) is
/// computed as -sigmoid(-z): for large z, the cancellation in sigmoid(z) - 1 loses all digits.
Results softMarginLossBackward(Node &n) {
  Type compute = n.accumulator(n.element());
  Value grad = n.cast(n.tensor(0, "grad_output"), compute), x = n.cast(n.tensor(1, "self"), compute);
  Value target = n.cast(n.tensor(2, "target"), compute);
  int64_t reduction = n.integer(3, "reduction", meanReduction);
  if (!n.demand(isa<FloatType>(n.element()), "the gradient of a loss of " + dtypeName(n.element()) + " tensors"))
    return n.refused();
  Value negative = n.op<NegOp>({target});
  Value slope = n.op<MulOp>({n.op<MulOp>({negative, grad}), n.op<SigmoidOp>({n.op<MulOp>({negative, x})})});
  if (reduction == meanReduction)
    slope = n.op<DivOp>({slope, n.countAlong(x, allDims(n.rankOf(x)), compute)});
  return n.cast(slope, n.element());
}

} // namespace

void registerLossGradients(Table &t) {
  t["aten.nll_loss_backward.default"] = nllLossBackward;
  t["aten.nll_loss2d_backward.default"] = nllLossBackward;
  t["aten.soft_margin_loss_backward.default"] = softMarginLossBackward;
}

} // namespace tilewright
