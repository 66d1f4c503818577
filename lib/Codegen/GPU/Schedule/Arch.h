//===- Arch.h - the architectures that the target cuda supports ------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_ARCH_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_ARCH_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tilewright::gpu {

/// Element formats that the tensor cores multiply in addition to bf16, f16 and int8.
struct TensorFormats {
  bool tf32 = true;   ///< f32 operands, rounded to tf32
  bool float8 = true; ///< e4m3 and e5m2
};

struct Arch {
  llvm::StringLiteral name;
  int64_t sharedBytes;      ///< maximum shared memory per block
  llvm::StringLiteral note; ///< comment at the start of the PTX: the features of the architecture that kernels use
  // Rates and sizes of a typical card of the architecture, for the cost model (ProductSpace.cpp):
  int64_t multiprocessors;
  double gigahertz;
  double halfFlops;  ///< 16-bit floating-point operations per cycle and multiprocessor with mma.sync
  double groupFlops; ///< the same with wgmma; 0 if the architecture has neither wgmma nor TMA
  double deviceRate; ///< bytes per nanosecond from the card's memory
  double cacheBytes; ///< size of the L2 cache
  bool float8;       ///< the tensor cores multiply e4m3 and e5m2
  /// True if products of f32 may round their operands to tf32, which has a 10-bit mantissa (suffix `+tf32`).
  bool tf32 = false;
  TensorFormats formats() const { return {tf32, float8}; }
};

inline constexpr llvm::StringLiteral defaultArch = "sm_80";

/// The suffix of an architecture's name that allows f32 products to be computed in tf32.
inline constexpr llvm::StringLiteral tf32Suffix = "+tf32";

/// Returns the architecture with this name, such as `sm_80` or `sm_80+tf32`. The error lists the supported names.
llvm::Expected<Arch> findArch(llvm::StringRef name);

/// Returns the architecture for a chip of this compute capability (90 for 9.0). This is the exact match if there is
/// one, otherwise the newest architecture whose PTX the chip accepts, otherwise `defaultArch`.
llvm::StringRef archOfCapability(int capability);
/// Returns true if a chip of this compute capability runs PTX for `arch`. PTX for an architecture with the suffix `a`
/// runs on chips of exactly one capability.
bool runsOn(llvm::StringRef arch, int capability);

} // namespace tilewright::gpu

#endif
