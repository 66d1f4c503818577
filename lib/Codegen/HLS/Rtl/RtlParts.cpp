//===- RtlParts.cpp - count the lookup tables and registers of Verilog ----------------------===//
//
// Estimate/Operators.h has the numbers of lookup tables that a vendor's HLS tool uses for a design in C++. This file
// counts the lookup tables of the Verilog that Tilewright prints. It assumes a device with lookup tables of six inputs,
// carry chains, shift registers of up to 32 bits, and memories of 32 words of 14 bits in eight lookup tables (AMD
// UG574). There is one rule for each kind of part, and no rule depends on the design. For example, an adder of n bits
// takes n lookup tables.
//
// Test: test/Conformance/hls (rtl), which compares the counts with those of yosys.
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/Rtl/RtlParts.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using llvm::divideCeilSigned;

namespace tilewright::hls {

void RtlParts::adder(int64_t bits) { lut += bits; }
/// The variable operand is connected directly to the carry chain. Only bits at which the constant is 1 need a lookup
/// table, which inverts the bit. Half of the bits of the constant are assumed to be 1.
void RtlParts::addConstant(int64_t bits) { lut += bits / 2; }
void RtlParts::lessThan(int64_t bits) { lut += bits + 1; }
void RtlParts::equal(int64_t bits) {
  lut += divideCeilSigned(bits, 3) + (bits > 3 ? divideCeilSigned(divideCeilSigned(bits, 3) - 1, 5) : 0);
}
void RtlParts::equalConstant(int64_t bits) { lut += divideCeilSigned(bits, 6) + (bits > 6 ? 1 : 0); }
void RtlParts::gates(int64_t bits) { lut += bits; }
/// The first lookup table selects among three values. Each further lookup table adds two values, which have separate
/// select bits.
void RtlParts::select(int64_t ways, int64_t bits) { lut += ways < 2 ? 0 : divideCeilSigned(ways - 1, 2) * bits; }
/// A lookup table selects among four values by two bits of the select index. The next level of lookup tables selects
/// among the results by the next two bits. If one value is left over, it is passed to the next level without a lookup
/// table. The multiplexers of a slice could also be used, but yosys uses them only for functions of seven
/// and eight inputs (table()).
void RtlParts::pick(int64_t ways, int64_t bits) {
  for (; ways > 1; ways = divideCeilSigned(ways, 4))
    lut += (ways + 2) / 4 * bits;
}
/// A last lookup table that selects among four values has no free input for the gate.
bool RtlParts::pickCanAbsorbGate(int64_t ways) {
  while (ways > 4)
    ways = divideCeilSigned(ways, 4);
  return ways == 2 || ways == 3;
}
/// The shifter has one level of four-input multiplexers for every two bits of the shift distance.
void RtlParts::shift(int64_t bits) {
  lut += bits * divideCeilSigned(llvm::Log2_64_Ceil(uint64_t(std::max<int64_t>(2, bits))), 2);
}
/// If a product needs several multipliers, their results are added. A product without multipliers adds one row per bit
/// of an operand.
void RtlParts::product(int64_t width, int64_t bits, int64_t multipliers) {
  lut += multipliers == 0 ? width * width : (multipliers - 1) * bits / 2;
}
/// A function of up to six inputs needs one lookup table. Seven inputs need two, and eight need four, joined by
/// multiplexers of the slice.
void RtlParts::table(int64_t inputs, int64_t bits) { lut += bits * (int64_t(1) << std::max<int64_t>(0, inputs - 6)); }

void RtlParts::chain(int64_t length, int64_t bits) {
  constexpr int64_t shortest = 3, longest = 32; // numbers of stages of a shift register in one lookup table
  if (length >= shortest)
    lut += divideCeilSigned(length, longest) * bits;
  else
    ff += length * bits;
}

void RtlParts::memory(int64_t words, int64_t bits, int64_t readPorts) {
  constexpr int64_t tables = 8; // lookup tables per memory of 32 words of 14 bits, or of 64 words of 7 bits
  const int64_t pieces =
      words <= 32 ? divideCeilSigned(bits, 14) : divideCeilSigned(words, 64) * divideCeilSigned(bits, 7);
  lut += std::max<int64_t>(1, readPorts) * pieces * tables;
  if (words > 64)
    select(divideCeilSigned(words, 64), bits * std::max<int64_t>(1, readPorts));
}

void RtlParts::registers(int64_t words, int64_t bits, int64_t ways, int64_t readPorts) {
  ff += words * bits;
  lut += std::max<int64_t>(0, ways - words) * bits / 2 + (ways > words ? bits * words / 2 : 0);
  pick(words, readPorts * bits);
}

void RtlParts::rom(int64_t words, int64_t bits, int64_t readPorts) {
  lut += readPorts * bits * divideCeilSigned(words, 64);
}

} // namespace tilewright::hls
