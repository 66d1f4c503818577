//===- SumTrees.cpp - how sums are added up -------------------------------------------------===//
//
// Read off the order in which reports of public designs list additions, and which of them are quick.
//
// Test: test/Python/test_hls_score.py
//
//===----------------------------------------------------------------------===//
#include "lib/Target/HLS/Estimate/SumTrees.h"
#include <bit>

namespace tilewright::hls {
namespace {

/// The first of `leaves` that are halved until three are left, which are added one after another.
int64_t levelsOfFirst(int64_t leaves) {
  int64_t levels = 0;
  for (; leaves > 3; leaves /= 2)
    ++levels;
  return levels + leaves - 1;
}

/// The element is the first of the larger half. Of three leaves the other two are added first.
int64_t levelsOf(int64_t leaves) { return leaves == 3 ? 1 : 1 + levelsOfFirst(ceilDiv(leaves, 2)); }

/// Some have it in the smaller half: along the last index where each term is read under a condition of its own, and
/// sums of what is there before the element, not products (one witness).
bool inSmallerHalf(const NestFacts &nest) {
  return (nest.columns.conditions && nest.columns.lastIndex) || !nest.operators.count("mulf");
}

/// Each element begins under a condition of its own, and the next one's keeps its first addition out of the tree; none
/// follows the last. Along the last index neither the first stays out nor the last but one of an even number, and none
/// where places are bits side by side.
int64_t apartOfRow(const SumColumns &columns) {
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
  // The smaller half of an odd number of leaves is as large as either half of one leaf less.
  const bool smaller = inSmallerHalf(nest) && terms % 2 == 0;
  return levelsOf(smaller ? terms : terms + 1);
}

int64_t levelsApart(int64_t terms) { return terms == 1 ? 1 : 1 + levelsOf(terms); }

int64_t sumsApart(const SumColumns &columns, int64_t sums) {
  return columns.count == 0 ? 0 : sums / columns.count * apartOfRow(columns);
}

} // namespace tilewright::hls
