//===- FixedPoint.cpp - --tw-fixed-point: converts a graph of floats to fixed point ----------------------===//
//
// Before, with formats="16,6":
//   func @main(%w: tensor<64x10xf32> {tw_hls.value = dense<...>}, %x: tensor<4x64xf32>) -> tensor<4x10xf32> {
//     %m = tw.matmul %x, %w : ... -> tensor<4x10xf32>       %y = tw.relu %m : ...
// After:
//   func @main(%x: tensor<4x64xi16>) -> tensor<4x10xi16> {
//     %w = tw.constant dense<...> : tensor<64x10xi16>                // * 2^-18: the largest element fits in 16 bits
//     %m = tw.matmul %x, %w : ... -> tensor<4x10xi34>                // exact: the widest sum has 34 bits
//     %r = tw.relu %m
//     %h = tw.add %r, %half     %s = tw.shift_right %h, %c18     %c = tw.minimum %s, %largest
//     %y = tw.cast %c : (tensor<4x10xi34>) -> tensor<4x10xi16>       // * 2^-10
//
// Products, sums and the ops after them are exact: their bit width is sufficient for the range of their values. A value
// is rounded to its layer's format if it is multiplied again (except by a power of two), reduced, pooled or
// concatenated, if it is read several times, or if it is a result. The module gets the attribute `tw.fixed` with the
// formats of inputs and results, the largest error of each result, and the range analysis of each rounding. If ops have
// no fixed-point form, the pass reports an error that lists them, except for ops that depend on a listed op.
//
// Test: test/Graph/fixed-point.mlir
//
//===----------------------------------------------------------------------===//
#include "tilewright/FixedPoint.h"
#include "dialects/HLS/HLS.h"
#include "lib/Graph/Fixed/Arithmetic.h"
#include "lib/Graph/Fixed/Layers.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tilewright/Passes.h"
#include "tilewright/SourceLine.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_FIXEDPOINT
#include "tilewright/Passes.h.inc"
namespace fixed {
namespace {

bool isFloat(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType());
}

/// Returns the layer of a weight: "fc1" for "fc1.weight", "" for a name without a dot.
std::string layerOf(StringRef weight) {
  return weight.rsplit('.').second.empty() ? "" : weight.rsplit('.').first.str();
}

/// The replacement of a float value: known elements, or a number; neither if its op was rejected.
struct Entry {
  std::shared_ptr<Known> known;
  std::optional<Number> number;
};

class Rewriter {
public:
  Rewriter(func::FuncOp main, const Formats &formats)
      : main(main), formats(formats), builder(main.getContext()), arithmetic(builder) {}

  /// Converts the function. Returns false if that is impossible; then `problems` has the reasons.
  bool run() {
    builder.setInsertionPointToStart(&main.front());
    convertArguments();
    SmallVector<Operation *> ops =
        llvm::map_to_vector(main.front().without_terminator(), [](Operation &op) { return &op; });
    for (Operation *op : ops)
      if (llvm::any_of(op->getOperandTypes(), isFloat) || llvm::any_of(op->getResultTypes(), isFloat))
        convert(op);
    if (problems.empty())
      finish(ops);
    return problems.empty();
  }

  std::vector<std::string> problems;
  SmallVector<Attribute> layers, inputs, outputs;

private:
  Format formatOf(StringRef name) const { return formats.named(name).value_or(formats.usual); }

  void refuse(Operation *op, const Twine &why) {
    const std::string line = sourceLine(op->getLoc());
    std::string text = (op->getName().getStringRef() + (line.empty() ? "" : " (" + line + ")") + ": " + why).str();
    if (!llvm::is_contained(problems, text))
      problems.push_back(text);
  }

