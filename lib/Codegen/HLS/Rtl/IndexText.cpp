//===- IndexText.cpp - indices of elements as Verilog, without divisions -------------------===//
//
//   assign a3_bank_table = 16'h4924;   // c1 % 3 for each value of the 3-bit counter c1
//   assign a3_bank = a3_bank_table[{c1[2:0], 1'd0} +: 2];
//
// The number of an element's bank is the remainder of its index divided by the number of banks, and the address in the
// bank (the word) is the quotient. Dividers for all accesses would take most of the design's logic. Usually, the bank
// or the word depends on few bits of the loop counters, and is looked up in a table of constants. Otherwise, a shift or
// a multiplication by the reciprocal replaces the division.
//
// Tests: test/Codegen/HLS/rtl-banks.mlir, test/Conformance/hls (rtl)
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/Rtl/IndexText.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

using namespace mlir;

namespace tilewright::hls {

static void countersOf(const PipelineNest &nest, const IndexSum &index, std::set<size_t> &into) {
  for (auto [number, factor] : llvm::enumerate(index.factors)) {
    if (factor == 0)
      continue;
    if (number < nest.counters.size())
      into.insert(number);
    else
      countersOf(nest, nest.quotients[number - nest.counters.size()].of, into);
  }
}

unsigned bitsUpTo(int64_t most) { return std::max(1u, llvm::Log2_64_Ceil(uint64_t(most) + 1)); }

unsigned IndexTable::indexBits() const {
  unsigned all = 0;
  for (unsigned its : bits)
    all += its;
  return all;
}
unsigned IndexTable::strideBits() const { return llvm::Log2_64_Ceil(width); }

std::optional<std::vector<int64_t>> IndexTable::onlyCodes(int64_t most) const {
  std::vector<int64_t> codes(most + 1, -1);
  for (auto [code, value] : llvm::enumerate(values)) {
    if (!value)
      continue;
    if (*value > most || codes[*value] >= 0)
      return std::nullopt;
    codes[*value] = int64_t(code);
  }
  return llvm::is_contained(codes, -1) ? std::nullopt : std::optional(codes);
}

std::optional<IndexTable> tabulate(const PipelineNest &nest, ArrayRef<IndexSum> indices, unsigned width,
                                   llvm::function_ref<int64_t(ArrayRef<int64_t>)> function) {
  constexpr unsigned mostBits = 8;
  std::set<size_t> used;
  for (const IndexSum &index : indices)
    countersOf(nest, index, used);
  IndexTable table;
  table.width = width;
  for (size_t number : used) {
    const Counter &counter = nest.counters[number];
    if (counter.from < 0)
      return std::nullopt;
    table.counters.push_back(number);
    table.bits.push_back(bitsUpTo(counter.from + counter.trips - 1));
  }
  const unsigned index = table.indexBits();
  if (used.empty() || index > mostBits)
    return std::nullopt;
  llvm::APInt all(1u << (index + table.strideBits()), 0);
  table.values.resize(size_t(1) << index);
  std::vector<int64_t> at(nest.counters.size() + nest.quotients.size(), 0);
  for (auto [number, counter] : llvm::enumerate(nest.counters))
    at[number] = counter.from;
  for (int64_t code = 0; code < int64_t(1) << index; ++code) {
    int64_t rest = code;
    bool reached = true;
    for (size_t number = table.counters.size(); number-- > 0;) { // the last counter is in the lowest bits of `code`
      const Counter &counter = nest.counters[table.counters[number]];
      const int64_t value = rest & ((int64_t(1) << table.bits[number]) - 1);
      reached &= value >= counter.from && value < counter.from + counter.trips;
      at[table.counters[number]] = value;
      rest >>= table.bits[number];
    }
    if (!reached)
      continue;
    fillQuotients(nest, at);
    table.values[code] = function(at);
    const llvm::APInt value(width, uint64_t(*table.values[code]), /*isSigned=*/false, /*implicitTrunc=*/true);
    all.insertBits(value, unsigned(code << table.strideBits()));
  }
  llvm::SmallString<64> digits;
  all.toString(digits, 16, /*Signed=*/false);
  table.text = std::to_string(all.getBitWidth()) + "'h" + digits.str().str();
  return table;
}

std::string timesConstant(const std::string &name, int64_t factor) {
  if (factor < 0)
    return name + " * " + std::to_string(factor);
  std::string all;
  for (int64_t bit = 0; factor >> bit; ++bit)
    if (factor >> bit & 1)
      all += (all.empty() ? "" : " + ") + (bit ? "(" + name + " <<< " + std::to_string(bit) + ")" : name);
  return all.empty() ? "0" : all;
}

std::pair<std::string, unsigned> quotientText(const std::string &name, int64_t most, int64_t by) {
  const unsigned bits = bitsUpTo(most), wanted = bitsUpTo(most / by);
  if (llvm::isPowerOf2_64(uint64_t(by)))
    return {most < by ? "1'd0" : name + " >> " + std::to_string(llvm::Log2_64(uint64_t(by))), wanted};
  // With m = `factor`, s = `shift` and e = `error`: floor(x * m / 2^s) = floor(x / by) if m * by = 2^s + e and
  // x * e < 2^s.
  unsigned shift = 0;
  uint64_t factor = 1;
  while (true) {
    factor = ((uint64_t(1) << shift) + uint64_t(by) - 1) / uint64_t(by);
    const uint64_t error = factor * uint64_t(by) - (uint64_t(1) << shift);
    if (error * uint64_t(most) < uint64_t(1) << shift)
      break;
    ++shift;
  }
  const unsigned wide = bits + bitsUpTo(int64_t(factor));
  return {"(" + std::to_string(wide) + "'d0 + " + timesConstant(name, int64_t(factor)) + ") >> " +
              std::to_string(shift),
          wanted};
}

std::string multiplexerText(StringRef number, unsigned bits, ArrayRef<std::pair<int64_t, std::string>> values) {
  if (values.size() == 1)
    return values.front().second;
  --bits;
  const size_t low = llvm::count_if(values, [&](auto &its) { return (its.first >> bits & 1) == 0; });
  if (low == 0 || low == values.size())
    return multiplexerText(number, bits, values);
  return "(" + number.str() + "[" + std::to_string(bits) + "] ? " +
         multiplexerText(number, bits, values.drop_front(low)) + " : " +
         multiplexerText(number, bits, values.take_front(low)) + ")";
}

} // namespace tilewright::hls
