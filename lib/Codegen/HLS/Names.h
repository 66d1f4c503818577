//===- Names.h - unique names that are valid in C++ --------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_NAMES_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_NAMES_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace tilewright::hls {

/// Module attributes of --tw-hls-accept-model: the name and tensor type of each input and output of the model.
inline constexpr llvm::StringLiteral inputsAttrName = "tw_hls.inputs", outputsAttrName = "tw_hls.outputs";
/// Attributes of the design's function, and of the function of a task that only copies data between ports and arrays,
/// or from one array to others.
inline constexpr llvm::StringLiteral topAttrName = "tw_hls.top", moverAttrName = "tw_hls.mover";
/// Argument attribute of a task's function: the name that the parameter has in C++.
inline constexpr llvm::StringLiteral parameterAttrName = "tw_hls.parameter";

/// Assigns unique C identifiers that are not C++ keywords or otherwise reserved.
class NameTable {
public:
  /// Returns `preferred` with '_' for invalid characters. Appends '_' if the name is reserved, and a number if the name
  /// is already used. A name that begins with a digit, or is empty, gets the prefix "v".
  std::string take(llvm::StringRef preferred);

private:
  llvm::StringMap<int> taken;
};

/// Returns a name for loop `number`. For `first` = 'i', the names are i, j, k, .... For 'u', which is used for unrolled
/// loops, the names are u, v, .... After six letters, the letters repeat with a number: i1, j1, ....
std::string letter(char first, size_t number);

/// Returns the name of a kernel: "softmax" for "softmax+softmax", "matmul_add" for "matmul+add". The name contains at
/// most three ops, and is "kernel" if `operations` is empty.
std::string kernelName(llvm::StringRef operations);

} // namespace tilewright::hls

#endif
