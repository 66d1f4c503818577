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
/// Whether the innermost elements of the source stay neighbours, at the places that they have in the source.
bool writesRows(ScatterOp scatter);
/// What tw_tile.divisor gives of `divisor`: 1 for 0. In `isZero`, where given, whether it is 0.
mlir::Value divideByOne(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value divisor,
                        mlir::Value *isZero = nullptr);
/// One-shot bufferization of the tw_tile ops (external models; call before any context is used).
void registerBufferizableOpInterfaceExternalModels(mlir::DialectRegistry &registry);
} // namespace tilewright::tile

#endif
