//===- PlaceText.h - places of elements as Verilog, without divisions ----------------------===//
#ifndef TILEWRIGHT_TARGET_HLS_RTL_PLACETEXT_H
#define TILEWRIGHT_TARGET_HLS_RTL_PLACETEXT_H

#include "lib/Target/HLS/Rtl/PipelineNest.h"

namespace tilewright::hls {

/// A function of few bits of counters, written out.
struct PlaceTable {
  std::vector<size_t> counters; ///< that it depends on
  std::vector<unsigned> bits;   ///< of each
  unsigned width = 1;           ///< of a value
  std::string text;             ///< a constant; the value of counters {a, b} begins at bit {a, b} * stride()
  std::vector<std::optional<int64_t>> values; ///< the same by {a, b}; none where these never are
  unsigned indexBits() const;
  unsigned strideBits() const; ///< log2 of the bits from value to value
  /// By value, the one {a, b} that has it; nothing where a value up to `most` has several or none.
  std::optional<std::vector<int64_t>> onlyCodes(int64_t most) const;
};

/// Bits of an unsigned number up to `most`, at least one.
unsigned bitsUpTo(int64_t most);

/// The values of `function` for all values of the counters that `places` depend on; none where these have more than 8
/// bits, more than lookup tables of six inputs make well.
std::optional<PlaceTable> tabulate(const PipelineNest &nest, llvm::ArrayRef<IndexSum> places, unsigned width,
                                   llvm::function_ref<int64_t(llvm::ArrayRef<int64_t>)> function);

/// `name` * factor as shifts and additions: a multiplier of the chip is not for places. Each term is as wide as what it
/// stands in.
std::string timesConstant(const std::string &name, int64_t factor);

/// The quotient of the unsigned wire `name`, at most `most`, by a constant: a shift, or a product with the reciprocal,
/// wide enough to be exact; as an expression of `width` bits and that width.
std::pair<std::string, unsigned> quotientText(const std::string &name, int64_t most, int64_t by);

/// The value whose number the lowest `bits` of the wire `number` are; values with their numbers, in order. A tree of
/// multiplexers: of a chain of comparisons tools make several times the lookup tables.
std::string multiplexerText(llvm::StringRef number, unsigned bits,
                            llvm::ArrayRef<std::pair<int64_t, std::string>> values);

} // namespace tilewright::hls

#endif
