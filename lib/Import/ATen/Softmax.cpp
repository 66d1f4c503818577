//===- Softmax.cpp - softmax, log-softmax and their gradients -----------------------------===//
#include "lib/Import/ATen/Table.h"
#include "lib/Import/Builder/Node.h"

namespace tilewright {
namespace {

template <bool logarithm, bool safe> Results softmax(Node &n) {
  Value x = n.tensor(0, "self");
  int64_t dim = n.dim(1, "dim", n.rankOf(x));
  if (n.failed())
    return n.refused();
  // With half_to_float, or the dtype of _safe_softmax, the input is converted before the softmax.
  x = n.cast(x, n.element());
  bool scalar = n.rankOf(x) == 0;
  if (scalar)
    x = n.unsqueeze(x, 0);
  UnitAttr yes = n.builder.getUnitAttr();
  Value result = SoftmaxOp::create(n.builder, n.loc, x.getType(), x, n.builder.getI64IntegerAttr(dim),
                                   logarithm ? yes : UnitAttr(), safe ? yes : UnitAttr());
  return n.reshape(result, n.type());
}

/// Returns y (g - sum(g y)), which is the gradient of softmax, or g - exp(y) sum(g), which is that of log_softmax.
template <bool logarithm> Results softmaxBackward(Node &n) {
  Value grad = n.tensor(0, "grad_output"), output = n.tensor(1, "output");
  int64_t dim = n.dim(2, "dim", n.rankOf(grad));
  if (n.failed())
    return n.refused();
  Type compute = n.accumulator(n.elementOf(grad));
  Value g = n.cast(grad, compute), y = n.cast(output, compute);
  if (n.rankOf(g) == 0) {
    g = n.unsqueeze(g, 0);
    y = n.unsqueeze(y, 0);
  }
  Value result;
  if (logarithm) {
    Value sum = n.reduce(ReduceKind::Sum, g, {dim}, true);
    result = n.op<SubOp>({g, n.op<MulOp>({n.op<ExpOp>({y}), sum})});
  } else {
    Value sum = n.reduce(ReduceKind::Sum, n.op<MulOp>({g, y}), {dim}, true);
    result = n.op<MulOp>({y, n.op<SubOp>({g, sum})});
  }
  return n.reshape(n.cast(result, n.element()), n.type());
}

} // namespace

void registerSoftmax(Table &t) {
  t["aten._softmax.default"] = softmax<false, false>;
  t["aten._log_softmax.default"] = softmax<true, false>;
  t["aten._safe_softmax.default"] = softmax<false, true>;
  t["aten.softmax.int"] = softmax<false, false>;
  t["aten.log_softmax.int"] = softmax<true, false>;
  t["aten._softmax_backward_data.default"] = softmaxBackward<false>;
  t["aten._log_softmax_backward_data.default"] = softmaxBackward<true>;
}

} // namespace tilewright
