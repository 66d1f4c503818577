//===- NpyFile.h - read and write tensors in NumPy files -------------------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_NPYFILE_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_NPYFILE_H

#include "HostTensor.h"

namespace tilewright::driver {

/// Returns the name of a dtype in NumPy and torch, such as "float32". NumPy has no dtype "bfloat16" or "float8_...".
std::string dtypeNameOf(mlir::Type element);

/// Reads a row-major or column-major .npy file. Its dtype must be that of `element`, where bfloat16 is stored as '<V2'
/// and float8 and float4 as '|V1', which are raw bytes. Elements smaller than a byte have one byte each in the file:
/// int4 is stored as '|i1', and uint4 as '|u1'. Errors name the file and describe its contents.
llvm::Expected<HostTensor> readNpy(llvm::StringRef path, mlir::Type element);

/// Writes a .npy file of format 1.0, with the dtypes of readNpy().
llvm::Error writeNpy(llvm::StringRef path, const HostTensor &tensor);

} // namespace tilewright::driver

#endif
