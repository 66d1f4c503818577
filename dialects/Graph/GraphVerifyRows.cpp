//===- GraphVerifyRows.cpp - constraints of reductions, norms, scans and sorts ------===//
#include "dialects/Graph/GraphVerify.h"

using namespace mlir;

namespace tilewright::graph {
namespace {

Sizes reducedSizes(Value input, ArrayRef<int64_t> dims, bool keepdim) {
  Sizes result;
  for (auto [i, size] : llvm::enumerate(sizesOf(input))) {
    if (!llvm::is_contained(dims, int64_t(i)))
      result.push_back(size);
    else if (keepdim)
      result.push_back(getAffineConstantExpr(1, input.getContext()));
  }
  return result;
}

/// Checks that 1 <= rank <= the input's rank, that weight and bias have the normalized shape, that the result has the
/// input's shape, and that the statistics have size 1 in the normalized dimensions.
LogicalResult verifyNorm(Operation *op, Value input, Value weight, Value bias, int64_t rank, Value result,
                         ValueRange statistics) {
  int64_t inputRank = rankOf(input);
  if (rank < 1 || rank > inputRank)
    return broken(op, 1) << "rank " << rank << " for an input of rank " << inputRank;
  Sizes sizes = sizesOf(input), normalized(sizes.end() - rank, sizes.end());
  for (auto [what, value] : {std::pair<StringRef, Value>{"the weight", weight}, {"the bias", bias}})
    if (value && failed(checkSizes(op, 2, what, value, normalized)))
      return failure();
  if (failed(checkSizes(op, 3, "the result", result, sizes)))
    return failure();
  std::fill(sizes.end() - rank, sizes.end(), getAffineConstantExpr(1, op->getContext()));
  for (Value value : statistics)
    if (failed(checkSizes(op, 3, "a statistic", value, sizes)))
      return failure();
  return checkComputeTypes(op, 4, op->getOperands(), op->getResults());
}

} // namespace

LogicalResult ReduceOp::verify() {
  if (failed(checkDims(*this, 1, getDims(), rankOf(getInput()))) ||
      failed(checkSizes(*this, 2, "the result", getResult(), reducedSizes(getInput(), getDims(), getKeepdim()))))
    return failure();
  bool ordered = getKind() == ReduceKind::Max || getKind() == ReduceKind::Min;
  bool logical = getKind() == ReduceKind::Any || getKind() == ReduceKind::All;
  if (ordered && elementOf(getInput()) != elementOf(getResult()))
    return broken(*this, 3) << "max and min of " << elementOf(getInput()) << " cannot have a result of "
                            << elementOf(getResult());
  if (logical && !elementOf(getResult()).isInteger(1))
    return broken(*this, 3) << "the result of any and all is i1, not " << elementOf(getResult());
  return success();
}

LogicalResult ArgReduceOp::verify() {
  if (getKind() != ReduceKind::Max && getKind() != ReduceKind::Min)
    return broken(*this, 1) << "kind is " << stringifyReduceKind(getKind()) << ", not max or min";
  int64_t dim = getDim();
  if (failed(checkDim(*this, 1, dim, rankOf(getInput()))) ||
      failed(checkSizes(*this, 2, "the result", getResult(), reducedSizes(getInput(), {dim}, getKeepdim()))))
    return failure();
  if (!elementOf(getResult()).isInteger(64))
    return broken(*this, 2) << "the result is of " << elementOf(getResult()) << ", not i64";
  return success();
}

LogicalResult VarMeanOp::verify() {
  if (failed(checkDims(*this, 1, getDims(), rankOf(getInput()))))
    return failure();
  Sizes expected = reducedSizes(getInput(), getDims(), getKeepdim());
  if (failed(checkSizes(*this, 2, "the variance", getVariance(), expected)))
    return failure();
  if (failed(checkSizes(*this, 2, "the mean", getMean(), expected)))
    return failure();
  return checkComputeTypes(*this, 3, getInput(), getResults());
}

LogicalResult SoftmaxOp::verify() {
  if (failed(checkDim(*this, 1, getDim(), rankOf(getInput()))))
    return failure();
  if (failed(checkFloats(*this, 1, getInput())) ||
      failed(checkSizes(*this, 2, "the result", getResult(), sizesOf(getInput()))))
    return failure();
  return checkComputeTypes(*this, 2, getInput(), getResult());
}

LogicalResult LayerNormOp::verify() {
  return verifyNorm(*this, getInput(), getWeight(), getBias(), getRank(), getResult(), {getMean(), getRstd()});
}

LogicalResult RMSNormOp::verify() {
  return verifyNorm(*this, getInput(), getWeight(), {}, getRank(), getResult(), {getRstd()});
}

LogicalResult ScanOp::verify() {
  if (failed(checkDim(*this, 1, getDim(), rankOf(getInput()))))
    return failure();
  return checkSizes(*this, 2, "the result", getResult(), sizesOf(getInput()));
}

LogicalResult SortOp::verify() {
  int64_t dim = getDim();
  if (failed(checkDim(*this, 1, dim, rankOf(getInput()))))
    return failure();
  Sizes expected = sizesOf(getInput());
  if (std::optional<int64_t> k = getK()) {
    if (*k < 0 || surelyBelow(expected[dim], getAffineConstantExpr(*k, getContext())))
      return broken(*this, 1) << "k is " << *k << " for a dimension of size " << printSize(expected[dim]);
    expected[dim] = getAffineConstantExpr(*k, getContext());
  }
  if (failed(checkSizes(*this, 2, "values", getValues(), expected)))
    return failure();
  if (failed(checkSizes(*this, 2, "indices", getIndices(), expected)) ||
      failed(checkElement(*this, 3, "the tensor of values", getValues(), elementOf(getInput()))))
    return failure();
  return checkElement(*this, 3, "the tensor of indices", getIndices(), IntegerType::get(getContext(), 64));
}

} // namespace tilewright::graph