  void convertArguments() {
    for (BlockArgument argument : main.getArguments()) {
      const unsigned index = argument.getArgNumber();
      auto name = main.getArgAttrOfType<StringAttr>(index, graph::nameAttrName);
      if (auto value = main.getArgAttrOfType<ElementsAttr>(index, hls::valueAttrName);
          value && isFloat(argument.getType())) {
        if (auto known = knownOf(value, name ? name.getValue() : "")) {
          values[argument].known = known;
          continue;
        }
      }
      std::string text;
      if (isFloat(argument.getType())) {
        Number number;
        // If the user has not specified a format for a weight that the caller passes, the weight has the format of its
        // layer.
        const StringRef called = name ? name.getValue() : "";
        const Format format = formats.named(called).value_or(formatOf(layerOf(called)));
        original[argument] = argument.getType();
        argument.setType(arithmetic.typed(argument.getType(), format.width));
        number.value = argument;
        number.fraction = format.fraction();
        number.range = Range::ofBits(format.width);
        values[argument].number = number;
        text = format.parameters();
      }
      if (isa<RankedTensorType>(argument.getType()))
        inputs.push_back(builder.getStringAttr(text));
    }
  }

  //===-- operands ------------------------------------------------------------===//

  const Known *known(Value value) { return values[value].known.get(); }

  /// Returns the fixed-point number of a value. The number may still be exact, that is, not rounded to a format. If the
  /// value is a weight with known elements, the number is a constant in the format that the user specified for the
  /// weight, or otherwise with `fraction` fractional bits.
  Number number(Value value, int fraction) {
    Entry &entry = values[value];
    if (entry.number)
      return *entry.number;
    const Known &weight = *entry.known;
    if (std::optional<Format> format = formats.named(weight.name))
      return arithmetic.constant(weight, quantizeWeight(weight, *format));
    return arithmetic.constant(weight, quantize(weight, fraction, 0));
  }

  Quantized quantizeWeight(const Known &weight, const Format &format) {
    Quantized made = quantize(weight, format.fraction(), format.width);
    if (made.saturates)
      layers.push_back(describeWeight(builder, weight.name, format));
    return made;
  }

  /// Quantizes a weight that is a factor of a product. Unless the user has specified a format for it, the weight gets
  /// the bit width of its layer's values, and the largest number of fractional bits that its largest magnitude allows.
  Quantized weightOf(const Known &weight, StringRef layer) {
    if (std::optional<Format> format = formats.named(weight.name))
      return quantizeWeight(weight, *format);
    const int width = formatOf(layer).width;
    return quantize(weight, fractionFor(weight, width), width);
  }

  /// Returns a value in a format. A value that is still exact is rounded to the format of its layer. All consumers read
  /// the same number.
  Number rounded(Value value) {
    Number &number = *values[value].number;
    if (number.exact)
      number = roundTo(number, formatOf(number.layer), value.getDefiningOp());
    return number;
  }

  Number roundTo(const Number &number, const Format &format, Operation *op) {
    const int more = std::max(0, format.fraction() - number.fraction);
    checkWidth(op, std::max(number.width(), number.range.bits() + more), number.layer);
    Number result = arithmetic.rounded(number, format);
    layers.push_back(describeRounding(builder, number, result, format, op ? sourceLine(op->getLoc()) : ""));
    return result;
  }

  /// Rejects widths above 63 bits. One of the 64 bits is reserved for the addition in a rounding.
  void checkWidth(Operation *op, int width, StringRef layer) {
    constexpr int widest = 63;
    const std::string text =
        ("its exact result needs " + Twine(width) + " bits, but the target reference computes with at most " +
         Twine(widest) + "; reduce the bits of " +
         (layer.empty() ? std::string("its operands") : "its layer '" + layer.str() + "'"))
            .str();
    if (width > widest && op)
      refuse(op, text);
    else if (width > widest)
      problems.push_back(text);
  }

  void set(Value value, Number number) {
    checkWidth(value.getDefiningOp(), std::max(number.range.bits(), number.width()), number.layer);
    values[value].number = std::move(number);
    if (!value.hasOneUse() && values[value].number->exact)
      rounded(value);
  }

  //===-- ops -----------------------------------------------------------------===//

