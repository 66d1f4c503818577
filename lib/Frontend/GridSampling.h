//===- GridSampling.h - images that are read between their pixels ----------------------===//
#ifndef TILEWRIGHT_LIB_FRONTEND_GRIDSAMPLING_H
#define TILEWRIGHT_LIB_FRONTEND_GRIDSAMPLING_H

#include "lib/Frontend/Node.h"

namespace tilewright {

struct GridSampling {
  enum class Mode { Linear, Nearest, Cubic };
  enum class Padding { Zeros, Border, Reflection };
  Mode mode = Mode::Linear;
  Padding padding = Padding::Zeros;
  bool alignCorners = false; ///< -1 and 1 are the middles of the outermost pixels, else their outer edges
};

/// `image` [N, C, sizes...] at the places of `grid` [N, outputs..., number of sizes], whose coordinates from -1 to 1 have
/// the last dimension's first: [N, C, outputs...] in `image`'s type. Refuses, and gives null, what does not fit.
/// (torch.nn.functional.grid_sample; ONNX GridSample.)
Value sampleGrid(Node &n, Value image, Value grid, const GridSampling &how);

} // namespace tilewright

#endif
