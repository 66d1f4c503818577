//===- LowerElementwise.cpp - elementwise ops and sources to generics ---------===//
//
// Before:
//   %1 = tw.add %x, %b : (tensor<4x8xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16>
// After:
//   %1 = linalg.generic {indexing_maps = [(d0, d1) -> (d0, d1), (d0, d1) -> (d1), (d0, d1) -> (d0, d1)],
//                        iterator_types = ["parallel", "parallel"]} ins(%x, %b) outs(%empty) {
//   ^bb0(%a: bf16, %c: bf16, %out: bf16):
//     %2 = arith.extf %a fastmath<contract> : bf16 to f32
//     ...
//     %5 = arith.truncf %4 fastmath<contract> : f32 to bf16
//     linalg.yield %5
//
// Test: test/Kernels/lower-elementwise.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Kernels/Lowering.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tilewright::structured {

Value elementwiseScalar(OpBuilder &b, Location loc, Operation *op, ValueRange args, Type elementType) {
  if (isa<graph::WhereOp>(op))
    return arith::SelectOp::create(b, loc, args[0], args[1], args[2]);
  if (auto require = dyn_cast<graph::RequireOp>(op))
    return tile::RequireOp::create(b, loc, args[0], args[1], require.getMessageAttr());
  if (isa<FloatType>(elementType))
    return floatScalar(b, loc, op, args);
  if (elementType.isInteger(1))
    return booleanScalar(b, loc, op, args);
  return integerScalar(b, loc, op, args, elementType.isUnsignedInteger());
}

/// Returns true if a rounding of the op's input can change its result by a whole step (such as 1, or the divisor of a
/// remainder), or flip a boolean result.
static bool isDiscrete(Operation *op) {
  using namespace graph;
  return isa<EqOp, NeOp, LtOp, LeOp, GtOp, GeOp, LogicalAndOp, LogicalOrOp, LogicalXorOp, LogicalNotOp, IsnanOp,
             IsinfOp, FloorOp, CeilOp, RoundOp, TruncOp, SignOp, DivTruncOp, DivFloorOp, FmodOp, RemainderOp,
             QuantizeOp>(op);
}

/// Returns true for discrete ops, and for other ops whose result is a decision that depends on their input: arg_reduce,
/// sort, casts of floats to integers or booleans.
static bool decidesByInput(Operation *op) {
  if (isDiscrete(op) || isa<graph::ArgReduceOp, graph::SortOp>(op))
    return true;
  auto elementOf = [](Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); };
  return isa<graph::CastOp>(op) && isa<FloatType>(elementOf(op->getOperand(0))) &&
         !isa<FloatType>(elementOf(op->getResult(0)));
}

llvm::DenseSet<Operation *> deciders(Block &graph) {
  llvm::DenseSet<Operation *> found;
  for (Operation &op : llvm::reverse(graph)) {
    if (!op.hasTrait<graph::Elementwise>() && !isa<graph::ReshapeOp, graph::PermuteOp>(op))
      continue;
    if (llvm::any_of(op.getUsers(), [&](Operation *user) { return decidesByInput(user) || found.contains(user); }))
      found.insert(&op);
  }
  return found;
}

/// Computes (input - zero_point) * scale in f32. The integers and their difference are exact in f32 if the zero point
/// is in the range of the input's type.
static Value dequantized(OpBuilder &b, Location loc, graph::DequantizeOp op, ValueRange in) {
  Type f32 = b.getF32Type(), from = cast<RankedTensorType>(op.getInput().getType()).getElementType();
  Value x = castScalar(b, loc, in[0], from, f32), zero = castScalar(b, loc, in[2], b.getI32Type(), f32);
  Value difference = arith::SubFOp::create(b, loc, x, zero, contractFlag(b));
  return arith::MulFOp::create(b, loc, difference, in[1], contractFlag(b));
}

/// Quantizes a float to a byte. For NaN, maxnum and minnum return a bound, so that the conversion to an integer is
/// defined, and the result is 0.
static Value quantized(OpBuilder &b, Location loc, graph::QuantizeOp op, ValueRange in) {
  auto flags = contractFlag(b);
  int64_t low = op.getLow(), high = op.getHigh();
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  Value steps = math::RoundEvenOp::create(b, loc, arith::MulFOp::create(b, loc, in[0], in[1], flags), flags);
  Value shifted = arith::AddFOp::create(b, loc, steps, in[2], flags);
  Value bounded = arith::MaxNumFOp::create(b, loc, shifted, floatConstant(b, loc, f32, double(low)));
  bounded = arith::MinNumFOp::create(b, loc, bounded, floatConstant(b, loc, f32, double(high)));
  Value number = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, shifted, shifted);
  Value whole = arith::SelectOp::create(b, loc, number, arith::FPToSIOp::create(b, loc, i32, bounded),
                                        intConstant(b, loc, i32, 0));
  return arith::TruncIOp::create(b, loc, b.getI8Type(), whole);
}