  void convert(Operation *op) {
    for (Type type : op->getResultTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(type); !tensor || !tensor.hasStaticShape())
        return refuse(op, "its sizes are not fixed");
    if (auto constant = dyn_cast<graph::ConstantOp>(op)) {
      values[op->getResult(0)].known = knownOf(cast<ElementsAttr>(constant.getValue()), "");
      if (!values[op->getResult(0)].known)
        refuse(op, "its elements cannot be read");
      return;
    }
    SmallVector<std::shared_ptr<Known>> all;
    for (Value operand : op->getOperands()) {
      if (!isFloat(operandType(operand)) && !isa<graph::CastOp>(op))
        return refuse(op, "floats and integers together have no form in fixed point");
      if (isFloat(operandType(operand)) && !values[operand].known && !values[operand].number)
        return; // already reported
      all.push_back(values[operand].known);
    }
    if (auto result = evaluate(op, all)) {
      values[op->getResult(0)].known = result;
      return;
    }
    if (!llvm::is_contained(all, nullptr))
      return refuse(op, "all of its operands are constants, but this op cannot be evaluated during compilation");
    if (const Known *weight = firstWithoutNumber(op, all))
      return refuse(op, "weight" + (weight->name.empty() ? "" : " '" + weight->name + "'") +
                            " has elements that are infinite or NaN");
    builder.setInsertionPoint(op);
    arithmetic.loc = op->getLoc();
    llvm::TypeSwitch<Operation *>(op)
        .Case<graph::MatmulOp, graph::ConvolutionOp>([&](auto product) { convertProduct(product); })
        .Case<graph::AddOp, graph::SubOp>([&](auto) { convertSum(op); })
        .Case<graph::MulOp, graph::DivOp>([&](auto) { convertMultiply(op); })
        .Case<graph::MaximumOp, graph::MinimumOp>([&](auto) { convertExtreme(op); })
        .Case<graph::ReluOp>([&](auto relu) { convertRelu(relu); })
        .Case<graph::NegOp>([&](auto neg) { convertNeg(neg); })
        .Case<graph::ReshapeOp, graph::PermuteOp, graph::BroadcastOp, graph::SliceOp, graph::FlipOp>(
            [&](auto) { convertView(op); })
        .Case<graph::ConcatOp>([&](auto concat) { convertConcat(concat); })
        .Case<graph::MaxPoolOp>([&](auto pool) { convertMaxPool(pool); })
        .Case<graph::AvgPoolOp>([&](auto pool) { convertAvgPool(pool); })
        .Case<graph::ReduceOp>([&](auto reduce) { convertReduce(reduce); })
        .Case<graph::CastOp>([&](auto cast) { convertCast(cast); })
        .Default([&](auto) { refuse(op, "this op has no form in fixed point"); });
  }

  /// Returns the type that a value has in the float graph. The types of arguments have already been changed.
  Type operandType(Value value) {
    auto found = original.find(value);
    return found == original.end() ? value.getType() : found->second;
  }

  void convertProduct(graph::MatmulOp op) {
    SmallVector<int64_t> shape(cast<RankedTensorType>(operandType(op.getRhs())).getShape());
    const int64_t rank = shape.size(), depth = shape[rank - 2], columns = shape[rank - 1];
    const int64_t rows = cast<RankedTensorType>(op.getType()).getDimSize(rank - 2);
    // In a batch of matrices, each matrix has separate results.
    auto ofRight = [=](int64_t i) { return i / (depth * columns) * columns + i % columns; };
    auto ofLeft = [=](int64_t i) { return i / depth; };
    int64_t batches = 1;
    for (int64_t size : ArrayRef(shape).drop_back(2))
      batches *= size;
    product(op, op.getLhs(), op.getRhs(), depth, batches * rows, ofLeft, batches * columns, ofRight);
  }

