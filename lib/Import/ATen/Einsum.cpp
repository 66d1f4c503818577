//===- Einsum.cpp - einsum as matrix products -----------------------------------------===//
//
//   "bhid,bhjd->bhij"    two operands become one tw.matmul. A letter that both operands have is a batch dimension
//                        if the result or a later operand also has it, otherwise it is summed. The other letters of the
//                        first operand are rows, and those of the second are columns. A letter that neither another
//                        operand nor the result has is summed before the product.
//
// Test: test/Python/test_plain_exports.py, test/Conformance/onnx (Einsum)
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Einsum.h"
#include <map>

namespace tilewright {
namespace {

struct Equation {
  SmallVector<SmallVector<char>> operands;
  SmallVector<char> result;
};

/// Parses an equation such as "ij,jk->ik" (also with "...") into the letters of each operand. Returns nullopt if the
/// equation is invalid, or if the letters of an operand do not correspond to its rank.
std::optional<Equation> parseEquation(llvm::StringRef text, ArrayRef<int64_t> ranks) {
  Equation equation;
  std::string plain;
  for (char c : text)
    if (c != ' ')
      plain += c;
  auto [inputs, output] = llvm::StringRef(plain).split("->");
  bool explicitResult = llvm::StringRef(plain).contains("->");
  SmallVector<llvm::StringRef> parts;
  inputs.split(parts, ',');
  if (parts.size() != ranks.size())
    return std::nullopt;
  constexpr char firstHidden = 1; // letters for the dimensions of "...", numbered from the right
  int64_t most = 0;
  auto expand = [&](llvm::StringRef part, int64_t hidden) -> std::optional<SmallVector<char>> {
    SmallVector<char> letters;
    for (size_t i = 0; i < part.size(); ++i) {
      if (part.substr(i).starts_with("...")) {
        for (int64_t k = hidden; k > 0; --k)
          letters.push_back(char(firstHidden + k - 1));
        i += 2;
      } else if (llvm::isAlpha(part[i])) {
        letters.push_back(part[i]);
      } else {
        return std::nullopt;
      }
    }
    return letters;
  };
  for (auto [part, rank] : llvm::zip_equal(parts, ranks)) {
    int64_t hidden = part.contains("...") ? rank - (int64_t(part.size()) - 3) : 0;
    if (hidden < 0 || hidden > 16)
      return std::nullopt;
    most = std::max(most, hidden);
    auto letters = expand(part, hidden);
    if (!letters || int64_t(letters->size()) != rank)
      return std::nullopt;
    equation.operands.push_back(*letters);
  }
  if (explicitResult) {
    auto letters = expand(output, most);
    if (!letters)
      return std::nullopt;
    equation.result = *letters;
    return equation;
  }
  // Without "->", the result has the letters of "...", followed in alphabetical order by the letters that occur once.
  std::map<char, int> counts;
  for (const auto &letters : equation.operands)
    for (char letter : letters)
      ++counts[letter];
  for (int64_t k = most; k > 0; --k)
    equation.result.push_back(char(firstHidden + k - 1));
  for (auto [letter, count] : counts)
    if (count == 1 && llvm::isAlpha(letter))
      equation.result.push_back(letter);
  return equation;
}

/// Contracts two operands at a time. Dimensions that neither the result nor a later operand has are summed.
class Einsum {
public:
  struct Part {
    Value value;
    SmallVector<char> letters;
  };
  Einsum(Node &n, ArrayRef<char> result) : n(n), result(result) {}

  /// Replaces dimensions of one operand that have the same letter by their diagonal.
  Part withoutTwins(Part part) {
    for (size_t i = 0; i < part.letters.size(); ++i)
      for (size_t j = part.letters.size() - 1; j > i; --j) {
        if (part.letters[i] != part.letters[j])
          continue;
        SmallVector<AffineExpr> sizes = n.sizesIn(part.value);
        if (!n.demand(bool(n.agreed(sizes[i], sizes[j])), "a letter has two sizes"))
          return part;
        Value same = n.compare<EqOp>(n.iota(sizes, i, n.i64()), n.iota(sizes, j, n.i64()));
        Value kept = n.where(same, part.value, n.scalar(0, n.elementOf(part.value)));
        part.value = n.reduce(ReduceKind::Sum, kept, {int64_t(j)}, false);
        part.letters.erase(part.letters.begin() + j);
      }
    return part;
  }

