//===- Contractions.cpp - matrix products --------------------------------------------===//
#include "lib/Import/ATen/Layers.h"
#include "lib/Import/ATen/Table.h"

namespace tilewright {

Value linearOf(Node &n, Value x, Value weight, Value bias) {
  SmallVector<AffineExpr> sizes = n.sizesIn(x);
  const AffineExpr columns = sizes.pop_back_val(), rows = n.product(sizes);
  sizes.push_back(n.sizesIn(weight)[0]);
  Value product = n.reshape(n.matmul(n.reshape(x, {rows, columns}), n.transpose(weight, 0, 1)), sizes);
  return bias ? n.op<AddOp>({product, bias}) : product;
}

namespace {

Results matrixProduct(Node &n) {
  Value a = n.tensor(0, "self"), b = n.tensor(1, "mat2");
  if (n.failed())
    return n.refused();
  return n.matmul(a, b);
}

/// Returns beta * self + alpha * product, rounded once to the result's type. `product` has the accumulator's type. If
/// beta is 0, `self` is ignored, even if it has NaNs.
Value scaledAddition(Node &n, Value self, Value product, double beta, double alpha) {
  if (alpha != 1.0)
    product = n.op<MulOp>(product, alpha);
  if (beta == 0.0)
    return n.cast(product, n.element());
  self = n.cast(self, n.elementOf(product));
  return n.cast(n.op<AddOp>({product, beta == 1.0 ? self : n.op<MulOp>(self, beta)}), n.element());
}

/// Returns beta * self + alpha * (a @ b).
Results addProductOf(Node &n, Value self, Value a, Value b, double beta, double alpha) {
  if (alpha == 1.0 && beta == 1.0)
    return n.op<AddOp>({n.matmul(a, b), n.cast(self, n.element())});
  return scaledAddition(n, self, n.matmul(a, b, n.accumulator(n.element())), beta, alpha);
}

/// Imports addmm and baddbmm.
Results addMatrixProduct(Node &n) {
  Value self = n.tensor(0, "self"), a = n.tensor(1, "mat1"), b = n.tensor(2, "mat2");
  double beta = n.number(3, "beta", 1.0), alpha = n.number(4, "alpha", 1.0);
  if (n.failed())
    return n.refused();
  return addProductOf(n, self, a, b, beta, alpha);
}

/// Imports addbmm(self, batch1, batch2, *, beta, alpha). Concatenates the batches along the summed dimension, so that
/// one matrix product computes the sum.
Results addSumOfProducts(Node &n) {
  Value self = n.tensor(0, "self"), a = n.tensor(1, "batch1"), b = n.tensor(2, "batch2");
  double beta = n.number(3, "beta", 1.0), alpha = n.number(4, "alpha", 1.0);
  if (!n.demand(n.rankOf(a) == 3 && n.rankOf(b) == 3, "batches of matrices have three dimensions"))
    return n.refused();
  AffineExpr batch = n.sizesIn(a)[0], rows = n.sizesIn(a)[1], columns = n.sizesIn(b)[2];
  AffineExpr depth = canonicalSize(batch * n.sizesIn(a)[2]), depthOfOther = canonicalSize(batch * n.sizesIn(b)[1]);
  return addProductOf(n, self, n.reshape(n.transpose(a, 0, 1), {rows, depth}), n.reshape(b, {depthOfOther, columns}),
                      beta, alpha);
}

Results matrixVector(Node &n) {
  Value a = n.tensor(0, "self"), v = n.tensor(1, "vec");
  if (n.failed())
    return n.refused();
  return n.reshape(n.matmul(a, n.unsqueeze(v, 1)), n.type());
}

Results addMatrixVector(Node &n) {
  Value self = n.tensor(0, "self"), a = n.tensor(1, "mat"), v = n.tensor(2, "vec");
  double beta = n.number(3, "beta", 1.0), alpha = n.number(4, "alpha", 1.0);
  if (n.failed())
    return n.refused();
  Value product = n.matmul(a, n.unsqueeze(v, 1), n.accumulator(n.element()));
  return scaledAddition(n, self, n.reshape(product, sizesOf(n.type())), beta, alpha);
}

Results dot(Node &n) {
  Value a = n.tensor(0, "self"), b = n.tensor(1, "tensor");
  if (n.failed())
    return n.refused();
  return n.reshape(n.matmul(n.unsqueeze(a, 0), n.unsqueeze(b, 1)), n.type());
}

/// Imports linear(input, weight, bias). All leading dimensions of the input are combined into rows.
Results linear(Node &n) {
  Value x = n.tensor(0, "input"), weight = n.tensor(1, "weight"), bias = n.optionalTensor(2, "bias");
  if (n.failed())
    return n.refused();
  if (!n.demand(n.rankOf(x) > 0, "an input without dimensions"))
    return n.refused();
  if (n.rankOf(weight) != 2)
    return n.refuse("a weight of rank " + llvm::Twine(n.rankOf(weight)) + " is not supported; give a matrix");
  return n.reshape(linearOf(n, x, weight, bias), n.type());
}

/// Imports _trilinear(i1, i2, i3, expand1, expand2, expand3, sumdim, unroll_dim). Each tensor first gets dimensions of
/// size 1 at the positions in its argument `expand`. The product of the three tensors is then summed over the
/// dimensions in `sumdim`.
Results trilinear(Node &n) {
  static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> names[] = {
      {"i1", "expand1"}, {"i2", "expand2"}, {"i3", "expand3"}};
  Value product;
  for (auto [index, name] : llvm::enumerate(names)) {
    Value x = n.cast(n.tensor(index, name.first), n.element());
    SmallVector<int64_t> added = n.integers(index + 3, name.second);
    llvm::sort(added);
    for (int64_t dim : added)
      x = n.unsqueeze(x, dim);
    product = product ? n.op<MulOp>({product, x}) : x;
  }
  SmallVector<int64_t> dims = n.dims(6, "sumdim", n.rankOf(product));
  if (n.failed())
    return n.refused();
  return n.reduce(ReduceKind::Sum, product, dims, false);
}

Results outer(Node &n) {
  Value a = n.tensor(0, "self"), b = n.tensor(1, "vec2");
  if (n.failed())
    return n.refused();
  return n.op<MulOp>({n.unsqueeze(n.cast(a, n.element()), 1), n.cast(b, n.element())});
}

} // namespace

void registerContractions(Table &t) {
  t["aten.mm.default"] = matrixProduct;
  t["aten.bmm.default"] = matrixProduct;
  t["aten.addmm.default"] = addMatrixProduct;
  t["aten.baddbmm.default"] = addMatrixProduct;
  t["aten.addbmm.default"] = addSumOfProducts;
  t["aten.mv.default"] = matrixVector;
  t["aten.addmv.default"] = addMatrixVector;
  t["aten.dot.default"] = dot;
  t["aten.vdot.default"] = dot;
  t["aten.linear.default"] = linear;
  t["aten.outer.default"] = outer;
  t["aten._trilinear.default"] = trilinear;
}

} // namespace tilewright
