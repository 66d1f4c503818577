//===- BlockGroups.h - nests that could pass results in blocks ------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_BLOCKGROUPS_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_BLOCKGROUPS_H

#include "dialects/Plan/PlanDialect.h"
#include "lib/Codegen/HLS/ChooseTogether.h"
#include "lib/Codegen/HLS/NestChoices.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <vector>

namespace tilewright::hls {

/// A nest that is the only nest of its kernel. `nest` is the index of the nest, and `launch` is the index of the only
/// launch of the kernel.
struct BlockNest {
  size_t nest, launch;
  mlir::linalg::LinalgOp op;
};

/// A group of nests that can run in parallel, block by block. Each nest has a loop that can be outermost and iterate
/// over the blocks. If a nest reads the result of another nest of the group, it reads only elements that the other nest
/// writes in the same block.
struct BlockGroup {
  std::map<size_t, int64_t> loops; ///< the loop of each nest, by the index of the nest
  int64_t extent = 0;              ///< trip count of all these loops
};

/// Returns groups of at least two of `nests`. No member of a group must wait for a whole array of another member. The
/// search from one loop of one nest adds all nests that can run block by block with this nest, so each search finds at
/// most one group.
std::vector<BlockGroup> blockGroups(mlir::ModuleOp module, llvm::ArrayRef<BlockNest> nests);

/// A schedule of a group: its total cycles and multipliers, and the index of the schedule that each member uses.
struct GroupChoice {
  int64_t cycles = 0, dsp = 0;
  std::vector<size_t> picked;
};

/// Returns schedules of a group, with increasing multipliers and decreasing cycles. `members` contains the schedules of
/// each member, and `after` contains the earlier members for which each member waits. `blocks` is the number of blocks.
/// Members run in parallel, so most members get the smallest number of multipliers with which they are as fast as the
/// slowest member. A member with few multipliers may be faster, so that later members start earlier.
std::vector<GroupChoice> groupChoices(llvm::ArrayRef<llvm::SmallVector<Choice>> members,
                                      llvm::ArrayRef<llvm::SmallVector<size_t>> after, int64_t blocks);

} // namespace tilewright::hls

#endif
