//===- GraphSizes.cpp - normal form of symbolic sizes -------------------------===//
//
// A size is a polynomial over atoms. An atom is a symbol, or a floordiv, ceildiv or mod of polynomials. If the normal
// forms of two sizes are the same expression, the sizes are equal. The converse does not always hold, for example for
// s0 and (s0 floordiv 2) * 2 + s0 mod 2. Examples of normal forms:
//
//   s1 * (s0 * 2) + s0          ->  s0 + s0 * s1 * 2
//   (s0 * 8 + 3) floordiv 4     ->  s0 * 2
//   (s0 * s1) floordiv s1       ->  s0
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Graph.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tilewright::graph {
namespace {

struct SizeTerm {
  int64_t factor = 0;
  std::vector<AffineExpr> atoms;
};
/// A polynomial, as a map from the printed forms of a term's atoms to the term. The terms are sorted by text, so their
/// order does not depend on pointers.
using SizePolynomial = std::map<std::vector<std::string>, SizeTerm>;

std::string sizeKey(AffineExpr expr) {
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
    std::string digits = std::to_string(symbol.getPosition());
    return "s" + std::string(6 - std::min<size_t>(digits.size(), 6), '0') + digits;
  }
  std::string text;
  llvm::raw_string_ostream(text) << expr;
  return "~" + text; // sorts after the symbols
}

void addTerm(SizePolynomial &sum, const std::vector<std::string> &key, const SizeTerm &term, int64_t times = 1) {
  SizeTerm &slot = sum[key];
  slot.atoms = term.atoms;
  slot.factor += term.factor * times;
  if (slot.factor == 0)
    sum.erase(key);
}

SizePolynomial multiply(const SizePolynomial &a, const SizePolynomial &b) {
  SizePolynomial product;
  for (const auto &[keyA, termA] : a)
    for (const auto &[keyB, termB] : b) {
      std::vector<std::pair<std::string, AffineExpr>> atoms;
      for (size_t i = 0; i < keyA.size(); ++i)
        atoms.push_back({keyA[i], termA.atoms[i]});
      for (size_t i = 0; i < keyB.size(); ++i)
        atoms.push_back({keyB[i], termB.atoms[i]});
      llvm::sort(atoms, [](const auto &x, const auto &y) { return x.first < y.first; });
      std::vector<std::string> key;
      SizeTerm term{termA.factor * termB.factor, {}};
      for (auto &[name, atom] : atoms) {
        key.push_back(name);
        term.atoms.push_back(atom);
      }
      addTerm(product, key, term);
    }
  return product;
}

AffineExpr rebuild(const SizePolynomial &sum, MLIRContext *context) {
  AffineExpr result;
  for (const auto &[key, term] : sum) {
    if (term.atoms.empty())
      continue; // the constant term is added after the other terms
    AffineExpr product;
    for (AffineExpr atom : term.atoms)
      product = product ? product * atom : atom;
    product = product * term.factor;
    result = result ? result + product : product;
  }
  auto constant = sum.find({});
  int64_t value = constant == sum.end() ? 0 : constant->second.factor;
  return result ? result + value : getAffineConstantExpr(value, context);
}

SizePolynomial asPolynomial(AffineExpr expr);

/// Removes the atoms of `divisor` from `term` and its `key`. Returns false if one of them is not a factor of `term`.
bool divideAtoms(std::vector<std::string> &key, SizeTerm &term, const std::vector<std::string> &divisor) {
  for (const std::string &name : divisor) {
    auto found = llvm::find(key, name);
    if (found == key.end())
      return false;
    term.atoms.erase(term.atoms.begin() + (found - key.begin()));
    key.erase(found);
  }
  return true;
}

/// Divides every term of `sum` by the single term of `divisor`. If a term is a multiple of the divisor, the quotient is
/// added to `whole`, and the term is removed from `sum`. The remainder of the constant term stays in `sum`.
void splitMultiples(SizePolynomial &sum, const SizePolynomial &divisor, SizePolynomial &whole) {
  const auto &[atoms, single] = *divisor.begin();
  for (auto it = sum.begin(); it != sum.end();) {
    std::vector<std::string> key = it->first;
    SizeTerm term = it->second;
    int64_t d = single.factor, rest = ((term.factor % d) + d) % d;
    term.factor = (term.factor - rest) / d;
    bool constant = key.empty() && atoms.empty();
    if (!divideAtoms(key, term, atoms) || (!constant && rest != 0)) {
      ++it;
      continue;
    }
    addTerm(whole, key, term);
    if (rest == 0) {
      it = sum.erase(it);
    } else {
      it->second.factor = rest;
      ++it;
    }
  }
}

SizePolynomial atomOf(AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue() ? SizePolynomial{{{}, {constant.getValue(), {}}}} : SizePolynomial{};
  return {{{sizeKey(expr)}, {1, {expr}}}};
}

/// Returns the normal form of a floordiv, ceildiv or mod. The divisor of a size is always positive.
SizePolynomial quotientOf(AffineExprKind kind, AffineExpr lhs, AffineExpr rhs) {
  MLIRContext *context = lhs.getContext();
  SizePolynomial numerator = asPolynomial(lhs), divisor = asPolynomial(rhs), whole;
  AffineExpr divisorExpr = rebuild(divisor, context);
  bool single = divisor.size() == 1 && divisor.begin()->second.factor > 0;
  auto constant = dyn_cast<AffineConstantExpr>(divisorExpr);
  if (single && constant && kind == AffineExprKind::CeilDiv) { // ceil(a / d) = floor((a + d - 1) / d)
    addTerm(numerator, {}, {constant.getValue() - 1, {}});
    kind = AffineExprKind::FloorDiv;
  }
  if (single)
    splitMultiples(numerator, divisor, whole);
  // A numerator in [0, d), where d is the constant divisor, has the quotient 0, and the remainder is the numerator
  // itself. This is the case for 0, and for a constant that splitMultiples() has reduced modulo d.
  bool small = numerator.empty() || (constant && numerator.size() == 1 && numerator.begin()->first.empty());
  if (single && small)
    return kind == AffineExprKind::Mod ? numerator : whole;
  AffineExpr rest = rebuild(numerator, context);
  if (kind == AffineExprKind::Mod)
    return atomOf(getAffineBinaryOpExpr(kind, rest, divisorExpr));
  SizePolynomial result = atomOf(getAffineBinaryOpExpr(kind, rest, divisorExpr));
  for (const auto &[key, term] : whole)
    addTerm(result, key, term);
  return result;
}

SizePolynomial asPolynomial(AffineExpr expr) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return atomOf(expr);
  switch (expr.getKind()) {
  case AffineExprKind::Add: {
    SizePolynomial sum = asPolynomial(binary.getLHS());
    for (const auto &[key, term] : asPolynomial(binary.getRHS()))
      addTerm(sum, key, term);
    return sum;
  }
  case AffineExprKind::Mul:
    return multiply(asPolynomial(binary.getLHS()), asPolynomial(binary.getRHS()));
  default:
    return quotientOf(expr.getKind(), binary.getLHS(), binary.getRHS());
  }
}

} // namespace

