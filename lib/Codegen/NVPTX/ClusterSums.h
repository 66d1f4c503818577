//===- ClusterSums.h - sums of a tile that the blocks of a cluster share --------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_NVPTX_CLUSTERSUMS_H
#define TILEWRIGHT_LIB_CODEGEN_NVPTX_CLUSTERSUMS_H

#include "lib/Codegen/NVPTX/WarpGroupCode.h"

namespace tilewright::cuda {

/// The code by which the blocks of a cluster add their sums of the same tile (`split_k` of the schedule `wgmma`).
class ClusterSums : WarpGroupCode {
public:
  /// `shared` is the address of the block's ring of tiles. The sums overwrite the tiles.
  ClusterSums(ThreadKernel &kernel, mlir::Value shared);

  /// Returns the range of this block's steps along k: the first step, and the last step plus one. `steps` is the number
  /// of steps of all blocks.
  std::pair<mlir::Value, mlir::Value> rangeOf(mlir::Value steps);

  /// Adds the sums of all blocks. The consumer threads call this function after their last product. `sums` are the
  /// thread's sums of all fragments of the tile, in the order of ContractionCode::writeFragments(). Calls `write` with
  /// the total sums of columnsOfBlock(schedule) adjacent columns, and the first of these columns. Only blocks that have
  /// columns execute `write`.
  void add(llvm::ArrayRef<mlir::Value> sums, llvm::function_ref<void(llvm::ArrayRef<mlir::Value>, mlir::Value)> write);
  /// Emits the barriers of the cluster for the other threads, which have no sums.
  void takePart();

private:
  void arriveAtCluster() { kernel.threads.arriveAtCluster(builder, loc); }
  void waitForCluster() { kernel.threads.waitForCluster(builder, loc); }
  /// Returns the address of four sums: fragment `number` of the columns of block `owner`.
  mlir::Value addressOf(mlir::Value owner, int64_t number);

  mlir::Value shared, rank; ///< the rank in the cluster has the type index
};

} // namespace tilewright::cuda

#endif
