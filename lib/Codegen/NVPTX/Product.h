//===- Product.h - contractions that tensor cores support --------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_NVPTX_PRODUCT_H
#define TILEWRIGHT_LIB_CODEGEN_NVPTX_PRODUCT_H

#include "lib/Codegen/GPU/Contraction.h"
#include "lib/Codegen/NVPTX/Arch.h"

namespace tilewright::cuda {

/// The element types of the operands. B has the type of A, or one 8-bit float has the other 8-bit float.
mlir::Type elementOf(Contraction product);
mlir::Type rhsElementOf(Contraction product);

/// Returns why tensor cores that multiply `formats` do not support the product, or an empty string if a schedule `mma`
/// does.
std::string whyNotOnTensorCores(Contraction product, TensorFormats formats);

inline constexpr int64_t mostRegisters = 255;  ///< per thread
inline constexpr int64_t aroundRegisters = 40; ///< of these, for addresses

/// Tensor cores accumulate 8-bit floats with 13 or 14 fraction bits. So the sums of each K-block start at zero, and are
/// added to the accumulators in f32: a thread has two sets of sums.
bool addsTiles(Contraction product);
inline int64_t setsOfSums(Contraction product) { return addsTiles(product) ? 2 : 1; }

/// Returns the approximate registers of a thread: `sets` sets of sums, the fragments of a step, and addresses.
int64_t registersOf(const Schedule &schedule, int64_t sets);

/// Returns why a schedule cannot be emitted for this much shared memory, or an empty string if it can.
std::string whyNotMma(const Schedule &schedule, Contraction product, int64_t sharedBytes);

} // namespace tilewright::cuda

#endif