  /// Orders the dimensions by `letters`, and adds dimensions of size 1 for missing letters.
  Value aligned(const Part &part, ArrayRef<char> letters) {
    SmallVector<int64_t> order;
    SmallVector<AffineExpr> sizes;
    for (char letter : letters) {
      auto found = llvm::find(part.letters, letter);
      if (found == part.letters.end()) {
        sizes.push_back(n.constantSize(1));
        continue;
      }
      order.push_back(found - part.letters.begin());
      sizes.push_back(n.sizesIn(part.value)[order.back()]);
    }
    return n.reshape(n.permute(part.value, order), sizes);
  }

  Part sumOver(Part part, llvm::function_ref<bool(char)> keep) {
    SmallVector<int64_t> dims;
    SmallVector<char> kept;
    for (auto [i, letter] : llvm::enumerate(part.letters))
      if (keep(letter))
        kept.push_back(letter);
      else
        dims.push_back(i);
    if (!dims.empty())
      part.value = n.reduce(ReduceKind::Sum, part.value, dims, false);
    part.letters = kept;
    return part;
  }

  Part pair(Part a, Part b, llvm::function_ref<bool(char)> needed) {
    auto in = [](const Part &part, char letter) { return llvm::is_contained(part.letters, letter); };
    a = sumOver(a, [&](char c) { return in(b, c) || needed(c); });
    b = sumOver(b, [&](char c) { return in(a, c) || needed(c); });
    SmallVector<char> batch, rows, columns, summed;
    for (char letter : a.letters)
      (in(b, letter) ? (needed(letter) ? batch : summed) : rows).push_back(letter);
    for (char letter : b.letters)
      if (!in(a, letter))
        columns.push_back(letter);
    auto sizeOf = [&](char letter) -> AffineExpr {
      AffineExpr size = n.constantSize(1);
      for (const Part *part : {&a, &b})
        if (in(*part, letter)) {
          AffineExpr found = n.sizesIn(part->value)[llvm::find(part->letters, letter) - part->letters.begin()];
          if (size == n.constantSize(1))
            size = found;
          else if (AffineExpr both = found == n.constantSize(1) ? size : n.agreed(size, found))
            size = both;
          else
            n.refuse("a letter has two sizes");
        }
      return size;
    };
    auto sizesOfAll = [&](ArrayRef<char> letters) {
      SmallVector<AffineExpr> sizes;
      for (char letter : letters)
        sizes.push_back(sizeOf(letter));
      return sizes;
    };
    auto productOf = [&](ArrayRef<char> letters) {
      AffineExpr product = n.constantSize(1);
      for (char letter : letters)
        product = product * sizeOf(letter);
      return canonicalSize(product);
    };
    auto matrix = [&](const Part &part, ArrayRef<char> second, ArrayRef<char> third) {
      SmallVector<char> order(batch);
      order.append(second.begin(), second.end());
      order.append(third.begin(), third.end());
      Value value = n.broadcast(aligned(part, order), sizesOfAll(order));
      return n.reshape(value, {productOf(batch), productOf(second), productOf(third)});
    };
    Value left = matrix(a, rows, summed), right = matrix(b, summed, columns);
    if (n.failed())
      return a;
    Value value = n.matmul(left, right);
    SmallVector<char> letters(batch);
    letters.append(rows);
    letters.append(columns);
    return {n.reshape(value, sizesOfAll(letters)), letters};
  }

  Value run(ArrayRef<Value> values, const Equation &equation) {
    SmallVector<Part> parts;
    for (auto [value, letters] : llvm::zip_equal(values, equation.operands))
      parts.push_back(withoutTwins({value, letters}));
    Part left = parts[0];
    for (size_t i = 1; i < parts.size() && !n.failed(); ++i)
      left = pair(left, parts[i], [&](char letter) {
        bool later = llvm::is_contained(result, letter);
        for (size_t k = i + 1; k < parts.size(); ++k)
          later |= llvm::is_contained(parts[k].letters, letter);
        return later;
      });
    if (n.failed())
      return left.value;
    left = sumOver(left, [&](char letter) { return llvm::is_contained(result, letter); });
    if (!n.demand(left.letters.size() == result.size(), "its result has letters that no operand has"))
      return left.value;
    return aligned(left, result);
  }

private:
  Node &n;
  SmallVector<char> result;
};

} // namespace

Results einsum(Node &n, llvm::StringRef text, ArrayRef<Value> values) {
  SmallVector<int64_t> ranks;
  for (Value value : values)
    ranks.push_back(n.rankOf(value));
  auto equation = parseEquation(text, ranks);
  if (!equation)
    return n.refuse("the equation '" + text + "' is not valid, or does not fit the operands");
  Value result = Einsum(n, equation->result).run(values, *equation);
  return n.failed() ? n.refused() : Results(result);
}

} // namespace tilewright
