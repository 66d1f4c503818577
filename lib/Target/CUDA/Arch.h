//===- Arch.h - the architectures that the target cuda knows ---------------------------===//
#ifndef TILEWRIGHT_LIB_TARGET_CUDA_ARCH_H
#define TILEWRIGHT_LIB_TARGET_CUDA_ARCH_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tilewright::cuda {

/// What tensor cores multiply besides bf16, f16 and int8.
struct TensorFormats {
  bool tf32 = true;   ///< operands of f32, rounded to it
  bool float8 = true; ///< e4m3 and e5m2
};

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
  double cacheBytes; ///< of the second-level cache
  bool float8;       ///< its tensor cores multiply e4m3 and e5m2
  /// Products of f32 may round their operands to tf32, which has 10 bits behind the point: `+tf32` behind the name.
  bool tf32 = false;
  TensorFormats formats() const { return {tf32, float8}; }
};

inline constexpr llvm::StringLiteral defaultArch = "sm_80";

/// What stands behind an architecture's name where f32 may be multiplied as tf32.
inline constexpr llvm::StringLiteral tf32Suffix = "+tf32";

/// The architecture of that name, `sm_80` or `sm_80+tf32`; the error names those there are.
llvm::Expected<Arch> findArch(llvm::StringRef name);

/// The architecture for a chip of this compute capability (90 for 9.0): its own, else the newest whose PTX it takes,
/// else `defaultArch`.
llvm::StringRef archOfCapability(int capability);

} // namespace tilewright::cuda

#endif