  void convertProduct(graph::ConvolutionOp op) {
    if (op.getTransposed())
      return refuse(op, "transposed convolutions have no form in fixed point");
    auto weight = cast<RankedTensorType>(operandType(op.getWeight()));
    const bool last = op->hasAttr(graph::channelsLastAttrName);
    const int64_t filters = last ? weight.getShape().back() : weight.getDimSize(0);
    const int64_t depth = weight.getNumElements() / filters;
    if (known(op.getInput()))
      return refuse(op, "a convolution of constants has no form in fixed point");
    product(op, op.getInput(), op.getWeight(), depth, 0, {}, filters,
            [=](int64_t i) { return last ? i % filters : i / depth; });
  }

  /// Converts sums of `depth` products. If the weights are known, their elements determine the range of the sums.
  /// Otherwise, the worst case is assumed. If `lhs` is a known weight, its element i contributes to result ofLeft(i) of
  /// `lefts` results. If `rhs` is a known weight, its element i contributes to result ofRight(i) of `rights` results.
  /// Results that use the same weights are counted once.
  void product(Operation *op, Value lhs, Value rhs, int64_t depth, int64_t lefts,
               llvm::function_ref<int64_t(int64_t)> ofLeft, int64_t rights,
               llvm::function_ref<int64_t(int64_t)> ofRight) {
    const Known *left = known(lhs), *right = known(rhs);
    const Known *weight = right ? right : left;
    const std::string layer = weight ? layerOf(weight->name) : "";
    Number a, b, result;
    SumRange sums;
    if (weight) {
      const Number input = rounded(right ? lhs : rhs);
      const Quantized quantized = weightOf(*weight, layer);
      const Number constant = arithmetic.constant(*weight, quantized);
      sums = sumOfProducts(*weight, quantized, right ? rights : lefts, right ? ofRight : ofLeft, input.range,
                           input.unit(), input.error);
      a = right ? input : constant;
      b = right ? constant : input;
    } else {
      a = rounded(lhs);
      b = rounded(rhs);
      const Range one = (a.range * b.range).with({0, 0});
      sums.range = {one.low * depth, one.high * depth};
      const double x = double(a.range.magnitude()) * a.unit(), y = double(b.range.magnitude()) * b.unit();
      sums.error = double(depth) * (x * b.error + y * a.error + a.error * b.error);
    }
    result.layer = layer.empty() ? nameOf(rhs) : layer;
    result.fraction = a.fraction + b.fraction;
    result.range = sums.range;
    result.error = sums.error;
    result.exact = true;
    // Both operands need the same type, so the operand with fewer bits is widened.
    const int operands = std::max(a.width(), b.width()), width = std::max(result.range.bits(), operands);
    a = arithmetic.aligned(a, a.fraction, operands);
    b = arithmetic.aligned(b, b.fraction, operands);
    Operation *made = builder.clone(*op);
    made->setOperands({a.value, b.value});
    made->getResult(0).setType(arithmetic.typed(op->getResult(0).getType(), width));
    result.value = made->getResult(0);
    set(op->getResult(0), result);
  }

  /// If `value` is an argument or a view of an argument, returns the layer in the argument's name, or the whole name if
  /// it contains no layer. Otherwise returns an empty string.
  std::string nameOf(Value value) {
    while (Operation *op = value.getDefiningOp()) {
      if (!isa<graph::ReshapeOp, graph::PermuteOp, graph::BroadcastOp>(op))
        return "";
      value = op->getOperand(0);
    }
    auto name = main.getArgAttrOfType<StringAttr>(cast<BlockArgument>(value).getArgNumber(), graph::nameAttrName);
    return !name ? "" : layerOf(name).empty() ? name.str() : layerOf(name);
  }

  void convertSum(Operation *op) {
    Value left = op->getOperand(0), right = op->getOperand(1);
    Value other = known(left) ? right : left;
    const int fraction = std::max(values[other].number->fraction, formatOf(values[other].number->layer).fraction());
    Number a = number(left, fraction), b = number(right, fraction);
    Number sum = arithmetic.add(a, b, resultType(op), isa<graph::SubOp>(op));
    sum.layer = a.layer.empty() ? b.layer : a.layer;
    set(op->getResult(0), sum);
  }

