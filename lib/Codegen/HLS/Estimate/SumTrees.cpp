//===- SumTrees.cpp - order of additions in sums --------------------------------------------===//
//
// The rules are derived from synthesis reports of public designs, which list the order of additions and which of them
// are quick.
//
// Test: test/Python/test_hls_estimate.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/Estimate/SumTrees.h"
#include <bit>

namespace tilewright::hls {
namespace {

/// Returns the number of levels above the first of `leaves` leaves. The tree halves the leaves until at most three are
/// left, which are added one after another.
int64_t levelsOfFirst(int64_t leaves) {
  int64_t levels = 0;
  for (; leaves > 3; leaves /= 2)
    ++levels;
  return levels + leaves - 1;
}

/// Returns the levels of the accumulated element, the first leaf of the larger half. Of three leaves, it is added last.
int64_t levelsOf(int64_t leaves) { return leaves == 3 ? 1 : 1 + levelsOfFirst(ceilDiv(leaves, 2)); }

/// Returns true if the accumulated element is in the smaller half. This is the case along the last index if each term
/// is read under a separate condition, and for sums without products (seen in one public design).
bool inSmallerHalf(const NestFacts &nest) {
  return (nest.columns.conditions && nest.columns.lastIndex) || !nest.operators.count("mulf");
}

/// Returns the number of sums of a row whose first addition is outside of the tree. Each element begins under a
/// separate condition, and the condition of the next element moves the first addition out of the tree; the last element
/// has no next element. Along the last index, the first addition of the first sum is inside, and so is that of the
/// second to last sum if the count is even. All are inside if the count is a power of two, because indices are then
/// concatenated bits.
int64_t outsideTreePerRow(const SumColumns &columns) {
  if (columns.conditions)
    return 0;
  if (!columns.lastIndex)
    return columns.count - 1;
  if (std::has_single_bit(uint64_t(columns.count)))
    return 0;
  return columns.count - (columns.count % 2 == 0 ? 3 : 2);
}

} // namespace

int64_t levelsInTree(const NestFacts &nest, int64_t terms) {
  // With an odd number of leaves, the smaller half is as large as each half of a tree with one leaf less.
  const bool smaller = inSmallerHalf(nest) && terms % 2 == 0;
  return levelsOf(smaller ? terms : terms + 1);
}

int64_t levelsOutsideTree(int64_t terms) { return terms == 1 ? 1 : 1 + levelsOf(terms); }

int64_t sumsOutsideTree(const SumColumns &columns, int64_t sums) {
  return columns.count == 0 ? 0 : sums / columns.count * outsideTreePerRow(columns);
}

} // namespace tilewright::hls
