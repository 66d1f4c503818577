//===- Names.cpp - names that C++ takes, each once ---------------------------------===//
#include "lib/Target/HLS/Names.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

namespace tilewright::hls {
namespace {
/// Words that C++ or the printed files use themselves.
constexpr llvm::StringLiteral reserved[] = {
    "alignas", "alignof",  "and",      "asm",      "auto",     "bool",      "break",    "case",     "catch",
    "char",    "class",    "const",    "continue", "default",  "delete",    "do",       "double",   "else",
    "enum",    "explicit", "export",   "extern",   "false",    "float",     "for",      "friend",   "goto",
    "half",    "hls",      "if",       "inline",   "int",      "long",      "main",     "mutable",  "namespace",
    "new",     "not",      "operator", "or",       "private",  "protected", "public",   "register", "return",
    "short",   "signed",   "sizeof",   "static",   "std",      "struct",    "switch",   "template", "this",
    "throw",   "true",     "try",      "typedef",  "typename", "union",     "unsigned", "using",    "virtual",
    "void",    "volatile", "while",    "xor",      "exp",      "log",       "sqrt",     "sin",      "cos",
    "tan",     "tanh",     "pow",      "erf",      "floor",    "ceil",      "round",    "abs",      "remainder",
    "div",     "index",    "y0",       "y1",       "j0",       "j1",        "gamma",    "max",      "min"};
} // namespace

std::string NameTable::take(llvm::StringRef wish) {
  std::string name;
  for (char c : wish)
    name += llvm::isAlnum(c) ? c : '_';
  if (name.empty() || llvm::isDigit(name.front()))
    name = "v" + name;
  if (llvm::is_contained(reserved, llvm::StringRef(name)))
    name += "_";
  int &uses = taken[name];
  if (uses++ == 0)
    return name;
  std::string numbered;
  do
    numbered = name + "_" + std::to_string(uses++);
  while (taken.count(numbered));
  taken[numbered] = 1;
  return numbered;
}

std::string kernelName(llvm::StringRef operations) {
  llvm::SmallVector<llvm::StringRef> words, kept;
  operations.split(words, '+', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef word : words)
    if (!llvm::is_contained(kept, word) && kept.size() < 3)
      kept.push_back(word);
  return kept.empty() ? "kernel" : llvm::join(kept, "_");
}

} // namespace tilewright::hls
