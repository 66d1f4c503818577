//===- BlockChannels.h - arrays that are written and read in blocks ------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_BLOCKCHANNELS_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_BLOCKCHANNELS_H

#include "dialects/HLS/HLS.h"
#include <optional>

namespace tilewright::hls {

/// The order in which a task traverses an array: each iteration of its loop over blocks accesses `size` elements along
/// dimension `dim`.
struct ArrayBlocks {
  int64_t dim = 0, size = 0;
  mlir::MemRefType type; ///< type of one block, with its banks

  bool operator==(const ArrayBlocks &other) const {
    return dim == other.dim && size == other.size && type == other.type;
  }
};

/// Returns the blocks in which a task traverses `array`. Returns std::nullopt in these cases: an access is not an
/// affine load or store; an access is outside of the loop over blocks, or is not known to be inside the block of the
/// current iteration; the accesses are in different loops over blocks, or do not all advance along the same single
/// dimension; the blocks of all iterations do not cover the whole array; the size of a block is not a multiple of the
/// number of banks along that dimension.
std::optional<ArrayBlocks> blocksOf(mlir::BlockArgument array);

/// Changes the type of the argument `array` to `queue`. Each iteration of the loop over blocks locks a block of the
/// queue, and accesses of the array become accesses of that block. `writes` is true for the task that writes the
/// blocks.
void lockBlocks(mlir::BlockArgument array, const ArrayBlocks &blocks, StreamType queue, bool writes);

} // namespace tilewright::hls

#endif