  void convertMultiply(Operation *op) {
    Value left = op->getOperand(0), right = op->getOperand(1);
    std::shared_ptr<Known> inverse;
    const Known *weight = known(right) ? known(right) : known(left);
    Value input = known(right) ? left : right;
    if (isa<graph::DivOp>(op)) {
      if (!known(right) || llvm::is_contained(known(right)->elements, 0.0))
        return refuse(op, "only division by constants other than 0 has a form in fixed point");
      inverse = std::make_shared<Known>(*known(right));
      for (double &element : inverse->elements)
        element = 1 / element;
      weight = inverse.get();
    }
    if (!weight) {
      const Number a = rounded(left), b = rounded(right);
      Number product = arithmetic.multiply(a, b, resultType(op));
      product.layer = a.layer.empty() ? b.layer : a.layer;
      return set(op->getResult(0), product);
    }
    // A multiplication by one power of two changes only the number of fractional bits.
    int exponent;
    const double first = weight->elements.front();
    if (weight->elements.size() == 1 && std::frexp(first, &exponent) == 0.5 &&
        cast<RankedTensorType>(operandType(input)).getShape() == resultType(op).getShape()) {
      Number moved = *values[input].number;
      moved.fraction -= exponent - 1;
      moved.error *= first;
      moved.exact = true;
      return set(op->getResult(0), moved);
    }
    const Number a = rounded(input);
    const std::string layer = layerOf(weight->name).empty() ? a.layer : layerOf(weight->name);
    Number product = arithmetic.multiply(a, arithmetic.constant(*weight, weightOf(*weight, layer)), resultType(op));
    product.layer = layer;
    set(op->getResult(0), product);
  }

  void convertExtreme(Operation *op) {
    Value left = op->getOperand(0), right = op->getOperand(1);
    const int fraction = values[known(left) ? right : left].number->fraction;
    const Number a = number(left, fraction), b = number(right, fraction);
    Number result = arithmetic.extreme(a, b, resultType(op), isa<graph::MaximumOp>(op));
    result.layer = a.layer.empty() ? b.layer : a.layer;
    set(op->getResult(0), result);
  }

  void convertRelu(graph::ReluOp op) {
    Number result = *values[op.getInput()].number;
    result.value = graph::ReluOp::create(builder, op.getLoc(), result.value.getType(), result.value);
    result.range = {std::max(result.range.low, Wide(0)), std::max(result.range.high, Wide(0))};
    set(op.getResult(), result);
  }

  void convertNeg(graph::NegOp op) {
    const Number x = *values[op.getInput()].number;
    Number result = arithmetic.aligned(x, x.fraction, (Range{0, 0} - x.range).bits());
    result.value = graph::NegOp::create(builder, op.getLoc(), result.value.getType(), result.value);
    result.range = Range{0, 0} - x.range;
    result.exact = true;
    set(op.getResult(), result);
  }

  void convertView(Operation *op) {
    Number result = *values[op->getOperand(0)].number;
    Operation *made = builder.clone(*op);
    made->setOperand(0, result.value);
    made->getResult(0).setType(arithmetic.typed(op->getResult(0).getType(), result.width()));
    result.value = made->getResult(0);
    set(op->getResult(0), result);
  }

  void convertConcat(graph::ConcatOp op) {
    // All operands of a concatenation get the format of the layer of the first operand.
    SmallVector<Value> parts;
    Number result;
    for (Value input : op.getInputs()) {
      if (known(input))
        return refuse(op, "a concatenation of constants with other values has no form in fixed point");
      const Number part = rounded(input);
      if (parts.empty())
        result = part;
      else {
        const Format format = formatOf(result.layer);
        const bool same = part.fraction == result.fraction && part.width() == result.width();
        const Number next = same ? part : roundTo(part, format, op);
        if (next.fraction != result.fraction || next.width() != result.width())
          return refuse(op, "its parts have different formats; set the same format for them");
        result.range = result.range.with(next.range);
        result.error = std::max(result.error, next.error);
        parts.push_back(next.value);
        continue;
      }
      parts.push_back(part.value);
    }
    result.value = graph::ConcatOp::create(builder, op.getLoc(), arithmetic.typed(op.getType(), result.width()), parts,
                                           op.getDim());
    set(op.getResult(), result);
  }

