//===- ContractionCode.h - where a block's tile of a contraction lies -------------------===//
#ifndef TILEWRIGHT_LIB_TARGET_CUDA_CONTRACTIONCODE_H
#define TILEWRIGHT_LIB_TARGET_CUDA_CONTRACTIONCODE_H

#include "lib/Target/CUDA/Contraction.h"
#include "lib/Target/CUDA/ThreadCode.h"

namespace tilewright::cuda {

/// What the schedules `mma` and `fma` share: tiles of a grid, places of loops, and what becomes of a sum.
class ContractionCode : ThreadCode {
public:
  /// Sets the grid, a block for each tile, or for each `inTurn` of them, and takes the block's first tile. Neighbouring
  /// numbers are tiles under each other where the schedule has clusters: there may be tiles below C's last row then.
  ContractionCode(ThreadKernel &kernel, Contraction contraction);

  /// From here on the block's tile is that of this number, of tiles().
  void takeTile(mlir::Value number);
  mlir::Value tiles();
  /// The grid's size: how far apart the numbers of a block's tiles are.
  mlir::Value blocks();

  /// How far the loops of a group run, each and together.
  llvm::SmallVector<mlir::Value> extentsOf(llvm::ArrayRef<unsigned> group);
  mlir::Value extentOf(llvm::ArrayRef<unsigned> group);
  /// This block's place in loops of the batch, counted together.
  mlir::Value batchOf(llvm::ArrayRef<unsigned> group);
  /// The element of `tensor`, read by `map`, where the loops of two groups are at these places: its place in each
  /// dimension.
  llvm::SmallVector<mlir::Value> placeOf(mlir::AffineMap map, llvm::ArrayRef<unsigned> one, mlir::Value at,
                                         llvm::ArrayRef<unsigned> other, mlir::Value otherAt);
  /// Computes all that the kernel returns from the sums of neighbouring columns, and stores it.
  void write(mlir::Value row, mlir::Value column, llvm::ArrayRef<mlir::Value> sums);

  /// Sums of f32, one by one.
  llvm::SmallVector<mlir::Value> added(llvm::ArrayRef<mlir::Value> a, llvm::ArrayRef<mlir::Value> b);

  /// Fragments of sums of 16 x 8 as mma and wgmma leave them in a warp.
  struct Fragments {
    int64_t tilesM, tilesN; ///< how many
    int64_t rowStep;        ///< rows from one to the next
  };
  /// write() for all sums of this thread, four of each fragment, those of a row of fragments in a row. The first begins
  /// at `row` and `column` of the block's tile; nothing is written beyond the edges of C. Where results lie along the
  /// columns, lanes exchange sums first, so that each stores up to 16 bytes side by side.
  void writeFragments(mlir::Value lane, mlir::Value row, mlir::Value column, const Fragments &fragments,
                      llvm::ArrayRef<mlir::Value> sums);

  /// writeFragments() for kernels that reduce rows: a row's sums, in four lanes, are all of it.
  void writeRows(mlir::Value lane, mlir::Value row, const Fragments &fragments, llvm::ArrayRef<mlir::Value> sums);

  Contraction contraction;
  mlir::Value rowOrigin, columnOrigin; ///< of this block's tile

private:
  /// How many tiles there are in each direction, behind the sizes of the batch.
  llvm::SmallVector<mlir::Value> extentsOfTiles();
  /// From a tile's row and column to those of the tile that a block of this number takes in bands (`raster`).
  void takeInBands(mlir::Value &row, mlir::Value &column, mlir::Value rows, mlir::Value columns);
  /// Of how many fragments side by side (4, 2 or 1) four lanes exchange their columns.
  int64_t fragmentsTogether(int64_t tilesN, mlir::Value columns);
  /// From two columns of each of 2 or 4 fragments to 4 or 8 of one of them: the lane's number in its four says which.
  llvm::SmallVector<mlir::Value> exchange(mlir::Value lane, llvm::ArrayRef<mlir::Value> sums);
  /// Adds `sum` up over all of the row: `moveTo` goes to a column of this lane, `at` gives places of loops there.
  void reduceRow(const RowSum &sum, size_t columns, llvm::function_ref<void(size_t)> moveTo,
                 llvm::function_ref<llvm::SmallVector<mlir::Value>(llvm::ArrayRef<unsigned>)> at);
  void setLoops(llvm::SmallVector<mlir::Value> &at, llvm::ArrayRef<unsigned> group, mlir::Value place);

  llvm::SmallVector<mlir::Value> loops; ///< places of the loops: those of the batch are set
};

} // namespace tilewright::cuda

#endif
