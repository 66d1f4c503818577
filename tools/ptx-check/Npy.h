//===- Npy.h - read and write .npy files as bytes ---------------------------------===//
#ifndef TILEWRIGHT_TOOLS_PTXCHECK_NPY_H
#define TILEWRIGHT_TOOLS_PTXCHECK_NPY_H

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::ptx {

struct Array {
  std::string type; ///< the dtype as numpy writes it: "<f4"
  std::vector<uint64_t> shape;
  std::vector<uint8_t> bytes;
};

/// Arrays are in C order, little endian. Both functions return false with a reason on failure.
bool readNpy(const std::string &path, Array &array, std::string &error);
bool writeNpy(const std::string &path, const Array &array, std::string &error);

} // namespace tilewright::ptx

#endif
