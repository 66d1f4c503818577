//===- Matrices.cpp - batches of small matrices ---------------------------------------------===//
#include "lib/Import/ATen/Matrices.h"

namespace tilewright {

static AffineExpr sizeFromEnd(Value value, size_t fromEnd) {
  SmallVector<AffineExpr> sizes = sizesOf(Node::typeOf(value));
  return sizes[sizes.size() - fromEnd];
}

int64_t rowsOf(Value matrices) { return cast<AffineConstantExpr>(sizeFromEnd(matrices, 2)).getValue(); }

int64_t columnsOf(Value matrices) { return cast<AffineConstantExpr>(sizeFromEnd(matrices, 1)).getValue(); }

SmallVector<AffineExpr> batchOf(Value matrices) {
  SmallVector<AffineExpr> sizes = sizesOf(Node::typeOf(matrices));
  sizes.truncate(sizes.size() - 2);
  return sizes;
}

Value readMatrices(Node &n, unsigned index, llvm::StringRef name, int64_t largest) {
  Value matrices = n.tensor(index, name);
  if (n.failed() || !n.demand(n.rankOf(matrices) >= 2, "it takes matrices"))
    return matrices;
  Type element = n.elementOf(matrices);
  n.demand(element.isF32() || element.isF64(), "only matrices of float32 and float64 are supported");
  for (size_t fromEnd : {2, 1}) {
    auto size = dyn_cast<AffineConstantExpr>(sizeFromEnd(matrices, fromEnd));
    n.demand(bool(size), "the size of its matrices is symbolic; make it a constant");
    n.demand(!size || size.getValue() <= largest, "its matrices are larger than " + llvm::Twine(largest) + " x " +
                                                      llvm::Twine(largest) + "; LAPACK is faster for these");
  }
  return matrices;
}

Value readSquareMatrices(Node &n, unsigned index, llvm::StringRef name, int64_t largest) {
  Value matrices = readMatrices(n, index, name, largest);
  if (!n.failed())
    n.demand(rowsOf(matrices) == columnsOf(matrices), "its matrices are not square");
  return matrices;
}

Value rightSideOf(Node &n, Value a, Value b, bool left) {
  if (n.failed() || !n.demand(n.rankOf(b) >= 2, "the right side has fewer than two dimensions") ||
      !n.demand(n.elementOf(a) == n.elementOf(b), "the matrix and the right side have different dtypes"))
    return b;
  if (!left)
    b = transposedMatrices(n, b);
  AffineExpr rows = n.agreed(n.constantSize(columnsOf(a)), sizeFromEnd(b, 2));
  if (!n.demand(bool(rows), "the right side has another size than the matrix"))
    return b;
  SmallVector<AffineExpr> sizes = n.sizesIn(b);
  sizes[sizes.size() - 2] = rows;
  return n.withSizes(b, sizes);
}

Value transposedMatrices(Node &n, Value matrices) {
  const int64_t rank = n.rankOf(matrices);
  return n.transpose(matrices, rank - 2, rank - 1);
}

Value blockOf(Node &n, Value matrices, int64_t row, int64_t rows, int64_t column, int64_t columns) {
  SmallVector<AffineExpr> sizes = n.sizesIn(matrices), offsets(sizes.size(), n.constantSize(0));
  const size_t rank = sizes.size();
  offsets[rank - 2] = n.constantSize(row), offsets[rank - 1] = n.constantSize(column);
  sizes[rank - 2] = n.constantSize(rows), sizes[rank - 1] = n.constantSize(columns);
  return n.slice(matrices, offsets, SmallVector<int64_t>(rank, 1), sizes);
}

Value identityLike(Node &n, Value matrices) {
  Value row = n.iota({n.constantSize(rowsOf(matrices)), n.constantSize(1)}, 0, n.i64());
  Value column = n.iota({n.constantSize(columnsOf(matrices))}, 0, n.i64());
  return n.broadcast(n.cast(n.compare<EqOp>(row, column), n.elementOf(matrices)), n.sizesIn(matrices));
}

SmallVector<AffineExpr> commonBatch(Node &n, Value a, Value b) {
  const AffineExpr one = n.constantSize(1);
  SmallVector<AffineExpr> batches[] = {batchOf(a), batchOf(b)};
  SmallVector<AffineExpr> common(std::max(batches[0].size(), batches[1].size()), one);
  for (ArrayRef<AffineExpr> batch : batches)
    for (auto [i, size] : llvm::enumerate(batch)) {
      AffineExpr &slot = common[common.size() - batch.size() + i];
      AffineExpr both = slot == one ? size : size == one ? slot : n.agreed(slot, size);
      if (!n.demand(bool(both), "the batch sizes of its operands do not broadcast"))
        return common;
      slot = both;
    }
  return common;
}

Value withBatch(Node &n, Value matrices, ArrayRef<AffineExpr> batch) {
  SmallVector<AffineExpr> own = n.sizesIn(matrices), wanted(batch);
  wanted.append(own.end() - 2, own.end());
  const size_t added = wanted.size() - own.size();
  for (auto [i, size] : llvm::enumerate(own))
    if (size != n.constantSize(1))
      size = wanted[added + i];
  return n.broadcast(n.withSizes(matrices, own), wanted);
}

} // namespace tilewright
