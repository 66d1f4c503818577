//===- TensorMap.cpp - validity of a tensor map -------------------------------------------===//
//
// TensorMap::problem() checks the limits of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col for maps without
// interleaving, and whether the interpreter can execute the map.
//
//===----------------------------------------------------------------------===//
#include "tilewright/PtxTensorMap.h"

#include <algorithm>

namespace tilewright::ptx {

uint32_t TensorMap::elementBytes() const {
  switch (element) {
  case Element::U8:
    return 1;
  case Element::U16:
  case Element::F16:
  case Element::BF16:
    return 2;
  case Element::U32:
  case Element::S32:
  case Element::F32:
  case Element::TF32:
    return 4;
  default:
    return 8;
  }
}

uint32_t TensorMap::moved(uint32_t dimension) const {
  uint32_t step = dimension ? elementStrides[dimension] : 1;
  return (box[dimension] + step - 1) / step;
}

uint32_t TensorMap::boxBytes() const {
  uint32_t bytes = elementBytes();
  if (windows)
    return bytes * box[0] * pixels;
  for (uint32_t i = 0; i < rank; ++i)
    bytes *= moved(i);
  return bytes;
}

/// Returns the reason why the corners or the number of pixels of a map of windows are invalid. Returns an empty string
/// if they are valid.
static std::string problemOfWindows(const TensorMap &map) {
  if (map.rank < 3)
    return "the tensor map of windows has " + std::to_string(map.rank) + " dimensions; it must have 3 to 5";
  if (!map.pixels || map.pixels > 1024)
    return "the tensor map's number of pixels is " + std::to_string(map.pixels) + "; it must be 1 to 1024";
  const int32_t limit = map.rank == 3 ? 1 << 15 : map.rank == 4 ? 1 << 7 : 1 << 4;
  for (uint32_t i = 0; i + 2 < map.rank; ++i) {
    const int32_t lower = map.lower[i], upper = map.upper[i];
    if (lower < -limit || lower >= limit || upper < -limit || upper >= limit)
      return "a corner of the tensor map is outside of -" + std::to_string(limit) + " to " + std::to_string(limit - 1);
    if (int64_t(map.dims[i + 1]) - 1 + upper < lower)
      return "the tensor map's bounding box of dimension " + std::to_string(i + 1) + " is empty";
  }
  return "";
}

std::string TensorMap::problem() const {
  if (magic != kMagic)
    return "there is no tensor map (a ptx::TensorMap) at this address";
  if (rank < 1 || rank > 5)
    return "the tensor map has " + std::to_string(rank) + " dimensions; it must have 1 to 5";
  if (element > Element::BF16 && element != Element::TF32)
    return "the tensor map has an unknown element type";
  if (base % 16)
    return "the tensor map's base is not a multiple of 16 bytes";
  if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128)
    return "the tensor map has a swizzle of " + std::to_string(swizzle) + " bytes; it must be 0, 32, 64 or 128";
  uint64_t count = 1;
  for (uint32_t i = 0; i < rank; ++i) {
    std::string ofDimension = " of dimension " + std::to_string(i);
    if (!dims[i])
      return "the tensor map's size" + ofDimension + " is 0";
    if ((!windows || i == 0) && (!box[i] || box[i] > 256))
      return "the tensor map's box" + ofDimension + " is " + std::to_string(box[i]) + "; it must be 1 to 256";
    if (!elementStrides[i] || elementStrides[i] > 8)
      return "the tensor map's element stride" + ofDimension + " is " + std::to_string(elementStrides[i]) +
             "; it must be 1 to 8";
    if (i && (strides[i - 1] % 16 || strides[i - 1] >> 40))
      return "the tensor map's stride" + ofDimension + " is " + std::to_string(strides[i - 1]) +
             " bytes; it must be a multiple of 16 below 2^40";
    count *= windows ? 1 : moved(i);
  }
  if (windows) {
    count = uint64_t(box[0]) * pixels;
    if (std::string problem = problemOfWindows(*this); !problem.empty())
      return problem;
  }
  uint32_t row = box[0] * elementBytes();
  if (row % 16)
    return "a row of the tensor map's box has " + std::to_string(row) + " bytes; it must be a multiple of 16";
  if (swizzle && row > swizzle)
    return "a row of the tensor map's box has " + std::to_string(row) + " bytes, more than its swizzle of " +
           std::to_string(swizzle);
  if (swizzle && row < swizzle)
    return "a row of the tensor map's box has " + std::to_string(row) + " bytes, fewer than its swizzle of " +
           std::to_string(swizzle) + ": the checker cannot execute that";
  if (count * elementBytes() > 232448)
    return "the tensor map's box has " + std::to_string(count * elementBytes()) + " bytes, more than shared memory";
  return "";
}

TensorMap tensorMap(TensorMap::Element element, const void *base, const std::vector<uint32_t> &dims,
                    const std::vector<uint64_t> &strides, const std::vector<uint16_t> &box, uint8_t swizzle) {
  TensorMap map;
  map.element = element;
  map.base = reinterpret_cast<uint64_t>(base);
  map.rank = uint8_t(dims.size());
  map.swizzle = swizzle;
  std::copy_n(dims.begin(), std::min<size_t>(5, dims.size()), map.dims.begin());
  std::copy_n(strides.begin(), std::min<size_t>(4, strides.size()), map.strides.begin());
  std::copy_n(box.begin(), std::min<size_t>(5, box.size()), map.box.begin());
  return map;
}

TensorMap windowMap(TensorMap::Element element, const void *base, const std::vector<uint32_t> &dims,
                    const std::vector<uint64_t> &strides, const WindowParameters &windows, uint8_t swizzle) {
  TensorMap map = tensorMap(element, base, dims, strides, {}, swizzle);
  map.windows = 1;
  map.box[0] = uint16_t(std::min<uint32_t>(windows.channels, UINT16_MAX));
  map.pixels = uint16_t(std::min<uint32_t>(windows.pixels, UINT16_MAX));
  auto corner = [](int value) { return int16_t(std::clamp<int>(value, INT16_MIN, INT16_MAX)); };
  std::transform(windows.lower.begin(), windows.lower.begin() + std::min<size_t>(3, windows.lower.size()),
                 map.lower.begin(), corner);
  std::transform(windows.upper.begin(), windows.upper.begin() + std::min<size_t>(3, windows.upper.size()),
                 map.upper.begin(), corner);
  std::transform(windows.elementStrides.begin(),
                 windows.elementStrides.begin() + std::min<size_t>(5, windows.elementStrides.size()),
                 map.elementStrides.begin(),
                 [](uint32_t step) { return uint8_t(std::min<uint32_t>(step, UINT8_MAX)); });
  return map;
}

} // namespace tilewright::ptx
