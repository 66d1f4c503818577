//===- ExportedGuards.cpp - torch.export's assumptions about the sizes of inputs ------===//
//
//   (L['y'].size()[0] % 8) == 0 and L['x'].size()[0] <= 40
//
// is a guard with two comparisons. Sizes of inputs are replaced by expressions over the symbols. A comparison is
// dropped if the range of the difference of its two sides proves it, or if it excludes only the sizes 0 and 1. Each
// call checks the other comparisons (tw.guards). A comparison that no rule can express, such as a != b, is refused.
//
// Test: test/Python/test_exported.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/TorchExport/ExportedGuards.h"
#include "dialects/Graph/Graph.h"

using namespace mlir;
using llvm::StringRef;

namespace tilewright {
namespace {

/// Limits on the text of a guard: its length, and its numbers of products, sums and parentheses. A file may contain any
/// text, so the parser must be protected from large expressions.
constexpr size_t longestText = 4096, mostProducts = 8, mostSums = 16, deepest = 64;

/// Replaces each "L['x'].size()[0]" in `text` by an expression over symbols. Returns nullopt if `text` refers to values
/// other than sizes of inputs.
std::optional<std::string> inSymbols(StringRef text, InputSize sizeOf) {
  constexpr StringRef name = "L['", size = "'].size()[";
  std::string result;
  for (size_t at = text.find(name); at != StringRef::npos; at = text.find(name)) {
    result += text.take_front(at);
    text = text.drop_front(at + name.size());
    size_t end = text.find(size);
    unsigned dim;
    StringRef rest = end == StringRef::npos ? "" : text.drop_front(end + size.size());
    if (rest.consumeInteger(10, dim) || !rest.consume_front("]"))
      return std::nullopt;
    std::optional<std::string> expression = sizeOf(text.take_front(end), dim);
    if (!expression)
      return std::nullopt;
    result += "(" + *expression + ")";
    text = rest;
  }
  return result + text.str();
}

bool isSmall(StringRef text) {
  return text.size() <= longestText && text.count('*') <= mostProducts &&
         text.count('+') + text.count('-') <= mostSums && text.count('(') <= deepest;
}

struct Comparison {
  StringRef lhs, sign, rhs;
};

/// Splits `text` at the comparison operator outside parentheses. Returns nullopt if there is none.
std::optional<Comparison> comparisonIn(StringRef text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0)
      for (StringRef sign : {"==", "!=", "<=", ">=", "<", ">"})
        if (text.substr(i).starts_with(sign))
          return Comparison{text.take_front(i), sign, text.drop_front(i + sign.size())};
  }
  return std::nullopt;
}

/// Returns true if the comparison follows from the ranges of the symbols, or excludes only the sizes 0 and 1, for which
/// the code is correct, too. Otherwise sets `rule` to the condition that a call has to check, or leaves `rule` null if
/// a rule cannot express the comparison.
bool follows(const Comparison &comparison, const llvm::StringMap<SizeSymbol> &symbols, MLIRContext *context,
             graph::SizeRule &rule) {
  llvm::Expected<AffineExpr> lhs = parseSize(comparison.lhs, symbols, context),
                             rhs = parseSize(comparison.rhs, symbols, context);
  if (!lhs || !rhs) {
    llvm::consumeError(lhs.takeError());
    llvm::consumeError(rhs.takeError());
    return false;
  }
  const AffineExpr a = graph::canonicalSize(*lhs), b = graph::canonicalSize(*rhs);
  auto [low, high] = rangeOf(graph::canonicalSize(a - b), symbols);
  auto isAtMost = [](AffineExpr expr, int64_t value) {
    auto constant = dyn_cast<AffineConstantExpr>(expr);
    return constant && constant.getValue() <= value;
  };
  StringRef sign = comparison.sign;
  if (sign == "!=") // torch adds comparisons with 0 and 1, but also runs such sizes
    return low > 0 || high < 0 || isAtMost(b, 1);
  if (sign == "==") {
    rule = {a, b, false};
    return low == 0 && high == 0;
  }
  if (sign == "<=") {
    rule = {b, a, true};
    return high <= 0 || isAtMost(a, 2);
  }
  if (sign == ">=") {
    rule = {a, b, true};
    return low >= 0 || isAtMost(b, 2);
  }
  rule = sign == "<" ? graph::SizeRule{b, a + 1, true} : graph::SizeRule{a, b + 1, true};
  return sign == "<" ? high < 0 || isAtMost(a, 1) : low > 0 || isAtMost(b, 1);
}

} // namespace

std::string readGuard(StringRef guard, const llvm::StringMap<SizeSymbol> &symbols, InputSize sizeOf,
                      MLIRContext *context, std::vector<std::pair<graph::SizeRule, std::string>> &rules) {
  llvm::SmallVector<StringRef> parts;
  guard.split(parts, " and ");
  for (StringRef part : parts) {
    std::optional<std::string> text = inSymbols(part, sizeOf);
    if (!text)
      continue;
    std::optional<Comparison> comparison = comparisonIn(*text);
    graph::SizeRule rule;
    if (comparison && isSmall(*text) && follows(*comparison, symbols, context, rule))
      continue;
    if (!rule.lhs)
      return part.trim().str();
    rules.push_back({rule, part.trim().str()});
  }
  return "";
}

} // namespace tilewright
