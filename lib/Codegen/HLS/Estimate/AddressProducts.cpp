//===- AddressProducts.cpp - products in the computation of addresses -----------------------===//
//
// The address of an element is the index of its row times the number of words per row, plus the index in the row.
// According to synthesis reports of public designs, Vitis HLS implements this product in one of three ways:
//  - as a sum or a difference of two shifts, if the constant is the sum or the difference of two powers of two;
//  - as one multiply-add in a DSP slice, if only one sum uses the product, and both operands of the sum are available
//    at the same time (AddressProduct::ahead is false);
//  - otherwise as a separate product, in logic if the constant has few bits, else in a DSP slice.
// The division of an index by the number of banks is implemented as a product with the reciprocal. For an index of at
// most 18 bits, the reciprocal has one bit more than the index.
//
// Test: test/Python/test_hls_estimate.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/Estimate/Estimate.h"
#include <bit>
#include <cstdlib>

namespace tilewright::hls {
namespace {

/// A separate product is implemented in logic if its constant has fewer than this number of bits.
constexpr int64_t bitsInDsp = 10;
/// Maximum width in bits of an index whose division takes at most one DSP slice. Wider indices are divided in 64 bits.
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
