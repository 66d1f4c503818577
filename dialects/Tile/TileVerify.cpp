//===- TileVerify.cpp - constraints of the tw_tile ops -----------------------===//
//
// Two sizes are compared only if both are constants, because the sizes of a tile may depend on loop variables.
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Tile.h"

using namespace mlir;

namespace tilewright::tile {
namespace {

/// Reports that `op` violates constraint `number`: "tile_matmul_c1: ...".
InFlightDiagnostic broken(Operation *op, int number) {
  return op->emitOpError() << "tile_" << op->getName().stripDialect() << "_c" << number << ": ";
}

ShapedType shapeOf(Value value) { return cast<ShapedType>(value.getType()); }
int64_t rankOf(Value value) { return shapeOf(value).getRank(); }

/// differ() and less() return true if both sizes are constants, and a != b or a < b, respectively.
bool differ(int64_t a, int64_t b) { return !ShapedType::isDynamic(a) && !ShapedType::isDynamic(b) && a != b; }
bool less(int64_t a, int64_t b) { return !ShapedType::isDynamic(a) && !ShapedType::isDynamic(b) && a < b; }

/// Returns `a` * `by`, or dynamic if `a` is dynamic.
int64_t scaled(int64_t a, int64_t by) { return ShapedType::isDynamic(a) ? a : a * by; }

bool isPermutation(ArrayRef<int64_t> numbers, int64_t rank) {
  llvm::SmallBitVector seen(rank);
  for (int64_t number : numbers) {
    if (number < 0 || number >= rank || seen.test(number))
      return false;
    seen.set(number);
  }
  return static_cast<int64_t>(numbers.size()) == rank;
}

/// Checks the numbers of inputs and outputs, and that an op on tensors has one result per output.
LogicalResult checkOperands(Operation *op, OperandRange inputs, OperandRange outputs, ArrayRef<size_t> numInputs,
                            size_t numOutputs) {
  if (!llvm::is_contained(numInputs, inputs.size()) || outputs.size() != numOutputs)
    return op->emitOpError() << "has " << inputs.size() << " inputs and " << outputs.size()
                             << " outputs, which this op does not support";
  bool tensors = llvm::all_of(outputs, [](Value v) { return isa<RankedTensorType>(v.getType()); });
  if (op->getNumResults() != (tensors ? numOutputs : 0))
    return op->emitOpError() << "has " << op->getNumResults()
                             << " results; expected one per output on tensors, and none on buffers";
  for (auto [result, output] : llvm::zip(op->getResults(), outputs))
    if (result.getType() != output.getType())
      return op->emitOpError() << "has a result of " << result.getType() << " for an output of " << output.getType();
  return success();
}

/// Returns true if `a` and `b` have the same rank and may have equal sizes in all dimensions except `except`.
bool sameSizes(ShapedType a, ShapedType b, int64_t except = -1) {
  if (a.getRank() != b.getRank())
    return false;
  for (int64_t dim = 0; dim < a.getRank(); ++dim)
    if (dim != except && differ(a.getDimSize(dim), b.getDimSize(dim)))
      return false;
  return true;
}
} // namespace

LogicalResult MatmulOp::verify() {
  if (failed(checkOperands(*this, getInputs(), getOutputs(), {2, 3}, 1)))
    return failure();
  ShapedType a = shapeOf(getInputs()[0]), b = shapeOf(getInputs()[1]), c = shapeOf(getOutputs()[0]);
  int64_t rank = c.getRank();
  if (getInputs().size() == 3) {
    ShapedType chosen = shapeOf(getInputs()[2]);
    if (rank != 3 || b.getRank() != 4 || b.isDynamicDim(0))
      return broken(*this, 4) << "C is of rank " << rank << " and B is " << b;
    if (chosen.getRank() != 1 || !chosen.getElementType().isInteger() || differ(chosen.getDimSize(0), c.getDimSize(0)))
      return broken(*this, 4) << chosen << " is not an integer for each of " << c.getDimSize(0) << " batches";
  }
  if (rank < 2 || a.getRank() != rank)
    return broken(*this, 1) << "A is of rank " << a.getRank() << " and C of rank " << rank;
  if (!isPermutation(getLhsPermutation(), rank))
    return broken(*this, 1) << "lhs_permutation does not place C's " << rank << " dimensions in A";
  if (b.getRank() != 3 && b.getRank() != rank + 1)
    return broken(*this, 2) << "B is of rank " << b.getRank()
                            << "; expected panels x K x columns, or batches before them";
  int64_t last = b.getRank() - 1, k = a.getDimSize(getLhsPermutation().back()), n = c.getDimSize(rank - 1);
  if (differ(b.getDimSize(last), getPanel() * getGroup()))
    return broken(*this, 2) << "a panel's row has " << b.getDimSize(last)
                            << " elements, not panel x group = " << getPanel() * getGroup();
  if (less(scaled(b.getDimSize(last - 1), getGroup()), k) || less(scaled(b.getDimSize(last - 2), getPanel()), n))
    return broken(*this, 2) << "B's " << b << " does not cover K = " << k << " and N = " << n;
  Type element = c.getElementType();
  if (!element.isF32() && !element.isF64() && !element.isInteger(32))
    return broken(*this, 3) << "C is of " << element;
  return success();
}

LogicalResult ConvolutionOp::verify() {
  if (failed(checkOperands(*this, getInputs(), getOutputs(), {2}, 1)))
    return failure();
  ShapedType in = shapeOf(getInputs()[0]), weight = shapeOf(getInputs()[1]), out = shapeOf(getOutputs()[0]);
  int64_t rank = getMergedHeight() ? 3 : getMergedWidth() ? 4 : 5;
  if (in.getRank() != 4 || out.getRank() != 4 || weight.getRank() != rank)
    return broken(*this, 1) << "ranks " << in.getRank() << ", " << weight.getRank() << " and " << out.getRank()
                            << "; expected 4, " << rank << " and 4";
  if (getStrides().size() != 2 || getDilations().size() != 2 ||
      llvm::any_of(getStrides(), [](int64_t v) { return v < 1; }) ||
      llvm::any_of(getDilations(), [](int64_t v) { return v < 1; }))
    return broken(*this, 1) << "expected two positive strides and dilations";
  if (getMergedWidth() && getDilations()[1] != 1)
    return broken(*this, 2) << "the width is merged with the channels, but its dilation is " << getDilations()[1];
  if (getMergedHeight() && !getMergedWidth())
    return broken(*this, 2) << "the height is merged with the channels, but the width is not";
  if (differ(weight.getDimSize(rank - 1), getPanel() * getGroup()) ||
      less(scaled(weight.getDimSize(0), getPanel()), out.getDimSize(3)) ||
      differ(in.getDimSize(0), out.getDimSize(0)) ||
      less(scaled(weight.getDimSize(rank - 2), getGroup()),
           scaled(in.getDimSize(3), std::max<int64_t>(1, getMergedWidth()) * std::max<int64_t>(1, getMergedHeight()))))
    return broken(*this, 3) << "weight " << weight << " does not fit input " << in << " and result " << out;
  return success();
}

/// Returns true if `two` has two elements, both at least 1.
static bool arePositive(ArrayRef<int64_t> two) {
  return two.size() == 2 && llvm::all_of(two, [](int64_t v) { return v >= 1; });
}

LogicalResult DepthwiseGradientOp::verify() {
  if (failed(checkOperands(*this, getInputs(), getOutputs(), {2}, 1)))
    return failure();
  ShapedType in = shapeOf(getInputs()[0]), grad = shapeOf(getInputs()[1]), out = shapeOf(getOutputs()[0]);
  bool ranks = in.getRank() == 4 && grad.getRank() == 4 && out.getRank() == 5;
  if (!ranks || llvm::is_contained(out.getShape().drop_front(2), ShapedType::kDynamic) ||
      in.getDimSize(3) != out.getDimSize(4) || grad.getDimSize(3) != out.getDimSize(4) ||
      differ(in.getDimSize(0), out.getDimSize(0)) || differ(grad.getDimSize(0), out.getDimSize(0)) ||
      !isa<FloatType>(out.getElementType()))
    return broken(*this, 1) << "input " << in << ", gradient " << grad << " and result " << out;
  if (!arePositive(getStrides()) || !arePositive(getDilations()) || getPadding().size() != 2 || getLines() < 1)
    return broken(*this, 2) << "expected two positive strides and dilations, two paddings, and `lines` of at least 1";
  return success();
}

LogicalResult GroupedConvolutionOp::verify() {
  if (failed(checkOperands(*this, getInputs(), getOutputs(), {2}, 1)))
    return failure();
  ShapedType in = shapeOf(getInputs()[0]), weight = shapeOf(getInputs()[1]), out = shapeOf(getOutputs()[0]);
  if (in.getRank() != 4 || out.getRank() != 4 || weight.getRank() != 4 || !weight.hasStaticShape() ||
      ShapedType::isDynamic(in.getDimSize(3)) || ShapedType::isDynamic(out.getDimSize(3)))
    return broken(*this, 1) << "input " << in << ", weight " << weight << " and result " << out
                            << "; expected rank 4, and known channels";
  if (!arePositive(getStrides()) || !arePositive(getDilations()) || getPadding().size() != 2 ||
      (!getFirst().empty() && getFirst().size() != 2))
    return broken(*this, 2) << "expected two positive strides and dilations, two paddings, and two numbers or none "
                               "for where a tile begins";
  int64_t channels = in.getDimSize(3), perGroup = weight.getDimSize(2), filters = out.getDimSize(3);
  if (perGroup < 1 || channels < perGroup || channels % perGroup != 0 || filters % (channels / perGroup) != 0 ||
      weight.getDimSize(3) != filters || differ(in.getDimSize(0), out.getDimSize(0)) ||
      weight.getElementType() != out.getElementType() || !isa<FloatType>(out.getElementType()))
    return broken(*this, 3) << "weight " << weight << " does not fit input " << in << " and result " << out;
  return success();
}

LogicalResult PackOp::verify() {
  if (failed(checkOperands(*this, getInputs(), getOutputs(), {1}, 1)))
    return failure();
  ShapedType in = shapeOf(getInputs()[0]), out = shapeOf(getOutputs()[0]);
  int64_t rank = in.getRank(), last = out.getRank() - 1;
  if (!isPermutation(getPermutation(), rank) || out.getRank() != rank + 1 ||
      static_cast<int64_t>(getInner()) > rank - 2)
    return broken(*this, 1) << "permutation and inner do not map the layout of " << in << " to that of " << out;
  int64_t k = in.getDimSize(getPermutation()[rank - 2]), n = in.getDimSize(getPermutation()[rank - 1]);
  if (differ(out.getDimSize(last), getPanel() * getGroup()) || less(scaled(out.getDimSize(last - 1), getGroup()), k) ||
      less(scaled(out.getDimSize(rank - 2 - getInner()), getPanel()), n))
    return broken(*this, 1) << out << " does not cover " << in;
  return success();
}

/// Checks attention's `permutations`, which describe `count` operands of rank 4.
template <typename Op>
static LogicalResult checkPermutations(Op op, std::optional<ArrayRef<int64_t>> permutations, int64_t count) {
  if (permutations && static_cast<int64_t>(permutations->size()) != 4 * count)
    return broken(op, 1) << "permutations has " << permutations->size() << " numbers; expected 4 for each of " << count
                         << " operands";
  for (int64_t operand = 0; permutations && operand < count; ++operand)
    if (!isPermutation(permutations->slice(operand * 4, 4), 4))
      return broken(op, 1) << "permutations is not a permutation for operand " << operand;
  return success();
}

LogicalResult AttentionOp::verify() {
  if (failed(checkOperands(*this, getInputs(), getOutputs(), {3, 4}, 2)))
    return failure();
  for (Value value : getInputs())
    if (rankOf(value) != 4)
      return broken(*this, 1) << "an operand of " << value.getType() << "; all but the log-sum-exp are of rank 4";
  if (rankOf(getOutputs()[0]) != 4 || rankOf(getOutputs()[1]) != 3)
    return broken(*this, 1) << "results of rank " << rankOf(getOutputs()[0]) << " and " << rankOf(getOutputs()[1])
                            << "; expected 4 and 3";
  if (failed(checkPermutations(*this, getPermutations(), 4)))
    return failure();
  std::optional<ArrayRef<int64_t>> permutations = getPermutations();
  auto heads = [&](int64_t operand) {
    return shapeOf(getInputs()[operand]).getDimSize(permutations ? (*permutations)[operand * 4 + 1] : 1);
  };
  int64_t query = heads(0), key = heads(1);
  if (!ShapedType::isDynamic(query) && !ShapedType::isDynamic(key) && (key == 0 ? query != 0 : query % key != 0))
    return broken(*this, 2) << query << " heads of queries do not share " << key << " heads of keys";
  return success();
}

LogicalResult AttentionGradientOp::verify() {
  constexpr int64_t result = 3, logsumexp = 5;
  if (failed(checkOperands(*this, getInputs(), getOutputs(), {6, 7}, 3)))
    return failure();
  for (auto [number, value] : llvm::enumerate(getInputs()))
    if (rankOf(value) != (number == logsumexp ? 3 : 4) && !(number == result && rankOf(value) == 3))
      return broken(*this, 1) << "operand " << number << " is " << value.getType()
                              << "; all are of rank 4, the log-sum-exp and sum(dO * O) of rank 3";
  if (ShapedType delta = shapeOf(getInputs()[result]), sums = shapeOf(getInputs()[logsumexp]);
      delta.getRank() == 3 && (delta.getElementType() != sums.getElementType() || !sameSizes(delta, sums)))
    return broken(*this, 1) << "sum(dO * O) is " << delta << "; expected the type of the log-sum-exp, " << sums;
  for (Value value : getOutputs())
    if (rankOf(value) != 4)
      return broken(*this, 1) << "a gradient of " << value.getType() << "; expected rank 4";
  if (failed(checkPermutations(*this, getPermutations(), 8)))
    return failure();
  std::optional<ArrayRef<int64_t>> permutations = getPermutations();
  auto heads = [&](int64_t operand) {
    return shapeOf(getInputs()[operand]).getDimSize(permutations ? (*permutations)[operand * 4 + 1] : 1);
  };
  for (int64_t operand = 1; operand < logsumexp; ++operand)
    if (rankOf(getInputs()[operand]) == 4 && !ShapedType::isDynamic(heads(0)) &&
        !ShapedType::isDynamic(heads(operand)) && heads(0) != heads(operand))
      return broken(*this, 1) << heads(operand) << " heads in operand " << operand << ", " << heads(0)
                              << " in the query";
  return success();
}

LogicalResult ScanOp::verify() {
  if (failed(checkOperands(*this, getInputs(), getOutputs(), {1}, 1)))
    return failure();
  ShapedType in = shapeOf(getInputs()[0]), out = shapeOf(getOutputs()[0]);
  if (getDim() >= static_cast<uint64_t>(in.getRank()) || !sameSizes(in, out))
    return broken(*this, 1) << "dim " << getDim() << " of " << in << " into " << out;
  return success();
}

LogicalResult SortOp::verify() {
  if (failed(checkOperands(*this, getInputs(), getOutputs(), {1}, 2)))
    return failure();
  ShapedType in = shapeOf(getInputs()[0]);
  int64_t dim = getDim();
  if (dim < 0 || dim >= in.getRank())
    return broken(*this, 1) << "dim " << dim << " of " << in;
  for (Value output : getOutputs())
    if (!sameSizes(in, shapeOf(output), dim) || less(in.getDimSize(dim), shapeOf(output).getDimSize(dim)))
      return broken(*this, 1) << in << " sorted along " << dim << " into " << output.getType();
  return success();
}

LogicalResult ScatterOp::verify() {
  if (getInputs().empty() || failed(checkOperands(*this, getInputs(), getOutputs(), {getInputs().size()}, 1)))
    return getInputs().empty() ? emitOpError("has no source") : failure();
  if (getIndexMaps().size() != getInputs().size() - 1)
    return broken(*this, 1) << getIndexMaps().size() << " maps for " << getInputs().size() - 1 << " index tensors";
  AffineMap map = getDestMap();
  int64_t rank = rankOf(getOutputs()[0]), loops = rankOf(getInputs()[0]);
  if (map.getNumResults() != rank || map.getNumDims() != loops || map.getNumSymbols() != getIndexMaps().size())
    return broken(*this, 2) << "dest_map gives " << map.getNumResults() << " positions from " << map.getNumDims()
                            << " loops and " << map.getNumSymbols() << " indices; expected " << rank << ", " << loops
                            << " and " << getIndexMaps().size();
  return success();
}
} // namespace tilewright::tile
