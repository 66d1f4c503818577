//===- KernelShapes.h - what the cost model wants to know of a kernel --------------------===//
#ifndef TILEWRIGHT_LIB_TILED_KERNELSHAPES_H
#define TILEWRIGHT_LIB_TILED_KERNELSHAPES_H

#include "dialects/Tile/Rows.h"
#include "dialects/Tile/Sizes.h"
#include "dialects/Tile/Tile.h"
#include "lib/Tiled/CostModel.h"

namespace tilewright::tiled {

/// A size, or what a symbolic one is taken for.
int64_t estimate(mlir::AffineExpr size);

/// The product of sizes, each at least 1.
int64_t countOf(llvm::ArrayRef<mlir::AffineExpr> sizes);

/// Its members: the ops that compute, in order.
llvm::SmallVector<mlir::Operation *> membersOf(mlir::func::FuncOp kernel);

/// The number of keys (and values) of a head, for attention and its gradient.
template <typename Op> mlir::AffineExpr keysOf(Op attention) {
  constexpr int64_t key = 1, rows = 2;
  std::optional<llvm::ArrayRef<int64_t>> places = attention.getPermutations();
  return tile::sizeOf(attention.getInputs()[key], places ? (*places)[4 * key + rows] : rows);
}

/// The machine as the passes' options describe it; `rates` that cannot be read are an error at `kernel`.
llvm::FailureOr<CostMachine> costMachineOf(mlir::func::FuncOp kernel, int64_t threads, int64_t cacheBytes,
                                           int64_t sharedBytes, llvm::StringRef rates);

struct ProductMachine {
  bool tileUnit = false, splitF16 = false; ///< products of 16 and 8 bits run on tiles; those of f16 in two parts
  MachineRates rates;
};

/// The product of `matmul`, whose result has the sizes `own`.
ProductShape productShapeOf(tile::MatmulOp matmul, llvm::ArrayRef<mlir::AffineExpr> own, const ProductMachine &machine);

/// B lies in groups for an instruction that multiplies them as they are.
bool isGrouped(tile::MatmulOp matmul, bool splitF16);
/// A's rows lie across its k: each task turns them.
bool readsTurned(tile::MatmulOp matmul);

/// A kernel without products.
struct RowsShape {
  int64_t elements = 1;       ///< that it computes or reads, whichever are more
  int64_t inside = 1;         ///< of them for each element of its rows
  double bytesPerElement = 1; ///< read and written
  bool readAgain = false;     ///< rows are reduced, then read once more
};

RowsShape rowsShapeOf(llvm::ArrayRef<mlir::Operation *> members, const tile::RowMap &rows);

/// A row of tiles whose size is free, in multiples of `unit`.
struct OpenRow {
  int64_t row, unit;
};

/// The rows of `kernel` whose tile size may be chosen: not the panel that a contraction's operand is packed in. No
/// value: all of them.
std::optional<llvm::SmallVector<OpenRow>> openRows(mlir::func::FuncOp kernel);

} // namespace tilewright::tiled

#endif
