//===- Combiner.h - how reductions, scans and scatters combine elements ---------------===//
#ifndef TILEWRIGHT_DIALECTS_TILE_COMBINER_H
#define TILEWRIGHT_DIALECTS_TILE_COMBINER_H

#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tilewright::tile {

/// The functions of Combiners.def. They are commutative, and associative except for rounding.
enum class Combiner {
#define TW_COMBINER(NAME, ...) NAME,
#include "dialects/Tile/Combiners.def"
};

Combiner combinerOf(ScanKind kind);
/// Returns the combiner of `kind`. Returns nullopt for ScatterKind::Set, because the last element replaces earlier
/// ones.
std::optional<Combiner> combinerOf(ScatterKind kind);
/// Returns the combiner that `op`, an op of the arith dialect, computes; nullopt for any other op.
std::optional<Combiner> combinerOf(mlir::Operation *op);
/// Returns the op that combines the partial results of result `number`. The body of `op` must yield
/// combiner(accumulator, new), and must not use the accumulator elsewhere. Returns null if there is no such op.
mlir::Operation *combinerOf(mlir::linalg::LinalgOp op, unsigned number);

/// Returns true if the result depends on the order in which elements of this type are combined.
bool dependsOnOrder(Combiner combiner, mlir::Type element);

/// Returns the identity element of the combiner in the type `element`.
mlir::TypedAttr identityOf(Combiner combiner, mlir::Type element, bool isUnsigned = false);
/// Returns the identity element of an op that combinerOf() returned, in the type of its result.
mlir::TypedAttr identityOf(mlir::Operation *combiner);

/// Emits the op that combines `x` and `y`, scalars or vectors of one type. `flags` are used for floats. Ends the
/// process if the combiner is not defined on these elements.
mlir::Value combine(mlir::OpBuilder &b, mlir::Location loc, Combiner combiner, mlir::Value x, mlir::Value y,
                    bool isUnsigned = false, mlir::arith::FastMathFlags flags = mlir::arith::FastMathFlags::none);

} // namespace tilewright::tile

#endif
