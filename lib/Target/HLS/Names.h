//===- Names.h - names that C++ takes, each once -----------------------------------===//
#ifndef TILEWRIGHT_TARGET_HLS_NAMES_H
#define TILEWRIGHT_TARGET_HLS_NAMES_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace tilewright::hls {

/// Module attributes of --tw-hls-accept-model: per input and output of the model its name and tensor type.
inline constexpr llvm::StringLiteral inputsAttrName = "tw_hls.inputs", outputsAttrName = "tw_hls.outputs";
/// On the function that is the design, and on a task's function that moves data between ports and the chip.
inline constexpr llvm::StringLiteral topAttrName = "tw_hls.top", moverAttrName = "tw_hls.mover";
/// Argument attribute of a task's function: the name of the parameter.
inline constexpr llvm::StringLiteral parameterAttrName = "tw_hls.parameter";

/// Hands out C identifiers that are no words of C++, each once.
class NameTable {
public:
  /// `wish`, with '_' for what C++ does not take, and a number behind it if it was taken before.
  std::string take(llvm::StringRef wish);

private:
  llvm::StringMap<int> taken;
};

/// i, j, k, ... of a loop by its number; u, v, ... of copies. Behind the last letter of six come numbers.
std::string letter(char first, size_t number);

/// "softmax" for "softmax+softmax", "matmul_add" for "matmul+add": at most three ops of a kernel.
std::string kernelName(llvm::StringRef operations);

} // namespace tilewright::hls

#endif
