//===- TensorMapRecipe.h - how a launch builds its tensor map -------------===//
//
// Kernels of sm_90a load boxes of a tensor by TMA (NVIDIA's Tensor Memory Accelerator). TMA needs a map, which contains
// the tensor's address and sizes. A compiled program stores a recipe for each map, and each launch builds the map from
// its buffers and sizes. In the table of kernels, a recipe is one word:
//
//   0:bf16:128:64*512,128*1*s0       buffer 0 of the launch, swizzled by 128 bytes; a box has 64 of the 512 elements
//                                    of a row, for 128 of the rows, whose number is the launch's size 0
//
// A map of windows (mode im2col of TMA) describes images, and a load copies channels of a number of consecutive pixels
// of the result of a convolution:
//
//   0:bf16:128:96p:64*256,1*14/2@-1@0,1*15/1@0@-2,1*8
//                                    64 of 256 channels for 96 pixels; images of 15 lines of 14 pixels; the columns of
//                                    windows begin at -1 and end at 13 + 0, with steps of 2; the lines of windows
//                                    begin at 0 and end at 14 - 2, with steps of 1; 8 images
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_TENSORMAPRECIPE_H
#define TILEWRIGHT_TENSORMAPRECIPE_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

/// The recipe of a tensor map for a dense tensor. The dimensions are ordered from the fastest to the slowest.
struct TensorMapRecipe {
  enum class Element : uint8_t { F16, BF16, I8, TF32 }; ///< TF32: f32 in memory, which the load rounds to tf32
  struct Dimension {
    uint32_t box = 1;            ///< number of elements of the dimension that one load copies
    int64_t factor = 1;          ///< number of elements = `factor` * the launch's sizes with the indices `sizes`
    std::vector<uint32_t> sizes; ///< indices into the launch's sizes
    // The following numbers are used only by the dimensions of pixels of a map of windows. The first window begins at
    // `lower`, the last one at the number of elements minus 1 plus `upper`.
    uint32_t step = 1;
    int32_t lower = 0, upper = 0;
  };

  /// The largest step of a map of windows, and the limits of the corners of a map with one, two and three dimensions of
  /// pixels. A corner is at least -limit and less than limit (PTX ISA, "im2col mode").
  static constexpr int32_t mostStep = 8, cornerLimits[] = {1 << 15, 1 << 7, 1 << 4};

  uint32_t buffer = 0; ///< index in the launch's buffers
  Element element = Element::BF16;
  uint32_t swizzle = 128; ///< period of the swizzle in bytes
  uint32_t pixels = 0;    ///< for a map of windows, the number of pixels of a load; 0 for other maps
  std::vector<Dimension> dimensions;

  /// Returns true if the dimension has the numbers of windows: it is neither the first nor the last of a map of
  /// windows.
  bool hasWindows(size_t dimension) const { return pixels > 0 && dimension > 0 && dimension + 1 < dimensions.size(); }

  std::string text() const;
  /// Parses `text`. Returns false if it is not a recipe, or describes a map that no launch can build.
  static bool read(std::string_view text, TensorMapRecipe &recipe);

  /// Computes the number of elements of each dimension. A number of zero is replaced by one, because a launch on an
  /// empty tensor loads nothing. Returns false with a reason in `error` if a number does not fit into the 32 bits of a
  /// map.
  bool elements(const int64_t *sizes, std::vector<uint32_t> &counts, std::string &error) const;
};

/// Size and alignment, in bytes, of a map as a parameter of a kernel.
inline constexpr int64_t kTensorMapBytes = 128, kTensorMapAlignment = 64;

} // namespace tilewright

#endif
