//===- GraphVerifyContractions.cpp - constraints of products, convolutions, attention, pools ----===//
#include "dialects/Graph/GraphVerify.h"

using namespace mlir;

namespace tilewright::graph {

/// Checks that the factors of a product have the same element type, or that both are 8-bit floats.
static LogicalResult checkFactors(Operation *op, unsigned number, StringRef left, Value lhs, StringRef right,
                                  Value rhs) {
  if (elementOf(lhs) == elementOf(rhs) || (isFloat8(elementOf(lhs)) && isFloat8(elementOf(rhs))))
    return success();
  return broken(op, number) << left << " is of " << elementOf(lhs) << " but " << right << " of " << elementOf(rhs);
}

LogicalResult MatmulOp::verify() {
  Sizes a = sizesOf(getLhs()), b = sizesOf(getRhs());
  if (a.size() != b.size() || a.size() < 2)
    return broken(*this, 1) << "ranks " << a.size() << " and " << b.size() << "; both should be equal and at least 2";
  size_t rank = a.size();
  for (size_t i = 0; i + 2 < rank; ++i)
    if (surelyDiffer(a[i], b[i]))
      return broken(*this, 2) << "batch dimension " << i << " is " << printSize(a[i]) << " in lhs but "
                              << printSize(b[i]) << " in rhs";
  if (surelyDiffer(a[rank - 1], b[rank - 2]))
    return broken(*this, 3) << "lhs K is " << printSize(a[rank - 1]) << " but rhs K is " << printSize(b[rank - 2]);
  Sizes expected = a;
  expected.back() = b.back();
  if (failed(checkSizes(*this, 4, "the result", getResult(), expected)))
    return failure();
  if (failed(checkFactors(*this, 5, "lhs", getLhs(), "rhs", getRhs())))
    return failure();
  Type result = elementOf(getResult());
  if (isFloat8(elementOf(getLhs())) && !result.isF32() && !result.isF16() && !result.isBF16())
    return broken(*this, 5) << "the result of 8-bit floats is of " << result << ", not f32, f16 or bf16";
  return success();
}

namespace {

/// Checks that `values` has one entry per spatial dimension, each at least `least`.
LogicalResult checkEntries(Operation *op, unsigned number, StringRef what, ArrayRef<int64_t> values, int64_t spatial,
                           int64_t least) {
  if (int64_t(values.size()) != spatial)
    return broken(op, number) << what << " has " << values.size() << " entries for " << spatial
                              << " spatial dimensions";
  for (int64_t value : values)
    if (value < least)
      return broken(op, number) << what << " has the entry " << value << ", below " << least;
  return success();
}

LogicalResult checkRanks(Operation *op, Value input, Value other) {
  int64_t rank = rankOf(input);
  if (rank < 3 || rank > 5 || rankOf(other) != rank)
    return broken(op, 1) << "ranks " << rank << " and " << rankOf(other) << "; both should be 3, 4 or 5";
  return success();
}

} // namespace

namespace {
/// Returns the sizes in torch's order, N x C x spatial, from the order of `op`, which may be channels-last.
Sizes plainOrder(Operation *op, Sizes sizes) {
  if (op->hasAttr(channelsLastAttrName) && sizes.size() >= 3)
    std::rotate(sizes.begin() + 1, sizes.end() - 1, sizes.end());
  return sizes;
}
/// Returns the sizes of a weight in torch's order, F x C x spatial (for a transposed convolution, C x F x spatial). The
/// argument has the order of `op`: for channels-last, spatial x C x F.
Sizes plainWeight(Operation *op, Sizes sizes, bool transposed = false) {
  if (!op->hasAttr(channelsLastAttrName) || sizes.size() < 3)
    return sizes;
  std::rotate(sizes.begin(), sizes.end() - 2, sizes.end());
  if (!transposed)
    std::swap(sizes[0], sizes[1]);
  return sizes;
}
/// Returns the sizes in the order of `op`. This is the inverse of plainOrder().
Sizes givenOrder(Operation *op, Sizes plain) {
  if (op->hasAttr(channelsLastAttrName) && plain.size() >= 3)
    std::rotate(plain.begin() + 1, plain.begin() + 2, plain.end());
  return plain;
}
} // namespace

LogicalResult ConvolutionOp::verify() {
  if (failed(checkRanks(*this, getInput(), getWeight())))
    return failure();
  int64_t spatial = rankOf(getInput()) - 2, groups = getGroups();
  if (failed(checkEntries(*this, 2, "stride", getStride(), spatial, 1)) ||
      failed(checkEntries(*this, 2, "dilation", getDilation(), spatial, 1)) ||
      failed(checkEntries(*this, 2, "padding", getPadding(), spatial, INT64_MIN)) ||
      failed(checkEntries(*this, 2, "output_padding", getOutputPadding(), spatial, 0)))
    return failure();
  Sizes input = plainOrder(*this, sizesOf(getInput())),
        weight = plainWeight(*this, sizesOf(getWeight()), getTransposed());
  if (groups < 1)
    return broken(*this, 3) << groups << " groups";
  AffineExpr inputChannels = getTransposed() ? weight[0] : weight[1] * groups;
  AffineExpr outputChannels = getTransposed() ? weight[1] * groups : weight[0];
  if (surelyDiffer(input[1], inputChannels))
    return broken(*this, 3) << "the input has " << printSize(input[1]) << " channels but the weight takes "
                            << printSize(inputChannels);
  if (std::optional<int64_t> divided = constantOf(weight[0]); divided && *divided % groups != 0)
    return broken(*this, 3) << groups << " groups do not divide " << *divided << " channels";
  Sizes expected{input[0], canonicalSize(outputChannels)};
  for (int64_t i = 0; i < spatial; ++i) {
    AffineExpr reach = (weight[i + 2] - 1) * getDilation()[i];
    AffineExpr size =
        getTransposed() ? (input[i + 2] - 1) * getStride()[i] - 2 * getPadding()[i] + reach + 1 + getOutputPadding()[i]
                        : (input[i + 2] + 2 * getPadding()[i] - reach - 1).floorDiv(getStride()[i]) + 1;
    expected.push_back(canonicalSize(size));
  }
  if (failed(checkSizes(*this, 4, "the result", getResult(), givenOrder(*this, expected))))
    return failure();
  return checkFactors(*this, 5, "the input", getInput(), "the weight", getWeight());
}

LogicalResult ConvolutionWeightGradOp::verify() {
  if (failed(checkRanks(*this, getInput(), getGrad())))
    return failure();
  int64_t spatial = rankOf(getInput()) - 2;
  if (failed(checkEntries(*this, 1, "stride", getStride(), spatial, 1)) ||
      failed(checkEntries(*this, 1, "dilation", getDilation(), spatial, 1)) ||
      failed(checkEntries(*this, 1, "padding", getPadding(), spatial, INT64_MIN)))
    return failure();
  Sizes input = plainOrder(*this, sizesOf(getInput())), grad = plainOrder(*this, sizesOf(getGrad())),
        weight = plainWeight(*this, sizesOf(getResult()));
  if (rankOf(getResult()) != rankOf(getInput()) || surelyDiffer(weight[0], grad[1]) ||
      surelyDiffer(weight[1] * getGroups(), input[1]))
    return broken(*this, 1) << "a weight of " << printSizes(weight) << " does not match an input of "
                            << printSizes(input) << " and a gradient of " << printSizes(grad);
  return checkFactors(*this, 2, "the input", getInput(), "the gradient", getGrad());
}

/// Checks that `tensors` have the query's element type, which is a float type, and checks the types of the mask, which
/// may be null, and of logsumexp.
static LogicalResult checkAttentionTypes(Operation *op, unsigned number, Value query, ValueRange tensors,
                                         Value logsumexp, Value mask) {
  Type type = elementOf(query), sum = elementOf(logsumexp);
  if (failed(checkFloats(op, number, query)))
    return failure();
  for (Value tensor : tensors)
    if (failed(checkElement(op, number, "a tensor", tensor, type)))
      return failure();
  if (!sum.isF32() && !(sum.isF64() && type.isF64()))
    return broken(op, number) << "logsumexp is of " << sum << "; f32 is needed" << (type.isF64() ? ", or f64" : "");
  if (mask && !isa<FloatType>(elementOf(mask)) && !elementOf(mask).isInteger(1))
    return broken(op, number) << "the mask is of " << elementOf(mask) << "; i1 or a float type is needed";
  return success();
}

LogicalResult AttentionOp::verify() {
  Sizes q = sizesOf(getQuery()), k = sizesOf(getKey()), v = sizesOf(getValue());
  if (q.size() != 4 || k.size() != 4 || v.size() != 4)
    return broken(*this, 1) << "ranks " << q.size() << ", " << k.size() << " and " << v.size() << "; all should be 4";
  if (surelyDiffer(q[0], k[0]) || surelyDiffer(q[0], v[0]) || surelyDiffer(q[3], k[3]) || surelyDiffer(k[2], v[2]) ||
      surelyDiffer(k[1], v[1]))
    return broken(*this, 1) << "query " << printSizes(q) << ", key " << printSizes(k) << " and value " << printSizes(v)
                            << " do not fit";
  std::optional<int64_t> heads = constantOf(q[1]), keyHeads = constantOf(k[1]);
  if (heads && keyHeads && (*keyHeads == 0 || *heads % *keyHeads != 0))
    return broken(*this, 2) << *heads << " heads are not a multiple of " << *keyHeads << " key heads";
  if (getMask() && !broadcasts(sizesOf(getMask()), {q[0], q[1], q[2], k[2]}))
    return broken(*this, 3) << "a mask of " << printSizes(sizesOf(getMask())) << " does not broadcast to "
                            << printSizes({q[0], q[1], q[2], k[2]});
  if (failed(checkSizes(*this, 4, "the result", getResult(), {q[0], q[1], q[2], v[3]})) ||
      failed(checkSizes(*this, 4, "logsumexp", getLogsumexp(), {q[0], q[1], q[2]})))
    return failure();
  if (failed(checkFloats(*this, 5, getResult())))
    return failure();
  if (elementOf(getResult()).isF64() && !elementOf(getQuery()).isF64())
    return broken(*this, 5) << "the result is of 'f64' but the query of " << elementOf(getQuery());
  return checkAttentionTypes(*this, 5, getQuery(), {getKey(), getValue()}, getLogsumexp(), getMask());
}

LogicalResult AttentionGradientOp::verify() {
  Sizes q = sizesOf(getQuery()), k = sizesOf(getKey()), v = sizesOf(getValue());
  if (q.size() != 4 || k.size() != 4 || v.size() != 4)
    return broken(*this, 1) << "ranks " << q.size() << ", " << k.size() << " and " << v.size() << "; all should be 4";
  bool differ = surelyDiffer(q[3], k[3]) || surelyDiffer(k[2], v[2]);
  for (int64_t dim = 0; dim < 2; ++dim)
    differ |= surelyDiffer(q[dim], k[dim]) || surelyDiffer(q[dim], v[dim]);
  if (differ)
    return broken(*this, 1) << "query " << printSizes(q) << ", key " << printSizes(k) << " and value " << printSizes(v)
                            << " do not fit";
  if (failed(checkSizes(*this, 1, "the result", getResult(), {q[0], q[1], q[2], v[3]})) ||
      failed(checkSizes(*this, 1, "its gradient", getGrad(), {q[0], q[1], q[2], v[3]})) ||
      failed(checkSizes(*this, 1, "logsumexp", getLogsumexp(), {q[0], q[1], q[2]})))
    return failure();
  if (getMask() && !broadcasts(sizesOf(getMask()), {q[0], q[1], q[2], k[2]}))
    return broken(*this, 2) << "a mask of " << printSizes(sizesOf(getMask())) << " does not broadcast to "
                            << printSizes({q[0], q[1], q[2], k[2]});
  if (failed(checkSizes(*this, 3, "the query's gradient", getGradQuery(), q)) ||
      failed(checkSizes(*this, 3, "the key's gradient", getGradKey(), k)))
    return failure();
  if (failed(checkSizes(*this, 3, "the value's gradient", getGradValue(), v)))
    return failure();
  return checkAttentionTypes(
      *this, 4, getQuery(),
      {getKey(), getValue(), getResult(), getGrad(), getGradQuery(), getGradKey(), getGradValue()}, getLogsumexp(),
      getMask());
}

namespace {
/// The parameters of a pooling op in one dimension.
struct PoolWindow {
  int64_t kernel, stride, padding, dilation;
};

/// Returns true if torch computes `count` windows over `size` elements, with ceil_mode or without it. In both modes,
/// the last window begins inside the input or its leading padding, and no further complete window fits into the padded
/// input. A condition that depends on symbols becomes a rule (SizeRules.h). Also returns true if the kernel, the
/// stride or the dilation is below 1.
bool windowsFit(AffineExpr size, AffineExpr count, const PoolWindow &w) {
  if (w.kernel < 1 || w.stride < 1 || w.dilation < 1)
    return true;
  const int64_t reach = (w.kernel - 1) * w.dilation;
  AffineExpr whole = canonicalSize((size + 2 * w.padding - reach - 1).floorDiv(w.stride) + 1);
  if (whole == count && w.padding <= reach)
    return true;
  return !surelyBelow(count, whole) && !surelyBelow(size + w.padding, (count - 1) * w.stride + 1);
}

LogicalResult verifyPool(Operation *op, StringRef label, Value input, ValueRange results,
                         ArrayRef<std::pair<StringRef, ArrayRef<int64_t>>> entries) {
  int64_t rank = rankOf(input);
  if (rank < 3 || rank > 5)
    return broken(op, label, 1) << "rank " << rank << "; it should be 3, 4 or 5";
  for (auto [what, values] : entries)
    if (int64_t(values.size()) != rank - 2)
      return broken(op, label, 1) << what << " has " << values.size() << " entries for " << rank - 2
                                  << " spatial dimensions";
  for (Value result : results) {
    Sizes sizes = plainOrder(op, sizesOf(result)), whole = plainOrder(op, sizesOf(input));
    if (rankOf(result) != rank || surelyDiffer(sizes[0], whole[0]) || surelyDiffer(sizes[1], whole[1]) ||
        !sameShape(tensorOf(result), tensorOf(results.front())))
      return broken(op, label, label == "max_pool" ? 2 : 1)
             << "a result of " << printSizes(sizes) << " for an input of " << printSizes(whole);
    for (int64_t i = 0; i < rank - 2; ++i) {
      const int64_t dilation = entries.size() > 3 ? entries[3].second[i] : 1;
      const PoolWindow window{entries[0].second[i], entries[1].second[i], entries[2].second[i], dilation};
      if (!windowsFit(whole[i + 2], sizes[i + 2], window))
        return broken(op, label, label == "max_pool" ? 3 : 2)
               << printSize(sizes[i + 2]) << " windows of " << window.kernel << " with stride " << window.stride
               << " and padding " << window.padding << " over " << printSize(whole[i + 2]) << " elements";
    }
  }
  return success();
}
} // namespace

LogicalResult MaxPoolOp::verify() {
  if (failed(verifyPool(*this, "max_pool", getInput(), {getResult(), getIndices()},
                        {{"kernel", getKernel()},
                         {"stride", getStride()},
                         {"padding", getPadding()},
                         {"dilation", getDilation()}})) ||
      failed(checkElement(*this, 4, "the result", getResult(), elementOf(getInput()))))
    return failure();
  if (elementOf(getInput()).isInteger(1))
    return broken(*this, 4) << "booleans have no maximum; cast the input, or use tw.reduce any";
  return checkElement(*this, 4, "the tensor of indices", getIndices(), IntegerType::get(getContext(), 64));
}

LogicalResult MaxPoolGradOp::verify() {
  if (failed(verifyPool(*this, "max_pool_grad", getResult(), {getGrad(), getIndices()},
                        {{"kernel", getKernel()},
                         {"stride", getStride()},
                         {"padding", getPadding()},
                         {"dilation", getDilation()}})) ||
      failed(checkElement(*this, 3, "the result", getResult(), elementOf(getGrad()))))
    return failure();
  if (!isa<FloatType>(elementOf(getGrad())))
    return broken(*this, 3) << "a gradient of " << elementOf(getGrad()) << "; it should be of a float type";
  return checkElement(*this, 3, "the tensor of indices", getIndices(), IntegerType::get(getContext(), 64));
}

LogicalResult AvgPoolOp::verify() {
  if (failed(verifyPool(*this, "avg_pool", getInput(), {getResult()},
                        {{"kernel", getKernel()}, {"stride", getStride()}, {"padding", getPadding()}})))
    return failure();
  Type input = elementOf(getInput()), result = elementOf(getResult());
  const bool floats = isa<FloatType>(input) && isa<FloatType>(result) && input.isF64() == result.isF64();
  const bool averages = floats || (input.isSignlessInteger(64) && result.isSignlessInteger(64));
  const bool sums = getDivisor() == 1 && input.isSignlessInteger() && !input.isInteger(1) &&
                    result.isSignlessInteger() && result.getIntOrFloatBitWidth() >= input.getIntOrFloatBitWidth();
  if (!averages && !sums)
    return broken(*this, 3) << "a result of " << result << " for an input of " << input
                            << "; both can be of 'f64', of 'i64', or of other float types, or, with a divisor of 1, of "
                               "signed integers";
  return success();
}

} // namespace tilewright::graph
