//===- SharedTile.h - a tile of an operand of tensor cores in shared memory ---------------===//
//
// A tile in shared memory has the operand's layout in memory. To avoid bank conflicts when tensor cores read eight rows
// at once, the 16-byte chunks of a row are swizzled by the row's number, or the row stride is an odd number of chunks.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_SHAREDTILE_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_SHAREDTILE_H

#include "mlir/IR/Types.h"
#include "llvm/Support/MathExtras.h"

namespace tilewright::gpu {

/// The size in bytes of a chunk, which is the size of the largest cp.async and of one row of a matrix that ldmatrix
/// loads.
inline constexpr int64_t chunkBytes = 16;

/// Returns the size in bytes of an element type that tensor cores multiply: bf16, f16, i8, f32 as tf32, f8E4M3FN,
/// f8E5M2.
inline int64_t bytesOf(mlir::Type element) { return element.getIntOrFloatBitWidth() / 8; }
/// Returns the depth in k of one mma.
inline int64_t stepOf(mlir::Type element) { return 2 * chunkBytes / bytesOf(element); }

/// A tile in a slot of shared memory.
struct SharedTile {
  bool alongK;           ///< k is contiguous, else m or n is
  int64_t rows, columns; ///< numbers in the stored layout: columns are contiguous and a whole number of chunks
  int64_t slotOffset;    ///< offset in the slot
  int64_t elementBytes = 2;
  int64_t bytes() const { return rows * rowStrideInChunks() * chunkBytes; }
  int64_t chunksOfRow() const { return columns * elementBytes / chunkBytes; }
  /// Returns the row stride in chunks. If the number of chunks per row is a multiple or a divisor of eight, the stride
  /// is this number, and the chunks are swizzled. Otherwise rows are padded to an odd number of chunks, which avoids
  /// bank conflicts without swizzling.
  int64_t rowStrideInChunks() const {
    int64_t chunks = chunksOfRow();
    return chunks % 8 == 0 || (chunks < 8 && llvm::isPowerOf2_64(uint64_t(chunks))) ? chunks : chunks | 1;
  }
};

} // namespace tilewright::gpu

#endif
