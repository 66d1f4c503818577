//===- KernelShapes.h - properties of kernels for the cost model -------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_SCHEDULE_KERNELSHAPES_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_SCHEDULE_KERNELSHAPES_H

#include "dialects/Tile/Rows.h"
#include "dialects/Tile/Sizes.h"
#include "dialects/Tile/Tile.h"
#include "lib/Codegen/CPU/Schedule/CostModel.h"

namespace tilewright::tiled {

/// Returns the value of `size`, or an assumed value if it is symbolic.
int64_t estimate(mlir::AffineExpr size);

/// Returns the product of estimate() of `sizes`, where a size of 0 is replaced by 1.
int64_t countOf(llvm::ArrayRef<mlir::AffineExpr> sizes);

/// Returns the ops of the kernel that compute elements, except fills, in order.
llvm::SmallVector<mlir::Operation *> membersOf(mlir::func::FuncOp kernel);

/// Returns the machine that a pass's options describe. Reports an error at `kernel` if the option `rates` cannot be
/// parsed, or if the L1 cache `first` has a value that is not positive, or a size that is not a multiple of
/// `first.ways` * `first.lineBytes`.
llvm::FailureOr<CostMachine> costMachineOf(mlir::func::FuncOp kernel, int64_t threads, int64_t cacheBytes,
                                           int64_t sharedBytes, FirstCache first, llvm::StringRef rates);

struct ProductMachine {
  bool tileUnit = false, splitF16 = false; ///< 16- and 8-bit products use the tile unit; f16 is split into two parts
  MachineRates rates;
};

/// Returns the shape of the product of `matmul`, whose result has the sizes `own`.
ProductShape productShapeOf(tile::MatmulOp matmul, llvm::ArrayRef<mlir::AffineExpr> own, const ProductMachine &machine);

/// Returns true if B is packed in groups of k for an instruction that multiplies them without conversion.
bool isGrouped(tile::MatmulOp matmul, bool splitF16);
/// Returns true if k is not the last dimension of A. The model then assumes that each task transposes its rows of A.
bool readsTransposed(tile::MatmulOp matmul);

/// The shape of a kernel without products.
struct RowsShape {
  int64_t elements = 1;       ///< number of elements that are computed or read, whichever is larger
  int64_t inside = 1;         ///< number of these elements per index of the row dimensions
  double bytesPerElement = 1; ///< bytes that are read and written per element
  bool readAgain = false;     ///< true: rows are reduced, and then read once more
};

RowsShape rowsShapeOf(llvm::ArrayRef<mlir::Operation *> members, const tile::RowMap &rows);

/// A row dimension whose tile size may be chosen, in multiples of `unit`.
struct OpenRow {
  int64_t row, unit;
};

/// Returns the rows of `kernel` whose tile size may be chosen. Returns std::nullopt if all rows have this property. The
/// panel width of a contraction's packed operand is fixed, so `unit` is the panel width for the row that consists of
/// the contraction's columns.
std::optional<llvm::SmallVector<OpenRow>> openRows(mlir::func::FuncOp kernel);

} // namespace tilewright::tiled

#endif
