//===- GroupReduction.h - reductions over the threads that share a row ------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_GROUPREDUCTION_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_GROUPREDUCTION_H

#include "lib/Codegen/GPU/ThreadKernel.h"
#include <array>

namespace tilewright::gpu {

/// Combines one value of each thread of a group. The schedule `rows` determines the groups: a warp, all threads of a
/// block, or one thread of each warp of a block. In a cluster, the same groups of all blocks are one group.
class GroupReduction {
public:
  explicit GroupReduction(ThreadKernel &kernel);

  /// Returns the number of threads of a group, in all blocks of a cluster.
  int64_t threads() const { return group; }
  /// Allocates the shared memory through which warps exchange values, if a group has threads of several warps. Must be
  /// called once before the first call of reduce().
  void allocateBuffers();
  /// Combines `value` of all threads of the group by the op `combiner`; each thread gets the result. All threads of the
  /// block must participate.
  mlir::Value reduce(mlir::Operation *combiner, mlir::Value value);

private:
  mlir::Value acrossWarps(mlir::Operation *combiner, mlir::Value value);
  mlir::Value acrossLanesOfWarps(mlir::Operation *combiner, mlir::Value value);
  mlir::Value inCluster(mlir::Operation *combiner, mlir::Value value);
  mlir::Type storedType(mlir::Type type);
  mlir::Value asStored(mlir::Value value);
  mlir::Value overBlocks(mlir::Operation *combiner, mlir::Value slot, mlir::Type type);
  mlir::Value index(int64_t value) { return kernel.elements.constant(value); }
  mlir::Value laneInWarp();
  mlir::Value nextOf(std::array<mlir::Value, 2> &alternate);
  mlir::Value isEqual(mlir::Value value, int64_t number);
  mlir::Value slot(mlir::Value buffer, mlir::Value number, mlir::Type spacing);
  void storeIf(mlir::Value condition, mlir::Value value, mlir::Value slot);
  mlir::Value orNeutral(mlir::Operation *combiner, mlir::Value value, mlir::Value lane, int64_t warps);

  ThreadKernel &kernel;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  int64_t cluster;                    ///< number of blocks that share a row
  int64_t group;                      ///< number of threads that share a row, in all blocks of a cluster
  std::array<mlir::Value, 2> buffers; ///< used alternately; null if a group is one warp
  /// With `rowsAcrossLanes` in a cluster: the results of the block, for the other blocks; used alternately.
  std::array<mlir::Value, 2> ofBlock;
};

} // namespace tilewright::gpu

#endif
