//===- PackWindows.h - gathers the windows of a line ---------------------------------===//
//
// If an image has few channels, a line of a window has few elements. For example, 7 pixels of 3 channels are only 21 of
// the 32 bf16 elements that a matrix unit multiplies in a step, and a line may start at any address. If the 7 lines of
// a window are gathered, they are 147 of 160 elements (five steps), and each window starts at a cache line. A block of
// windows is gathered into the kernel's stack frame and used for all panels of filters. Elements after the last line
// are zero, as in the packed weight.
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_MICROKERNELS_PACKWINDOWS_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_MICROKERNELS_PACKWINDOWS_H

#include "mlir/IR/Builders.h"

namespace tilewright::cpu {

/// The input windows of the pixels of one line of the result.
struct WindowLine {
  mlir::Value image;            ///< batch x lines x (pixels * channels)
  mlir::Value batch, line;      ///< indices in `image`: of the batch element, and of the first line of the windows
  int64_t height, lineElements; ///< number of lines of a window, and number of elements per line
  int64_t lineStep, pixelStep;  ///< strides: between lines of a window, in lines; between windows, in elements
  int64_t depth;                ///< elements of a gathered window: a multiple of the matrix unit's depth
};

/// Gathers `count` windows, starting at window `first`, into `packed` (windows x depth).
void packWindows(mlir::OpBuilder &builder, mlir::Location loc, const WindowLine &line, mlir::Value first,
                 mlir::OpFoldResult count, mlir::Value packed);

} // namespace tilewright::cpu

#endif
