//===- Product.h - contractions that tensor cores take -----------------------------------===//
#ifndef TILEWRIGHT_LIB_TARGET_CUDA_PRODUCT_H
#define TILEWRIGHT_LIB_TARGET_CUDA_PRODUCT_H

#include "lib/Target/CUDA/Arch.h"
#include "lib/Target/CUDA/Contraction.h"

namespace tilewright::cuda {

/// What it multiplies: A's elements. B has the same, or of 8-bit floats the other.
mlir::Type elementOf(Contraction product);
mlir::Type rhsElementOf(Contraction product);

/// Why tensor cores that multiply `formats` do not compute it; empty: they do, by a schedule `mma`.
std::string whyNotOnTensorCores(Contraction product, TensorFormats formats);

inline constexpr int64_t mostRegisters = 255;  ///< of a thread
inline constexpr int64_t aroundRegisters = 40; ///< of them for what addresses take

/// Sums of 8-bit floats are of 13 or 14 bits behind the point in tensor cores: those of a tile of k are begun anew, and
/// added to the others in f32. So a thread has sums of the tile and of all.
bool addsTiles(Contraction product);
inline int64_t setsOfSums(Contraction product) { return addsTiles(product) ? 2 : 1; }

/// A thread's registers, about: so many sets of sums, a step's fragments, and what is around them.
int64_t registersOf(const Schedule &schedule, int64_t sets);

/// Why a schedule cannot be emitted on such a block; empty: it can.
std::string whyNotMma(const Schedule &schedule, Contraction product, int64_t sharedBytes);

} // namespace tilewright::cuda

#endif
