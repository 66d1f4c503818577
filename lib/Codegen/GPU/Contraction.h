//===- Contraction.h - a kernel with one contraction and its epilogue -------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_GPU_CONTRACTION_H
#define TILEWRIGHT_LIB_CODEGEN_GPU_CONTRACTION_H

#include "lib/Codegen/GPU/Schedule.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "tilewright/ElementTypes.h"
#include "llvm/ADT/SetVector.h"

namespace tilewright::gpu {

/// A reduction of the epilogue over the product's columns. `loops` maps each loop of `op` to a loop of the product.
struct RowSum {
  mlir::linalg::LinalgOp op;
  llvm::SmallVector<unsigned> loops;
};

/// C[b..., m..., n...] = sum over k... of A * B, where the elements may have any type. This is the form of matrix
/// products, and of convolutions, whose A consists of windows of the image. Operands may be computed elementwise in the
/// kernel.
struct Contraction {
  mlir::linalg::LinalgOp op;
  llvm::SmallVector<unsigned> batches; ///< loops that index both operands or neither
  llvm::SmallVector<unsigned> rows;    ///< loops that index only A
  llvm::SmallVector<unsigned> columns; ///< loops that index only B
  llvm::SmallVector<unsigned> depth;   ///< reduction loops
  /// The loop that indexes each dimension, for each result of the kernel.
  llvm::SmallVector<llvm::SmallVector<unsigned>> results;
  /// The row reductions after the contraction, in order. Only schedules whose warps compute whole rows support them.
  llvm::SmallVector<RowSum> rowSums;
  /// True if A is the second operand of `op`, and B is the first. C is then the transposed product.
  bool swapped = false;
  /// The second product of a pair (PairProducts.h), or null. It has the same first operand, the same loops and the same
  /// indexing maps as `op`. The epilogue reads the results of both products at the same indices.
  mlir::linalg::LinalgOp second = {};

  mlir::OpOperand *lhs() { return op.getDpsInputOperand(swapped ? 1 : 0); }
  mlir::OpOperand *rhs() { return op.getDpsInputOperand(swapped ? 0 : 1); }
  int64_t numProducts() const { return second ? 2 : 1; }
  /// Returns the second product of a pair as a single product.
  Contraction secondProduct() const;
  /// Returns the transposed product of the same op.
  Contraction transposed() const;
  /// Returns the number of iterations of `loops`, or kDynamic if a size is unknown.
  int64_t sizeOf(llvm::ArrayRef<unsigned> loops);
  /// Returns the product of the sizes of `loops` as an expression of the kernel's index arguments. All loops must index
  /// the result.
  mlir::AffineExpr sizeExpr(llvm::ArrayRef<unsigned> loops);
  /// Returns an estimate of the number of iterations of `loops`: an unknown size is assumed to be 1024.
  int64_t likelySizeOf(llvm::ArrayRef<unsigned> loops);
  /// The classes of tiles. Narrow tiles, which have few rows, are used for products with at most 16 rows. For products
  /// with more rows, large tiles are used if the product has at least 100 of them, enough for the multiprocessors of a
  /// large GPU. Otherwise, medium tiles are used.
  enum class TileClass { Large, Medium, Narrow };
  TileClass tileClass();
  /// Returns the total size in bytes of one tile of A and one tile of B in shared memory. The schedule `fma` has two
  /// tiles of each operand.
  int64_t bytesOfTiles(const Schedule &schedule);
};

/// Returns true if all arguments of `kernel` are tensors of static shape.
bool sizesAreKnown(mlir::func::FuncOp kernel);
/// Returns the linalg ops of `kernel` except linalg.fill, in program order.
llvm::SmallVector<mlir::Operation *> structuredOpsOf(mlir::func::FuncOp kernel);
/// Returns `op` and the ops of its kernel that it needs, including those that regions of these ops read.
llvm::SetVector<mlir::Operation *> opsNeededFor(mlir::Operation *op);

/// The part of a kernel's time, in nanoseconds from the launch to the end, that does not depend on the schedule. The
/// value is fitted to measured times on an H200 (WgmmaModel.h).
inline constexpr double kernelLaunch = 3860;
/// Nanoseconds that the cost models add for a second kernel, which starts after the first has ended.
inline constexpr double secondKernel = 2500;

/// Returns the contraction of `kernel`. If the kernel does not have this form, or has a pair of products or several
/// independent contractions, returns std::nullopt and sets `reason`.
std::optional<Contraction> matchContraction(mlir::func::FuncOp kernel, std::string &reason);

/// Attribute (array of i64) of kernels with several independent contractions (JoinProducts.h): the number of results of
/// each contraction. Each result depends on one contraction.
inline constexpr llvm::StringLiteral joinedResultsAttrName = "tw_gpu.joined_results";
/// Returns the contractions of `kernel`. A kernel without the attribute `joinedResultsAttrName` has one, which may be a
/// pair of products. If the kernel does not have this form, returns an empty list and sets `reason`.
llvm::SmallVector<Contraction, 1> matchContractions(mlir::func::FuncOp kernel, std::string &reason);

/// Returns the reason why tiles of `columns` columns cannot be used: the kernel reduces rows, and such a tile does not
/// contain whole rows. Returns an empty string if they can be used.
std::string whyNotWholeRows(Contraction contraction, int64_t columns);

/// Returns a schedule of kind `fma`. Returns std::nullopt if a kernel with one thread per element is assumed to be at
/// least as fast.
std::optional<Schedule> chooseFma(Contraction contraction);
/// Returns the reason why a schedule of kind `fma` cannot be emitted, or an empty string if it can.
std::string whyNotFma(const Schedule &schedule, Contraction contraction);

/// Returns true if `op` is a sum of products that reads the elements of both operands repeatedly, because neither
/// operand is indexed by all loops of the result. A kernel that consists only of such a product cannot have the
/// schedule `rows`, except if readsOnce() is true.
bool isProduct(mlir::linalg::LinalgOp op);
/// Returns true if `op` reads the elements of at least one operand only once. All loops of the result that have more
/// than one iteration index this operand, as in a product of a matrix and a vector.
bool readsOnce(mlir::linalg::LinalgOp op);
/// Returns true if the threads that share a row cannot reduce `op` together: it is a product that has a parallel loop
/// within the row, or that reads both operands repeatedly. `rowOfLoop` has the row of each loop, negative for loops
/// within the row.
bool isProductOfRows(mlir::linalg::LinalgOp op, llvm::ArrayRef<int64_t> rowOfLoop);

/// Returns true if the product has only one row or one column, and all operands are contiguous along the reduction.
/// Each result is then the dot product of a contiguous row of a matrix and a vector. The schedule `rows` reads adjacent
/// elements of the matrix, up to 16 bytes at a time. A tile for tensor cores would consist of padding except for one
/// row. Short dot products, which would leave most lanes of a warp without work, are excluded.
bool isDotProducts(Contraction &contraction);

/// Returns the number of bytes that an element of `type` takes in memory.
int64_t bytesInMemory(mlir::Type type);
/// Returns the number of padding elements after each row of a tile of `type`. The padding takes 16 bytes, so rows
/// remain aligned to 16 bytes if their length is a multiple of 16 bytes.
int64_t paddingOf(mlir::Type type);

} // namespace tilewright::gpu

#endif
