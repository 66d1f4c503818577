//===- TensorMap.cpp - validity of a tensor map -------------------------------------------===//
//
// TensorMap::problem() checks the limits of cuTensorMapEncodeTiled for maps without interleaving, and whether the
// interpreter can execute the map.
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
  for (uint32_t i = 0; i < rank; ++i)
    bytes *= moved(i);
  return bytes;
}

std::string TensorMap::problem() const {
  if (magic != kMagic)
    return "there is no tensor map (a ptx::TensorMap) at this address";
  if (rank < 1 || rank > 5)
    return "the tensor map has " + std::to_string(rank) + " dimensions; it must have 1 to 5";
  if (uint8_t(element) > uint8_t(Element::BF16))
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
    if (!box[i] || box[i] > 256)
      return "the tensor map's box" + ofDimension + " is " + std::to_string(box[i]) + "; it must be 1 to 256";
    if (!elementStrides[i] || elementStrides[i] > 8)
      return "the tensor map's element stride" + ofDimension + " is " + std::to_string(elementStrides[i]) +
             "; it must be 1 to 8";
    if (i && (strides[i - 1] % 16 || strides[i - 1] >> 40))
      return "the tensor map's stride" + ofDimension + " is " + std::to_string(strides[i - 1]) +
             " bytes; it must be a multiple of 16 below 2^40";
    count *= moved(i);
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

} // namespace tilewright::ptx
