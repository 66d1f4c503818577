//===- Formats.h - what a number of fixed point looks like --------------------------===//
#ifndef TILEWRIGHT_GRAPH_FIXED_FORMATS_H
#define TILEWRIGHT_GRAPH_FIXED_FORMATS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tilewright::fixed {

/// Where a value between two neighbours goes, by the vendors' names (AMD UG1399, arbitrary precision fixed point).
enum class Rounding { Trn, TrnZero, Rnd, RndZero, RndInf, RndMinInf, RndConv };
/// What becomes of a value that the format does not reach.
enum class Overflow { Wrap, Sat, SatZero, SatSym };

/// ap_fixed<width, integer, rounding, overflow>: integer * 2^-fraction(), the sign among the integer bits.
struct Format {
  int width = 16, integer = 6;
  Rounding rounding = Rounding::Rnd;
  Overflow overflow = Overflow::Sat;

  int fraction() const { return width - integer; }
  /// "16,6,AP_RND,AP_SAT", which parseFormat reads.
  std::string parameters() const;
  /// "ap_fixed<16, 6, AP_RND, AP_SAT>".
  std::string cppType() const;
};

/// "W,I", "W,I,Q" or "W,I,Q,O"; errors say what is possible.
llvm::Expected<Format> parseFormat(llvm::StringRef text);

/// The format of every value and the exceptions by name: "16,6 fc1=8,3 fc2.weight=8,1".
class Formats {
public:
  static llvm::Expected<Formats> parse(llvm::StringRef text);

  /// The one given for `name`; none: there is none of its own.
  std::optional<Format> named(llvm::StringRef name) const;
  Format usual;
  /// Names that no value has asked for: nothing in the model is called so.
  std::vector<std::string> unused() const;

private:
  std::vector<std::pair<std::string, Format>> exceptions;
  mutable std::set<std::string> asked;
};

} // namespace tilewright::fixed

#endif
