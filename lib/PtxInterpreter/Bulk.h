//===- Bulk.h - the bytes of a bulk copy ---------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_PTXINTERPRETER_BULK_H
#define TILEWRIGHT_LIB_PTXINTERPRETER_BULK_H

#include "lib/PtxInterpreter/Machine.h"

#include <functional>

namespace tilewright::ptx {

/// A part of a bulk copy that is contiguous in shared and in global memory.
struct BulkPiece {
  uint64_t shared = 0, global = 0;
  uint32_t bytes = 0;
  bool inside = true; ///< true: the bytes are inside the tensor; false: `global` is not used
};

enum Reduction : uint32_t { ReduceAdd = 1, ReduceMin, ReduceMax, ReduceAnd, ReduceOr, ReduceXor };

/// Returns the shared memory address of a byte after a swizzle of `bytes` bytes: 32, 64 or 128. The swizzle XORs the
/// low bits of the index of the byte's 16-byte chunk with the low bits of the index of its 128-byte line.
inline uint64_t swizzled(uint64_t address, uint32_t bytes) {
  return address ^ ((address >> 7 & (bytes / 16 - 1)) << 4);
}

void forPieces(const BulkCopy &copy, const std::function<void(const BulkPiece &)> &take);
/// Fills bytes outside of the tensor's bounds with zeros, or with NaN if the tensor map specifies NaN.
void fillOutside(const TensorMap &map, uint8_t *to, uint32_t bytes);
/// Copies `bytes` bytes of elements for a load. Converts the elements if the map's element type requires it.
void loadElements(const TensorMap &map, uint8_t *to, const uint8_t *from, uint32_t bytes);
/// Returns true if the PTX ISA permits the reduction `operation` for elements of this type.
bool canReduce(TensorMap::Element element, uint32_t operation);
/// Applies the copy's reduction to the elements at `from` and `to`, and stores the results at `to`.
void reduceBytes(const BulkCopy &copy, uint8_t *to, const uint8_t *from, uint32_t bytes);

} // namespace tilewright::ptx

#endif
