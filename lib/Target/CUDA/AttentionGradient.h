//===- AttentionGradient.h - a kernel that is the gradient of attention, for tensor cores -----===//
#ifndef TILEWRIGHT_LIB_TARGET_CUDA_ATTENTIONGRADIENT_H
#define TILEWRIGHT_LIB_TARGET_CUDA_ATTENTIONGRADIENT_H

#include "lib/Target/CUDA/Attention.h"
#include "lib/Target/CUDA/ThreadKernel.h"

namespace tilewright::cuda {

/// The one gradient of attention of a kernel, of bf16 or f16, whose operands are the kernel's arguments.
struct AttentionGradient {
  mutable tile::AttentionGradientOp op; ///< mutable: ops read themselves by functions that are not const
  int64_t headSize;                     ///< of queries and keys
  int64_t valueSize;                    ///< of values, the result and its gradient

  enum Operand : unsigned { Query, Key, Value, Result, Grad, LogSumExp, Mask };
  /// Where the dimensions (batch, head, row, column) lie: of the operands up to Grad, then of the three results.
  llvm::SmallVector<int64_t, 4> places[8];
  int64_t sizeOf(Operand operand, unsigned dim) const;
  bool hasMask() const { return op.getInputs().size() > Mask; }
};

/// The gradient of attention in `kernel` for tensor cores, or null with the reason.
std::optional<AttentionGradient> matchAttentionGradient(mlir::func::FuncOp kernel, std::string &reason);

/// A schedule for it, of the kind `attention`: a block owns rows of keys or of queries, 16 for each warp, and walks
/// over so many of the others at a time.
Schedule chooseAttentionGradient(const AttentionGradient &gradient);

/// Shared memory of a block: its own rows of both operands, then the slots of what it walks over, each with the two
/// statistics of a row. `which`: 0 has numbers of the head's size, 1 of the values'.
struct GradientTiles {
  GradientTiles(const Schedule &schedule, const AttentionGradient &gradient);
  SharedTile own[2];      ///< in the block's shared memory, as left operands
  SharedTile far[2];      ///< in a slot
  int64_t statistics = 0; ///< in a slot: of each row a pair of f32
  int64_t slots = 0;      ///< where they begin
  int64_t slotBytes = 0;
  int64_t bytes = 0; ///< of all
};

/// Whether a thread keeps the fragments of its own rows in registers.
bool keepsOwnRows(const AttentionGradient &gradient);

/// Of how many rows of a tile a thread has the scores at a time: of all, or of 16 where its sums take most registers.
int64_t rowsAtOnce(const Schedule &schedule, const AttentionGradient &gradient);

/// Why a schedule cannot be emitted; empty: it can.
std::string whyNotAttentionGradient(const Schedule &schedule, const AttentionGradient &gradient);

mlir::LogicalResult emitAttentionGradient(ThreadKernel &kernel, const AttentionGradient &gradient);

} // namespace tilewright::cuda

#endif
