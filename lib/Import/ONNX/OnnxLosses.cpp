//===- OnnxLosses.cpp - losses over classes ------------------------------------------===//
#include "lib/Import/ONNX/OnnxNode.h"
#include "lib/Import/ONNX/OnnxTable.h"

namespace tilewright {
namespace {

/// Returns -weight[target] * x[.., target, ..], where dimension 1 of x has the classes. The result is reduced as the
/// attribute `reduction` specifies. Elements whose target is ignored add 0.
Value negativeLikelihood(OnnxNode &n, Value x, Value target, Value weight) {
  std::string reduction = n.text("reduction", "mean");
  Type element = n.elementOf(x), compute = n.accumulator(element);
  SmallVector<AffineExpr> sizes = n.sizesIn(x);
  if (!n.demand(sizes.size() >= 2 && n.rankOf(target) + 1 == n.rankOf(x),
                "its target does not contain one class per element"))
    return x;
  target = n.cast(target, n.i64());
  Value kept;
  if (n.attribute("ignore_index")) {
    Value ignored = n.scalarInt(n.integer("ignore_index"), n.i64());
    kept = n.compare<NeOp>(target, ignored);
    target = n.where(kept, target, n.scalarInt(0, n.i64()));
  }
  SmallVector<AffineExpr> each = n.sizesIn(target);
  Value index = n.unsqueeze(target, 1);
  Value chosen = GatherOp::create(n.builder, n.loc, withElementType(n.typeOf(index), element), x, index, 1);
  Value loss = n.op<NegOp>({n.cast(n.reshape(chosen, each), compute)});
  Value weights = weight ? n.cast(n.take(weight, target, 0), compute) : n.broadcast(n.scalar(1, compute), each);
  if (kept)
    weights = n.where(kept, weights, n.scalar(0, compute));
  if (weight || kept)
    loss = n.op<MulOp>({loss, weights});
  if (reduction == "none")
    return n.cast(loss, element);
  SmallVector<int64_t> dims = allDims(each.size());
  Value sum = n.reduce(ReduceKind::Sum, loss, dims, false);
  if (reduction == "mean")
    sum = n.op<DivOp>({sum, n.reduce(ReduceKind::Sum, weights, dims, false)});
  else if (reduction != "sum")
    n.refuse("its reduction '" + reduction + "' is not supported");
  return n.cast(sum, element);
}

Results likelihood(OnnxNode &n) {
  Value x = n.in(0), target = n.in(1), weight = n.optionalIn(2);
  if (n.failed())
    return n.refused();
  Value loss = negativeLikelihood(n, x, target, weight);
  return n.failed() ? n.refused() : Results(loss);
}

Results crossEntropy(OnnxNode &n) {
  Value x = n.in(0), target = n.in(1), weight = n.optionalIn(2);
  if (!n.demand(n.rankOf(x) >= 2, "its input needs a dimension of classes"))
    return n.refused();
  Value logs = SoftmaxOp::create(n.builder, n.loc, x.getType(), x, 1, /*log=*/true, /*safe=*/false);
  Value loss = negativeLikelihood(n, logs, target, weight);
  return n.failed() ? n.refused() : Results({loss, logs});
}

} // namespace

void registerOnnxLosses(OnnxTable &t) {
  t["NegativeLogLikelihoodLoss"] = likelihood;
  t["SoftmaxCrossEntropyLoss"] = crossEntropy;
}

} // namespace tilewright
