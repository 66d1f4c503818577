//===- Arithmetic.h - fixed-point arithmetic as ops of the graph ---------------------===//
#ifndef TILEWRIGHT_LIB_GRAPH_FIXED_ARITHMETIC_H
#define TILEWRIGHT_LIB_GRAPH_FIXED_ARITHMETIC_H

#include "dialects/Graph/Graph.h"
#include "lib/Graph/Fixed/Ranges.h"
#include "mlir/IR/Builders.h"

namespace tilewright::fixed {

/// A tensor of fixed-point numbers: each integer i in `value` represents i * 2^-fraction.
struct Number {
  mlir::Value value;
  int fraction = 0;
  Range range;
  double error = 0;   ///< the largest deviation from the float graph, unless a value overflows
  bool exact = false; ///< true: the number has not been rounded to a format
  std::string layer;  ///< the layer whose format is used

  int width() const;
  double unit() const;
};

/// Emits ops at the insertion point. Every result is wide enough for its range, so no operation wraps around, except
/// rounded() to a format whose overflow mode is Wrap.
class Arithmetic {
public:
  explicit Arithmetic(mlir::OpBuilder &builder) : loc(mlir::UnknownLoc::get(builder.getContext())), builder(builder) {}

  mlir::Location loc; ///< location of the emitted ops

  /// Returns the weight as a tensor of integers with the bit width of `quantized`.
  Number constant(const Known &known, const Quantized &quantized);
  /// Returns the same number with `fraction` fractional bits, which must not be fewer than before, and with a bit width
  /// of at least `width`.
  Number aligned(const Number &number, int fraction, int width);
  Number add(const Number &a, const Number &b, mlir::RankedTensorType shape, bool subtract);
  Number multiply(const Number &a, const Number &b, mlir::RankedTensorType shape);
  Number extreme(const Number &a, const Number &b, mlir::RankedTensorType shape, bool largest);
  /// Returns the number in `format`: shifted, rounded, and limited to its range by the format's overflow mode.
  Number rounded(const Number &number, const Format &format);

  mlir::RankedTensorType typed(mlir::Type shape, int width);

private:
  mlir::Value scalar(int width, Wide value);
  mlir::Value resized(mlir::Value value, int width);
  template <typename Op> mlir::Value with(mlir::Value value, Wide constant);
  mlir::Value inRange(mlir::Value value, Range range, Range format, Overflow overflow);

  mlir::OpBuilder &builder;
};

} // namespace tilewright::fixed

#endif