LogicalResult lowerElementwise(Lowering &l, Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<AffineExpr> sizes = graph::sizesOf(type);
  Type computed = cast<RankedTensorType>(op->getOperands().back().getType()).getElementType();
  Type result = type.getElementType();
  SmallVector<Read> inputs;
  for (Value operand : op->getOperands())
    inputs.push_back(l.readBroadcast(operand, sizes));
  auto isNarrow = [](Type element) { return isa<FloatType>(element) && computeType(element).isF32(); };
  bool isRounding = op->hasAttr(graph::implicitAttrName) && isNarrow(computed) && isNarrow(result);
  bool isCast = isa<graph::CastOp>(op) && !isRounding;
  if (isCast)
    inputs[0].asStored = true;
  if (isDiscrete(op) || l.decide.contains(op))
    for (Read &input : inputs)
      input.asRounded = true;
  bool known = true;
  Value tensor =
      l.elementwise(sizes, storageType(result), inputs, [&](OpBuilder &b, Location at, ValueRange in, ValueRange) {
        auto dequantize = dyn_cast<graph::DequantizeOp>(op);
        auto quantize = dyn_cast<graph::QuantizeOp>(op);
        Value value = quantize     ? quantized(b, at, quantize, in)
                      : isCast     ? castScalar(b, at, in[0], computed, result)
                      : isRounding ? in[0]
                      : dequantize ? dequantized(b, at, dequantize, in)
                                   : elementwiseScalar(b, at, op, in, computed);
        known = value != nullptr;
        if (!known)
          value = arith::ConstantOp::create(b, at, b.getZeroAttr(storageType(result)));
        return SmallVector<Value>{store(b, at, value, result)};
      });
  // Remove the fast-math flags of sums, differences, products and roundings. This also prevents a fused multiply-add,
  // which rounds once instead of twice.
  if (l.decide.contains(op))
    tensor.getDefiningOp()->walk([&](Operation *inner) {
      if (isa<arith::MulFOp, arith::AddFOp, arith::SubFOp, arith::TruncFOp>(inner))
        inner->setAttr("fastmath", arith::FastMathFlagsAttr::get(l.context(), arith::FastMathFlags::none));
      // Set an explicit rounding mode, because LLVM would otherwise replace an f32 op between two conversions by an f16
      // op.
      if (auto rounding = dyn_cast<arith::TruncFOp>(inner); rounding && rounding.getType().isF16())
        rounding.setRoundingmode(arith::RoundingMode::to_nearest_even);
    });
  if (!known)
    return op->emitOpError("is not defined for elements of type ") << computed;
  l.set(op->getResult(0), tensor);
  return success();
}

/// Returns the elements of a constant in the type in which they are stored.
static ElementsAttr storedElements(ElementsAttr value) {
  Type element = value.getElementType(), storage = storageType(element);
  auto type = RankedTensorType::get(value.getShapedType().getShape(), storage);
  if (element == storage && value.getShapedType() == type)
    return value;
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense)
    return {};
  if (!element.isInteger())
    return dense.reshape(type);
  SmallVector<APInt> numbers;
  for (APInt number : dense.getValues<APInt>())
    numbers.push_back(number.zextOrTrunc(storage.getIntOrFloatBitWidth()));
  return DenseElementsAttr::get(type, numbers);
}

LogicalResult lowerSource(Lowering &l, Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<AffineExpr> sizes = graph::sizesOf(type);
  Type element = type.getElementType(), storage = storageType(element);
  if (auto constant = dyn_cast<graph::ConstantOp>(op)) {
    auto elements = cast<ElementsAttr>(constant.getValue());
    if (elements.isSplat()) {
      auto splat = cast<DenseElementsAttr>(elements).getSplatValue<TypedAttr>();
      l.setRead(constant, {Value(), AffineMap(), splat, element});
      return success();
    }
    ElementsAttr stored = storedElements(elements);
    if (!stored)
      return op->emitOpError(
          "stores bytes or booleans as a resource; constants of these types are only supported as dense elements");
    l.set(constant, arith::ConstantOp::create(l.builder, l.loc, stored));
    return success();
  }
  if (auto fromIndex = dyn_cast<graph::FromIndexOp>(op)) {
    Value size = l.size(fromIndex.getExpr().getResult(0));
    l.set(fromIndex, l.elementwise(sizes, storage, {}, [&](OpBuilder &b, Location at, ValueRange, ValueRange) {
      Value number = arith::IndexCastOp::create(b, at, b.getI64Type(), size);
      return SmallVector<Value>{castScalar(b, at, number, number.getType(), element)};
    }));
    return success();
  }
  auto iota = cast<graph::IotaOp>(op);
  l.set(iota, l.elementwise(sizes, storage, {}, [&](OpBuilder &b, Location at, ValueRange, ValueRange) {
    Value index = linalg::IndexOp::create(b, at, iota.getDim());
    Value number = arith::IndexCastOp::create(b, at, b.getI64Type(), index);
    return SmallVector<Value>{castScalar(b, at, number, number.getType(), element)};
  }));
  return success();
}

} // namespace tilewright::structured
