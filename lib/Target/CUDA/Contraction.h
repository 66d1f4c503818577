//===- Contraction.h - a kernel that is a sum of products with what follows it ----------===//
#ifndef TILEWRIGHT_LIB_TARGET_CUDA_CONTRACTION_H
#define TILEWRIGHT_LIB_TARGET_CUDA_CONTRACTION_H

#include "lib/Target/CUDA/Schedule.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tilewright::cuda {

/// A reduction of what follows a product over the product's columns: each of its loops is one of the product's.
struct RowSum {
  mlir::linalg::LinalgOp op;
  llvm::SmallVector<unsigned> loops;
};

/// C[b..., m..., n...] = sum over k... of A * B, of any type: products of matrices, and convolutions, whose A is read
/// in windows. Operands may be computed in the kernel, element by element.
struct Contraction {
  mlir::linalg::LinalgOp op;
  llvm::SmallVector<unsigned> batches; ///< loops that both operands or none have
  llvm::SmallVector<unsigned> rows;    ///< loops of A alone
  llvm::SmallVector<unsigned> columns; ///< loops of B alone
  llvm::SmallVector<unsigned> depth;   ///< loops of the sum
  /// For each result of the kernel, the loop that each of its dimensions is.
  llvm::SmallVector<llvm::SmallVector<unsigned>> results;
  /// Reductions of rows that follow, in order: only schedules whose blocks have whole rows compute them.
  llvm::SmallVector<RowSum> rowSums;

  mlir::OpOperand *lhs() { return op.getDpsInputOperand(0); }
  mlir::OpOperand *rhs() { return op.getDpsInputOperand(1); }
  /// Elements of a loop nest of these; kDynamic where one is not known.
  int64_t sizeOf(llvm::ArrayRef<unsigned> loops);
  /// The product of their sizes over the kernel's index arguments; they are loops of the result.
  mlir::AffineExpr sizeExpr(llvm::ArrayRef<unsigned> loops);
  /// Elements of a loop nest of these, for estimates: one that is not known is taken for 1024.
  int64_t likelySizeOf(llvm::ArrayRef<unsigned> loops);
  /// Large tiles where they still give work to all multiprocessors; narrow ones for a few rows.
  enum class TileClass { Large, Medium, Narrow };
  TileClass tileClass();
  /// Bytes of a tile of A and B of `schedule` in shared memory, of which there are two.
  int64_t bytesOfTiles(const Schedule &schedule);
};

/// Whether all arguments of `kernel` are tensors of known sizes.
bool sizesAreKnown(mlir::func::FuncOp kernel);

/// Nanoseconds that the models of two kernels instead of one add for the second: it begins when the first has ended.
inline constexpr double secondKernel = 2500;

/// The contraction of `kernel`, or null with the reason.
std::optional<Contraction> matchContraction(mlir::func::FuncOp kernel, std::string &reason);

/// Why a tile of `columns` has no whole rows where the kernel reduces them; empty: it has, or need not.
std::string whyNotWholeRows(Contraction contraction, int64_t columns);

/// A schedule for it, or null where one thread for each element does as well.
std::optional<Schedule> chooseFma(Contraction contraction);
/// Why a schedule cannot be emitted; empty: it can.
std::string whyNotFma(const Schedule &schedule, Contraction contraction);

/// A float of 8 bits that tensor cores multiply, and what PTX calls it.
bool isFloat8(mlir::Type type);
llvm::StringRef ptxName(mlir::Type float8);

/// Elements that keep the rows of a tile of elements of `type` apart: they begin at multiples of 16 bytes.
int64_t paddingOf(mlir::Type type);

} // namespace tilewright::cuda

#endif
