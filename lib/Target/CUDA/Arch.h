//===- Arch.h - the architectures that the target cuda knows ---------------------------===//
#ifndef TILEWRIGHT_LIB_TARGET_CUDA_ARCH_H
#define TILEWRIGHT_LIB_TARGET_CUDA_ARCH_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tilewright::cuda {

struct Arch {
  llvm::StringLiteral name;
  int64_t sharedBytes;      ///< that a block may have
  llvm::StringLiteral note; ///< what code for it leaves unused; empty: nothing
  // A card of it, for estimates (ProductSpace.cpp):
  int64_t multiprocessors;
  double gigahertz;
  double halfFlops;  ///< floating point operations of 16 bits a cycle and multiprocessor, by mma.sync
  double groupFlops; ///< the same by wgmma; 0: it has none, and no TMA
  double deviceRate; ///< bytes a nanosecond from the card's memory
};

inline constexpr llvm::StringLiteral defaultArch = "sm_80";

/// The architecture of that name; the error names those there are.
llvm::Expected<Arch> findArch(llvm::StringRef name);

} // namespace tilewright::cuda

#endif
