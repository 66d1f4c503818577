//===- GraphVerifyIndexing.cpp - constraints of indexed reads and writes ----------------===//
#include "dialects/Graph/GraphVerify.h"

using namespace mlir;

namespace tilewright::graph {
namespace {

bool isIndexType(Value value) {
  return elementOf(value).isSignlessInteger(64) || elementOf(value).isSignlessInteger(32);
}

/// Returns the shape to which the index tensors broadcast.
Sizes indexShape(ValueRange indices) {
  Sizes shape;
  for (Value index : indices) {
    Sizes sizes = sizesOf(index);
    while (shape.size() < sizes.size())
      shape.insert(shape.begin(), getAffineConstantExpr(1, index.getContext()));
    for (auto [i, size] : llvm::enumerate(sizes))
      if (constantOf(size) != 1)
        shape[shape.size() - sizes.size() + i] = size;
  }
  return shape;
}

/// Checks the constraints c1 and c3 of tw.take, or c1 of tw.put. Returns the shape of tw.take's result.
FailureOr<Sizes> checkIndices(Operation *op, Value input, ValueRange indices, int64_t dim, unsigned rangeLabel,
                              unsigned typeLabel) {
  int64_t rank = rankOf(input), count = indices.size();
  if (count == 0 || dim < 0 || dim > rank - count) { // not dim + count > rank, which may overflow
    broken(op, rangeLabel) << count << " index tensors from dimension " << dim << " on do not fit rank " << rank;
    return failure();
  }
  for (Value index : indices)
    if (!isIndexType(index)) {
      broken(op, typeLabel) << "an index tensor of " << elementOf(index) << "; i64 or i32 is needed";
      return failure();
    }
  Sizes sizes = sizesOf(input), shape(sizes.begin(), sizes.begin() + dim), together = indexShape(indices);
  for (Value index : indices)
    if (!broadcasts(sizesOf(index), together)) {
      broken(op, rangeLabel) << "an index tensor of sizes " << printSizes(sizesOf(index)) << " does not broadcast to "
                             << printSizes(together);
      return failure();
    }
  llvm::append_range(shape, together);
  shape.append(sizes.begin() + dim + count, sizes.end());
  return shape;
}

/// Checks that `value` is not larger than `whole` in any dimension except `dim`; otherwise reports constraint `number`.
/// An empty `value` is always valid.
LogicalResult checkWithin(Operation *op, unsigned number, StringRef what, Value value, Value whole, int64_t dim) {
  Sizes sizes = sizesOf(value), all = sizesOf(whole);
  if (llvm::any_of(sizes, [](AffineExpr size) { return constantOf(size) == 0; }))
    return success();
  for (int64_t i = 0; i < int64_t(sizes.size()); ++i)
    if (i != dim && surelyBelow(all[i], sizes[i]))
      return broken(op, number) << what << " of sizes " << printSizes(sizes) << " is larger in dimension " << i
                                << " than the input of " << printSizes(all);
  return success();
}

} // namespace

LogicalResult TakeOp::verify() {
  FailureOr<Sizes> expected = checkIndices(*this, getInput(), getIndices(), getDim(), 1, 3);
  if (failed(expected))
    return failure();
  if (failed(checkSizes(*this, 2, "the result", getResult(), *expected)))
    return failure();
  return checkElement(*this, 2, "the result", getResult(), elementOf(getInput()));
}

LogicalResult GatherOp::verify() {
  int64_t rank = rankOf(getInput());
  if (failed(checkDim(*this, 1, getDim(), rank)))
    return failure();
  if (rankOf(getIndex()) != rank)
    return broken(*this, 1) << "an index of rank " << rankOf(getIndex()) << " for an input of rank " << rank;
  if (failed(checkSizes(*this, 2, "the result", getResult(), sizesOf(getIndex()))) ||
      failed(checkElement(*this, 2, "the result", getResult(), elementOf(getInput()))))
    return failure();
  if (!isIndexType(getIndex()))
    return broken(*this, 3) << "an index of " << elementOf(getIndex()) << "; i64 or i32 is needed";
  return checkWithin(*this, 4, "an index", getIndex(), getInput(), getDim());
}

LogicalResult ScatterOp::verify() {
  int64_t rank = rankOf(getInput());
  if (failed(checkDim(*this, 1, getDim(), rank)))
    return failure();
  if (rankOf(getIndex()) != rank || !isIndexType(getIndex()))
    return broken(*this, 1) << "an index of type " << getIndex().getType() << " for an input of rank " << rank;
  if (getResult().getType() != getInput().getType())
    return broken(*this, 2) << getInput().getType() << " cannot become " << getResult().getType();
  if (elementOf(getSource()) != elementOf(getInput()))
    return broken(*this, 3) << "a source of " << elementOf(getSource()) << " for an input of " << elementOf(getInput());
  if (failed(checkSizes(*this, 3, "the source", getSource(), sizesOf(getIndex()))))
    return failure();
  return checkWithin(*this, 4, "an index", getIndex(), getInput(), getDim());
}

LogicalResult PutOp::verify() {
  FailureOr<Sizes> whole = checkIndices(*this, getInput(), getIndices(), getDim(), 1, 1);
  if (failed(whole))
    return failure();
  if (!broadcasts(sizesOf(getSource()), *whole) || elementOf(getSource()) != elementOf(getInput()))
    return broken(*this, 2) << "a source of type " << getSource().getType() << " does not broadcast to "
                            << printSizes(*whole) << " of " << elementOf(getInput());
  if (getResult().getType() != getInput().getType())
    return broken(*this, 3) << getInput().getType() << " cannot become " << getResult().getType();
  return success();
}

} // namespace tilewright::graph
