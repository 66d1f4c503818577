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

/// A launch of a kernel that consists of one nest and is launched once.
struct BlockNest {
  size_t nest, launch;
  mlir::linalg::LinalgOp op;
};

/// Nests, identified by their index, each with a loop that can be its outermost loop and iterate over blocks. In each
/// block, the next nest reads the elements that a nest writes in the same block.
struct BlockGroup {
  std::map<size_t, int64_t> loops; ///< the loop of each nest, in launch order
  int64_t extent = 0;              ///< trip count, which all these loops have
};

/// Returns every group of at least two of these nests in which no member must wait for a whole array of another member.
std::vector<BlockGroup> blockGroups(mlir::ModuleOp module, llvm::ArrayRef<BlockNest> nests);

/// One way to schedule a group: its total cycles and multipliers, and the index of the choice of each member.
struct GroupChoice {
  int64_t cycles = 0, dsp = 0;
  std::vector<size_t> picked;
};

/// Returns ways to schedule a group, with increasing multipliers and decreasing cycles. `members` has each member's
/// choices in blocks, and `after` the earlier members that each member waits for. Members run in parallel, so each gets
/// the smallest number of multipliers with which it is as fast as the slowest member.
std::vector<GroupChoice> groupChoices(llvm::ArrayRef<llvm::SmallVector<Choice>> members,
                                      llvm::ArrayRef<llvm::SmallVector<size_t>> after, int64_t blocks);

} // namespace tilewright::hls

#endif