  void convertMaxPool(graph::MaxPoolOp op) {
    if (!op.getIndices().use_empty())
      return refuse(op, "the indices of a pooling are read");
    Number result = rounded(op.getInput());
    auto made = cast<graph::MaxPoolOp>(builder.clone(*op));
    made->setOperand(0, result.value);
    made.getResult().setType(arithmetic.typed(op.getResult().getType(), result.width()));
    result.value = made.getResult();
    set(op.getResult(), result);
  }

  void convertAvgPool(graph::AvgPoolOp op) {
    int64_t count = 1;
    for (int64_t size : op.getKernel())
      count *= size;
    const bool padded = llvm::any_of(op.getPadding(), [](int64_t amount) { return amount != 0; });
    if (padded && !op.getCountIncludePad() && !op.getDivisor())
      return refuse(
          op, "an average whose windows have different divisors has no form in fixed point; set count_include_pad");
    const int64_t divisor = op.getDivisor().value_or(count);
    const Number input = rounded(op.getInput());
    Number sum = input;
    sum.range = Range{input.range.low * count, input.range.high * count}.with({0, 0});
    sum.error = input.error * double(count);
    auto made = cast<graph::AvgPoolOp>(builder.clone(*op));
    made->setOperand(0, input.value);
    made.setDivisor(1);
    made.getResult().setType(arithmetic.typed(op.getType(), std::max(sum.range.bits(), input.width())));
    sum.value = made.getResult();
    set(op.getResult(), divided(sum, divisor));
  }

  void convertReduce(graph::ReduceOp op) {
    const Number input = rounded(op.getInput());
    if (op.getKind() != graph::ReduceKind::Sum && op.getKind() != graph::ReduceKind::Max &&
        op.getKind() != graph::ReduceKind::Min)
      return refuse(op, "only sums, maxima and minima have a form in fixed point");
    Number result = input;
    auto made = cast<graph::ReduceOp>(builder.clone(*op));
    made->setOperand(0, input.value);
    if (op.getKind() == graph::ReduceKind::Sum) {
      const int64_t count = cast<RankedTensorType>(operandType(op.getInput())).getNumElements() /
                            std::max<int64_t>(1, cast<RankedTensorType>(op.getType()).getNumElements());
      result.range = Range{input.range.low * count, input.range.high * count}.with({0, 0});
      result.error = input.error * double(count);
      result.exact = true;
    }
    made.getResult().setType(arithmetic.typed(op.getType(), std::max(result.range.bits(), input.width())));
    result.value = made.getResult();
    set(op.getResult(), result);
  }

  void convertCast(graph::CastOp op) {
    if (isFloat(operandType(op.getInput())) && isFloat(op.getType())) {
      if (values[op.getInput()].number)
        set(op.getResult(), *values[op.getInput()].number);
      return;
    }
    refuse(op, "conversions between floats and integers have no form in fixed point");
  }

  /// Returns sum / count. If `count` is a power of two, only the number of fractional bits changes; otherwise the sum
  /// is multiplied by 1 / count.
  Number divided(Number sum, int64_t count) {
    sum.exact = true;
    if (llvm::isPowerOf2_64(count)) {
      sum.fraction += llvm::Log2_64(count);
      sum.error /= double(count);
      return sum;
    }
    Known inverse;
    inverse.elements = {1.0 / double(count)};
    const int width = std::max(8, formatOf(sum.layer).width);
    return arithmetic.multiply(sum, arithmetic.constant(inverse, quantize(inverse, fractionFor(inverse, width), width)),
                               cast<RankedTensorType>(sum.value.getType()));
  }

