//===- GraphVerify.cpp - constraints of elementwise ops, sources and views --------===//
//
// Messages begin with the constraint's label: "'tw.matmul' op matmul_c3: lhs K is 4 but rhs K is 5". The functions of
// test/Graph/invalid.mlir are named after the labels.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/GraphVerify.h"
#include "dialects/Graph/Elements.h"
#include "dialects/Graph/SizeRules.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tilewright::graph {

std::optional<int64_t> constantOf(AffineExpr expr) {
  auto constant = dyn_cast<AffineConstantExpr>(expr);
  return constant ? std::optional<int64_t>(constant.getValue()) : std::nullopt;
}

namespace {
/// The list to which the verifier in this thread adds the rules that it cannot decide; null if they are not requested.
thread_local SmallVectorImpl<SizeRule> *openRules = nullptr;

/// Returns a - b if the difference is a constant. Otherwise returns std::nullopt and, unless `openRules` is null, adds
/// a relation to `openRules`: a == b or, if `atLeast`, a >= b.
std::optional<int64_t> knownDifference(AffineExpr a, AffineExpr b, bool atLeast) {
  std::optional<int64_t> difference = a == b ? 0 : constantOf(canonicalSize(a - b));
  if (!difference && openRules)
    openRules->push_back({a, b, atLeast});
  return difference;
}
} // namespace

bool surelyDiffer(AffineExpr a, AffineExpr b) { return knownDifference(a, b, false).value_or(0) != 0; }
bool surelyBelow(AffineExpr a, AffineExpr b) { return knownDifference(a, b, true).value_or(0) < 0; }

LogicalResult openSizeRules(Operation *op, SmallVectorImpl<SizeRule> &rules) {
  openRules = &rules;
  llvm::scope_exit stop([] { openRules = nullptr; });
  for (Value result : op->getResults())
    if (auto type = dyn_cast<RankedTensorType>(result.getType()))
      for (AffineExpr size : sizesOf(type))
        if (!isa<AffineConstantExpr, AffineSymbolExpr>(size))
          rules.push_back({size, getAffineConstantExpr(0, op->getContext()), true});
  return op->getName().verifyInvariants(op);
}

static void printNamed(AffineExpr size, ArrayRef<SymbolicSize> symbols, llvm::raw_ostream &stream, bool inner) {
  if (auto symbol = dyn_cast<AffineSymbolExpr>(size); symbol && symbol.getPosition() < symbols.size()) {
    stream << symbols[symbol.getPosition()].name;
    return;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(size);
  if (!binary) {
    stream << size;
    return;
  }
  const AffineExprKind kind = size.getKind(), first = binary.getLHS().getKind();
  const bool chain = kind == first && (kind == AffineExprKind::Add || kind == AffineExprKind::Mul);
  const bool product = kind == AffineExprKind::Add && first == AffineExprKind::Mul;
  stream << (inner ? "(" : "");
  printNamed(binary.getLHS(), symbols, stream, !chain && !product);
  stream << (kind == AffineExprKind::Add        ? " + "
             : kind == AffineExprKind::Mul      ? " * "
             : kind == AffineExprKind::FloorDiv ? " // "
             : kind == AffineExprKind::CeilDiv  ? " ceildiv "
                                                : " % ");
  printNamed(binary.getRHS(), symbols, stream, true);
  stream << (inner ? ")" : "");
}

std::string sizeText(AffineExpr size, ArrayRef<SymbolicSize> symbols) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  printNamed(size, symbols, stream, /*inner=*/false);
  return text;
}

Attribute guardAttr(const SizeRule &rule, unsigned symbols, StringRef text) {
  MLIRContext *context = rule.lhs.getContext();
  auto named = [&](StringRef name, Attribute value) { return NamedAttribute(StringAttr::get(context, name), value); };
  SmallVector<NamedAttribute> parts;
  if (rule.atLeast)
    parts.push_back(named("at_least", UnitAttr::get(context)));
  parts.push_back(named("sizes", AffineMapAttr::get(AffineMap::get(0, symbols, {rule.lhs, rule.rhs}, context))));
  parts.push_back(named("text", StringAttr::get(context, text)));
  return DictionaryAttr::get(context, parts);
}

std::string printSize(AffineExpr size) {
  std::string text;
  llvm::raw_string_ostream(text) << size;
  return text;
}

std::string printSizes(ArrayRef<AffineExpr> sizes) {
  std::string text;
  for (AffineExpr size : sizes) {
    std::string one = printSize(size);
    text += (text.empty() ? "" : "x") + (constantOf(size) ? one : "(" + one + ")");
  }
  return text.empty() ? "0-d" : text;
}

