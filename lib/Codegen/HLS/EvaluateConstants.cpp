//===- EvaluateConstants.cpp - evaluate kernels of constants at compile time -----------------===//
//
// A kernel whose inputs are constants computes the same result in every call. Examples are the sums over an int8 weight
// that are multiplied by zero points, and the conversion of a weight to the layout that its kernel reads. The kernels
// of a layer have millions of iterations, for which an interpreter of MLIR ops would be slow. The body of the linalg op
// is therefore converted to a list of steps on 64-bit registers, and this list is executed once per iteration of the
// loops.
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/EvaluateConstants.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include <optional>

using namespace mlir;

namespace tilewright::hls {
namespace {

/// The maximum number of iterations of an op that evaluateGeneric() evaluates.
constexpr int64_t mostIterations = int64_t(1) << 26;

enum class StepKind { Add, Subtract, Multiply, SignExtend, ZeroExtend };

/// One step: registers[to] = registers[left] <kind> registers[right], wrapped to `width` bits. SignExtend and
/// ZeroExtend ignore `right`. SignExtend is also used for truncations. `operandWidth` is the width of the left operand
/// in bits.
struct Step {
  StepKind kind;
  unsigned to, left, right, width, operandWidth;
};

/// Returns the low `width` bits of `value`, interpreted as a signed number.
int64_t wrapped(int64_t value, unsigned width) {
  const unsigned unused = 64 - width;
  return int64_t(uint64_t(value) << unused) >> unused;
}

bool hasBytes(Type element) {
  const unsigned width = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
  return width >= 8 && width <= 64 && width % 8 == 0;
}

/// The elements of a tensor, and for each loop the distance in elements between the accesses of consecutive iterations.
struct Elements {
  std::vector<char> bytes;
  unsigned width = 0; ///< number of bytes of one element
  SmallVector<int64_t> strides;

  int64_t at(int64_t index) const {
    int64_t value = 0;
    memcpy(&value, &bytes[index * width], width);
    return wrapped(value, 8 * width);
  }
  void set(int64_t index, int64_t value) { memcpy(&bytes[index * width], &value, width); }
};

Elements elementsOf(RankedTensorType type, AffineMap map) {
  Elements elements;
  elements.width = type.getElementTypeBitWidth() / 8;
  elements.bytes.resize(type.getNumElements() * elements.width);
  elements.strides.resize(map.getNumDims(), 0);
  int64_t stride = 1;
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    if (auto loop = dyn_cast<AffineDimExpr>(map.getResult(dim)))
      elements.strides[loop.getPosition()] = stride;
    stride *= type.getDimSize(dim);
  }
  return elements;
}

void fill(Elements &elements, DenseElementsAttr value) {
  ArrayRef<char> raw = value.getRawData();
  if (!value.isSplat()) {
    std::copy(raw.begin(), raw.end(), elements.bytes.begin());
    return;
  }
  for (size_t at = 0; at < elements.bytes.size(); at += elements.width)
    memcpy(&elements.bytes[at], raw.data(), elements.width);
}

/// A body as a list of steps; its arguments are the first registers.
class Steps {
public:
  explicit Steps(Block &body) : registers(body.getNumArguments(), 0) {
    for (BlockArgument argument : body.getArguments())
      numbers[argument] = argument.getArgNumber();
    for (Operation &op : body.without_terminator())
      isKnown &= add(op);
    Operation *yield = body.getTerminator();
    isKnown &= yield->getNumOperands() == 1 && isNumbered(yield->getOperand(0));
    result = isKnown ? numbers.lookup(yield->getOperand(0)) : 0;
  }

  bool isKnown = true;
  std::vector<int64_t> registers;

