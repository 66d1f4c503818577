//===- ContractionCode.h - the position of a block's tile of a contraction --------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_CONTRACTIONCODE_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_CONTRACTIONCODE_H

#include "lib/Codegen/GPU/Contraction.h"
#include "lib/Codegen/GPU/ThreadCode.h"

namespace tilewright::gpu {

/// The common code of the schedules `mma`, `wgmma` and `fma`: the tiles of a grid, the indices of loops, and the
/// epilogue of a sum.
class ContractionCode : ThreadCode {
public:
  /// Sets the grid, with one block per tile or per `tilesPerBlock` tiles, and selects the block's first tile. If the
  /// schedule has clusters, the tiles that a cluster computes at a time have consecutive numbers and are in consecutive
  /// rows of tiles. The last of these tiles may be past C's last row. With `split_k`, all blocks of a cluster have the
  /// same tile.
  ContractionCode(ThreadKernel &kernel, Contraction contraction);

  /// Returns the number of blocks of the grid, as an expression of the kernel's index arguments.
  static mlir::AffineExpr gridOf(Contraction contraction, const Schedule &schedule);

  /// Selects tile `number`, which is less than tiles(), as the block's current tile.
  void takeTile(mlir::Value number);
  mlir::Value tiles();
  /// Returns the number of blocks of the grid. The indices of consecutive tiles of a block differ by this number.
  mlir::Value blocks();

  /// Return the extents of the loops of a group, and their product.
  llvm::SmallVector<mlir::Value> extentsOf(llvm::ArrayRef<unsigned> group);
  mlir::Value extentOf(llvm::ArrayRef<unsigned> group);
  /// Returns this block's linear index in a group of batch loops.
  mlir::Value batchOf(llvm::ArrayRef<unsigned> group);
  /// Returns the indices of the element that an operand with the indexing map `map` reads, if the loops of the groups
  /// `one` and `other` have the linear indices `at` and `otherAt`.
  llvm::SmallVector<mlir::Value> indicesOf(mlir::AffineMap map, llvm::ArrayRef<unsigned> one, mlir::Value at,
                                           llvm::ArrayRef<unsigned> other, mlir::Value otherAt);
  /// Computes all results of the kernel from `sums`, which are sums of adjacent columns, and stores them. For a pair of
  /// products, `sums` has the sums of the first product, and then the sums of the second product.
  void write(mlir::Value row, mlir::Value column, llvm::ArrayRef<mlir::Value> sums);

  /// Adds f32 sums elementwise.
  llvm::SmallVector<mlir::Value> added(llvm::ArrayRef<mlir::Value> a, llvm::ArrayRef<mlir::Value> b);

  /// Fragments of 16 x 8 sums in the layout of mma and wgmma.
  struct Fragments {
    int64_t tilesM, tilesN; ///< numbers of fragments of each product
    int64_t rowStep;        ///< distance in rows between adjacent fragments
  };
  /// Calls write() for all sums of this thread, or for the same number of sums of its warp: four per fragment, in
  /// row-major order of fragments. For a pair of products, the fragments of a row are those of the first product, and
  /// then those of the second product. The first fragment begins at `row` and `column` of the block's tile. Nothing is
  /// stored past the edges of C. If results are contiguous along the columns, lanes first exchange sums. Each lane then
  /// stores up to 16 contiguous bytes if the sizes permit it; otherwise, the lanes of a warp store adjacent elements of
  /// a row.
  void writeFragments(mlir::Value lane, mlir::Value row, mlir::Value column, const Fragments &fragments,
                      llvm::ArrayRef<mlir::Value> sums);

  /// Stores sums like writeFragments(), for a kernel that reduces rows. The tile has all columns of C, so four lanes of
  /// a warp contain a whole row of sums.
  void writeRows(mlir::Value lane, mlir::Value row, const Fragments &fragments, llvm::ArrayRef<mlir::Value> sums);

  Contraction contraction;
  mlir::Value rowOrigin, columnOrigin; ///< first row and column of this block's tile

private:
  /// Returns the number of columns of C that a block computes. The schedule's `n` includes both products of a pair.
  static int64_t columnsOfTile(const Contraction &contraction, const Schedule &schedule) {
    return schedule.n / contraction.numProducts();
  }
  /// Returns the sizes of the batch loops, then the numbers of tiles along the rows and along the columns of C.
  llvm::SmallVector<mlir::Value> extentsOfTiles();
  /// Replaces the row and column of a tile in row-major order by its row and column in banded order
  /// (`tile_rows_per_band`).
  void takeInBands(mlir::Value &row, mlir::Value &column, mlir::Value rows, mlir::Value columns);
  /// Returns the number of bytes of an element of the narrowest result that is contiguous along the columns, or
  /// std::nullopt if no result is.
  std::optional<int64_t> bytesAlongColumns();
  /// Returns the number of adjacent fragments (4, 2 or 1) whose columns a group of four lanes exchanges.
  int64_t fragmentsTogether(int64_t tilesN, mlir::Value columns);
  /// Transposes matrices of items and lanes. The lanes of a matrix are `distance` apart, and there are as many lanes as
  /// items (a power of two). An item consists of `values` adjacent elements of `sums`. Afterwards, item i of a lane is
  /// the original item of lane i of its matrix that has the number of this lane.
  llvm::SmallVector<mlir::Value> transpose(mlir::Value lane, int64_t distance, llvm::ArrayRef<mlir::Value> sums,
                                           size_t values);
  /// Exchanges two columns of each of 2 or 4 fragments for 4 or 8 columns of one fragment, selected by the lane's
  /// number in its group of four.
  llvm::SmallVector<mlir::Value> exchange(mlir::Value lane, llvm::ArrayRef<mlir::Value> sums) {
    return transpose(lane, /*distance=*/1, sums, /*values=*/2);
  }
  /// Stores eight rows of four fragments row by row. The first fragment begins at `row` and `column` of C. For each
  /// product, `sums` has the columns of this lane, which are two of each fragment. The lanes exchange sums so that the
  /// 32 lanes of a warp store 32 adjacent columns. `wholeRows` and `wholeColumns`: all rows or columns are inside C.
  void writeRowByRow(mlir::Value lane, mlir::Value row, mlir::Value column,
                     llvm::ArrayRef<llvm::SmallVector<mlir::Value>> sums, bool wholeRows, bool wholeColumns);
  /// Reduces a row by `sum`. `moveTo` selects a column of this lane; `at` returns the loop indices at that column.
  void reduceRow(const RowSum &sum, size_t columns, llvm::function_ref<void(size_t)> moveTo,
                 llvm::function_ref<llvm::SmallVector<mlir::Value>(llvm::ArrayRef<unsigned>)> at);
  void setLoops(llvm::SmallVector<mlir::Value> &at, llvm::ArrayRef<unsigned> group, mlir::Value linear);

  llvm::SmallVector<mlir::Value> loops; ///< indices of the loops; those of the batch loops are set
};

} // namespace tilewright::gpu

#endif
