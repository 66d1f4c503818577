//===- AttentionCode.h - code shared by attention and its gradient on tensor cores ------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_NVPTX_ATTENTIONCODE_H
#define TILEWRIGHT_LIB_CODEGEN_NVPTX_ATTENTIONCODE_H

#include "lib/Codegen/NVPTX/TileCode.h"

namespace tilewright::cuda {
using namespace tilewright::gpu;

/// The scale of an attention. It determines where scores are multiplied by the scale. Without a mask, the scale is a
/// part of the factor in the exponent of 2. The exponent is then one multiply-add: score * exponentFactor() - base. The
/// values of a mask may be as low as the lowest f32, so this product could overflow. With a mask, the exponent is
/// therefore (score - base) * log2OfE.
struct ScoreScale {
  ScoreScale(double scale, bool hasMask) : scale(scale), inExponent(!hasMask && scale > 0) {}
  /// Returns the factor by which a score is multiplied in the exponent of 2. applyScale() must have processed the
  /// score.
  double exponentFactor() const { return inExponent ? scale * log2OfE : log2OfE; }

  static constexpr double log2OfE = 1.4426950408889634;
  double scale;
  bool inExponent; ///< true: applyScale() does not multiply scores by `scale`, because exponentFactor() includes it
};

/// The base class of emitters of attention: arithmetic on f32 values, tiles of rows of a head, and masks.
class AttentionCode : protected TileCode {
protected:
  /// An operand with the dimensions (batch, head, row, column). For each of these dimensions, `dims` contains the
  /// corresponding dimension of the tensor.
  struct Operand {
    mlir::Value tensor;
    llvm::ArrayRef<int64_t> dims;
  };
  /// The rows of one head of an operand.
  struct Rows {
    Operand operand;
    mlir::Value batch, head;
    mlir::Value count;   ///< number of rows
    int64_t columns = 0; ///< elements per row
  };

  AttentionCode(ThreadKernel &kernel, mlir::Type element);

  mlir::Value number(double value);
  mlir::Value maximum(mlir::Value a, mlir::Value b);
  mlir::Value times(mlir::Value a, mlir::Value b);
  mlir::Value plus(mlir::Value a, mlir::Value b);
  mlir::Value minus(mlir::Value a, mlir::Value b);
  /// Multiplies scores by the scale, unless exponentFactor() includes the scale.
  void applyScale(const ScoreScale &scale, llvm::MutableArrayRef<mlir::Value> scores);
  /// Returns the base of a row. With this base, the weight of `score`, which applyScale() has processed, is 1.
  mlir::Value baseOf(const ScoreScale &scale, mlir::Value score);
  /// Returns the weight of a score: 2 to the power of its exponent.
  mlir::Value weightOf(mlir::Value score, const ScoreScale &scale, mlir::Value base);
  /// Returns the quotient of the weights of two scores. The quotient of equal scores is exactly 1.
  mlir::Value quotientOfWeights(mlir::Value a, mlir::Value b, const ScoreScale &scale);
  /// Returns 2^exponent. A subnormal result is flushed to 0.
  mlir::Value exp2(mlir::Value exponent);
  /// Converts two f32 values to the operands' type and packs them into one word of a fragment.
  mlir::Value packed(llvm::ArrayRef<mlir::Value> two);
  /// Converts weights to the words (i32) of a left operand in registers. The number of weights, which are f32, must be
  /// a multiple of four.
  llvm::SmallVector<mlir::Value> words(llvm::ArrayRef<mlir::Value> weights);

  mlir::Value size(const Operand &operand, unsigned dim);
  /// Returns the indices `at` in the order of the tensor's dimensions. `at` contains (batch, head, row, column).
  static llvm::SmallVector<mlir::Value> indicesOf(const Operand &operand, std::array<mlir::Value, 4> at);
  mlir::Value globalAddress(const Operand &operand, std::array<mlir::Value, 4> at);
  /// Copies `tile.rows` rows, starting at row `first`, into a tile by cp.async. Rows past the last row, and columns of
  /// the tile past the last column, are filled with zeros.
  void copyRows(const SharedTile &tile, mlir::Value slot, const Rows &rows, mlir::Value first);
  /// Returns the first column of a chunk, or column 0 for a chunk after the last column. If there may be such chunks,
  /// adds the condition that the chunk is inside the row to `inside`.
  mlir::Value columnOf(mlir::Value chunk, const SharedTile &tile, int64_t columns, mlir::Value &inside);

  /// Applies a mask to the score at (batch, head, query, key): adds the mask's value, or returns -inf if the value is a
  /// boolean and false. The mask's dimensions are the last of these four dimensions, and each of them may have the size
  /// 1.
  mlir::Value masked(mlir::Value score, mlir::Value mask, std::array<mlir::Value, 4> at);

  /// Returns the four values of fragment number `number`.
  static llvm::MutableArrayRef<mlir::Value> four(llvm::MutableArrayRef<mlir::Value> all, int64_t number) {
    return all.slice(size_t(number) * 4, 4);
  }

  mlir::Type f32;
  mlir::Value zero, lowest;
};

} // namespace tilewright::cuda

#endif