  RankedTensorType resultType(Operation *op) { return cast<RankedTensorType>(op->getResult(0).getType()); }

  //===-- the end --------------------------------------------------------------===//

  void finish(ArrayRef<Operation *> ops) {
    Operation *end = main.front().getTerminator();
    builder.setInsertionPoint(end);
    for (OpOperand &operand : end->getOpOperands()) {
      std::string text;
      if (isFloat(operandType(operand.get()))) {
        const unsigned index = operand.getOperandNumber();
        auto name = main.getResultAttrOfType<StringAttr>(index, graph::nameAttrName);
        Operation *op = operand.get().getDefiningOp();
        arithmetic.loc = op ? op->getLoc() : end->getLoc();
        Number result = number(operand.get(), formats.usual.fraction());
        const Format format = formats.named(name ? name.getValue() : "").value_or(formatOf(result.layer));
        if (result.exact || result.fraction != format.fraction() || result.width() != format.width)
          result = roundTo(result, format, op);
        operand.set(result.value);
        text = format.parameters();
        errors.push_back(builder.getF64FloatAttr(result.error));
      }
      outputs.push_back(builder.getStringAttr(text));
    }
    for (Operation *op : llvm::reverse(ops))
      if (op->use_empty())
        op->erase();
    llvm::BitVector gone(main.getNumArguments());
    for (BlockArgument argument : main.getArguments())
      if (values[argument].known)
        gone.set(argument.getArgNumber());
    main.setType(FunctionType::get(main.getContext(), main.front().getArgumentTypes(), end->getOperandTypes()));
    (void)main.eraseArguments(gone);
  }

  func::FuncOp main;
  const Formats &formats;
  OpBuilder builder;
  Arithmetic arithmetic;
  llvm::DenseMap<Value, Entry> values;
  llvm::DenseMap<Value, Type> original;

public:
  SmallVector<Attribute> errors; ///< the largest error of each float result
};

struct FixedPoint : impl::FixedPointBase<FixedPoint> {
  using FixedPointBase::FixedPointBase;

  void runOnOperation() override {
    auto fail = [&](const Twine &text) {
      emitError(UnknownLoc::get(&getContext())) << text;
      signalPassFailure();
    };
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main)
      return;
    llvm::Expected<Formats> given = Formats::parse(formats);
    if (!given)
      return fail(llvm::toString(given.takeError()));
    if (!main.getFunctionType().getInputs().empty() && isa<IndexType>(main.getArgumentTypes().front()))
      return fail("a model whose sizes vary has no form in fixed point: export it without dynamic_shapes");
    for (unsigned index = 0; index < main.getNumResults(); ++index)
      if (main.getResultAttr(index, graph::intoAttrName))
        return fail("a model that writes its inputs has no form in fixed point: export it in inference mode");
    Rewriter rewriter(main, *given);
    if (!rewriter.run())
      return fail("this model has no form in fixed point yet:\n  " + llvm::join(rewriter.problems, "\n  "));
    if (std::vector<std::string> unused = given->unused(); !unused.empty())
      return fail(
          "no value of this model has the name " + llvm::join(unused, " or ") +
          "; formats can be set for inputs, weights, layers (a weight's name without its last part) and results");
    Builder builder(&getContext());
    getOperation()->setAttr(
        fixedAttrName,
        builder.getDictionaryAttr({builder.getNamedAttr("errors", builder.getArrayAttr(rewriter.errors)),
                                   builder.getNamedAttr("inputs", builder.getArrayAttr(rewriter.inputs)),
                                   builder.getNamedAttr("layers", builder.getArrayAttr(rewriter.layers)),
                                   builder.getNamedAttr("outputs", builder.getArrayAttr(rewriter.outputs))}));
  }
};

} // namespace
} // namespace fixed
} // namespace tilewright
