//===- Synonyms.cpp - other names of operators ---------------------------------------===//
//
// torch has several names for some operators, with the same arguments. For example, `multiply` is a synonym of `mul`.
// torch.compile replaces synonyms by the main name, but files of torch.export.save may contain them.
//
// Test: test/Python/test_plain_exports.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Table.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"

namespace tilewright {

void registerSynonyms(Table &t) {
  // Pairs of a synonym and the main name. They apply to all overloads.
  static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> names[] = {
      {"absolute", "abs"},
      {"negative", "neg"},
      {"multiply", "mul"},
      {"subtract", "sub"},
      {"divide", "div"},
      {"true_divide", "div"},
      {"concat", "cat"},
      {"concatenate", "cat"},
      {"clip", "clamp"},
      {"greater", "gt"},
      {"less", "lt"},
      {"greater_equal", "ge"},
      {"less_equal", "le"},
      {"not_equal", "ne"},
      {"arccos", "acos"},
      {"arcsin", "asin"},
      {"arctan", "atan"},
      {"arctan2", "atan2"},
      {"arccosh", "acosh"},
      {"arcsinh", "asinh"},
      {"arctanh", "atanh"},
      {"fix", "trunc"},
      {"special_expit", "sigmoid"},
      {"special_exp2", "exp2"},
      {"special_erf", "erf"},
      {"special_erfc", "erfc"},
      {"special_erfinv", "erfinv"},
      {"special_gammaln", "lgamma"},
      {"special_digamma", "digamma"},
      {"special_psi", "digamma"},
      {"special_polygamma", "polygamma"},
      {"special_i0", "i0"},
      {"special_expm1", "expm1"},
      {"special_log1p", "log1p"},
      {"special_logit", "logit"},
      {"special_logsumexp", "logsumexp"},
      {"special_softmax", "softmax"},
      {"special_log_softmax", "log_softmax"}};

  // Synonyms of single overloads.
  static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> overloads[] = {
      {"aten.swapaxes.default", "aten.transpose.int"},
      {"aten.swapdims.default", "aten.transpose.int"},
      {"aten.max.other", "aten.maximum.default"},
      {"aten.min.other", "aten.minimum.default"},
      {"aten.special_round.default", "aten.round.decimals"},
      {"aten.ldexp.default", "aten.ldexp.Tensor"}, // ldexp_ has the overload "default"
      {"aten.adjoint.default", "aten.mT.default"}};
  llvm::SmallVector<std::string> imported; // a copy, because rows are added below
  for (const auto &row : t.rows())
    if (row.second.kind == OperatorKind::Import)
      imported.push_back(row.first().str());
  for (llvm::StringRef target : imported)
    for (auto [other, name] : names)
      if (target.starts_with(("aten." + name + ".").str()))
        t.addSynonym(("aten." + other + target.drop_front(5 + name.size())).str(), target);
  for (auto [other, target] : overloads)
    t.addSynonym(other, target);
}

} // namespace tilewright
