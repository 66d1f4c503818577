//===- AddressProducts.cpp - products in the computation of addresses -----------------------===//
//
// An address is the row number times the number of words per row, plus the index in the row. According to synthesis
// reports of public designs, Vitis HLS implements the product as
//  - a sum or a difference of two shifts, if the constant is one of two powers of two;
//  - one multiply-add in a DSP, if one sum uses the product and both operands of the sum are known at the same time
//  (`ahead` is set where they are not);
//  - otherwise a separate product: in logic if the constant has few bits, else in a DSP.
// A division of an index by a number of banks is a product with the reciprocal, which is one bit wider than the index.
//
// Test: test/Python/test_hls_estimate.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/Estimate/Estimate.h"
#include <bit>
#include <cstdlib>

namespace tilewright::hls {
namespace {

/// A separate product is implemented in logic if its constant has fewer bits than this.
constexpr int64_t bitsInDsp = 10;
/// Maximum width of an index whose division takes one DSP. Wider indices are divided in 64 bits.
constexpr int64_t bitsOfOneDsp = 18;

bool isTwoShifts(uint64_t factor) {
  factor >>= std::countr_zero(factor);
  return std::popcount(factor) <= 2 || std::has_single_bit(factor + 1);
}

} // namespace

OperatorCounts addressOperators(const NestFacts &nest) {
  OperatorCounts counts;
  const auto productOfItsOwn = [&](int64_t bits) { ++counts[bits < bitsInDsp ? "address in logic" : "address"]; };
  for (const AddressProduct &product : nest.products) {
    const uint64_t factor = std::llabs(product.factor);
    if (factor == 0 || isTwoShifts(factor))
      continue;
    if (product.sums == 1 && !product.ahead)
      ++counts["address"];
    else
      productOfItsOwn(std::bit_width(factor));
  }
  for (int64_t bits : nest.quotients) {
    if (bits > bitsOfOneDsp)
      ++counts["wide quotient"];
    else
      productOfItsOwn(bits + 1);
  }
  return counts;
}

} // namespace tilewright::hls
