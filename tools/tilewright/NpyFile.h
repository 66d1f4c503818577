//===- NpyFile.h - read and write tensors in NumPy files -------------------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_NPYFILE_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_NPYFILE_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <vector>

namespace tilewright::driver {

/// A dense row-major tensor in host memory.
struct HostTensor {
  mlir::Type element;
  std::vector<int64_t> sizes;
  std::vector<uint8_t> bytes; ///< at least one byte, because an empty tensor needs an address

  unsigned width() const { return std::max(1u, element.getIntOrFloatBitWidth() / 8); }
  int64_t count() const {
    int64_t total = 1;
    for (int64_t size : sizes)
      total *= size;
    return total;
  }
  /// Allocates `bytes` for the tensor's sizes, but at least `least` bytes, and fills `bytes` with zeros. Fails if a
  /// size is negative or if the machine has too little memory.
  llvm::Error allocate(int64_t least = 64);
};

/// Returns the name of a dtype in NumPy and torch, such as "float32". NumPy has no dtype "bfloat16" or "float8_...".
std::string dtypeNameOf(mlir::Type element);

/// Reads a row-major or column-major .npy file. Its dtype must be that of `element`, where bfloat16 is stored as '<V2'
/// and float8 as '|V1', which are raw bytes. Errors name the file and describe its contents.
llvm::Expected<HostTensor> readNpy(llvm::StringRef path, mlir::Type element);

/// Writes a .npy file of format 1.0.
llvm::Error writeNpy(llvm::StringRef path, const HostTensor &tensor);

} // namespace tilewright::driver

#endif