InFlightDiagnostic broken(Operation *op, StringRef label, unsigned number) {
  return op->emitOpError() << label << "_c" << number << ": ";
}
InFlightDiagnostic broken(Operation *op, unsigned number) { return broken(op, op->getName().stripDialect(), number); }

LogicalResult checkDim(Operation *op, unsigned number, int64_t dim, int64_t rank) {
  if (dim >= 0 && dim < rank)
    return success();
  return broken(op, number) << "dimension " << dim << " is out of range for rank " << rank;
}

LogicalResult checkDims(Operation *op, unsigned number, ArrayRef<int64_t> dims, int64_t rank) {
  SmallVector<bool> seen(rank, false);
  for (int64_t dim : dims) {
    if (failed(checkDim(op, number, dim, rank)))
      return failure();
    if (seen[dim])
      return broken(op, number) << "dimension " << dim << " is given twice";
    seen[dim] = true;
  }
  return success();
}

LogicalResult checkSizes(Operation *op, unsigned number, StringRef what, Value value, ArrayRef<AffineExpr> expected) {
  Sizes sizes = sizesOf(value);
  bool same = sizes.size() == expected.size();
  for (size_t i = 0; same && i < sizes.size(); ++i)
    same = !surelyDiffer(sizes[i], expected[i]);
  if (same)
    return success();
  return broken(op, number) << what << " has the sizes " << printSizes(sizes) << " but should have "
                            << printSizes(expected);
}

LogicalResult checkElement(Operation *op, unsigned number, StringRef what, Value value, Type expected) {
  if (elementOf(value) == expected)
    return success();
  return broken(op, number) << what << " is of " << elementOf(value) << " but should be of " << expected;
}

LogicalResult checkFloats(Operation *op, unsigned number, ValueRange values) {
  for (Value value : values)
    if (!isa<FloatType>(elementOf(value)))
      return broken(op, number) << "elements of " << elementOf(value) << " are not floats";
  return success();
}

LogicalResult checkComputeTypes(Operation *op, unsigned number, ValueRange operands, ValueRange results) {
  if (failed(checkFloats(op, number, operands)) || failed(checkFloats(op, number, results)))
    return failure();
  Type input = elementOf(operands.front());
  for (Value operand : operands.drop_front())
    if (elementOf(operand).isF64() != input.isF64())
      return broken(op, number) << "an operand is of " << elementOf(operand) << " but the input is of " << input
                                << "; either all operands are of 'f64', or none";
  for (Value result : results)
    if (elementOf(result).isF64() && !input.isF64())
      return broken(op, number) << "a result is of 'f64' but the input is of " << input << "; cast the input to 'f64'";
  return success();
}

