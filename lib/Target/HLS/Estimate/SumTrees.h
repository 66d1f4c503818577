//===- SumTrees.h - how sums are added up -------------------------------------------------===//
#ifndef TILEWRIGHT_TARGET_HLS_ESTIMATE_SUMTREES_H
#define TILEWRIGHT_TARGET_HLS_ESTIMATE_SUMTREES_H

#include "lib/Target/HLS/Estimate/DesignFacts.h"

namespace tilewright::hls {

/// Additions that an element goes through in the tree of it and of the terms that are added to it, `terms` to each.
int64_t levelsInTree(const NestFacts &nest, int64_t terms);

/// The same where its first addition comes before the tree.
int64_t levelsApart(int64_t terms);

/// How many of `sums` have their first addition before the tree.
int64_t sumsApart(const SumColumns &columns, int64_t sums);

} // namespace tilewright::hls

#endif
