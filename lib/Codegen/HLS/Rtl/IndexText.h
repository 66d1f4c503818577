//===- IndexText.h - indices of elements as Verilog, without divisions ---------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_RTL_INDEXTEXT_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_RTL_INDEXTEXT_H

#include "lib/Codegen/HLS/Rtl/PipelineNest.h"

namespace tilewright::hls {

/// A table of the values of a function that depends on at most 8 bits of loop counters. {a, b} is the concatenation of
/// the bits of the counters a and b, as in Verilog.
struct IndexTable {
  std::vector<size_t> counters; ///< the counters that the function depends on
  std::vector<unsigned> bits;   ///< number of bits of each counter
  unsigned width = 1;           ///< number of bits of a value
  std::string text;             ///< the table as a constant; the value of counters {a, b} begins at bit {a, b} * stride
  std::vector<std::optional<int64_t>>
      values; ///< the values, indexed by {a, b}; nullopt if the counters never have these values
  unsigned indexBits() const;
  unsigned strideBits() const; ///< log2 of the stride in bits between values
  /// Returns, for each value up to `most`, the only {a, b} with this value. Returns nullopt if a value has no or
  /// several {a, b}, or if a value is larger than `most`.
  std::optional<std::vector<int64_t>> onlyCodes(int64_t most) const;
};

/// Returns the number of bits that unsigned numbers up to `most` need, at least one.
unsigned bitsUpTo(int64_t most);

/// Tabulates `function` for all values of the counters on which `indices` depend. Returns nullopt if `indices`
/// depend on no counter, if a counter starts below zero, or if these counters have more than 8 bits in total, because
/// larger tables need many lookup tables of six inputs.
std::optional<IndexTable> tabulate(const PipelineNest &nest, llvm::ArrayRef<IndexSum> indices, unsigned width,
                                   llvm::function_ref<int64_t(llvm::ArrayRef<int64_t>)> function);

/// Returns `name` * factor as shifts and additions, because indices should not use the chip's multipliers. A product
/// with a negative factor is written with `*`. Each term has the width of the enclosing expression.
std::string timesConstant(const std::string &name, int64_t factor);

/// Divides the unsigned wire `name`, whose value is at most `most`, by the constant `by`. The division is printed as a
/// shift or as a product with the reciprocal, which has enough bits that the quotient is exact. Returns the expression
/// and the width of the quotient.
std::pair<std::string, unsigned> quotientText(const std::string &name, int64_t most, int64_t by);

/// Returns an expression for the value whose number is in the lowest `bits` bits of the wire `number`; `values` are
/// sorted by number. The expression is a tree of multiplexers, because tools need more lookup tables for a chain of
/// comparisons.
std::string multiplexerText(llvm::StringRef number, unsigned bits,
                            llvm::ArrayRef<std::pair<int64_t, std::string>> values);

} // namespace tilewright::hls

#endif
