//===- Names.cpp - unique names that are valid in C++ ------------------------------===//
#include "lib/Codegen/HLS/Names.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

namespace tilewright::hls {
namespace {
/// Names that the printed files may not use: keywords of C++, names of C's libraries (functions, types, macros), the
/// types and namespaces of the vendor's headers, the top function and the helper functions that the printer adds, and
/// names in the test bench.
constexpr llvm::StringLiteral reserved[] = {
#define TW_LIBM_UNARY(NAME) #NAME, (#NAME "f"),
#define TW_LIBM_BINARY(NAME) TW_LIBM_UNARY(NAME)
#include "dialects/Graph/ScalarFunctions.def"
    // clang-format off
    "EOF", "FILE", "HUGE_VAL", "INFINITY", "INT32_MIN", "INT64_MIN", "M_PI", "NAN", "NULL", "abs", "alignas",
    "alignof", "and", "and_eq", "ap_int", "ap_uint", "argc", "argv", "asm", "assert", "auto", "bench", "bitand",
    "bitor", "bool", "break", "case", "catch", "char", "char16_t", "char32_t", "char8_t", "class", "co_await",
    "co_return", "co_yield", "compl", "concept", "const", "const_cast", "consteval", "constexpr", "constinit",
    "continue", "decltype", "default", "delete", "div", "do", "double", "dynamic_cast", "else", "enum", "errno",
    "explicit", "export", "extern", "false", "float", "fma", "fmaf", "for", "friend", "gamma", "goto", "half",
    "hls", "if", "index", "inline", "int", "int16_t", "int32_t", "int64_t", "int8_t", "j0", "j1", "larger", "linux",
    "long", "main", "max", "max_number", "max_or_nan", "min", "min_number", "min_or_nan", "model", "mutable",
    "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq", "private", "protected",
    "public", "register", "reinterpret_cast", "remainder", "remainderf", "requires", "return", "rsqrt", "rsqrtf",
    "short", "signed", "signgam", "size_t", "sizeof", "smaller", "static", "static_assert", "static_cast", "std",
    "stderr", "stdin", "stdout", "struct", "switch", "tasks", "template", "this", "thread_local", "throw",
    "tilewright", "true", "try", "typedef", "typeid", "typename", "uint16_t", "uint32_t", "uint64_t", "uint8_t",
    "union", "unix", "unsigned", "using", "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq", "y0",
    "y1"
    // clang-format on
};
} // namespace

std::string NameTable::take(llvm::StringRef preferred) {
  std::string name;
  for (char c : preferred)
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

std::string letter(char first, size_t number) {
  std::string name(1, char(first + number % 6));
  return number < 6 ? name : name + std::to_string(number / 6);
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
