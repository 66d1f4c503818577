//===- SumTrees.cpp - order of additions in sums --------------------------------------------===//
//
// The order in which Vitis HLS adds the terms of a sum is derived from synthesis reports of public designs. The reports
// list the additions in order, and state which of them are quick additions (Operators.h).
//
// Test: test/Python/test_hls_estimate.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/Estimate/SumTrees.h"
#include <bit>

namespace tilewright::hls {
namespace {

/// Returns the number of additions between the first of `leaves` leaves and the root of the tree. The tree halves the
/// number of leaves until at most three are left, which are added one after another.
int64_t levelsOfFirst(int64_t leaves) {
  int64_t levels = 0;
  for (; leaves > 3; leaves /= 2)
    ++levels;
  return levels + leaves - 1;
}

/// Returns the number of additions between the accumulated element and the root. The element is the first leaf of the
/// larger half of the tree. In a tree of three leaves, the element is added last.
int64_t levelsOf(int64_t leaves) { return leaves == 3 ? 1 : 1 + levelsOfFirst(ceilDiv(leaves, 2)); }

/// Returns true if the accumulated element is in the smaller half of the tree. According to the reports, this is the
/// case for two kinds of sums: sums along the last index whose terms are read under separate conditions, and sums
/// without products.
bool inSmallerHalf(const NestFacts &nest) {
  return (nest.columns.conditions && nest.columns.lastIndex) || !nest.operators.count("mulf");
}

/// Returns the number of sums of a row whose first addition is outside of the tree. Each sum begins under a separate
/// condition, and the condition of the next sum moves the first addition out of the tree. The last sum has no next sum,
/// so its first addition stays inside. For sums along the last index, the first addition also stays inside in the first
/// sum, and in the second to last sum if the number of sums is even. If sums are along the last index and their number
/// is a power of two, the first additions of all sums stay inside, because the indices are then concatenated bits. The
/// first additions of all sums also stay inside if each term has a separate condition.
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
  // The leaves are the accumulated element and the terms. If the number of leaves is odd, the smaller half has as many
  // leaves as each half of a tree with one leaf less.
  const bool smaller = inSmallerHalf(nest) && terms % 2 == 0;
  return levelsOf(smaller ? terms : terms + 1);
}

int64_t levelsOutsideTree(int64_t terms) { return terms == 1 ? 1 : 1 + levelsOf(terms); }

int64_t sumsOutsideTree(const SumColumns &columns, int64_t sums) {
  return columns.count == 0 ? 0 : sums / columns.count * outsideTreePerRow(columns);
}

} // namespace tilewright::hls
