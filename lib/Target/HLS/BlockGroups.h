//===- BlockGroups.h - nests that could hand on blocks of their results --------------------===//
#ifndef TILEWRIGHT_TARGET_HLS_BLOCKGROUPS_H
#define TILEWRIGHT_TARGET_HLS_BLOCKGROUPS_H

#include "dialects/Plan/PlanDialect.h"
#include "lib/Target/HLS/ChooseTogether.h"
#include "lib/Target/HLS/NestChoices.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <vector>

namespace tilewright::hls {

/// A launch of a kernel that is one nest, started once.
struct BlockNest {
  size_t nest, launch;
  mlir::linalg::LinalgOp op;
};

/// Nests, by number, each with a loop that could be its outermost, block by block: what one writes in a block, the next
/// reads in the same block, all along the group.
struct BlockGroup {
  std::map<size_t, int64_t> loops; ///< per nest, in the order of their launches
  int64_t extent = 0;              ///< trips of all these loops
};

/// Every group of at least two of these nests that has no array which a member must wait for.
std::vector<BlockGroup> blockGroups(mlir::ModuleOp module, llvm::ArrayRef<BlockNest> nests);

/// What a group could cost: total cycles and multipliers, and per member the number of its choice.
struct GroupChoice {
  int64_t cycles = 0, dsp = 0;
  std::vector<size_t> picked;
};

/// Members, in order, with choices in blocks, and which earlier members each waits for: ever more multipliers, ever
/// fewer cycles. Members run side by side, so each takes as few multipliers as keep up with the slowest.
std::vector<GroupChoice> groupChoices(llvm::ArrayRef<llvm::SmallVector<Choice>> members,
                                      llvm::ArrayRef<llvm::SmallVector<size_t>> after, int64_t blocks);

} // namespace tilewright::hls

#endif
