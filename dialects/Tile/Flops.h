//===- Flops.h - the number of operations of a kernel's contractions --------===//
#ifndef TILEWRIGHT_DIALECTS_TILE_FLOPS_H
#define TILEWRIGHT_DIALECTS_TILE_FLOPS_H

#include "dialects/Tile/Sizes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::tile {

/// Returns the number of keys (and values) of a head, for attention and its gradient.
template <typename Op> mlir::AffineExpr keysOf(Op attention) {
  constexpr int64_t key = 1, rows = 2;
  std::optional<llvm::ArrayRef<int64_t>> permutations = attention.getPermutations();
  return tile::sizeOf(attention.getInputs()[key], permutations ? (*permutations)[4 * key + rows] : rows);
}

/// Stores the number of multiplications and additions of the kernel's contractions in the attribute tw.flops, for
/// profiles, as an affine map of the kernel's index arguments. Contractions with unknown sizes are not counted.
void setFlops(mlir::func::FuncOp kernel);

} // namespace tilewright::tile

#endif