  int64_t run() {
    for (const Step &step : list) {
      const uint64_t left = registers[step.left], right = registers[step.right];
      uint64_t value = left;
      if (step.kind == StepKind::Add)
        value = left + right;
      else if (step.kind == StepKind::Subtract)
        value = left - right;
      else if (step.kind == StepKind::Multiply)
        value = left * right;
      else if (step.kind == StepKind::ZeroExtend) // the operand has fewer than 64 bits
        value = left & ((uint64_t(1) << step.operandWidth) - 1);
      registers[step.to] = wrapped(int64_t(value), step.width);
    }
    return registers[result];
  }

private:
  bool add(Operation &op) {
    auto type = op.getNumResults() == 1 ? dyn_cast<IntegerType>(op.getResult(0).getType()) : IntegerType();
    if (!type || type.getWidth() > 64)
      return false;
    if (isNumbered(op.getResult(0)))
      return true;
    auto kind = llvm::TypeSwitch<Operation *, std::optional<StepKind>>(&op)
                    .Case([](arith::AddIOp) { return StepKind::Add; })
                    .Case([](arith::SubIOp) { return StepKind::Subtract; })
                    .Case([](arith::MulIOp) { return StepKind::Multiply; })
                    .Case<arith::ExtSIOp, arith::TruncIOp>([](Operation *) { return StepKind::SignExtend; })
                    .Case([](arith::ExtUIOp) { return StepKind::ZeroExtend; })
                    .Default([](Operation *) { return std::nullopt; });
    if (!kind || !llvm::all_of(op.getOperands(), [&](Value operand) { return isNumbered(operand); }))
      return false;
    const unsigned to = registers.size();
    Step step{*kind,
              to,
              numbers[op.getOperand(0)],
              numbers[op.getOperands().back()],
              type.getWidth(),
              op.getOperand(0).getType().getIntOrFloatBitWidth()};
    registers.push_back(0);
    numbers[op.getResult(0)] = to;
    list.push_back(step);
    return true;
  }

  /// Returns true if `value` has a register. If `value` is a constant, which may be defined outside of the body,
  /// assigns a register to it.
  bool isNumbered(Value value) {
    APInt constant;
    if (!numbers.contains(value) && matchPattern(value, m_ConstantInt(&constant)) && constant.getBitWidth() <= 64) {
      numbers[value] = registers.size();
      registers.push_back(constant.getSExtValue());
    }
    return numbers.contains(value);
  }

  llvm::DenseMap<Value, unsigned> numbers;
  std::vector<Step> list;
  unsigned result = 0;
};

} // namespace

DenseElementsAttr evaluateGeneric(linalg::GenericOp op, const KnownTensors &known) {
  if (op.getNumResults() != 1 || op.getNumDpsInits() != 1)
    return {};
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  int64_t iterations = 1;
  for (int64_t size : sizes) {
    if (ShapedType::isDynamic(size) || size == 0 || size > mostIterations / iterations)
      return {};
    iterations *= size;
  }
  Block &body = *op.getBlock();
  std::vector<Elements> operands;
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (!type || !hasBytes(type.getElementType()) || !map.isProjectedPermutation())
      return {};
    operands.push_back(elementsOf(type, map));
    const bool isRead = !body.getArgument(operand.getOperandNumber()).use_empty();
    DenseElementsAttr value = known.lookup(operand.get());
    if (isRead && !value)
      return {};
    if (isRead)
      fill(operands.back(), value);
  }
  Steps steps(body);
  if (!steps.isKnown)
    return {};
  SmallVector<int64_t> indices(sizes.size(), 0), offsets(operands.size(), 0);
  for (int64_t iteration = 0; iteration < iterations; ++iteration) {
    for (auto [number, operand] : llvm::enumerate(operands))
      steps.registers[number] = operand.at(offsets[number]);
    operands.back().set(offsets.back(), steps.run());
    for (int64_t dim = int64_t(sizes.size()) - 1; dim >= 0; --dim) {
      const int64_t moves = ++indices[dim] < sizes[dim] ? 1 : 1 - sizes[dim];
      for (auto [number, operand] : llvm::enumerate(operands))
        offsets[number] += moves * operand.strides[dim];
      if (moves == 1)
        break;
      indices[dim] = 0;
    }
  }
  return DenseElementsAttr::getFromRawBuffer(cast<RankedTensorType>(op.getResult(0).getType()), operands.back().bytes);
}

DenseElementsAttr evaluateFill(linalg::FillOp op) {
  APInt value;
  auto type = op.getNumResults() == 1 ? dyn_cast<RankedTensorType>(op.getResult(0).getType()) : RankedTensorType();
  if (!type || !type.hasStaticShape() || !type.getElementType().isInteger() ||
      !matchPattern(op.getInputs()[0], m_ConstantInt(&value)))
    return {};
  return DenseElementsAttr::get(type, value);
}

} // namespace tilewright::hls
