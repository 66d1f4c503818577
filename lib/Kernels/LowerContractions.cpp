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
// If a product has few rows and columns but a long k, it would be only a few tasks. With the option split-products, k
// is divided into parts, and the products of the parts (one linalg.contract with a batch dimension) are added.
//
// Test: test/Kernels/lower-contractions.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Kernels/LowerRows.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tilewright/AttributeNames.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;

namespace tilewright::structured {

/// Reads the operand by a projected permutation that uses the loops in `needed`; materializes it if that is impossible.
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
  // The map of a contraction cannot express unit dimensions that no loop indexes, so collapse them.
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

/// Returns the number of parts of k in a product of m x n. It is 1 if there are enough tiles without parts, if there is
/// little work, or if sizes are unknown.
static int64_t partsOfDepth(AffineExpr m, AffineExpr n, AffineExpr k) {
  constexpr int64_t tileRows = 128, tileColumns = 64, few = 8, enough = 32, leastDepth = 256, much = 1 << 22;
  auto rows = dyn_cast<AffineConstantExpr>(m), columns = dyn_cast<AffineConstantExpr>(n);
  auto depth = dyn_cast<AffineConstantExpr>(k);
  if (!rows || !columns || !depth || rows.getValue() == 0 || columns.getValue() == 0)
    return 1;
  int64_t tiles = llvm::divideCeil(rows.getValue(), tileRows) * llvm::divideCeil(columns.getValue(), tileColumns);
  if (tiles >= few || rows.getValue() * columns.getValue() * depth.getValue() < much)
    return 1;
  int64_t parts = 1;
  for (int64_t count = 2; parts * tiles < enough && depth.getValue() / count >= leastDepth; ++count)
    if (depth.getValue() % count == 0)
      parts = count;
  return parts;
}

Value contracted(Lowering &l, const Factor &lhs, const Factor &rhs, AffineExpr m, AffineExpr n, AffineExpr k,
                 Type accumulator, ArrayRef<NamedAttribute> attributes) {
  const int64_t parts = l.splitProducts ? partsOfDepth(m, n, k) : 1;
  const unsigned batch = parts > 1; // the loops are [part] m n k
  auto operand = [&](const Factor &factor, AffineExpr size, unsigned loop) {
    SmallVector<AffineExpr> dims{l.dim(batch + loop), l.dim(batch + 2)}, from{size, k};
    if (factor.depthFirst) {
      std::swap(dims[0], dims[1]);
      std::swap(from[0], from[1]);
    }
    Value tensor = factor.tensor;
    if (parts > 1) {
      SmallVector<AffineExpr> to(from);
      unsigned at = factor.depthFirst ? 0 : 1;
      to[at] = l.constant(cast<AffineConstantExpr>(k).getValue() / parts);
      to.insert(to.begin() + at, l.constant(parts));
      dims.insert(dims.begin() + at, l.dim(0));
      tensor = l.reshaped(tensor, from, to);
    }
    return std::pair(tensor, l.map(batch + 3, dims));
  };
  auto [a, aMap] = operand(lhs, m, 0);
  auto [b, bMap] = operand(rhs, n, 1);
  SmallVector<AffineExpr> sizes{m, n}, outDims{l.dim(batch), l.dim(batch + 1)};
  if (parts > 1) {
    sizes.insert(sizes.begin(), l.constant(parts));
    outDims.insert(outDims.begin(), l.dim(0));
  }
  Value product = l.contract(a, b, {aMap, bMap, l.map(batch + 3, outDims)}, sizes, accumulator, attributes);
  if (parts == 1)
    return product;
  Rows rows(l, graph::tensorWithSizes(sizes, accumulator), {0});
  return rows.reduce(tile::Combiner::Sum, accumulator, rows.whole(product), /*isUnsigned=*/false,
                     [](OpBuilder &, Location, ValueRange in) { return in[0]; });
}

LogicalResult lowerContraction(Lowering &l, graph::MatmulOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  SmallVector<AffineExpr> sizes = graph::sizesOf(type);
  unsigned rank = sizes.size(), m = rank - 2, n = rank - 1, k = rank;
  // If a product has no elements, or an empty sum, its result is filled with 0, because kernels divide by the sizes of
  // their tiles.
  const AffineExpr none = l.constant(0);
  if (llvm::is_contained(sizes, none) || graph::sizesOf(cast<RankedTensorType>(op.getLhs().getType())).back() == none) {
    l.set(op, l.filled(sizes, cast<TypedAttr>(l.builder.getZeroAttr(storageType(type.getElementType())))));
    return success();
  }
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
  for (unsigned batch = 0; batch < m; ++batch) // each batch loop must be used by at least one of the two operands
    if (!lhs.map.isFunctionOfDim(batch))
      needed.push_back(batch);
  Read rhs = contractOperand(l, op.getRhs(), rhsMap, needed);

  Type accumulator = accumulatorType(type.getElementType());
  SmallVector<NamedAttribute> attributes{{l.builder.getStringAttr(opAttrName), l.builder.getStringAttr(l.name)}};
  if (type.getElementType().isUnsignedInteger())
    attributes.emplace_back(l.builder.getStringAttr("cast"),
                            linalg::TypeFnAttr::get(l.context(), linalg::TypeFn::cast_unsigned));
  if (rank == 2 && lhs.map.getNumResults() == 2 && rhs.map.getNumResults() == 2) {
    AffineExpr depth = graph::sizesOf(cast<RankedTensorType>(op.getLhs().getType())).back();
    auto factor = [&](const Read &read) { return Factor{read.base, read.map.getResult(0) == l.dim(k)}; };
    l.set(op, l.rounded(contracted(l, factor(lhs), factor(rhs), sizes[m], sizes[n], depth, accumulator, attributes),
                        sizes, type.getElementType()));
    return success();
  }
  Value product = l.contract(lhs.base, rhs.base, {lhs.map, rhs.map, outMap}, sizes, accumulator, attributes);
  l.set(op, l.rounded(product, sizes, type.getElementType()));
  return success();
}

} // namespace tilewright::structured
