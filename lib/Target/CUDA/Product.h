//===- Product.h - contractions that tensor cores take -----------------------------------===//
#ifndef TILEWRIGHT_LIB_TARGET_CUDA_PRODUCT_H
#define TILEWRIGHT_LIB_TARGET_CUDA_PRODUCT_H

#include "lib/Target/CUDA/Contraction.h"

namespace tilewright::cuda {

/// Why tensor cores do not compute it; empty: they do, by a schedule `mma`.
std::string whyNotOnTensorCores(Contraction product);

/// A schedule for it, which whyNotMma() may yet refuse.
Schedule chooseMma(Contraction product);
/// Why a schedule cannot be emitted on such a block; empty: it can.
std::string whyNotMma(const Schedule &schedule, Contraction product, int64_t sharedBytes);

} // namespace tilewright::cuda

#endif
