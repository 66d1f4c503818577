//===- SumTrees.h - order of additions in sums --------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_ESTIMATE_SUMTREES_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_ESTIMATE_SUMTREES_H

#include "lib/Codegen/HLS/Estimate/DesignFacts.h"

namespace tilewright::hls {

/// Returns the number of additions between the accumulated element and the root of the tree that adds `terms` terms to
/// it.
int64_t levelsInTree(const NestFacts &nest, int64_t terms);

/// Returns the number of additions on the path of the accumulated element if its first addition is outside of the tree,
/// before the first level.
int64_t levelsOutsideTree(int64_t terms);

/// Returns how many of the `sums` sums have their first addition outside of the tree.
int64_t sumsOutsideTree(const SumColumns &columns, int64_t sums);

} // namespace tilewright::hls

#endif
