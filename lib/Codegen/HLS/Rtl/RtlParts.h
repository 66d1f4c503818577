//===- RtlParts.h - count the lookup tables and registers of Verilog ------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_RTL_RTLPARTS_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_RTL_RTLPARTS_H

#include <cstdint>
#include <set>
#include <string>

namespace tilewright::hls {

/// Counts the lookup tables (with six inputs) and the registers of the Verilog while it is printed. RtlParts.cpp has
/// the rules.
class RtlParts {
public:
  int64_t lut = 0, ff = 0;

  /// Returns false if the expression `text` has already been counted, because synthesis implements equal expressions
  /// once.
  bool first(const std::string &text) { return seen.insert(text).second; }

  void adder(int64_t bits);
  void addConstant(int64_t bits);
  void lessThan(int64_t bits);
  void equal(int64_t bits);         ///< comparison of two numbers
  void equalConstant(int64_t bits); ///< comparison of a number with a constant
  void gates(int64_t bits);
  void select(int64_t ways, int64_t bits);     ///< selection from several ways by one select bit per way
  void pick(int64_t ways, int64_t bits);       ///< selection from several ways by a number
  static bool pickCanAbsorbGate(int64_t ways); ///< true if pick() can absorb a gate after it
  void shift(int64_t bits);                    ///< shift by a distance that is not constant
  void product(int64_t width, int64_t bits, int64_t multipliers);
  void table(int64_t inputs, int64_t bits);
  /// A shift register.
  void chain(int64_t length, int64_t bits);
  /// A memory in lookup tables with one write port.
  void memory(int64_t words, int64_t bits, int64_t readPorts);
  /// A memory in registers. `ways` is the number of pairs of a word and a store that may write this word.
  void registers(int64_t words, int64_t bits, int64_t ways, int64_t readPorts);
  /// A read-only memory in lookup tables.
  void rom(int64_t words, int64_t bits, int64_t readPorts);

private:
  std::set<std::string> seen;
};

} // namespace tilewright::hls

#endif
