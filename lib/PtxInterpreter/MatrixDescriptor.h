//===- MatrixDescriptor.h - the position of a wgmma operand in shared memory --------------------===//
//
// A descriptor has 64 bits. Bits 0-13, 16-29 and 32-45 are the start address, the leading byte offset and the stride
// byte offset, each divided by 16. Bits 49-51 are the base offset. Bits 62-63 are the swizzle (0: none, 1: 128, 2: 64,
// 3: 32 bytes). An operand is a matrix, and wgmma sums over k, the index of its columns. With a swizzle of S bytes, the
// elements are stored as follows:
//
//   not transposed   8 rows of S bytes each are contiguous. The next 8 rows are at the stride offset.
//   transposed       8 columns are contiguous, each with S bytes of adjacent rows. The next 8 columns are at the stride
//                    offset, and the next S bytes of rows are at the leading offset.
//
// Without a swizzle, the operand consists of contiguous blocks of 8 rows (transposed: 8 columns) of 16 bytes each. The
// distance between adjacent blocks is the leading offset along k, and the stride offset along the rows.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_PTXINTERPRETER_MATRIXDESCRIPTOR_H
#define TILEWRIGHT_LIB_PTXINTERPRETER_MATRIXDESCRIPTOR_H

#include "lib/PtxInterpreter/Bulk.h"

namespace tilewright::ptx {

/// The descriptor of an operand, and the range of its rows that a warp reads. Each row has 32 bytes along k.
struct MatrixDescriptor {
  uint64_t bits = 0;
  uint32_t firstRow = 0, rows = 0;
  bool transposed = false; ///< rows, of 16-bit elements, are the contiguous dimension

  uint32_t start() const { return uint32_t(bits & 0x3fff) << 4; }
  uint32_t leading() const { return uint32_t(bits >> 16 & 0x3fff) << 4; }
  uint32_t stride() const { return uint32_t(bits >> 32 & 0x3fff) << 4; }
  uint32_t swizzle() const {
    constexpr uint32_t spans[] = {0, 128, 64, 32};
    return spans[bits >> 62];
  }

  std::string problem() const {
    if (bits >> 49 & 7)
      return "the base offset is " + std::to_string(bits >> 49 & 7) + ", but the checker supports only 0";
    // A swizzle of 128 bytes XORs bits 7 to 9 of an address into bits 4 to 6. A swizzle of 64 bytes uses only bits 7
    // and 8, and a swizzle of 32 bytes only bit 7. If the base offset is 0, the start address must have zeros in the
    // bits from 7 on that the swizzle uses.
    if (uint32_t span = swizzle(); span && start() >> 7 & (span / 16 - 1))
      return "the start address is not in the first line of the " + std::to_string(8 * span) +
             " bytes after which the swizzle repeats, which the base offset 0 requires";
    return "";
  }

  /// Calls take(address, row, k) for every 16 bytes. `row` is relative to `firstRow`. If the operand is not transposed,
  /// the 16 bytes are at byte offset `k` of the row. Otherwise they are the elements of eight rows, from `row` on, in
  /// column `k`.
  template <class F> void forChunks(F take) const {
    uint32_t span = swizzle();
    auto give = [&](uint64_t address, uint32_t row, uint32_t k) {
      take(span ? swizzled(address, span) : address, row, k);
    };
    for (uint32_t row = 0; row < rows; row += transposed ? 8 : 1) {
      uint32_t r = firstRow + row;
      if (!transposed) {
        for (uint32_t k = 0; k < 32; k += 16)
          give(start() + r / 8 * uint64_t(stride()) + (span ? r % 8 * span + k : r % 8 * 16 + k / 16 * leading()), row,
               k);
        continue;
      }
      for (uint32_t k = 0; k < 16; ++k) {
        uint32_t byte = r * 2; // offset of the row in bytes
        uint64_t address = span ? byte / span * uint64_t(leading()) + byte % span + k % 8 * span + k / 8 * stride()
                                : byte / 16 * uint64_t(stride()) + k % 8 * 16 + k / 8 * leading();
        give(start() + address, row, k);
      }
    }
  }
};

} // namespace tilewright::ptx

#endif
