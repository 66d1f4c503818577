//===- TileCode.h - tiles of matrices in shared memory, and tensor cores on them --------===//
//
// What the schedules on tensor cores share. A tile keeps a matrix as memory has it: rows along m or n with k side by
// side, or rows along k. ldmatrix reads the first as it is and turns the second over (.trans), so no order of operands
// is copied. 16-byte chunks of a row are swapped by its number, or rows lie an odd number of chunks apart, so that
// eight rows that ldmatrix reads lie in different banks. Numbers of 8 bits, which .trans does not turn over, always lie
// along k; those of 32 bits are read one by one where they do not. f32 is rounded to tf32 in registers, to nearest: mma
// would cut it off.
//
// Fragments: PTX ISA, "Matrix Fragments for mma.m16n8k16" with 16-bit floats, "for mma.m16n8k32" with 8-bit integers,
// which those with 8-bit floats are like, and "for mma.m16n8k8" with tf32.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TARGET_CUDA_TILECODE_H
#define TILEWRIGHT_LIB_TARGET_CUDA_TILECODE_H

#include "lib/Target/CUDA/ThreadCode.h"

namespace tilewright::cuda {

/// What cp.async and a row of ldmatrix take.
inline constexpr int64_t chunkBytes = 16;

/// Bytes of an element that tensor cores take: bf16, f16, i8, f32 as tf32, f8E4M3FN, f8E5M2.
inline int64_t bytesOf(mlir::Type element) { return element.getIntOrFloatBitWidth() / 8; }
/// The depth of one mma.
inline int64_t stepOf(mlir::Type element) { return 2 * chunkBytes / bytesOf(element); }

/// A tile in a slot of shared memory.
struct SharedTile {
  bool alongK;           ///< k lies side by side, else m or n
  int64_t rows, columns; ///< as it is stored: columns are side by side, a whole number of chunks
  int64_t slotOffset;    ///< where it begins in its slot
  int64_t elementBytes = 2;
  int64_t bytes() const { return rows * chunksApart() * chunkBytes; }
  int64_t chunksOfRow() const { return columns * elementBytes / chunkBytes; }
  /// From a row to the next: as they are where chunks are swapped within eight, else odd, so that rows need no swap.
  int64_t chunksApart() const {
    int64_t chunks = chunksOfRow();
    return chunks % 8 == 0 || (chunks < 8 && llvm::isPowerOf2_64(uint64_t(chunks))) ? chunks : chunks | 1;
  }
};

/// The base of what emits a schedule on tensor cores.
class TileCode : protected ThreadCode {
protected:
  /// `element` is bf16, f16, i8, f32 or a float of 8 bits; B's is the same, or the other float of 8 bits.
  TileCode(ThreadKernel &kernel, mlir::Type element, mlir::Type rhsElement);

  /// `offset` bytes behind a pointer to shared memory.
  mlir::Value address(mlir::Value pointer, mlir::Value offset);
  /// Where chunk `chunk` of row `row` lies in a tile whose rows are so many chunks apart, in bytes.
  mlir::Value chunkOffset(int64_t chunks, mlir::Value row, mlir::Value chunk);
  /// Calls `body` with this thread's chunks of a tile of a slot: row, chunk of the row, and where it goes. `rolled`: in
  /// a loop, for a body that takes many registers.
  void forChunks(const SharedTile &tile, mlir::Value slot,
                 llvm::function_ref<void(mlir::Value, mlir::Value, mlir::Value)> body, bool rolled = false);
  /// `bytes` (16, 8 or 4) at `from` by cp.async, or zeros where `inside` (null: always) is not; `from` is memory in any
  /// case.
  void copyBytes(int64_t bytes, mlir::Value to, mlir::Value from, mlir::Value inside);
  /// All of a chunk.
  void copyChunk(mlir::Value to, mlir::Value from, mlir::Value inside) { copyBytes(chunkBytes, to, from, inside); }

  /// Four matrices of 8 x 16 bytes of a tile at `side` (in m or n) and `depth` (in k): those behind 16 bytes of k are
  /// the third and fourth of A, the second and fourth of B.
  llvm::SmallVector<mlir::Value> loadFragments(const SharedTile &tile, mlir::Value slot, mlir::Value side,
                                               int64_t depth, bool isLhs);
  /// The same of 32 bits where k does not lie side by side, by a load for each word.
  llvm::SmallVector<mlir::Value> loadWords(const SharedTile &tile, mlir::Value slot, mlir::Value side, int64_t depth,
                                           bool isLhs);
  /// A word of elements as the nvvm dialect wants it: pairs of f16 are vectors, others words; f32 is rounded to tf32.
  mlir::Value asFragment(mlir::Value word);
  /// Four sums of 16 x 8 (f32, i32 of i8), in place, and A (four words) times B (two words).
  void multiply(mlir::ValueRange a, mlir::ValueRange b, llvm::MutableArrayRef<mlir::Value> sums);

  mlir::Type element, rhsElement;
  int64_t chunkElements;  ///< of a chunk
  mlir::Value lane, warp; ///< of this thread, and of the block
};

} // namespace tilewright::cuda

#endif
