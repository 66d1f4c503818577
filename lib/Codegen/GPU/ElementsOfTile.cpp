//===- ElementsOfTile.cpp - elements of scans and scatters, as one thread computes them --===//
//
//   scan:     element (i, j) = x[i, 0] + ... + x[i, j], in order
//   scatter:  element p = old[p] combined with the source elements that are scattered to p, in order. The thread
//             searches the source elements that may be scattered to p. There are no atomics, and all runs produce the
//             same result.
//
// If the index of a destination dimension is a loop over a source dimension, the destination's index determines the
// source's index, so there is no loop over this dimension. The thread iterates over the other source dimensions, and
// compares the indices of the other destination dimensions, such as those that index tensors determine.
//
// Test: test/Python/test_cuda.py (test_cumsum_and_cumprod_match_eager, test_scatter_and_index_put_match_eager)
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Combiner.h"
#include "lib/Codegen/GPU/Elements.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tilewright/AttributeNames.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// Returns the conjunction of `a` and `b`; a null `a` means true.
Value both(OpBuilder &builder, Location loc, Value a, Value b) {
  return a ? arith::AndIOp::create(builder, loc, a, b).getResult() : b;
}

} // namespace

Value combineScattered(OpBuilder &b, Location loc, tile::ScatterKind kind, Value x, Value y) {
  std::optional<tile::Combiner> combiner = tile::combinerOf(kind);
  return combiner ? tile::combine(b, loc, *combiner, x, y) : y;
}

Value Elements::inOrder(Value extent, Value initial, llvm::function_ref<Value(Value, Value)> body) {
  auto loop = scf::ForOp::create(builder, kernel.getLoc(), constant(0), extent, constant(1), ValueRange{initial});
  inScope([&] {
    builder.setInsertionPointToStart(loop.getBody());
    Value next = body(loop.getInductionVar(), loop.getRegionIterArgs()[0]);
    builder.setInsertionPointToEnd(loop.getBody());
    scf::YieldOp::create(builder, kernel.getLoc(), next);
  });
  return loop.getResult(0);
}

Value Elements::scan(Operation *op, ArrayRef<Value> at) {
  auto scan = cast<tile::ScanOp>(op);
  Location loc = op->getLoc();
  Value input = scan.getInputs()[0];
  int64_t dim = scan.getDim();
  Type type = cast<ShapedType>(op->getResult(0).getType()).getElementType(), wide = type;
  if (type.isBF16() || type.isF16())
    wide = builder.getF32Type();
  // As in eager, a running sum or product of f32 is computed in f64.
  const tile::Combiner combiner = tile::combinerOf(scan.getKind());
  if (type.isF32() && tile::dependsOnOrder(combiner, type))
    wide = builder.getF64Type();
  auto load = [&](Value position) -> Value {
    SmallVector<Value> from(at);
    from[dim] = position;
    Value x = element(input, from);
    return wide == type ? x : arith::ExtFOp::create(builder, loc, wide, x).getResult();
  };
  Value first = load(constant(0));
  Value sum = inOrder(at[dim], first, [&](Value j, Value accumulated) {
    return tile::combine(builder, loc, combiner, accumulated, load(add(j, constant(1))));
  });
  return wide == type ? sum : arith::TruncFOp::create(builder, loc, type, sum).getResult();
}

SmallVector<Value> Elements::indicesOf(tile::ScatterOp scatter, ArrayRef<Value> loops) {
  SmallVector<Value> indices;
  for (auto [operand, indexMap] : llvm::zip_equal(scatter.getInputs().drop_front(), scatter.getIndexMaps())) {
    SmallVector<Value> where;
    for (AffineExpr expr : cast<AffineMapAttr>(indexMap).getValue().getResults())
      where.push_back(evaluate(expr, loops));
    indices.push_back(
        arith::IndexCastOp::create(builder, scatter->getLoc(), builder.getIndexType(), element(operand, where)));
  }
  return indices;
}

Value Elements::reachesRows(tile::ScatterOp scatter, ArrayRef<Value> loops, ArrayRef<unsigned> searched, Value first,
                            Value number) {
  Location loc = scatter->getLoc();
  const SmallVector<Value> indices = indicesOf(scatter, loops);
  Value row, found;
  for (unsigned dim : searched) {
    AffineExpr expr = scatter.getDestMap().getResult(dim);
    Value extent = size(scatter.getOutputs()[0], dim),
          index = affine::expandAffineExpr(builder, loc, expr, loops, indices);
    if (isa<AffineSymbolExpr>(expr)) {
      index = scatter->hasAttr(fromStartAttrName) ? index : fromStart(index, extent);
      Value outside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge, index, extent);
      found = found ? arith::OrIOp::create(builder, loc, found, outside).getResult() : outside;
    }
    row = row ? add(multiply(row, extent), index) : index;
  }
  Value isNear = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                       arith::SubIOp::create(builder, loc, row, first), number);
  return found ? arith::OrIOp::create(builder, loc, found, isNear).getResult() : isNear;
}

Value Elements::meets(tile::ScatterOp scatter, ArrayRef<Value> loops, ArrayRef<Value> at, ArrayRef<unsigned> searched) {
  Location loc = scatter->getLoc();
  const SmallVector<Value> indices = indicesOf(scatter, loops);
  Value here;
  for (unsigned dim : searched) {
    AffineExpr expr = scatter.getDestMap().getResult(dim);
    Value index = affine::expandAffineExpr(builder, loc, expr, loops, indices);
    if (isa<AffineSymbolExpr>(expr))
      index = indexOrNone(index, size(scatter.getOutputs()[0], dim), !scatter->hasAttr(fromStartAttrName));
    here = both(builder, loc, here, arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, index, at[dim]));
  }
  return here;
}

Value Elements::scatter(Operation *op, ArrayRef<Value> at) {
  auto scatter = cast<tile::ScatterOp>(op);
  Location loc = op->getLoc();
  Value source = scatter.getInputs()[0], old = scatter.getOutputs()[0];
  Type type = cast<ShapedType>(old.getType()).getElementType();
  SmallVector<Value> loops(cast<ShapedType>(source.getType()).getRank());
  AffineMap map = scatter.getDestMap();
  Value reached;
  SmallVector<unsigned> searched; // dimensions of the destination that no loop indexes directly
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    auto loop = dyn_cast<AffineDimExpr>(expr);
    if (!loop || loops[loop.getPosition()]) {
      searched.push_back(dim);
      continue;
    }
    loops[loop.getPosition()] = at[dim];
    Value extent = size(source, loop.getPosition());
    if (extent != size(old, dim))
      reached =
          both(builder, loc, reached, arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, at[dim], extent));
  }
  SmallVector<unsigned> free;
  for (auto [loop, value] : llvm::enumerate(loops))
    if (!value)
      free.push_back(loop);
  auto meet = [&](Value accumulated) -> Value {
    Value here = meets(scatter, loops, at, searched);
    auto taken = [&] { return combineScattered(builder, loc, scatter.getKind(), accumulated, element(source, loops)); };
    return here ? choose(here, type, taken, [&] { return accumulated; }) : taken();
  };
  std::function<Value(size_t, Value)> nest = [&](size_t depth, Value accumulated) -> Value {
    if (depth == free.size())
      return meet(accumulated);
    return inOrder(size(source, free[depth]), accumulated, [&](Value index, Value carried) {
      loops[free[depth]] = index;
      return nest(depth + 1, carried);
    });
  };
  Value before = element(old, at);
  if (!reached)
    return nest(0, before);
  return choose(reached, type, [&] { return nest(0, before); }, [&] { return before; });
}

} // namespace tilewright::gpu
