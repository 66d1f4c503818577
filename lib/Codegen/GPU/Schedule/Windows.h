//===- Windows.h - a kernel with one grouped convolution and elementwise ops ---------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_WINDOWS_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_WINDOWS_H

#include "dialects/Tile/Tile.h"
#include "lib/Codegen/GPU/Schedule.h"
#include "lib/Codegen/GPU/Schedule/Arch.h"

namespace tilewright::gpu {

/// The maximum number of sums of a thread. If a thread has at most half of this number, its sums and the weights of one
/// line of the window, or of the whole window if it is small, fit in registers.
inline constexpr int64_t mostSumsOfWindows = 128;

/// The numbers of a grouped convolution on which the code of the schedule `windows` depends.
struct WindowSizes {
  explicit WindowSizes(tile::GroupedConvolutionOp op);

  int64_t lines, pixels; ///< size of the window
  int64_t perGroup;      ///< channels of the input per group
  int64_t filters;       ///< channels of the result per group

  /// Returns the number of pixels of a line of the input that `count` adjacent pixels of the result read.
  int64_t columns(int64_t count, tile::GroupedConvolutionOp op) const {
    return (count - 1) * op.getStrides()[1] + (pixels - 1) * op.getDilations()[1] + 1;
  }
  /// Returns true if the code for all taps of a line is unrolled, so that a pixel of the input is read once for all
  /// pixels of a thread's tile.
  bool unrollsLine() const { return pixels <= 11; }
  /// Returns true if the code for the whole window is unrolled, so that a thread's tile may have several lines.
  bool unrollsWindow() const { return lines * pixels <= 9 && perGroup == 1; }
  /// Returns true if the lines of a window are summed separately, because rounding errors would accumulate.
  bool sumsLines() const { return !unrollsWindow() && lines * pixels * perGroup > 64; }
};

/// Returns the grouped convolution of the kernel if the other ops of the kernel that depend on it are elementwise and
/// have its shape, and each result of the kernel is the result of such an op. Otherwise returns null.
tile::GroupedConvolutionOp matchWindows(mlir::func::FuncOp kernel);

/// Returns the schedule `windows` for the kernel. `vector` is the number of adjacent elements that a thread may access
/// together in all tensors of the kernel.
Schedule chooseWindows(tile::GroupedConvolutionOp op, int64_t vector, const Arch &arch);

/// Returns why the kernel of `op` cannot have the schedule, or an empty string if it can.
std::string whyNotWindows(const Schedule &schedule, tile::GroupedConvolutionOp op);

} // namespace tilewright::gpu

#endif
