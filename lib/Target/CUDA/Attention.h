//===- Attention.h - a kernel that is attention of a shape that tensor cores take -------===//
#ifndef TILEWRIGHT_LIB_TARGET_CUDA_ATTENTION_H
#define TILEWRIGHT_LIB_TARGET_CUDA_ATTENTION_H

#include "dialects/Tile/Tile.h"
#include "lib/Target/CUDA/Schedule.h"
#include "lib/Target/CUDA/TileCode.h"

namespace tilewright::cuda {

/// A warp's rows: those of one m16n8k16.
inline constexpr int64_t rowsOfWarp = 16;
/// Bytes of shared memory of a block of any architecture that is emitted, where a launch asks for them.
inline constexpr int64_t mostShared = 99 * 1024;
/// The numbers of a head as shared memory has them: zeros to what one mma takes.
inline int64_t filledUp(int64_t size) { return int64_t(llvm::alignTo(uint64_t(size), 16)); }

/// The one attention of a kernel, of bf16 or f16, whose operands are the kernel's arguments.
struct Attention {
  mutable tile::AttentionOp op; ///< mutable: ops read themselves by functions that are not const
  int64_t headSize;             ///< of queries and keys
  int64_t valueSize;            ///< of values and the result
  int64_t queryHeads;           ///< of each head of keys and values
  int64_t groupedRows;          ///< rows of all query heads of a head of keys where they are few, else 0

  enum Operand : unsigned { Query, Key, Value, Result };
  /// Where dimension `dim` of (batch, head, row, column) lies in an operand.
  int64_t position(Operand operand, unsigned dim) const {
    auto places = op.getPermutations();
    return places ? (*places)[operand * 4 + dim] : dim;
  }
  int64_t sizeOf(Operand operand, unsigned dim) const;
  /// Queries of a large head stay in shared memory: registers do not have them all beside the sums.
  bool keepsQueriesShared() const { return headSize > 192; }
};

/// The attention of `kernel` for tensor cores, or null with the reason.
std::optional<Attention> matchAttention(mlir::func::FuncOp kernel, std::string &reason);

/// A schedule for it: rows of queries for a block, 16 for each warp, and keys at a time.
Schedule chooseAttention(const Attention &attention);
/// The tiles of a block in shared memory: of one stage, and queries behind all of them. Heads are filled up with zeros
/// to what one mma takes.
SharedTile tileOfKeys(const Schedule &schedule, const Attention &attention);
SharedTile tileOfValues(const Schedule &schedule, const Attention &attention);
SharedTile tileOfQueries(const Schedule &schedule, const Attention &attention);
/// What they take together, in bytes.
int64_t sharedBytes(const Schedule &schedule, const Attention &attention);
/// Why a schedule cannot be emitted; empty: it can.
std::string whyNotAttention(const Schedule &schedule, const Attention &attention);

} // namespace tilewright::cuda

#endif
