//===- TileBounds.cpp - the size of a task's part of a dimension ------------------===//
//
// Tests: test/Codegen/CPU/Schedule/apply-schedule.mlir, test/Codegen/CPU/Schedule/tile-inserts.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/CPU/Schedule/TileBounds.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"

using namespace mlir;

namespace tilewright::tiled {

OpFoldResult sizeOfTile(OpBuilder &builder, Location loc, Value start, int64_t tile, AffineExpr size,
                        OpFoldResult known) {
  auto constant = dyn_cast<AffineConstantExpr>(size);
  if (tile == 1 || (constant && constant.getValue() % tile == 0))
    return builder.getIndexAttr(tile);
  AffineExpr d0 = builder.getAffineDimExpr(0), d1 = builder.getAffineDimExpr(1);
  AffineMap bound = AffineMap::get(2, 0, {builder.getAffineConstantExpr(tile), d1 - d0}, builder.getContext());
  return affine::makeComposedFoldedAffineMin(builder, loc, bound, {start, known});
}

} // namespace tilewright::tiled
