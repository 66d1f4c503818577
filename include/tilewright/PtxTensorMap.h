//===- PtxTensorMap.h - a tensor map that the PTX interpreter can read ---------------===//
//
// The output of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col is opaque. A launch in the PTX interpreter passes
// this structure instead. It has 128 bytes, like the map of the NVIDIA driver, and is passed by value as a parameter of
// the kernel or stored in global memory.
//
//   ptx::TensorMap map = ptx::tensorMap(ptx::TensorMap::Element::BF16, data, {columns, rows}, {columns * 2}, {64, 128},
//                                       128);
//
// A map of windows (mode im2col of the PTX ISA) describes images. The first dimension has the channels, and the last
// one counts the images. The one to three dimensions between them are the width, the height and the depth. A load
// copies `box[0]` channels of `pixels` pixels. Pixels are visited in the order of memory, in steps of `elementStrides`.
// In each dimension between the first and the last, they extend from `lower` to the size minus 1 plus `upper`; then the
// next image follows. The instruction's offsets are added to the position of each pixel.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_PTXTENSORMAP_H
#define TILEWRIGHT_PTXTENSORMAP_H

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::ptx {

struct alignas(64) TensorMap {
  /// The numbers are those of CUtensorMapDataType. The elements of TF32 are f32 in global memory, and loads round them
  /// to the nearest tf32.
  enum class Element : uint8_t { U8, U16, U32, S32, U64, S64, F16, F32, F64, BF16, TF32 = 11 };
  static constexpr uint64_t kMagic = 0x31702d6d61735754; ///< identifies a tensor map

  uint64_t magic = kMagic;
  uint64_t base = 0;                                       ///< device address of element 0
  std::array<uint64_t, 4> strides = {};                    ///< strides in bytes, from the second dimension on
  std::array<uint32_t, 5> dims = {};                       ///< numbers of elements, the fastest dimension first
  std::array<uint16_t, 5> box = {};                        ///< elements
  std::array<uint8_t, 5> elementStrides = {1, 1, 1, 1, 1}; ///< the first one is assumed to be 1
  uint8_t rank = 0;                                        ///< 1 to 5
  Element element = Element::U8;
  uint8_t swizzle = 0; ///< period of the swizzle in bytes: 0 (none), 32, 64 or 128
  uint8_t fillNan = 0; ///< 1: elements outside of the tensor are NaN; 0: they are zeros
  uint8_t windows = 0; ///< 1: the map has the mode im2col, and only the first element of `box` is used
  std::array<int16_t, 3> lower = {}, upper = {}; ///< corners of the bounding box: width, height, depth
  uint16_t pixels = 0;                           ///< number of pixels of a load
  uint8_t unused[10] = {};

  uint32_t elementBytes() const;
  uint32_t boxBytes() const;
  /// Returns the number of elements that a load or store copies along a dimension of the box.
  uint32_t moved(uint32_t dimension) const;
  /// Returns the reason why the NVIDIA driver would reject the map or the interpreter cannot execute it; empty if it
  /// is valid.
  std::string problem() const;
};
static_assert(sizeof(TensorMap) == 128);

/// Returns the map of a tensor at `base`. `strides` are in bytes, and have one element fewer than `dims`.
TensorMap tensorMap(TensorMap::Element element, const void *base, const std::vector<uint32_t> &dims,
                    const std::vector<uint64_t> &strides, const std::vector<uint16_t> &box, uint8_t swizzle);

/// The parameters of a map of windows, except those of tensorMap().
struct WindowParameters {
  std::vector<int> lower, upper;        ///< corners of the bounding box, two fewer than dimensions
  std::vector<uint32_t> elementStrides; ///< one per dimension
  uint32_t channels = 0, pixels = 0;
};
/// Returns the map of windows of a tensor at `base`. Returns a map that is invalid if a number does not fit in the map.
TensorMap windowMap(TensorMap::Element element, const void *base, const std::vector<uint32_t> &dims,
                    const std::vector<uint64_t> &strides, const WindowParameters &windows, uint8_t swizzle);

} // namespace tilewright::ptx

#endif
