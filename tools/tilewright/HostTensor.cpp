//===- HostTensor.cpp - a dense tensor in host memory ----------------------------===//
//
// Test: test/Python/test_narrow_elements.py, test/Tools/run.mlir
//
//===----------------------------------------------------------------------===//
#include "HostTensor.h"

#include "dialects/Graph/Dtype.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/MathExtras.h"
#include <new>
#include <unistd.h>

namespace tilewright::driver {

unsigned HostTensor::bits() const {
  const unsigned width = element.getIntOrFloatBitWidth();
  if (width >= 8)
    return llvm::PowerOf2Ceil(width);
  std::optional<ScalarType> dtype = scalarTypeOf(element);
  return dtype ? scalarTypeBits(*dtype) : 8;
}

int64_t HostTensor::count() const {
  int64_t total = 1;
  for (int64_t size : sizes)
    total *= size;
  return total;
}

uint64_t HostTensor::bitsAt(int64_t index) const {
  const unsigned width = bits();
  if (width < 8)
    return bytes[index * width / 8] >> index * width % 8 & ((1u << width) - 1);
  uint64_t value = 0;
  memcpy(&value, &bytes[index * (width / 8)], width / 8);
  return value;
}

void HostTensor::setBits(int64_t index, uint64_t value) {
  const unsigned width = bits();
  if (width >= 8) {
    memcpy(&bytes[index * (width / 8)], &value, width / 8);
    return;
  }
  uint8_t &byte = bytes[index * width / 8];
  const unsigned shift = index * width % 8, mask = ((1u << width) - 1) << shift;
  byte = (byte & ~mask) | (value << shift & mask);
}

int64_t HostTensor::integerAt(int64_t index) const {
  const uint64_t value = bitsAt(index);
  if (element.isUnsignedInteger() || element.isInteger(1))
    return int64_t(value);
  return llvm::SignExtend64(value, bits());
}

double HostTensor::numberAt(int64_t index) const {
  if (auto floats = mlir::dyn_cast<mlir::FloatType>(element)) {
    llvm::APFloat value(floats.getFloatSemantics(), llvm::APInt(floats.getWidth(), bitsAt(index)));
    bool lossy;
    value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lossy);
    return value.convertToDouble();
  }
  return element.isUnsignedInteger() ? double(bitsAt(index)) : double(integerAt(index));
}

uint8_t HostTensor::fileByte(int64_t index) const {
  return uint8_t(mlir::isa<mlir::IntegerType>(element) ? uint64_t(integerAt(index)) : bitsAt(index));
}

std::string HostTensor::fileBytes() const {
  if (bits() >= 8)
    return std::string(reinterpret_cast<const char *>(bytes.data()), byteCount());
  std::string text(count(), 0);
  for (int64_t i = 0; i < count(); ++i)
    text[i] = char(fileByte(i));
  return text;
}

llvm::Error HostTensor::allocate(int64_t least) {
  int64_t total = bits();
  bool fits = true;
  std::string text;
  for (int64_t size : sizes) {
    text += (text.empty() ? "" : "x") + std::to_string(size);
    fits &= size >= 0 && !__builtin_mul_overflow(total, size, &total);
  }
  total = llvm::divideCeil(uint64_t(total), 8);
  static int64_t taken = 0; // bytes of all tensors that this process has allocated; it keeps them until it exits
  const int64_t memory = int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  fits = fits && total <= memory - taken;
  try {
    if (fits)
      bytes.resize(std::max(least, total));
  } catch (const std::bad_alloc &) {
    fits = false;
  }
  if (!fits)
    return llvm::createStringError("a tensor of " + text + " elements of " + dtypeName(element) +
                                   " does not fit into the memory of this machine, which has " +
                                   std::to_string(memory >> 20) + " MiB" +
                                   (taken ? ", of which other tensors use " + std::to_string(taken >> 20) : ""));
  taken += total;
  return llvm::Error::success();
}

} // namespace tilewright::driver
