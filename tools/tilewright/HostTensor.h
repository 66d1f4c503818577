//===- HostTensor.h - a dense tensor in host memory -----------------------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_HOSTTENSOR_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_HOSTTENSOR_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::driver {

/// A dense row-major tensor in host memory. Elements smaller than a byte are packed, the first in the lowest bits.
struct HostTensor {
  mlir::Type element;
  std::vector<int64_t> sizes;
  std::vector<uint8_t> bytes; ///< at least one byte, because an empty tensor needs an address

  /// Returns the number of bits of one element in `bytes`. An integer without a dtype, such as i12, takes 8, 16, 32
  /// or 64 bits.
  unsigned bits() const;
  /// Returns the number of elements.
  int64_t count() const;
  /// Returns the number of bytes of all elements.
  int64_t byteCount() const { return (count() * int64_t(bits()) + 7) / 8; }
  /// Returns the bits of element `index` in row-major order, or replaces them by the low bits of `value`.
  uint64_t bitsAt(int64_t index) const;
  void setBits(int64_t index, uint64_t value);
  /// Returns element `index` as an integer, or as a double. Signless integers are signed, except i1.
  int64_t integerAt(int64_t index) const;
  double numberAt(int64_t index) const;

  /// Returns the byte of element `index`, which is smaller than a byte, in a file. Signed integers are sign-extended.
  uint8_t fileByte(int64_t index) const;
  /// Returns the elements as in a file: an element smaller than a byte takes a whole byte.
  std::string fileBytes() const;

  /// Allocates `bytes` for the tensor's sizes, but at least `least` bytes, and fills `bytes` with zeros. Fails if a
  /// size is negative or if the machine has too little memory.
  llvm::Error allocate(int64_t least = 64);
};

} // namespace tilewright::driver

#endif
