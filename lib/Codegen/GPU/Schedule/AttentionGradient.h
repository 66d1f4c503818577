//===- AttentionGradient.h - a kernel with one gradient of attention, for tensor cores --------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_ATTENTIONGRADIENT_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_ATTENTIONGRADIENT_H

#include "lib/Codegen/GPU/Schedule/Attention.h"

namespace tilewright::gpu {

/// The only attention gradient of a kernel. Its type is bf16 or f16, and its operands are arguments of the kernel.
struct AttentionGradient {
  mutable tile::AttentionGradientOp op; ///< mutable because the op's accessors are not const
  int64_t headSize;                     ///< size of queries and keys
  int64_t valueSize;                    ///< size of values and of the result's gradient

  enum Operand : unsigned { Query, Key, Value, Delta, Grad, LogSumExp, Mask };
  /// The dimensions (batch, head, row, column) of each tensor: the operands up to Grad, then the three results. The
  /// dimensions of Delta are not used.
  llvm::SmallVector<int64_t, 4> dims[8];
  int64_t sizeOf(Operand operand, unsigned dim) const;
  bool hasMask() const { return op.getInputs().size() > Mask; }
};

/// Returns the gradient of attention in `kernel`. If tensor cores do not support it, returns std::nullopt and sets
/// `reason`.
std::optional<AttentionGradient> matchAttentionGradient(mlir::func::FuncOp kernel, std::string &reason);

/// Returns a schedule of the kind `attention`. In this schedule, a block owns rows of keys or of queries, 16 per warp,
/// and iterates over tiles of the other operand's rows.
Schedule chooseAttentionGradient(const AttentionGradient &gradient);

/// The layout of a block's shared memory. It begins with the block's own rows of both operands. The slots for the tiles
/// over which the block iterates come after these rows. A slot also has two statistics per row. Index 0 of the arrays
/// is for rows of the head size, and index 1 for rows of the value size.
struct GradientTiles {
  GradientTiles(const Schedule &schedule, const AttentionGradient &gradient);
  SharedTile own[2];      ///< the block's own rows, as left operands
  SharedTile far[2];      ///< the other operand's rows, in a slot
  int64_t statistics = 0; ///< offset of the statistics in a slot: f32 bases of all rows, then deltas of all rows
  int64_t slots = 0;      ///< offset of the first slot
  int64_t slotBytes = 0;
  int64_t bytes = 0; ///< total size
};

/// Returns true if the fragments of a block's own rows are in the threads' registers.
bool keepsOwnRows(const AttentionGradient &gradient);

/// Returns the number of rows of a tile whose scores a thread computes at a time: all rows of the tile, or 16 if the
/// sums take most of the registers.
int64_t rowsAtOnce(const Schedule &schedule, const AttentionGradient &gradient);

/// Returns the reason why a schedule cannot be emitted, or an empty string if it can.
std::string whyNotAttentionGradient(const Schedule &schedule, const AttentionGradient &gradient);

} // namespace tilewright::gpu

#endif
