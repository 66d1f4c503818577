//===- BulkPieces.cpp - the bytes that a bulk copy moves -------------------------------------===//
//
// A box of a tensor map is contiguous in shared memory, with the first dimension fastest. With a swizzle, the rows of
// the box have 32, 64 or 128 bytes, and the 16-byte chunks of a row are permuted depending on the address of the row
// (swizzled() in Bulk.h). For bytes outside of the tensor's bounds, a load writes the fill value, and a store does
// nothing.
//
// A load with a map of windows (im2col) writes one row per pixel. The pixels are visited as described in
// tilewright/PtxTensorMap.h.
//
//===----------------------------------------------------------------------===//
#include "lib/PtxInterpreter/Bulk.h"
#include "lib/PtxInterpreter/Formats.h"

#include <algorithm>

namespace tilewright::ptx {

/// Visits the positions of the rows of a box, or of the pixels of a map of windows.
class Rows {
public:
  explicit Rows(const BulkCopy &copy) : copy(copy), map(copy.map), at(copy.at) {}

  /// Returns the index of the current row in dimension `i`. `i` must be at least 1.
  int64_t index(uint32_t i) const {
    return map.windows && i + 1 < map.rank ? int64_t(at[i]) + copy.offsets[i - 1] : int64_t(at[i]);
  }
  void next() {
    for (uint32_t i = 1; i < map.rank; ++i) {
      const bool images = map.windows && i + 1 == map.rank;
      at[i] += images ? 1 : map.elementStrides[i];
      if (images || (map.windows ? at[i] <= int64_t(map.dims[i]) - 1 + map.upper[i - 1] : ++moved[i] < map.moved(i)))
        return;
      at[i] = map.windows ? map.lower[i - 1] : copy.at[i];
      moved[i] = 0;
    }
  }

private:
  const BulkCopy &copy;
  const TensorMap &map;
  std::array<int32_t, 5> at;
  std::array<uint32_t, 5> moved = {};
};

void forPieces(const BulkCopy &copy, const std::function<void(const BulkPiece &)> &take) {
  if (!copy.tensor)
    return take({copy.shared, copy.global, copy.bytes, true});
  const TensorMap &map = copy.map;
  uint32_t size = map.elementBytes(), row = map.box[0] * size, rows = copy.bytes / row;
  int64_t first = copy.at[0], width = map.dims[0];
  // The bytes of a row in [low, high) are inside the tensor's bounds.
  uint32_t low = uint32_t(std::clamp<int64_t>(-first, 0, map.box[0])) * size;
  uint32_t high = uint32_t(std::clamp<int64_t>(width - first, 0, map.box[0])) * size;
  Rows position(copy);
  for (uint32_t number = 0; number < rows; ++number, position.next()) {
    uint64_t global = map.base + uint64_t(first * int64_t(size));
    bool inside = low < high;
    for (uint32_t i = 1; i < map.rank; ++i) {
      int64_t index = position.index(i);
      inside &= index >= 0 && index < int64_t(map.dims[i]);
      global += uint64_t(index) * map.strides[i - 1];
    }
    uint32_t step = map.swizzle ? 16 : row;
    for (uint32_t at = 0; at < row; at += step) {
      uint64_t shared = copy.shared + uint64_t(number) * row + at;
      if (map.swizzle)
        shared = swizzled(shared, map.swizzle);
      uint32_t end = at + step, begin = inside ? std::clamp(low, at, end) : end;
      uint32_t stop = inside ? std::clamp(high, begin, end) : end;
      if (begin > at)
        take({shared, 0, begin - at, false});
      if (stop > begin)
        take({shared + (begin - at), global + begin, stop - begin, true});
      if (end > stop)
        take({shared + (stop - at), 0, end - stop, false});
    }
  }
}

void fillOutside(const TensorMap &map, uint8_t *to, uint32_t bytes) {
  using Element = TensorMap::Element;
  std::memset(to, 0, bytes);
  if (!map.fillNan)
    return;
  uint64_t nan = map.element == Element::F16                                   ? kHalf.nan
                 : map.element == Element::BF16                                ? kBfloat16.nan
                 : map.element == Element::F32 || map.element == Element::TF32 ? kSingle.nan
                 : map.element == Element::F64                                 ? 0x7fffffffffffffff
                                                                               : 0;
  for (uint32_t at = 0; nan && at < bytes; at += map.elementBytes())
    std::memcpy(to + at, &nan, map.elementBytes());
}

void loadElements(const TensorMap &map, uint8_t *to, const uint8_t *from, uint32_t bytes) {
  std::memcpy(to, from, bytes);
  if (map.element != TensorMap::Element::TF32)
    return;
  for (uint32_t at = 0; at + sizeof(float) <= bytes; at += sizeof(float)) {
    float value;
    std::memcpy(&value, to + at, sizeof value);
    const uint32_t rounded = encode(value, kTensor, Round::Away) << 13;
    std::memcpy(to + at, &rounded, sizeof rounded);
  }
}

template <class T> static T reduced(uint32_t operation, T a, T b) {
  switch (operation) {
  case ReduceMin:
    return std::min(a, b);
  case ReduceMax:
    return std::max(a, b);
  case ReduceAnd:
    return a & b;
  case ReduceOr:
    return a | b;
  case ReduceXor:
    return a ^ b;
  default:
    return T(std::make_unsigned_t<T>(a) + std::make_unsigned_t<T>(b));
  }
}
template <class T> static void reduceAll(uint32_t operation, uint8_t *to, const uint8_t *from, uint32_t bytes) {
  for (uint32_t at = 0; at + sizeof(T) <= bytes; at += sizeof(T)) {
    T a, b;
    std::memcpy(&a, to + at, sizeof(T));
    std::memcpy(&b, from + at, sizeof(T));
    a = reduced(operation, a, b);
    std::memcpy(to + at, &a, sizeof(T));
  }
}
/// Computes sums, minima and maxima of floats, rounded to their format.
static void reduceFloats(uint32_t operation, const Format &format, uint32_t size, uint8_t *to, const uint8_t *from,
                         uint32_t bytes) {
  for (uint32_t at = 0; at + size <= bytes; at += size) {
    uint32_t a = 0, b = 0;
    std::memcpy(&a, to + at, size);
    std::memcpy(&b, from + at, size);
    double x = decode(a, format), y = decode(b, format);
    a = encode(operation == ReduceMin   ? std::fmin(x, y)
               : operation == ReduceMax ? std::fmax(x, y)
                                        : sumToOdd(x, y),
               format);
    std::memcpy(to + at, &a, size);
  }
}

bool canReduce(TensorMap::Element element, uint32_t operation) {
  using Element = TensorMap::Element;
  switch (element) {
  case Element::U8:
  case Element::U16:
    return false;
  case Element::F32:
  case Element::TF32:
  case Element::F64:
    return operation == ReduceAdd;
  case Element::F16:
  case Element::BF16:
    return operation <= ReduceMax;
  default:
    return true;
  }
}

void reduceBytes(const BulkCopy &copy, uint8_t *to, const uint8_t *from, uint32_t bytes) {
  using Element = TensorMap::Element;
  uint32_t operation = copy.operation;
  switch (copy.map.element) {
  case Element::F16:
    return reduceFloats(operation, kHalf, 2, to, from, bytes);
  case Element::BF16:
    return reduceFloats(operation, kBfloat16, 2, to, from, bytes);
  case Element::F32:
  case Element::TF32:
    return reduceFloats(operation, kSingle, 4, to, from, bytes);
  case Element::F64:
    for (uint32_t at = 0; at + 8 <= bytes; at += 8) {
      double a, b;
      std::memcpy(&a, to + at, 8);
      std::memcpy(&b, from + at, 8);
      a += b;
      std::memcpy(to + at, &a, 8);
    }
    return;
  case Element::S32:
    return reduceAll<int32_t>(operation, to, from, bytes);
  case Element::S64:
    return reduceAll<int64_t>(operation, to, from, bytes);
  case Element::U64:
    return reduceAll<uint64_t>(operation, to, from, bytes);
  case Element::U32:
    return reduceAll<uint32_t>(operation, to, from, bytes);
  case Element::U16:
    return reduceAll<uint16_t>(operation, to, from, bytes);
  case Element::U8:
    return reduceAll<uint8_t>(operation, to, from, bytes);
  }
}

} // namespace tilewright::ptx
