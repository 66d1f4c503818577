//===- WidenFloats.cpp - --tw-widen-floats: compute every intermediate float in f64 ---===//
//
// Before:
//   func.func @main(%x: tensor<4xbf16>) -> tensor<4xbf16> {
//     %1 = linalg.generic ins(%x) { extf fastmath<contract>; math.exp : f32; truncf fastmath<contract> }
//     return %1
// After:
//   func.func @main(%x: tensor<4xbf16>) -> tensor<4xbf16> {
//     %0 = linalg.generic ins(%x) { extf; extf } : tensor<4xf64>
//     %1 = linalg.generic ins(%0) { math.exp : f64 } : tensor<4xf64>
//     %2 = linalg.generic ins(%1) { truncf; truncf } : tensor<4xbf16>
//     return %2
//
// Roundings that the compiler may omit (fastmath<contract>) are removed. Roundings that the user wrote become
// conversions to the type with fewer bits and back to f64. The results of the other targets are compared with the
// results of this code.
//
// Test: test/Codegen/Reference/widen-floats.mlir
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/IRMapping.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"

namespace tilewright {
#define GEN_PASS_DEF_WIDENFLOATS
#include "tilewright/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace tilewright::reference {
namespace {

bool isNarrowFloat(Type type) { return isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 64; }

Type widened(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.clone(widened(tensor.getElementType()));
  return isNarrowFloat(type) ? Float64Type::get(type.getContext()) : type;
}

/// Converts `x` to the type `to`. Conversions between f64 and types of fewer than 32 bits take two steps through f32,
/// because every machine supports conversions from and to f32.
Value convertFloat(OpBuilder &b, Location loc, Value x, Type to) {
  unsigned from = x.getType().getIntOrFloatBitWidth(), target = to.getIntOrFloatBitWidth();
  if ((from < 32 && target == 64) || (from == 64 && target < 32))
    x = convertFloat(b, loc, x, b.getF32Type());
  if (x.getType() == to)
    return x;
  if (x.getType().getIntOrFloatBitWidth() < target)
    return arith::ExtFOp::create(b, loc, to, x);
  return arith::TruncFOp::create(b, loc, to, x);
}

Value convertTensor(OpBuilder &b, Location loc, Value tensor, Type element) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, tensor);
  Value empty = tensor::EmptyOp::create(b, loc, sizes, element);
  AffineMap identity = b.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> parallel(type.getRank(), utils::IteratorType::parallel);
  return linalg::GenericOp::create(b, loc, empty.getType(), tensor, empty, ArrayRef{identity, identity}, parallel,
                                   [&](OpBuilder &inner, Location at, ValueRange arguments) {
                                     linalg::YieldOp::create(inner, at, convertFloat(inner, at, arguments[0], element));
                                   })
      .getResult(0);
}

Attribute widenedConstant(Attribute value) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return FloatAttr::get(widened(number.getType()), number.getValueAsDouble());
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense)
    return {};
  return dense.mapValues(Float64Type::get(value.getContext()), [](const APFloat &number) {
    APFloat wide = number;
    bool lossy;
    wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lossy);
    return wide.bitcastToAPInt();
  });
}

struct Widener {
  IRMapping values;

  bool mayBeDropped(Operation *cast) {
    auto flags = cast->getAttrOfType<arith::FastMathFlagsAttr>("fastmath");
    return flags && bitEnumContainsAny(flags.getValue(), arith::FastMathFlags::contract);
  }

  /// Replaces casts between floats, and casts from integers, by casts to f64, and keeps only the roundings that the
  /// user wrote. Returns true if `op` is such a cast.
  bool widenCast(OpBuilder &b, Operation &op) {
    if (auto ext = dyn_cast<arith::ExtFOp>(op); ext && isa<FloatType>(ext.getType())) {
      values.map(ext.getResult(), convertFloat(b, ext.getLoc(), values.lookup(ext.getIn()), widened(ext.getType())));
      return true;
    }
    auto rounding = [&](Value result) {
      Value wide = values.lookup(result);
      Value narrow = convertFloat(b, op.getLoc(), wide, op.getResult(0).getType());
      values.map(result, convertFloat(b, op.getLoc(), narrow, wide.getType()));
    };
    if (auto trunc = dyn_cast<arith::TruncFOp>(op); trunc && isa<FloatType>(trunc.getType())) {
      values.map(trunc.getResult(), values.lookup(trunc.getIn()));
      if (!mayBeDropped(trunc))
        rounding(trunc.getResult());
      return true;
    }
    if (isa<arith::SIToFPOp, arith::UIToFPOp>(op) && isNarrowFloat(op.getResult(0).getType())) {
      Operation *copy = b.clone(op, values);
      copy->getResult(0).setType(b.getF64Type());
      rounding(op.getResult(0));
      return true;
    }
    return false;
  }

  LogicalResult widen(OpBuilder &b, Operation &op) {
    if (widenCast(b, op))
      return success();
    Operation *copy = op.cloneWithoutRegions(values);
    b.insert(copy);
    if (auto constant = dyn_cast<arith::ConstantOp>(copy);
        constant && constant.getType() != widened(constant.getType())) {
      Attribute value = widenedConstant(constant.getValue());
      if (!value)
        return op.emitOpError("stores floats as a resource, which tw-widen-floats cannot widen");
      constant.setValueAttr(cast<TypedAttr>(value));
    }
    for (Value result : copy->getResults())
      result.setType(widened(result.getType()));
    for (auto [from, to] : llvm::zip_equal(op.getRegions(), copy->getRegions()))
      for (Block &block : from) {
        Block *body = new Block;
        to.push_back(body);
        values.map(&block, body);
        for (BlockArgument argument : block.getArguments())
          values.map(argument, body->addArgument(widened(argument.getType()), argument.getLoc()));
        OpBuilder inner = OpBuilder::atBlockEnd(body);
        for (Operation &nested : block)
          if (failed(widen(inner, nested)))
            return failure();
      }
    return success();
  }
};

LogicalResult widenFunction(func::FuncOp function) {
  if (function.isDeclaration())
    return success();
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitOpError("has control flow between blocks");
  Block &source = function.front();
  Block *body = new Block;
  function.getBody().push_back(body);
  OpBuilder b = OpBuilder::atBlockEnd(body);
  Widener widener;
  for (BlockArgument argument : source.getArguments()) {
    Value copy = body->addArgument(argument.getType(), argument.getLoc());
    if (copy.getType() != widened(copy.getType()))
      copy = convertTensor(b, argument.getLoc(), copy, b.getF64Type());
    widener.values.map(argument, copy);
  }
  for (Operation &op : source.without_terminator())
    if (failed(widener.widen(b, op))) {
      body->erase();
      return failure();
    }
  Operation *terminator = source.getTerminator();
  SmallVector<Value> results;
  for (Value value : terminator->getOperands()) {
    Value wide = widener.values.lookup(value);
    auto type = dyn_cast<RankedTensorType>(value.getType());
    results.push_back(
        wide.getType() == value.getType() ? wide : convertTensor(b, terminator->getLoc(), wide, type.getElementType()));
  }
  func::ReturnOp::create(b, terminator->getLoc(), results);
  source.erase();
  return success();
}

struct WidenFloats : impl::WidenFloatsBase<WidenFloats> {
  using WidenFloatsBase::WidenFloatsBase;

  void runOnOperation() override {
    if (kernelsOnly && !getOperation()->hasAttr(kernelAttrName))
      return;
    if (failed(widenFunction(getOperation())))
      signalPassFailure();
  }
};

} // namespace
} // namespace tilewright::reference
