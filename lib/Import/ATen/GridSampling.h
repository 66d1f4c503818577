//===- GridSampling.h - interpolated reads of images -----------------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ATEN_GRIDSAMPLING_H
#define TILEWRIGHT_LIB_IMPORT_ATEN_GRIDSAMPLING_H

#include "lib/Import/Builder/Node.h"

namespace tilewright {

struct GridSampling {
  enum class Mode { Linear, Nearest, Cubic };
  enum class Padding { Zeros, Border, Reflection };
  Mode mode = Mode::Linear;
  Padding padding = Padding::Zeros;
  bool alignCorners = false; ///< if true, -1 and 1 are the centers of the outermost pixels, otherwise their outer edges
};

/// Reads the arguments (interpolation_mode, padding_mode, align_corners) from index `first` on.
GridSampling readGridSampling(Node &n, unsigned first);

/// Refuses the node and returns false if the ranks, sizes or element types of the operands of sampleGrid() are wrong.
bool fitsGrid(Node &n, Value image, Value grid, const GridSampling &how);

/// Samples `image` [N, C, sizes...] at the positions in `grid` [N, outputs..., number of sizes], as
/// torch.nn.functional.grid_sample and ONNX GridSample do. A position consists of coordinates from -1 to 1, beginning
/// with that of the last dimension. The result is [N, C, outputs...] with the dtype of `image`. Returns null if
/// fitsGrid() refuses the node.
Value sampleGrid(Node &n, Value image, Value grid, const GridSampling &how);

} // namespace tilewright

#endif
