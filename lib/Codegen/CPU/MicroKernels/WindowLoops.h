//===- WindowLoops.h - loops over lines of windows ---------------------------------===//
//
// WindowLoops is the base class of the emitters for grouped convolutions and for gradients of depthwise weights, which
// read their input without a padded copy. It has functions for index arithmetic and loops, for the taps of a window
// that are inside of the image, and for loops over blocks of pixels. The set of taps that are inside of the image is
// known at compile time for each block of pixels, except in three cases: the number of pixels of the tile or of an
// input line is unknown, the first pixel of the tile is not known to be pixel 0 of a line, or a window has many taps
// along a line.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_MICROKERNELS_WINDOWLOOPS_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_MICROKERNELS_WINDOWLOOPS_H

#include "dialects/Tile/Tile.h"

namespace tilewright::cpu {

/// Adjacent pixels that are computed together.
struct PixelBlock {
  mlir::Value first; ///< index of the first pixel in the tile
  int64_t count = 1; ///< number of pixels
  mlir::Value left;  ///< input index of the first window's first pixel; negative if this pixel is in the padding
  mlir::Value fromTap, toTap; ///< range of taps in the image, for one pixel near an end of a line; null: see `meets`
  /// Returns true if tap `tap` of the block's pixel `pixel` is in the image, or if this is not known at compile time.
  std::function<bool(int64_t pixel, int64_t tap)> meets = [](int64_t, int64_t) { return true; };
};

class WindowLoops {
public:
  /// The parameters of one dimension of the window.
  struct Steps {
    int64_t kernel, stride, dilation, padding;
  };

  WindowLoops(mlir::Operation *op, const Steps &lines, const Steps &pixels)
      : builder(op), loc(op->getLoc()), lines(lines), pixels(pixels) {}

protected:
  //===-- index arithmetic and loops -----------------------------------------===//
  static mlir::MemRefType typeOf(mlir::Value value) { return mlir::cast<mlir::MemRefType>(value.getType()); }
  mlir::Value constant(int64_t value);
  mlir::Value size(mlir::Value value, int64_t dim);
  mlir::Value sum(mlir::Value a, mlir::Value b);
  mlir::Value sum(mlir::Value a, int64_t b) { return b == 0 ? a : sum(a, constant(b)); }
  mlir::Value larger(mlir::Value a, mlir::Value b);
  mlir::Value smaller(mlir::Value a, mlir::Value b);
  mlir::Value apply(mlir::AffineExpr expr, llvm::ArrayRef<mlir::Value> dims);
  mlir::AffineExpr d0() { return builder.getAffineDimExpr(0); }
  mlir::AffineExpr d1() { return builder.getAffineDimExpr(1); }
  /// Emits inside(iv) for iv = from, from + step, ... below `to`. If the bounds are known and there is at most one
  /// iteration, emits no loop.
  void loop(mlir::Value from, mlir::Value to, llvm::function_ref<void(mlir::Value)> inside, int64_t step = 1);
  /// Emits a loop that carries sums as iteration arguments.
  llvm::SmallVector<mlir::Value>
  carry(mlir::Value from, mlir::Value to, llvm::ArrayRef<mlir::Value> sums,
        llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, llvm::ArrayRef<mlir::Value>)> inside,
        int64_t step = 1);
  /// Emits inside(iv) for steps of `step` that cover [0, count). `count` is at least `step`. If `count` is not a
  /// multiple of `step`, the last step overlaps the previous step.
  void overlapping(int64_t count, int64_t step, llvm::function_ref<void(mlir::Value)> inside);

  //===-- windows -------------------------------------------------------------===//
  /// Returns the taps [first, second) of the window starting at `start` that are within `size` pixels (or lines).
  std::pair<mlir::Value, mlir::Value> tapsInside(const Steps &steps, mlir::Value start, mlir::Value size);
  /// Emits `body` for the `count` pixels from `firstPixel` on (null: 0) of a line. The input lines have `width` pixels,
  /// and a block has at most `most` pixels. If the sizes are known, `firstPixel` is 0 and the window does not have a
  /// long line (hasLongLine()), all blocks but the last have the same size, and the blocks in the middle of the line
  /// form a loop. Otherwise, the pixels between the ends of the line are emitted in blocks of `most`, and the remaining
  /// pixels one at a time.
  void overPixels(mlir::Value firstPixel, mlir::Value count, mlir::Value width, int64_t most,
                  llvm::function_ref<void(const PixelBlock &)> body);
  /// The maximum number of taps of a line that are unrolled. Code for each tap, repeated for each pixel near an end of
  /// the line, grows with the square of the number of taps. Longer lines of a window are therefore computed in a loop.
  static constexpr int64_t mostUnrolledTaps = 32;
  bool hasLongLine() const { return pixels.kernel > mostUnrolledTaps; }
  /// Emits `body` for blocks of `most` pixels, and then for the remaining pixels one at a time. This function replaces
  /// overPixels() for windows with many taps along a line. The body determines which taps are in the image.
  void overPixelsOfLongLines(mlir::Value firstPixel, mlir::Value count, int64_t most,
                             llvm::function_ref<void(const PixelBlock &)> body);
  /// Returns a block of one pixel, the first pixel of `block`. Its window begins at tap `tap` of the window of `block`.
  PixelBlock fromTap(const PixelBlock &block, mlir::Value tap);
  /// Loads contiguous elements, starting at `indices`, and extends them to the vector type `computed`.
  mlir::Value loadVector(mlir::Value memory, llvm::ArrayRef<mlir::Value> indices, mlir::VectorType computed);

  mlir::OpBuilder builder;
  mlir::Location loc;
  Steps lines, pixels;

private:
  void overKnownPixels(int64_t count, int64_t width, int64_t most, llvm::function_ref<void(const PixelBlock &)> body);
};

} // namespace tilewright::cpu

#endif
