//===- TensorMapRecipe.h - how a launch's tensor map is made ------------------------===//
//
// Kernels of sm_90 load boxes of a tensor by TMA, through a map that names the tensor's address and sizes. A compiled
// program has the recipe; a launch, which knows its buffers and sizes, makes the map. In the table of kernels a recipe
// is one word:
//
//   0:bf16:128:64*512,128*1*s0       buffer 0 of the launch, swizzled by 128 bytes; of 512 elements side by side a box
//                                    has 64, of as many rows as the launch's size 0 says it has 128
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_TENSORMAPRECIPE_H
#define TILEWRIGHT_TENSORMAPRECIPE_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

/// A map of a dense tensor, whose dimensions lie in each other, the fastest first.
struct TensorMapRecipe {
  enum class Element : uint8_t { F16, BF16, I8, F32 };
  struct Dimension {
    uint32_t box = 1;            ///< elements of it that one load takes
    int64_t factor = 1;          ///< elements: this, times
    std::vector<uint32_t> sizes; ///< the launch's sizes of these numbers
  };

  uint32_t buffer = 0; ///< of the launch
  Element element = Element::BF16;
  uint32_t swizzle = 128; ///< bytes
  std::vector<Dimension> dimensions;

  std::string text() const;
  /// False where `text` is no recipe, or one that no launch can follow.
  static bool read(std::string_view text, TensorMapRecipe &recipe);

  /// Elements of each dimension. A size of zero counts as one: nothing is loaded then. False with a reason in `error`
  /// where one does not fit a map, which has 32 bits for it.
  bool elements(const int64_t *sizes, std::vector<uint32_t> &counts, std::string &error) const;
};

/// Bytes of a map as a parameter of a kernel, and what they are aligned to.
inline constexpr int64_t kTensorMapBytes = 128, kTensorMapAlignment = 64;

} // namespace tilewright

#endif
