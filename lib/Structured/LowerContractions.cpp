//===- LowerContractions.cpp - matmul to linalg.contract ----------------------===//
//
// Before:
//   %1 = tw.permute %w {permutation = [1, 0]} : tensor<8x16xbf16> -> tensor<16x8xbf16>
//   %2 = tw.matmul %x, %1 : (tensor<4x16xbf16>, tensor<16x8xbf16>) -> tensor<4x8xbf16>
// After:
//   %0 = linalg.fill ins(0.0) outs(tensor.empty) : tensor<4x8xf32>
//   %1 = linalg.contract indexing_maps = [(m, n, k) -> (m, k), (m, n, k) -> (n, k), (m, n, k) -> (m, n)]
//          ins(%x, %w) outs(%0) : tensor<4x8xf32>                  // the permute is a map
//   %2 = linalg.generic {truncf fastmath<contract>} ins(%1) : tensor<4x8xbf16>
//
// Test: test/Structured/lower-contractions.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Structured/Lowering.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;

namespace tilewright::structured {

/// The operand read as a projected permutation that shows the loops in `needed`; materialized where it cannot be.
static Read contractOperand(Lowering &l, Value graphValue, AffineMap loopsToValue, ArrayRef<unsigned> needed) {
  Read read = l.read(graphValue, loopsToValue);
  Read whole{Value(), loopsToValue, TypedAttr(), read.elementType};
  auto materialized = [&]() {
    whole.base = l.tensor(graphValue);
    return whole;
  };
  if (read.splat)
    return materialized();
  llvm::SmallBitVector seen(read.map.getNumDims());
  SmallVector<AffineExpr> kept;
  for (AffineExpr e : read.map.getResults())
    if (auto d = dyn_cast<AffineDimExpr>(e)) {
      seen.set(d.getPosition());
      kept.push_back(e);
    }
  if (llvm::any_of(needed, [&](unsigned loop) { return !seen.test(loop); }))
    return materialized();
  if (kept.size() == read.map.getNumResults())
    return read;
  // Unit dimensions that no loop visits: the map of a contraction has no place for them.
  auto type = cast<RankedTensorType>(read.base.getType());
  SmallVector<ReassociationIndices> groups;
  SmallVector<int64_t> shape;
  ReassociationIndices pending;
  for (auto [i, e] : llvm::enumerate(read.map.getResults())) {
    pending.push_back(i);
    if (!isa<AffineDimExpr>(e))
      continue;
    groups.push_back(pending);
    shape.push_back(type.getDimSize(i));
    pending.clear();
  }
  if (groups.empty())
    return materialized();
  llvm::append_range(groups.back(), pending);
  read.base = tensor::CollapseShapeOp::create(l.builder, l.loc, RankedTensorType::get(shape, type.getElementType()),
                                              read.base, groups);
  read.map = l.map(loopsToValue.getNumDims(), kept);
  return read;
}

LogicalResult lowerContraction(Lowering &l, graph::MatmulOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  SmallVector<AffineExpr> sizes = graph::sizesOf(type);
  unsigned rank = sizes.size(), m = rank - 2, n = rank - 1, k = rank;
  SmallVector<AffineExpr> lhsDims, rhsDims, outDims;
  for (unsigned i = 0; i < rank; ++i) {
    outDims.push_back(l.dim(i));
    if (i < m) {
      lhsDims.push_back(l.dim(i));
      rhsDims.push_back(l.dim(i));
    }
  }
  lhsDims.append({l.dim(m), l.dim(k)});
  rhsDims.append({l.dim(k), l.dim(n)});
  AffineMap lhsMap = l.map(rank + 1, lhsDims), rhsMap = l.map(rank + 1, rhsDims), outMap = l.map(rank + 1, outDims);
  Read lhs = contractOperand(l, op.getLhs(), lhsMap, {m, k});
  SmallVector<unsigned> needed{k, n};
  for (unsigned batch = 0; batch < m; ++batch) // one of the two has to show each batch loop
    if (!lhs.map.isFunctionOfDim(batch))
      needed.push_back(batch);
  Read rhs = contractOperand(l, op.getRhs(), rhsMap, needed);

  Type accumulator = accumulatorType(type.getElementType());
  Value init = l.filled(sizes, cast<TypedAttr>(l.builder.getZeroAttr(accumulator)));
  SmallVector<NamedAttribute> attributes{{l.builder.getStringAttr("tw.op"), l.builder.getStringAttr(l.name)}};
  if (type.getElementType().isUnsignedInteger())
    attributes.emplace_back(l.builder.getStringAttr("cast"),
                            linalg::TypeFnAttr::get(l.context(), linalg::TypeFn::cast_unsigned));
  auto contract = linalg::ContractOp::create(l.builder, l.loc, init.getType(), ValueRange{lhs.base, rhs.base}, init,
                                             l.builder.getAffineMapArrayAttr({lhs.map, rhs.map, outMap}), attributes);
  l.set(op, l.rounded(contract->getResult(0), sizes, type.getElementType()));
  return success();
}

} // namespace tilewright::structured
