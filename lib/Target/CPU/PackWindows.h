//===- PackWindows.h - the windows of a line, one after the other --------------------===//
//
// A window of few channels has lines of few elements: 7 pixels of 3 channels are 21 of the 32 bf16 that a matrix unit
// multiplies at a time, and begin anywhere. Gathered, the 7 lines are 147 of 160, and each window begins at a line of
// the cache. A block of windows is gathered into the kernel's stack frame for all panels of filters; what is left of
// the last step is zero, as the weight's is.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TARGET_CPU_PACKWINDOWS_H
#define TILEWRIGHT_LIB_TARGET_CPU_PACKWINDOWS_H

#include "mlir/IR/Builders.h"

namespace tilewright::cpu {

/// The windows of a line of the result.
struct WindowLine {
  mlir::Value image;            ///< batch x lines x (pixels * channels)
  mlir::Value batch, line;      ///< the first line of the windows, in `image`
  int64_t height, lineElements; ///< of a window: its lines, and the elements of one
  int64_t lineStep, pixelStep;  ///< from a line of a window to the next, in lines; from a window to the next
  int64_t depth;                ///< elements of a gathered window: whole vectors of the matrix unit's depth
};

/// Gathers `count` windows from `first` on into `packed`, windows x depth.
void packWindows(mlir::OpBuilder &builder, mlir::Location loc, const WindowLine &line, mlir::Value first,
                 mlir::OpFoldResult count, mlir::Value packed);

} // namespace tilewright::cpu

#endif
