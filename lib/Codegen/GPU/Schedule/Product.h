//===- Product.h - contractions that tensor cores support --------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_PRODUCT_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_SCHEDULE_PRODUCT_H

#include "lib/Codegen/GPU/Contraction.h"
#include "lib/Codegen/GPU/Schedule/Arch.h"

namespace tilewright::gpu {

/// Return the element types of A and B. If tensor cores support the product, the two types are equal, or they are two
/// different 8-bit floats.
mlir::Type elementOf(Contraction product);
mlir::Type rhsElementOf(Contraction product);

/// Returns the reason why tensor cores that multiply `formats` do not support the product, or an empty string if a
/// schedule `mma` supports it. If `mayPad` is true, operands may be padded images or patches (PaddedImage.h), and need
/// not be contiguous along the innermost loops. Only the schedule `wgmma` supports such operands, with other
/// conditions.
std::string whyNotOnTensorCores(Contraction product, TensorFormats formats, bool mayPad = false);

inline constexpr int64_t mostRegisters = 255;  ///< registers per thread
inline constexpr int64_t aroundRegisters = 40; ///< registers of a thread that are used for addresses

/// Returns the index of the bf16 part (SplitF32.h) that belongs to pair number `pair`, for the operand whose parts are
/// not stored in the order of the pairs.
mlir::AffineExpr partOfPair(mlir::AffineExpr pair);
/// Returns the loop over pairs if `expr` is the result of partOfPair() for a loop, otherwise std::nullopt.
std::optional<unsigned> loopOfParts(mlir::AffineExpr expr);
/// Returns true if an operand of the product is indexed by bf16 parts.
bool multipliesParts(Contraction product);

/// Returns true for products of 8-bit floats and of bf16 parts. Tensor cores accumulate products of 8-bit floats with
/// only 13 or 14 fraction bits. They truncate the sums of bf16 parts, which must be as precise as f32. Therefore, the
/// sums of each K-block of these products start at zero and are then added to f32 accumulators. A thread has two sets
/// of sums.
bool addsTiles(Contraction product);
inline int64_t setsOfSums(Contraction product) { return addsTiles(product) ? 2 : 1; }

/// Returns the approximate number of registers of a thread, which contain `sets` sets of sums, the fragments of a step,
/// and addresses.
int64_t registersOf(const Schedule &schedule, int64_t sets);

/// Returns the reason why a schedule cannot be emitted with this much shared memory, or an empty string if it can.
std::string whyNotMma(const Schedule &schedule, Contraction product, int64_t sharedBytes);

} // namespace tilewright::gpu

#endif