bool broadcasts(ArrayRef<AffineExpr> from, ArrayRef<AffineExpr> to) {
  if (from.size() > to.size())
    return false;
  for (auto [a, b] : llvm::zip(llvm::reverse(from), llvm::reverse(to)))
    if (constantOf(a) != 1 && surelyDiffer(a, b))
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

LogicalResult verifyElementwise(Operation *op) {
  Value result = op->getResult(0);
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (!broadcasts(sizesOf(operand), sizesOf(result)))
      return broken(op, "elementwise", 1) << "operand " << i << " of sizes " << printSizes(sizesOf(operand))
                                          << " does not broadcast to " << printSizes(sizesOf(result));
  if (isa<CastOp>(op))
    return success();
  if (auto quantize = dyn_cast<QuantizeOp>(op)) {
    Type input = elementOf(quantize.getInput());
    if (!isa<FloatType>(input) || input.isF64() || !elementOf(quantize.getInverseScale()).isF32() ||
        !elementOf(quantize.getZeroPoint()).isF32())
      return broken(op, "elementwise", 2)
             << "operands of " << input << ", " << elementOf(quantize.getInverseScale()) << " and "
             << elementOf(quantize.getZeroPoint()) << ", not a float of at most 32 bits, f32 and f32";
    bool isUnsigned = elementOf(result).isUnsignedInteger(8);
    if (!isUnsigned && !elementOf(result).isSignlessInteger(8))
      return broken(op, "elementwise", 2) << "the result is of " << elementOf(result) << ", not i8 or ui8";
    int64_t least = isUnsigned ? 0 : -128, low = quantize.getLow(), high = quantize.getHigh();
    if (low < least || high > least + 255 || low > high)
      return broken(op, "elementwise", 2)
             << "the range " << low << " .. " << high << " is not within the range of " << elementOf(result);
    return success();
  }
  if (auto dequantize = dyn_cast<DequantizeOp>(op)) {
    Type input = elementOf(dequantize.getInput());
    if (!input.isSignlessInteger(8) && !input.isUnsignedInteger(8))
      return broken(op, "elementwise", 2) << "the input is of " << input << ", not i8 or ui8";
    if (!elementOf(dequantize.getScale()).isF32() || !elementOf(dequantize.getZeroPoint()).isSignlessInteger(32))
      return broken(op, "elementwise", 2) << "scale and zero_point are of " << elementOf(dequantize.getScale())
                                          << " and " << elementOf(dequantize.getZeroPoint()) << ", not f32 and i32";
    if (!isa<FloatType>(elementOf(result)) || elementOf(result).isF64())
      return broken(op, "elementwise", 2)
             << "the result is of " << elementOf(result) << ", not a float of at most 32 bits";
    return success();
  }
  bool boolean =
      isa<EqOp, NeOp, LtOp, LeOp, GtOp, GeOp, LogicalAndOp, LogicalOrOp, LogicalXorOp, LogicalNotOp, IsnanOp, IsinfOp>(
          op);
  OperandRange computed = computedOperands(op);
  if (isa<WhereOp, RequireOp>(op) && !elementOf(op->getOperand(0)).isInteger(1))
    return broken(op, "elementwise", 2) << "the condition is of " << elementOf(op->getOperand(0)) << ", not i1";
  for (Value operand : computed)
    if (elementOf(operand) != elementOf(computed.front()))
      return broken(op, "elementwise", 2)
             << "operands of " << elementOf(computed.front()) << " and " << elementOf(operand) << "; cast one";
  if (!hasMeaning(op, elementOf(computed.front())))
    return broken(op, "elementwise", 3) << "it is not defined for elements of " << elementOf(computed.front());
  Type expected = boolean ? Type(IntegerType::get(op->getContext(), 1)) : elementOf(computed.front());
  if (elementOf(result) != expected)
    return broken(op, "elementwise", 2) << "the result is of " << elementOf(result) << " but should be of " << expected;
  return success();
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

LogicalResult IotaOp::verify() {
  auto type = tensorOf(getResult());
  if (failed(checkDim(*this, 1, getDim(), type.getRank())))
    return failure();
  if (!type.getElementType().isIntOrFloat() || type.getElementType().isInteger(1))
    return broken(*this, 1) << "elements of " << type.getElementType() << " cannot represent indices";
  return success();
}

LogicalResult RandomOp::verify() {
  if (tensorOf(getSeed()) != RankedTensorType::get({1}, IntegerType::get(getContext(), 64)))
    return broken(*this, 1) << "the seed is " << getSeed().getType() << ", not tensor<1xi64>";
  return success();
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  // Remove the constant sizes that both shapes have, so that a rule about the products contains only the remaining
  // sizes.
  Sizes before = sizesOf(getInput()), after;
  for (AffineExpr size : sizesOf(getResult())) {
    auto *same = llvm::find(before, size);
    if (constantOf(size).value_or(0) > 0 && same != before.end())
      before.erase(same);
    else
      after.push_back(size);
  }
  auto product = [&](ArrayRef<AffineExpr> sizes) {
    AffineExpr count = getAffineConstantExpr(1, getContext());
    for (AffineExpr size : sizes)
      count = count * size;
    return canonicalSize(count);
  };
  if (before != after && surelyDiffer(product(before), product(after)))
    return broken(*this, 1) << printSize(elementCount(tensorOf(getInput()))) << " elements cannot become "
                            << printSize(elementCount(tensorOf(getResult())));
  if (elementOf(getInput()) != elementOf(getResult()))
    return broken(*this, 1) << "elements of " << elementOf(getInput()) << " cannot become " << elementOf(getResult());
  return success();
}

LogicalResult PermuteOp::verify() {
  int64_t rank = rankOf(getInput());
  if (int64_t(getPermutation().size()) != rank)
    return broken(*this, 1) << getPermutation().size() << " entries for rank " << rank;
  if (failed(checkDims(*this, 1, getPermutation(), rank)))
    return failure();
  Sizes sizes = sizesOf(getInput()), expected;
  for (int64_t dim : getPermutation())
    expected.push_back(sizes[dim]);
  if (failed(checkSizes(*this, 2, "the result", getResult(), expected)))
    return failure();
  return checkElement(*this, 3, "the result", getResult(), elementOf(getInput()));
}

LogicalResult BroadcastOp::verify() {
  if (!broadcasts(sizesOf(getInput()), sizesOf(getResult())))
    return broken(*this, 1) << printSizes(sizesOf(getInput())) << " does not broadcast to "
                            << printSizes(sizesOf(getResult()));
  if (elementOf(getInput()) != elementOf(getResult()))
    return broken(*this, 1) << "elements of " << elementOf(getInput()) << " cannot become " << elementOf(getResult());
  return success();
}

LogicalResult SliceOp::verify() {
  int64_t rank = rankOf(getInput());
  if (int64_t(getOffsets().getNumResults()) != rank || int64_t(getStrides().size()) != rank)
    return broken(*this, 1) << getOffsets().getNumResults() << " offsets and " << getStrides().size()
                            << " strides for rank " << rank;
  for (int64_t stride : getStrides())
    if (stride <= 0)
      return broken(*this, 1) << "stride " << stride << " is not positive";
  if (rankOf(getResult()) != rank || elementOf(getResult()) != elementOf(getInput()))
    return broken(*this, 2) << getInput().getType() << " cannot become " << getResult().getType();
  for (auto [i, parts] :
       llvm::enumerate(llvm::zip(getOffsets().getResults(), getStrides(), sizesOf(getResult()), sizesOf(getInput())))) {
    auto [offset, stride, size, whole] = parts;
    if (surelyBelow(offset, getAffineConstantExpr(0, getContext())))
      return broken(*this, 1) << "offset " << printSize(offset) << " is negative";
    std::optional<int64_t> first = constantOf(offset), count = constantOf(size), all = constantOf(whole);
    if (count == 0)
      continue;
    if (first && count && all) { // all are constants, but the index of the last element may overflow
      int64_t last = 0;
      if (*count > 0 && (__builtin_mul_overflow(*count - 1, stride, &last) ||
                         __builtin_add_overflow(*first, last, &last) || last >= *all))
        return broken(*this, 2) << "dimension " << i << " of size " << *all << " ends before element " << *count
                                << " of the slice with offset " << *first << " and stride " << stride;
      continue;
    }
    AffineExpr end = canonicalSize(offset + (size - 1) * stride + 1); // the end of a slice that is not empty
    if (surelyBelow(whole, end))
      return broken(*this, 2) << "dimension " << i << " of size " << printSize(whole) << " ends before element "
                              << printSize(canonicalSize(end - 1));
  }
  return success();
}

LogicalResult FlipOp::verify() {
  if (getInput().getType() != getResult().getType())
    return broken(*this, 1) << getInput().getType() << " cannot become " << getResult().getType();
  return checkDims(*this, 1, getDims(), rankOf(getInput()));
}

LogicalResult PadOp::verify() {
  int64_t rank = rankOf(getInput());
  if (int64_t(getLow().size()) != rank || int64_t(getHigh().size()) != rank)
    return broken(*this, 1) << getLow().size() << " low and " << getHigh().size() << " high amounts for rank " << rank;
  Sizes expected = sizesOf(getInput());
  for (auto [size, low, high] : llvm::zip(expected, getLow(), getHigh())) {
    const int64_t cut = -std::min<int64_t>(low, 0) - std::min<int64_t>(high, 0);
    if (cut > 0 && surelyBelow(size, getAffineConstantExpr(cut, getContext())))
      return broken(*this, 3) << cut << " elements are cut off a dimension of " << printSize(size);
    size = canonicalSize(size + low + high);
  }
  if (getValue().getType() != elementOf(getInput()))
    return broken(*this, 1) << "the value is of " << getValue().getType() << ", the tensor of "
                            << elementOf(getInput());
  if (failed(checkElement(*this, 1, "the result", getResult(), elementOf(getInput()))))
    return failure();
  return checkSizes(*this, 2, "the result", getResult(), expected);
}

LogicalResult ConcatOp::verify() {
  if (getInputs().empty())
    return broken(*this, 1) << "there are no operands to concatenate";
  int64_t rank = rankOf(getResult()), dim = getDim();
  if (failed(checkDim(*this, 1, dim, rank)))
    return failure();
  Sizes expected = sizesOf(getInputs().front());
  AffineExpr total = getAffineConstantExpr(0, getContext());
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    Sizes sizes = sizesOf(input);
    bool fits = int64_t(sizes.size()) == rank && elementOf(input) == elementOf(getResult());
    for (int64_t d = 0; fits && d < rank; ++d)
      fits = d == dim || !surelyDiffer(sizes[d], expected[d]);
    if (!fits)
      return broken(*this, 2) << "operand " << i << " is " << input.getType() << " but operand 0 is "
                              << getInputs().front().getType();
    total = total + sizes[dim];
  }
  expected[dim] = canonicalSize(total);
  return checkSizes(*this, 2, "the result", getResult(), expected);
}

} // namespace tilewright::graph
