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

/// Reads and writes .npy files in C order and little endian. On failure, both functions return false and store the
/// reason in `error`.
bool readNpy(const std::string &path, Array &array, std::string &error);
bool writeNpy(const std::string &path, const Array &array, std::string &error);

} // namespace tilewright::ptx

#endif
