//===- Tile.h - the tw_tile dialect ----------------------------------------===//
#ifndef TILEWRIGHT_DIALECTS_TILE_TILE_H
#define TILEWRIGHT_DIALECTS_TILE_TILE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/TilingInterface.h"

#include "dialects/Tile/TileDialect.h.inc"
#include "dialects/Tile/TileEnums.h.inc"
#define GET_OP_CLASSES
#include "dialects/Tile/TileOps.h.inc"

namespace tilewright::tile {
/// Returns true if the scatter writes rows, that is, if adjacent elements along the innermost dimension of the source
/// are adjacent in the destination, too. The innermost index of an element is then unchanged, and the other indices do
/// not depend on it. In addition, source and destination must have at least two dimensions and static innermost sizes.
/// The innermost size of the source must be at least 2 and at most that of the destination, and the elements must not
/// be i1.
bool writesRows(ScatterOp scatter);
/// Returns 1 if `divisor` is 0, otherwise `divisor`; tw_tile.divisor has the same result. If `isZero` is not null, sets
/// it to a value that is true if `divisor` is 0.
mlir::Value divideByOne(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value divisor,
                        mlir::Value *isZero = nullptr);
/// Registers one-shot bufferization of the tw_tile ops as external models. Call this before a context is created.
void registerBufferizableOpInterfaceExternalModels(mlir::DialectRegistry &registry);
} // namespace tilewright::tile

#endif
