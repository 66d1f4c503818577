//===- AttentionEmitter.h - what the code of attention and of its gradient is made of ---===//
//
// Matrices of one batch and one head on buffers: views and slices of them, panels, products, loops over blocks of
// rows, structured ops spelled by the loops they read, scores with their mask.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_VECTOR_ATTENTIONEMITTER_H
#define TILEWRIGHT_LIB_VECTOR_ATTENTIONEMITTER_H

#include "tilewright/Passes.h"

namespace tilewright::vector_stage {

/// tw_tile.attention_gradient as loops over blocks of keys and rows (ExpandAttentionGradient.cpp).
llvm::LogicalResult expandAttentionGradient(tile::AttentionGradientOp op, const ExpandAttentionOptions &options);

/// Not worth packing keys and values for: those of a step of decoding; fewer where packed pairs go to fast products.
constexpr int64_t fewRows = 4, fewRowsOfPairs = 2;

class AttentionEmitter {
protected:
  using Value = mlir::Value;
  using Fold = mlir::OpFoldResult;
  using Folds = llvm::ArrayRef<mlir::OpFoldResult>;
  using Names = llvm::ArrayRef<llvm::StringRef>;

  /// `inputs` are those of `op`, the query first; `mask` is null without one.
  AttentionEmitter(mlir::Operation *op, mlir::ValueRange inputs, Value mask, bool causal, double scale,
                   std::optional<llvm::ArrayRef<int64_t>> permutations, const ExpandAttentionOptions &options);

  static constexpr int64_t panel = 32; ///< of packed operands

  static mlir::Type elementOf(Value value) { return mlir::cast<mlir::MemRefType>(value.getType()).getElementType(); }
  Fold fold(int64_t value) { return builder.getIndexAttr(value); }
  Fold size(Value value, int64_t dim);
  Value index(Fold value);
  Fold ceilDiv(Fold value, int64_t by);
  /// Rows of a packed operand that holds `k` steps of a sum.
  Fold packedDepth(Fold k);
  /// Of `whole` from `at` on, at most `most`.
  Fold blockSize(Value at, Fold whole, int64_t most);

  /// A view of `value` without the dimensions `drop`, whose size is 1, of rank `rank`.
  Value view(Value value, llvm::ArrayRef<int64_t> drop, int64_t rank);
  /// Rows x columns of operand `which` (as `permutations` counts them), or null when columns come first.
  Value matrix(Value value, int64_t which);
  Value slice(Value value, Folds offsets, Folds sizes);
  /// `count` rows of `matrix` from `from` on.
  Value rowsOf(Value matrix, Value from, Fold count);
  Value alloc(Folds sizes, mlir::Type element = {});
  /// A tile of scores, or of what is made of them. Its rows are a line of the caches longer than their elements: at a
  /// distance of a power of two they would share few sets.
  Value scoreRoom(Fold rows, int64_t columns, mlir::Type element);
  /// So many rows of scores take 16 KiB: they stay in the first-level cache through all passes over them.
  static int64_t rowsOfScores(int64_t columns) { return std::max<int64_t>(1, 4096 / std::max<int64_t>(1, columns)); }
  /// Room for the panels of a matrix of k x n.
  Value panelRoom(Fold k, Fold n, mlir::Type element);
  /// The first part of `room`, filled with the panels of `matrix`; its columns are k with `columnsFirst`.
  Value packed(Value matrix, Value room, bool columnsFirst);
  /// to = a b, with b in panels; a lies k x rows with `depthFirst`.
  void multiply(Value a, Value panels, Value to, bool depthFirst = false);

  void fill(Value value, float with);
  /// linalg.generic over loops i, j, k; each operand's map is spelled by the loops it reads ("ij", "i", "0j").
  void generic(mlir::ValueRange ins, mlir::ValueRange outs, Names inMaps, Names outMaps, int64_t loops,
               llvm::function_ref<void(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)> body,
               bool reduceLast = false);
  /// to = the sums of a * b over the last loop, in f32; maps as for generic().
  void sumProducts(Value a, Value b, Value to, Names inMaps, llvm::StringRef outMap, int64_t loops);
  void elementwise(mlir::ValueRange ins, Value out, int64_t rank,
                   llvm::function_ref<Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)> body);
  void reduce(Value matrix, Value row,
              llvm::function_ref<Value(mlir::OpBuilder &, mlir::Location, Value, Value)> combine);
  static Value number(mlir::OpBuilder &b, mlir::Location at, double value);
  /// `value`, and 0 for an infinity below all numbers.
  static Value finite(mlir::OpBuilder &b, mlir::Location at, Value value);
  Value wide(mlir::OpBuilder &b, mlir::Location at, Value x);
  /// A mask is added: it may hold the least number there is, and scores stay powers of e.
  bool addsMask() const { return mask && !elementOf(mask).isInteger(8); }
  /// e^x (`natural`) or 2^x; to 17 bits where 16 are made of it.
  Value power(mlir::OpBuilder &b, mlir::Location at, Value x, bool natural);

  /// `body` for blocks of `count` rows from `from` (null: 0) on, and for what is left of them.
  void overRowBlocks(Fold rows, int64_t count, llvm::function_ref<void(Value, Fold)> body, Value from = {});

  /// The mask's part for rows from `first` and keys from `kb` on; appended to `ins` and `maps` where there is one.
  void readMask(Value first, Fold count, Value kb, Fold width, llvm::SmallVectorImpl<Value> &ins,
                llvm::SmallVectorImpl<llvm::StringRef> &maps);
  /// In a generic over rows from `first` and keys from `kb` on: the product `x` times `factor` and masked, by
  /// `masking` (null without a mask); what is not seen is an infinity below all numbers.
  Value score(mlir::OpBuilder &b, mlir::Location at, Value x, double factor, Value masking, Value first, Value kb);

  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::Type f32, element;
  int64_t group, depth; ///< of packed operands
  Value mask;           ///< of rank 4
  Value firstRow;       ///< that a causal tile begins with; null: 0
  bool causal;
  double scale;

private:
  std::optional<llvm::ArrayRef<int64_t>> permutations;
};

} // namespace tilewright::vector_stage

#endif
