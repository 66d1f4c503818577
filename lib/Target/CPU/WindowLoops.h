//===- WindowLoops.h - loops over lines of windows ---------------------------------===//
//
// What convolutions that read their input without a padded copy share: short names for index arithmetic and loops,
// which taps of a window meet the image, and the pixels of a line in blocks of which the code knows that.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TARGET_CPU_WINDOWLOOPS_H
#define TILEWRIGHT_LIB_TARGET_CPU_WINDOWLOOPS_H

#include "dialects/Tile/Tile.h"

namespace tilewright::cpu {

/// Pixels side by side that are computed together.
struct PixelBlock {
  mlir::Value first;          ///< in the tile
  int64_t count = 1;          ///< how many
  mlir::Value left;           ///< the first pixel of the first window, in the input; may lie in front of it
  mlir::Value fromTap, toTap; ///< the taps along the line, for one pixel near an end of a line of unknown size
  /// Tap `tap` of pixel `pixel` lies in the image.
  std::function<bool(int64_t pixel, int64_t tap)> meets = [](int64_t, int64_t) { return true; };
};

class WindowLoops {
public:
  /// Of one dimension of the window.
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
  /// inside(iv) for from, from + step, ... below `to`; none or one of them is no loop where both are known.
  void loop(mlir::Value from, mlir::Value to, llvm::function_ref<void(mlir::Value)> inside, int64_t step = 1);
  /// A loop that carries sums.
  llvm::SmallVector<mlir::Value>
  carry(mlir::Value from, mlir::Value to, llvm::ArrayRef<mlir::Value> sums,
        llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, llvm::ArrayRef<mlir::Value>)> inside,
        int64_t step = 1);
  /// [0, count) in steps of `step`, which `count` holds once at least; the last one overlaps where it has to.
  void overlapping(int64_t count, int64_t step, llvm::function_ref<void(mlir::Value)> inside);

  //===-- windows -------------------------------------------------------------===//
  /// The taps [first, second) of the window that begins at `place` of `size` pixels (or lines) that lie among them.
  std::pair<mlir::Value, mlir::Value> tapsInside(const Steps &steps, mlir::Value place, mlir::Value size);
  /// `body` for the `count` pixels from `firstPixel` on (null: 0) of a line that meets lines of `width` pixels, at most
  /// `most` at a time. Of known sizes: even blocks, those in the middle of the image a loop. Otherwise: one pixel at a
  /// time near the ends of the image, blocks of `most` between.
  void overPixels(mlir::Value firstPixel, mlir::Value count, mlir::Value width, int64_t most,
                  llvm::function_ref<void(const PixelBlock &)> body);
  /// More taps along a line than this are a loop: code that is made tap by tap, and once more for each pixel near an
  /// end of the line, grows with the square of their number.
  static constexpr int64_t mostUnrolledTaps = 32;
  bool hasLongLine() const { return pixels.kernel > mostUnrolledTaps; }
  /// overPixels() for lines of the window with many taps: blocks of `most` pixels from the first on, and one at a time
  /// what is left. The body finds out which taps meet the image.
  void overPixelsOfLongLines(mlir::Value firstPixel, mlir::Value count, int64_t most,
                             llvm::function_ref<void(const PixelBlock &)> body);
  /// The one pixel of `block` as a window that begins at `tap`.
  PixelBlock fromTap(const PixelBlock &block, mlir::Value tap);
  /// Vectors side by side in memory, from `place` on.
  mlir::Value loadVector(mlir::Value memory, llvm::ArrayRef<mlir::Value> place, mlir::VectorType computed);

  mlir::OpBuilder builder;
  mlir::Location loc;
  Steps lines, pixels;

private:
  void overKnownPixels(int64_t count, int64_t width, int64_t most, llvm::function_ref<void(const PixelBlock &)> body);
};

} // namespace tilewright::cpu

#endif
