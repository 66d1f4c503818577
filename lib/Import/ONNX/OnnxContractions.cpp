//===- OnnxContractions.cpp - matrix products -----------------------------------------===//
#include "lib/Import/ATen/Einsum.h"
#include "lib/Import/ONNX/OnnxNode.h"
#include "lib/Import/ONNX/OnnxTable.h"

namespace tilewright {

Value onnxProduct(OnnxNode &n, Value a, Value b) {
  int64_t rankA = n.rankOf(a), rankB = n.rankOf(b);
  if (!n.demand(rankA > 0 && rankB > 0, "the operands of a matrix product cannot be scalars"))
    return a;
  if (rankA == 1)
    a = n.unsqueeze(a, 0);
  if (rankB == 1)
    b = n.unsqueeze(b, 1);
  SmallVector<AffineExpr> sizesA = n.sizesIn(a), sizesB = n.sizesIn(b);
  if (!n.demand(bool(n.agreed(sizesA.back(), sizesB[sizesB.size() - 2])),
                "the sizes of the product do not fit: " + tensorName(n.typeOf(a)) + " by " + tensorName(n.typeOf(b))))
    return a;
  SmallVector<AffineExpr> batch;
  size_t rank = std::max(sizesA.size(), sizesB.size()) - 2;
  for (size_t i = 0; i < rank; ++i) {
    auto at = [&](ArrayRef<AffineExpr> sizes) {
      size_t missing = rank + 2 - sizes.size();
      return i < missing ? n.constantSize(1) : sizes[i - missing];
    };
    AffineExpr x = at(sizesA), y = at(sizesB);
    AffineExpr both = x == n.constantSize(1) ? y : y == n.constantSize(1) ? x : n.agreed(x, y);
    if (!n.demand(bool(both), "the batch sizes do not broadcast"))
      return a;
    batch.push_back(both);
  }
  auto spread = [&](Value value, ArrayRef<AffineExpr> sizes) {
    SmallVector<AffineExpr> whole(batch);
    whole.append(sizes.end() - 2, sizes.end());
    return n.broadcast(value, whole);
  };
  Value result = n.matmul(spread(a, sizesA), spread(b, sizesB));
  SmallVector<AffineExpr> sizes = n.sizesIn(result);
  if (rankB == 1)
    sizes.pop_back();
  if (rankA == 1)
    sizes.erase(sizes.end() - (rankB == 1 ? 1 : 2));
  return n.reshape(result, sizes);
}

namespace {

Results matMul(OnnxNode &n) {
  Value a = n.in(0), b = n.in(1);
  if (n.failed())
    return n.refused();
  return onnxProduct(n, a, b);
}

/// Imports Gemm, which computes alpha * A' * B' + beta * C. A' and B' are A and B, transposed with transA and transB.
Results gemm(OnnxNode &n) {
  Value a = n.in(0), b = n.in(1), c = n.optionalIn(2);
  double alpha = n.number("alpha", 1.0), beta = n.number("beta", 1.0);
  bool transA = n.integer("transA", 0), transB = n.integer("transB", 0);
  if (!n.demand(n.rankOf(a) == 2 && n.rankOf(b) == 2, "its operands are not matrices"))
    return n.refused();
  if (transA)
    a = n.transpose(a, 0, 1);
  if (transB)
    b = n.transpose(b, 0, 1);
  Value result = onnxProduct(n, a, b);
  Type element = n.elementOf(result), compute = n.accumulator(element);
  if (n.failed())
    return n.refused();
  if (!isa<FloatType>(element) && (alpha != 1 || beta != 1) && (alpha != int64_t(alpha) || beta != int64_t(beta)))
    return n.refuse("alpha and beta of a product of integers must be integers");
  SmallVector<AffineExpr> sizes = n.sizesIn(result);
  result = n.cast(result, compute);
  if (alpha != 1)
    result = n.op<MulOp>(result, alpha);
  if (c && beta != 0) {
    c = n.cast(c, compute);
    if (beta != 1)
      c = n.op<MulOp>(c, beta);
    result = n.op<AddOp>({result, c});
    SmallVector<AffineExpr> sum = n.sizesIn(result);
    if (!n.demand(sum.size() == 2 && n.agreed(sizes[0], sum[0]) && n.agreed(sizes[1], sum[1]),
                  "C does not broadcast to the product's sizes"))
      return n.refused();
  }
  return n.cast(result, element);
}

Results einsumNode(OnnxNode &n) {
  SmallVector<Value> values = n.allIn();
  std::string text = n.text("equation");
  return n.failed() ? n.refused() : einsum(n, text, values);
}

} // namespace

void registerOnnxContractions(OnnxTable &t) {
  t["MatMul"] = matMul;
  t["Gemm"] = gemm;
  t["Einsum"] = einsumNode;
}

} // namespace tilewright
