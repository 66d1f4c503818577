//===- AttentionEmitter.h - common code of attention and its gradient -------------------===//
//
// AttentionEmitter operates on the matrices of one batch element and one head, which are stored in buffers. It emits
// views and slices, panels, products, loops over blocks of rows, structured ops (whose maps the caller specifies as
// strings of loop names), and masked scores.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_VECTORIZE_ATTENTIONEMITTER_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_VECTORIZE_ATTENTIONEMITTER_H

#include "tilewright/Passes.h"

namespace tilewright::vector_stage {

/// Lowers tw_tile.attention_gradient to loops over blocks of keys and rows (ExpandAttentionGradient.cpp).
llvm::LogicalResult expandAttentionGradient(tile::AttentionGradientOp op, const ExpandAttentionOptions &options);

/// If attention has at most `fewRows` rows, as in a decoding step, keys and values are not packed. `fewRowsOfPairs` is
/// the limit for operands that are packed in pairs of k. It is lower because their products are faster.
constexpr int64_t fewRows = 4, fewRowsOfPairs = 2;

class AttentionEmitter {
protected:
  using Value = mlir::Value;
  using Fold = mlir::OpFoldResult;
  using Folds = llvm::ArrayRef<mlir::OpFoldResult>;
  using Names = llvm::ArrayRef<llvm::StringRef>;

  /// `inputs` are the inputs of `op`, beginning with the query. `mask` is null if there is no mask.
  AttentionEmitter(mlir::Operation *op, mlir::ValueRange inputs, Value mask, bool causal, double scale,
                   std::optional<llvm::ArrayRef<int64_t>> permutations, const ExpandAttentionOptions &options);

  static constexpr int64_t panel = 32; ///< columns of a panel of packed operands

  static mlir::Type elementOf(Value value) { return mlir::cast<mlir::MemRefType>(value.getType()).getElementType(); }
  Fold fold(int64_t value) { return builder.getIndexAttr(value); }
  Fold size(Value value, int64_t dim);
  Value index(Fold value);
  Fold ceilDiv(Fold value, int64_t by);
  /// Returns the number of rows of a packed operand whose reduction dimension is `k`.
  Fold packedDepth(Fold k);
  /// Returns the size of the block that begins at `at` in a dimension of size `whole`: the smaller of `most` and the
  /// number of remaining elements.
  Fold blockSize(Value at, Fold whole, int64_t most);

  /// Returns a view of `value` without the dimensions `drop`, which have size 1.
  Value view(Value value, llvm::ArrayRef<int64_t> drop);
  /// Returns `value`, which is operand number `operand` of the op, as a matrix of rows x columns. The attribute
  /// `permutations` of the op determines which dimensions are rows and columns. Returns null if the column dimension
  /// comes before the row dimension.
  Value matrix(Value value, int64_t operand);
  Value slice(Value value, Folds offsets, Folds sizes);
  /// Returns a view of `count` rows of `matrix`, starting at row `from`.
  Value rowsOf(Value matrix, Value from, Fold count);
  Value alloc(Folds sizes, mlir::Type element = {});
  /// Allocates a tile of scores, or of values that are computed from scores. The row stride of the tile is one cache
  /// line longer than a row, because rows with a stride of a power of two would map to few cache sets.
  Value scoreBuffer(Fold rows, int64_t columns, mlir::Type element);
  /// Returns the number of rows of f32 scores in 16 KiB, which stay in the L1 cache for all passes over the scores.
  static int64_t rowsOfScores(int64_t columns) { return std::max<int64_t>(1, 4096 / std::max<int64_t>(1, columns)); }
  /// Allocates memory for the panels of a matrix of k x n.
  Value panelBuffer(Fold k, Fold n, mlir::Type element);
  /// Packs `matrix` into the first part of `buffer`, and returns this part. If `columnsFirst` is set, the columns of
  /// `matrix` are the reduction dimension k.
  Value packed(Value matrix, Value buffer, bool columnsFirst);
  /// Computes `to` = `a` * b, where b is the matrix in `panels`. If `depthFirst` is set, `a` is stored as k x rows.
  void multiply(Value a, Value panels, Value to, bool depthFirst = false);

  void fill(Value value, float with);
  /// Creates a linalg.generic over the loops i, j and k. Each map is written as the loops that index the operand, such
  /// as "ij", "i" or "0j", where 0 is a constant index. If `reduceLast` is set, the last loop is a reduction. All other
  /// loops are parallel.
  void generic(mlir::ValueRange ins, mlir::ValueRange outs, Names inMaps, Names outMaps, int64_t loops,
               llvm::function_ref<void(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)> body,
               bool reduceLast = false);
  /// Computes the sums of a * b over the last loop in f32, and stores them in `to`. generic() describes the maps.
  void sumProducts(Value a, Value b, Value to, Names inMaps, llvm::StringRef outMap, int64_t loops);
  void elementwise(mlir::ValueRange ins, Value out, int64_t rank,
                   llvm::function_ref<Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)> body);
  void reduce(Value matrix, Value row,
              llvm::function_ref<Value(mlir::OpBuilder &, mlir::Location, Value, Value)> combine);
  static Value number(mlir::OpBuilder &b, mlir::Location at, double value);
  /// Returns `value`, or 0 if it is negative infinity.
  static Value finite(mlir::OpBuilder &b, mlir::Location at, Value value);
  Value wide(mlir::OpBuilder &b, mlir::Location at, Value x);
  /// Returns true if the mask is added to the scores. The weights are then powers of e instead of 2, because the mask
  /// may contain the lowest finite number, which must not be scaled.
  bool addsMask() const { return mask && !elementOf(mask).isInteger(8); }
  /// Returns e^x if `natural` is set, otherwise 2^x. If operands are packed in groups of k, the weights are rounded to
  /// 16 bits, and an approximation that is accurate to 17 bits suffices.
  Value power(mlir::OpBuilder &b, mlir::Location at, Value x, bool natural);

  /// Emits `body` for blocks of `count` rows, starting at row `from` (null: 0), and for the remaining rows.
  void overRowBlocks(Fold rows, int64_t count, llvm::function_ref<void(Value, Fold)> body, Value from = {});

  /// If there is a mask, appends its slice for rows from `first` on and keys from `kb` on to `ins` and `maps`.
  void readMask(Value first, Fold count, Value kb, Fold width, llvm::SmallVectorImpl<Value> &ins,
                llvm::SmallVectorImpl<llvm::StringRef> &maps);
  /// Returns the score for the product `x`, scaled by `factor` and masked by `masking` (null without a mask). The code
  /// is in the body of a generic over rows from `first` on and keys from `kb` on. Scores that a boolean or causal mask
  /// excludes are negative infinity. A mask of floats is added.
  Value score(mlir::OpBuilder &b, mlir::Location at, Value x, double factor, Value masking, Value first, Value kb);

  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::Type f32, element;
  /// Group: number of consecutive k packed together; depth: k is padded to a multiple of this number.
  int64_t group, depth;
  Value mask;     ///< mask of rank 4; null if there is none
  Value firstRow; ///< first row of a causal tile; null: row 0
  bool causal;
  double scale;

private:
  std::optional<llvm::ArrayRef<int64_t>> permutations;
};

} // namespace tilewright::vector_stage

#endif
