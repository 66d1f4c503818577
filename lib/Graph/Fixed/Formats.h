//===- Formats.h - fixed-point formats ----------------------------------------------===//
#ifndef TILEWRIGHT_LIB_GRAPH_FIXED_FORMATS_H
#define TILEWRIGHT_LIB_GRAPH_FIXED_FORMATS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tilewright::fixed {

/// The rounding mode of a value between two adjacent numbers of the format. Names are the vendors' (AMD UG1399,
/// arbitrary precision fixed point).
enum class Rounding { Trn, TrnZero, Rnd, RndZero, RndInf, RndMinInf, RndConv };
/// The result for a value outside of the format's range.
enum class Overflow { Wrap, Sat, SatZero, SatSym };

/// ap_fixed<width, integer, rounding, overflow>: integer * 2^-fraction(); the sign is one of the integer bits.
struct Format {
  int width = 16, integer = 6;
  Rounding rounding = Rounding::Rnd;
  Overflow overflow = Overflow::Sat;

  int fraction() const { return width - integer; }
  /// Returns "16,6,AP_RND,AP_SAT", which parseFormat reads.
  std::string parameters() const;
  /// Returns "ap_fixed<16, 6, AP_RND, AP_SAT>".
  std::string cppType() const;
};

/// Parses "W,I", "W,I,Q" or "W,I,Q,O". Errors list the valid values.
llvm::Expected<Format> parseFormat(llvm::StringRef text);

/// The default format and the exceptions by name: "16,6 fc1=8,3 fc2.weight=8,1".
class Formats {
public:
  static llvm::Expected<Formats> parse(llvm::StringRef text);

  /// Returns the format that is given for `name`; std::nullopt if it has no separate one.
  std::optional<Format> named(llvm::StringRef name) const;
  Format usual;
  /// Returns the names that belong to no value of the model.
  std::vector<std::string> unused() const;

private:
  std::vector<std::pair<std::string, Format>> exceptions;
  mutable std::set<std::string> asked;
};

} // namespace tilewright::fixed

#endif
