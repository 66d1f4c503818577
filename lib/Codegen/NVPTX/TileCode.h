//===- TileCode.h - tiles in shared memory for tensor cores ---------------===//
//
// The schedules that use mma.sync share this code. A tile has the operand's layout in memory: rows along m or n with
// contiguous k, or rows along k. ldmatrix reads the first layout unchanged and transposes the second (.trans), so no
// copy is needed. To avoid bank conflicts of the eight rows that ldmatrix reads, the 16-byte chunks of a row are
// swizzled by the row's number, or the row stride is an odd number of chunks. A tile of 8-bit elements is always
// contiguous along k, even if the operand is not, because .trans does not support 8-bit elements. 32-bit elements that
// are not contiguous along k are read one by one. f32 is rounded to the nearest tf32 in registers, because mma would
// truncate it.
//
// The layouts of fragments are in the PTX ISA: "Matrix Fragments for mma.m16n8k16" with 16-bit floats, "for
// mma.m16n8k32" with 8-bit integers (the same for 8-bit floats), and "for mma.m16n8k8" with tf32.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_NVPTX_TILECODE_H
#define TILEWRIGHT_LIB_CODEGEN_NVPTX_TILECODE_H

#include "lib/Codegen/GPU/Schedule/SharedTile.h"
#include "lib/Codegen/GPU/ThreadCode.h"

namespace tilewright::cuda {
using namespace tilewright::gpu;

/// The base class of the emitters of products by mma.sync and of attention.
class TileCode : protected ThreadCode {
protected:
  /// `element`, the type of A's elements, is bf16, f16, i8, f32 or an 8-bit float. B has the same type, or the other
  /// 8-bit float.
  TileCode(ThreadKernel &kernel, mlir::Type element, mlir::Type rhsElement);

  /// Returns a pointer to shared memory plus `offset` bytes.
  mlir::Value address(mlir::Value pointer, mlir::Value offset);
  /// Returns the offset in bytes of chunk `chunk` of row `row` in a tile with a row stride of `chunks`.
  mlir::Value chunkOffset(int64_t chunks, mlir::Value row, mlir::Value chunk);
  /// Calls `body` for each of this thread's chunks of a tile, with three arguments: the row, the number of the chunk in
  /// the row, and the address of the chunk. If `rolled`, emits a loop over several chunks, for a body that needs many
  /// registers.
  void forChunks(const SharedTile &tile, mlir::Value slot,
                 llvm::function_ref<void(mlir::Value, mlir::Value, mlir::Value)> body, bool rolled = false);
  /// Copies `bytes` (16, 8 or 4) bytes from `from` by cp.async, or zeros if the condition `inside` is false. A null
  /// `inside` means true. `from` must be a valid address in both cases.
  void copyBytes(int64_t bytes, mlir::Value to, mlir::Value from, mlir::Value inside);
  /// Copies a whole chunk.
  void copyChunk(mlir::Value to, mlir::Value from, mlir::Value inside) { copyBytes(chunkBytes, to, from, inside); }

  /// Loads four matrices of 8 x 16 bytes of a tile, starting at `side` (in m or n) and `depth` (in k). The third and
  /// fourth matrix of A contain the second 16 bytes along k. For B, these are the second and fourth matrix.
  llvm::SmallVector<mlir::Value> loadFragments(const SharedTile &tile, mlir::Value slot, mlir::Value side,
                                               int64_t depth, bool isLhs);
  /// Loads the same matrices of a tile of 32-bit elements that are not contiguous along k, with one load per word.
  llvm::SmallVector<mlir::Value> loadWords(const SharedTile &tile, mlir::Value slot, mlir::Value side, int64_t depth,
                                           bool isLhs);
  /// Converts a word of elements to the type that the nvvm dialect expects: a vector for f16 pairs, a word for other
  /// types. f32 is rounded to tf32.
  mlir::Value asFragment(mlir::Value word);
  /// Adds A (four words) times B (two words) to the four sums of a 16 x 8 fragment (f32, or i32 for i8) in place.
  void multiply(mlir::ValueRange a, mlir::ValueRange b, llvm::MutableArrayRef<mlir::Value> sums);

  mlir::Type element, rhsElement;
  int64_t chunkElements;  ///< elements per chunk
  mlir::Value lane, warp; ///< indices of this thread in its warp, and of the warp in the block
};

} // namespace tilewright::cuda

#endif
