//===- NpyFile.h - read and write tensors in NumPy files -------------------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_NPYFILE_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_NPYFILE_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <vector>

namespace tilewright::driver {

/// A dense tensor of the program, in row-major order.
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
  /// Allocates `bytes` with zeros, at least `least` bytes. Fails if the machine has too little memory, or a size is
  /// negative.
  llvm::Error allocate(int64_t least = 64);
};

/// Returns the name of a dtype in NumPy and torch: "float32"; "bfloat16" and "float8_..." are raw bytes in NumPy.
std::string dtypeNameOf(mlir::Type element);

/// Reads a .npy file, row-major or column-major, whose dtype must be that of `element`; bfloat16 is '<V2', float8 is
/// '|V1'. Errors name the file and describe its contents.
llvm::Expected<HostTensor> readNpy(llvm::StringRef path, mlir::Type element);

/// Writes a .npy file of format 1.0.
llvm::Error writeNpy(llvm::StringRef path, const HostTensor &tensor);

} // namespace tilewright::driver

#endif