AffineExpr canonicalSize(AffineExpr size) {
  if (!isa<AffineBinaryOpExpr>(size))
    return size;
  return rebuild(asPolynomial(size), size.getContext());
}

SmallVector<SymbolicSize> symbolicSizesOf(FunctionOpInterface function) {
  SmallVector<SymbolicSize> symbols;
  for (BlockArgument argument : function.getArguments()) {
    if (!isa<IndexType>(argument.getType()))
      continue;
    auto attribute = [&](StringRef name) { return function.getArgAttr(argument.getArgNumber(), name); };
    SymbolicSize symbol;
    auto name = dyn_cast_or_null<StringAttr>(attribute(symbolAttrName));
    symbol.name = name ? name.str() : "s" + std::to_string(symbols.size());
    if (auto min = dyn_cast_or_null<IntegerAttr>(attribute(symbolMinAttrName)))
      symbol.min = min.getInt();
    if (auto max = dyn_cast_or_null<IntegerAttr>(attribute(symbolMaxAttrName)))
      symbol.max = max.getInt();
    symbols.push_back(std::move(symbol));
  }
  return symbols;
}

AffineExpr elementCount(RankedTensorType type) {
  AffineExpr product = getAffineConstantExpr(1, type.getContext());
  for (AffineExpr size : sizesOf(type))
    product = product * size;
  return canonicalSize(product);
}

SmallVector<AffineExpr> sizesOf(RankedTensorType type) {
  if (auto map = dyn_cast_or_null<AffineMapAttr>(type.getEncoding()))
    return SmallVector<AffineExpr>(map.getValue().getResults());
  SmallVector<AffineExpr> sizes;
  for (int64_t size : type.getShape())
    sizes.push_back(getAffineConstantExpr(size, type.getContext()));
  return sizes;
}

RankedTensorType tensorWithSizes(ArrayRef<AffineExpr> sizes, Type elementType) {
  SmallVector<int64_t> shape;
  SmallVector<AffineExpr> normal;
  unsigned symbols = 0;
  bool dynamic = false;
  for (AffineExpr size : sizes) {
    size = canonicalSize(size);
    normal.push_back(size);
    auto constant = dyn_cast<AffineConstantExpr>(size);
    shape.push_back(constant ? constant.getValue() : ShapedType::kDynamic);
    dynamic |= !constant;
    size.walk([&](AffineExpr e) {
      if (auto symbol = dyn_cast<AffineSymbolExpr>(e))
        symbols = std::max(symbols, symbol.getPosition() + 1);
    });
  }
  Attribute encoding;
  if (dynamic)
    encoding = AffineMapAttr::get(AffineMap::get(0, symbols, normal, elementType.getContext()));
  return RankedTensorType::get(shape, elementType, encoding);
}

bool sameShape(RankedTensorType a, RankedTensorType b) {
  return a.getShape() == b.getShape() && sizesOf(a) == sizesOf(b);
}

RankedTensorType withElementType(RankedTensorType type, Type elementType) {
  return RankedTensorType::get(type.getShape(), elementType, type.getEncoding());
}

} // namespace tilewright::graph
