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

/// The rounding mode for a value between two adjacent numbers of the format. The names are those of the type ap_fixed
/// (AMD UG1399, arbitrary precision fixed point).
enum class Rounding { Trn, TrnZero, Rnd, RndZero, RndInf, RndMinInf, RndConv };
/// The result for a value outside of the format's range.
enum class Overflow { Wrap, Sat, SatZero, SatSym };

/// ap_fixed<width, integer, rounding, overflow>: an integer of `width` bits times 2^-fraction(). `integer` is the
/// number of integer bits, one of which is the sign.
struct Format {
  int width = 16, integer = 6;
  Rounding rounding = Rounding::Rnd;
  Overflow overflow = Overflow::Sat;

  int fraction() const { return width - integer; }
  /// Returns the format as parseFormat() reads it, such as "16,6,AP_RND,AP_SAT".
  std::string parameters() const;
  /// Returns the C++ type, such as "ap_fixed<16, 6, AP_RND, AP_SAT>".
  std::string cppType() const;
};

/// Parses "W,I", which may be followed by a rounding mode, an overflow mode or both, as in "W,I,Q,O". Errors list the
/// valid values.
llvm::Expected<Format> parseFormat(llvm::StringRef text);

/// The default format, and the formats of the inputs, weights, layers and results that differ from it: "16,6 fc1=8,3
/// fc2.weight=8,1".
class Formats {
public:
  static llvm::Expected<Formats> parse(llvm::StringRef text);

  /// Returns the format that is specified for `name`, or std::nullopt if there is none.
  std::optional<Format> named(llvm::StringRef name) const;
  Format usual;
  /// Returns the names for which no value of the model was found.
  std::vector<std::string> unused() const;

private:
  std::vector<std::pair<std::string, Format>> exceptions;
  mutable std::set<std::string> asked;
};

} // namespace tilewright::fixed

#endif
