//===- Sizes.cpp - products of symbolic sizes and what a reshape does to them -===//
#include "dialects/Graph/Sizes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::graph {

SizePolynomial::SizePolynomial(AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    if (constant.getValue())
      terms[{}] = constant.getValue();
    return;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (binary && (expr.getKind() == AffineExprKind::Mul || expr.getKind() == AffineExprKind::Add)) {
    *this = SizePolynomial(binary.getLHS());
    SizePolynomial rhs(binary.getRHS());
    expr.getKind() == AffineExprKind::Mul ? *this *= rhs : *this += rhs;
    return;
  }
  terms[{expr.getAsOpaquePointer()}] = 1;
}

SizePolynomial &SizePolynomial::operator+=(const SizePolynomial &other) {
  for (auto &[factors, coefficient] : other.terms)
    if ((terms[factors] += coefficient) == 0)
      terms.erase(factors);
  return *this;
}

SizePolynomial &SizePolynomial::operator*=(const SizePolynomial &other) {
  std::map<std::vector<const void *>, int64_t> product;
  for (auto &[a, ca] : terms)
    for (auto &[b, cb] : other.terms) {
      std::vector<const void *> factors(a);
      factors.insert(factors.end(), b.begin(), b.end());
      llvm::sort(factors);
      product[factors] += ca * cb;
    }
  terms.clear();
  for (auto &[factors, coefficient] : product)
    if (coefficient)
      terms[factors] = coefficient;
  return *this;
}

static SizePolynomial productOf(ArrayRef<AffineExpr> sizes) {
  SizePolynomial product(int64_t{1});
  for (AffineExpr size : sizes)
    product *= SizePolynomial(size);
  return product;
}

bool sameNumElements(ArrayRef<AffineExpr> a, ArrayRef<AffineExpr> b) { return productOf(a) == productOf(b); }

static bool isOne(AffineExpr size) {
  auto constant = dyn_cast<AffineConstantExpr>(size);
  return constant && constant.getValue() == 1;
}

SmallVector<ReshapeGroup> reshapeGroups(ArrayRef<AffineExpr> from, ArrayRef<AffineExpr> to) {
  SmallVector<ReshapeGroup> groups;
  unsigned i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    // The shortest pair of runs with equal products.
    unsigned bestFrom = 0, bestTo = 0;
    unsigned longest = (from.size() - i) + (to.size() - j);
    for (unsigned total = 2; total <= longest && !bestFrom; ++total)
      for (unsigned n = 1; n < total && !bestFrom; ++n) {
        unsigned m = total - n;
        if (i + n > from.size() || j + m > to.size())
          continue;
        if ((n == 1 && m == 1 && from[i] == to[j]) || sameNumElements(from.slice(i, n), to.slice(j, m))) {
          bestFrom = n;
          bestTo = m;
        }
      }
    if (!bestFrom)
      return {};
    ReshapeGroup group;
    for (unsigned n = 0; n < bestFrom; ++n)
      group.from.push_back(i++);
    for (unsigned m = 0; m < bestTo; ++m)
      group.to.push_back(j++);
    groups.push_back(std::move(group));
  }
  for (; i < from.size(); ++i) {
    if (!isOne(from[i]) || groups.empty())
      return {};
    groups.back().from.push_back(i);
  }
  for (; j < to.size(); ++j) {
    if (!isOne(to[j]) || groups.empty())
      return {};
    groups.back().to.push_back(j);
  }
  return groups;
}

} // namespace tilewright::graph
