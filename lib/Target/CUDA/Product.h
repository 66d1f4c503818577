//===- Product.h - a kernel that is a product of matrices with what follows it ----------===//
#ifndef TILEWRIGHT_LIB_TARGET_CUDA_PRODUCT_H
#define TILEWRIGHT_LIB_TARGET_CUDA_PRODUCT_H

#include "lib/Target/CUDA/Schedule.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tilewright::cuda {

/// C[b, m, n] = sum over k of A[b, m, k] * B[b, k, n] with operands stored in any order, and element-wise ops of C.
struct Product {
  mlir::linalg::LinalgOp op;
  unsigned m = 0, n = 0, k = 0;        ///< its loops
  llvm::SmallVector<unsigned> batches; ///< the other loops; an operand may be without them

  mlir::OpOperand *lhs() { return op.getDpsInputOperand(0); }
  mlir::OpOperand *rhs() { return op.getDpsInputOperand(1); }
  /// Static sizes of the loops, or ShapedType::kDynamic.
  int64_t sizeOf(unsigned loop) { return op.getStaticLoopRanges()[loop]; }
};

/// Whether all that the kernel computes from `op`'s result, and returns, is computed element by element, at the places
/// of `op`'s result; else the reason.
bool isFollowedElementwise(mlir::func::FuncOp kernel, mlir::linalg::LinalgOp op, std::string &reason);

/// The product of `kernel` for tensor cores, or null with the reason.
std::optional<Product> matchProduct(mlir::func::FuncOp kernel, std::string &reason);

/// A schedule for it, which whyNotMma() may yet refuse.
Schedule chooseMma(Product product);
/// Why a schedule cannot be emitted on such a block; empty: it can.
std::string whyNotMma(const Schedule &schedule, int64_t sharedBytes);

} // namespace tilewright::cuda

#endif
