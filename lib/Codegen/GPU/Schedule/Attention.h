//===- Attention.h - a kernel with one attention whose shape tensor cores support -------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_ATTENTION_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_ATTENTION_H

#include "dialects/Tile/Tile.h"
#include "lib/Codegen/GPU/Schedule.h"
#include "lib/Codegen/GPU/Schedule/SharedTile.h"

namespace tilewright::gpu {

/// The number of rows per warp, which is the number of rows of one m16n8k16.
inline constexpr int64_t rowsOfWarp = 16;
/// Bytes of shared memory that a block can use on every supported architecture if the launch requests this number.
inline constexpr int64_t mostShared = 99 * 1024;
/// Returns the number of columns of a head in shared memory. The head is padded with zeros to a multiple of the depth
/// of mma.
inline int64_t filledUp(int64_t size) { return int64_t(llvm::alignTo(uint64_t(size), 16)); }

/// The only attention op of a kernel. Its type is bf16 or f16, and its operands are arguments of the kernel.
struct Attention {
  mutable tile::AttentionOp op; ///< mutable because the op's accessors are not const
  int64_t headSize;             ///< size of queries and keys
  int64_t valueSize;            ///< size of values and of the result
  int64_t queryHeads;           ///< number of query heads per head of keys and values
  int64_t groupedRows;          ///< rows of all query heads of a key head if they are computed together, else 0

  enum Operand : unsigned { Query, Key, Value, Result };
  /// Returns the dimension of an operand's tensor that corresponds to `dim` of (batch, head, row, column).
  int64_t position(Operand operand, unsigned dim) const {
    auto permutations = op.getPermutations();
    return permutations ? (*permutations)[operand * 4 + dim] : dim;
  }
  int64_t sizeOf(Operand operand, unsigned dim) const;
  /// Returns true if queries are read from shared memory, because the registers cannot contain the queries and the sums
  /// of a large head.
  bool keepsQueriesShared() const { return headSize > 192; }
};

/// Returns the only op of the kind `OpTy` in `kernel`. All other ops must be tensor.empty or the return. Otherwise
/// returns null and sets `reason`, in which `what` is the name of the op with its article: "an attention".
template <typename OpTy> OpTy onlyOp(mlir::func::FuncOp kernel, llvm::StringRef what, std::string &reason) {
  OpTy found;
  for (mlir::Operation &op : kernel.getBody().front()) {
    auto wanted = mlir::dyn_cast<OpTy>(op);
    if (wanted && !found) {
      found = wanted;
    } else if (!mlir::isa<mlir::tensor::EmptyOp, mlir::func::ReturnOp>(op)) {
      reason = ("the kernel has ops other than one " + what.split(' ').second).str();
      return {};
    }
  }
  if (!found)
    reason = ("it is not " + what).str();
  return found;
}

/// Returns the attention of `kernel`. If tensor cores do not support it, returns std::nullopt and sets `reason`.
std::optional<Attention> matchAttention(mlir::func::FuncOp kernel, std::string &reason);

/// Returns a schedule for `attention`: the query rows of a block, 16 per warp, and the keys per step.
Schedule chooseAttention(const Attention &attention);
/// Return the tiles of a block in shared memory. The tiles of keys and of values are those of one stage. The queries
/// are stored after the tiles of all stages. Heads are padded with zeros to a multiple of the depth of mma.
SharedTile tileOfKeys(const Schedule &schedule, const Attention &attention);
SharedTile tileOfValues(const Schedule &schedule, const Attention &attention);
SharedTile tileOfQueries(const Schedule &schedule, const Attention &attention);
/// Returns the size of a block's shared memory in bytes: the tiles of all stages, and the queries if
/// keepsQueriesShared().
int64_t sharedBytes(const Schedule &schedule, const Attention &attention);
/// Returns the reason why a block cannot have the rows and threads of `schedule`, or an empty string if it can.
std::string whyNotRowsOfBlock(const Schedule &schedule);
/// Returns the reason if a block would need too many bytes of shared memory, or a thread too many registers. Otherwise
/// returns an empty string.
std::string whyNotResources(int64_t bytes, int64_t registers);
/// Returns the reason why a schedule cannot be emitted, or an empty string if it can.
std::string whyNotAttention(const Schedule &schedule, const Attention &attention);

} // namespace tilewright::gpu

#endif
