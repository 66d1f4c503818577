//===- OnnxQuantization.cpp - quantization to bytes, and products of bytes ------------===//
//
// As ONNX specifies, QuantizeLinear divides by the scale and rounds to the nearest integer, ties to even. It does not
// multiply by 1 / scale: if x / scale is a tie, x * (1 / scale) may be slightly different, and would then be rounded to
// the other adjacent integer. DequantizeLinear from integers of at most 8 bits to f32, with scales in f32, becomes
// tw.dequantize, so that the pass --tw-match-quantized can replace products of such floats by integer products.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ONNX/OnnxNarrow.h"
#include "lib/Import/ONNX/OnnxTable.h"
#include "lib/Import/ONNX/OnnxWindows.h"

namespace tilewright {
namespace {

/// Reshapes a scale or zero point so that it broadcasts to `x`. The scale or zero point is a scalar, a vector along
/// `axis`, or has one element per block of `block` elements along `axis`.
Value broadcastable(OnnxNode &n, Value value, Value x, int64_t axis, int64_t block) {
  int64_t rank = n.rankOf(x);
  if (n.rankOf(value) == 0)
    return value;
  if (elementCount(n.typeOf(value)) == n.constantSize(1))
    return n.reshape(value, ArrayRef<AffineExpr>());
  if (n.rankOf(value) == 1 && block == 0)
    return n.alongDim(value, n.axis(axis, rank), rank);
  int64_t dim = n.axis(axis, rank);
  if (!n.demand(block > 0 && n.rankOf(value) == rank,
                "its scale is neither a scalar, nor a vector, nor one number per block"))
    return value;
  // Repeat each scale `block` times. The last block may be incomplete.
  SmallVector<AffineExpr> sizes = n.sizesIn(value), repeated = sizes;
  sizes.insert(sizes.begin() + dim + 1, n.constantSize(1));
  repeated[dim] = repeated[dim] * block;
  SmallVector<AffineExpr> expanded = sizes;
  expanded[dim + 1] = n.constantSize(block);
  value = n.reshape(n.broadcast(n.reshape(value, sizes), expanded), repeated);
  return n.sliceDim(value, dim, n.constantSize(0), n.sizesIn(x)[dim]);
}

std::optional<std::pair<double, double>> rangeOf(Type element) {
  if (!element || !isa<IntegerType>(element))
    return std::nullopt;
  unsigned width = element.getIntOrFloatBitWidth();
  if (width > 16 || width < 8)
    return std::nullopt;
  double span = double(1 << width);
  return element.isUnsignedInteger() ? std::pair(0.0, span - 1) : std::pair(-span / 2, span / 2 - 1);
}

/// Returns round(x / scale) + zero, clamped to the range of the integer type `element` or of the narrow integer type
/// `narrow`. If `narrow` is a float type, returns x / scale, converted to this type. `zero` is in a type that is not
/// narrow.
Value quantized(OnnxNode &n, Value x, Value scale, Value zero, Type element, onnx::ElementType narrow = {}) {
  Type compute = n.elementOf(x).isF64() ? n.f64() : n.f32();
  Value ratio = n.op<DivOp>({n.cast(x, compute), n.cast(scale, compute)});
  auto small = narrowRange(narrow);
  if (isNarrow(narrow) && !small)
    return numbersToNarrow(n, ratio, narrow, n.integer("saturate", 1));
  auto range = small ? std::optional(std::pair(double(small->first), double(small->second))) : rangeOf(element);
  if (!n.demand(range.has_value(), "quantizing to its type is not supported"))
    return x;
  Value rounded = n.op<RoundOp>({ratio});
  if (zero)
    rounded = n.op<AddOp>({rounded, n.cast(zero, compute)});
  Value number = n.op<MinimumOp>(n.op<MaximumOp>(rounded, range->first), range->second);
  return n.convert(number, small ? elementTypeOf(storageOf(narrow), &n.importer.context) : element);
}

Results quantizeLinear(OnnxNode &n) {
  Value x = n.in(0), scale = n.in(1), zero = n.given(2) ? n.numbersOf(2) : Value();
  int64_t axis = n.integer("axis", 1), block = n.integer("block_size", 0);
  onnx::ElementType narrow = n.narrowOf(2);
  Type element = zero ? n.elementOf(zero) : Type(n.builder.getIntegerType(8, false));
  if (!zero && n.integer("output_dtype", 0)) {
    narrow = n.typeNamed("output_dtype");
    element = isNarrow(narrow) ? Type() : n.elementNamed("output_dtype");
  }
  if (n.failed())
    return n.refused();
  n.narrowResult = isNarrow(narrow) ? narrow : onnx::ElementType::Undefined;
  scale = broadcastable(n, scale, x, axis, block);
  zero = zero ? broadcastable(n, zero, x, axis, block) : zero;
  Value result = n.failed() ? x : quantized(n, x, scale, zero, element, narrow);
  return n.failed() ? n.refused() : Results(result);
}

Results dequantizeLinear(OnnxNode &n) {
  Value scale = n.in(1), zero = n.given(2) ? n.numbersOf(2) : Value();
  bool narrow = isNarrow(n.narrowOf(0));
  onnx::ElementType integers = narrowRange(n.narrowOf(0)) ? n.narrowOf(0) : onnx::ElementType::Undefined;
  // The bytes of narrow integers have the same values as the integers.
  Value x = narrow && integers == onnx::ElementType::Undefined ? n.numbersOf(0) : n.anyIn(0);
  int64_t axis = n.integer("axis", 1), block = n.integer("block_size", 0);
  if (n.failed())
    return n.refused();
  Type element = n.elementOf(scale), from = n.elementOf(x);
  if (n.integer("output_dtype", 0))
    element = n.elementNamed("output_dtype");
  Value by = broadcastable(n, scale, x, axis, block), off = zero ? broadcastable(n, zero, x, axis, block) : zero;
  if (n.failed())
    return n.refused();
  bool bytes = from.isInteger(8) || from.isUnsignedInteger(8);
  if (bytes && element.isF32() && n.elementOf(by).isF32()) {
    Type i32 = n.builder.getI32Type();
    off = off ? n.cast(off, i32) : n.scalarInt(0, i32);
    return n.op<DequantizeOp>({x, by, off}, element);
  }
  Type compute = element.isF64() ? n.f64() : n.f32();
  Value number = n.cast(x, compute);
  if (off)
    number = n.op<SubOp>({number, n.cast(off, compute)});
  return n.cast(n.op<MulOp>({number, n.cast(by, compute)}), element);
}

/// Imports DynamicQuantizeLinear, which computes a scale and a zero point from the range of x, extended to include 0.
Results dynamicQuantize(OnnxNode &n) {
  Value x = n.in(0);
  if (n.failed())
    return n.refused();
  Type u8 = n.builder.getIntegerType(8, false);
  Value low = n.op<MinimumOp>(n.reduce(ReduceKind::Min, x, allDims(n.rankOf(x)), false), 0.0);
  Value high = n.op<MaximumOp>(n.reduce(ReduceKind::Max, x, allDims(n.rankOf(x)), false), 0.0);
  Value scale = n.op<DivOp>(n.op<SubOp>({high, low}), 255.0);
  Value zero = n.op<RoundOp>({n.op<NegOp>({n.op<DivOp>({low, scale})})});
  zero = n.convert(n.op<MinimumOp>(n.op<MaximumOp>(zero, 0.0), 255.0), u8);
  return {quantized(n, x, scale, zero, u8), scale, zero};
}

/// Returns x - zero in i32, for 8-bit integers `x`. If `zero` is a vector, its elements are along dimension `dim`.
Value centred(OnnxNode &n, Value x, Value zero, int64_t dim) {
  Type i32 = n.builder.getI32Type();
  x = n.cast(x, i32);
  if (!zero)
    return x;
  zero = n.cast(zero, i32);
  if (n.rankOf(zero) >= 1 && elementCount(n.typeOf(zero)) == n.constantSize(1))
    zero = n.reshape(zero, ArrayRef<AffineExpr>());
  else if (n.rankOf(zero) == 1)
    zero = n.alongDim(zero, dim, n.rankOf(x));
  return n.op<SubOp>({x, zero});
}

Value byteProduct(OnnxNode &n, Value a, Value b) {
  SmallVector<AffineExpr> sizesA = n.sizesIn(a), sizesB = n.sizesIn(b);
  if (!n.demand(sizesA.size() >= 2 && sizesA.size() == sizesB.size() &&
                    n.agreed(sizesA.back(), sizesB[sizesB.size() - 2]),
                "the operands of an integer matrix product need equal ranks of at least 2"))
    return a;
  for (size_t i = 0; i + 2 < sizesA.size(); ++i)
    if (!n.demand(bool(n.agreed(sizesA[i], sizesB[i])),
                  "the operands of an integer matrix product need equal batch sizes"))
      return a;
  return n.matmul(a, b);
}

Results matMulInteger(OnnxNode &n) {
  Value a = n.in(0), b = n.in(1), zeroA = n.optionalIn(2), zeroB = n.optionalIn(3);
  if (!n.demand(n.rankOf(a) >= 2 && n.rankOf(b) >= 2, "products of bytes take matrices"))
    return n.refused();
  Value result = byteProduct(n, centred(n, a, zeroA, n.rankOf(a) - 2), centred(n, b, zeroB, n.rankOf(b) - 1));
  return n.failed() ? n.refused() : Results(result);
}

Results qlinearMatMul(OnnxNode &n) {
  Value a = n.in(0), scaleA = n.in(1), zeroA = n.in(2), b = n.in(3), scaleB = n.in(4), zeroB = n.in(5), scale = n.in(6),
        zero = n.in(7);
  if (!n.demand(n.rankOf(a) >= 2 && n.rankOf(b) >= 2, "products of bytes take matrices"))
    return n.refused();
  Value sums = byteProduct(n, centred(n, a, zeroA, n.rankOf(a) - 2), centred(n, b, zeroB, n.rankOf(b) - 1));
  if (n.failed())
    return n.refused();
  auto along = [&](Value value, int64_t dim) { return n.cast(broadcastable(n, value, sums, dim, 0), n.f32()); };
  Value number = n.op<MulOp>({n.cast(sums, n.f32()), along(scaleA, -2)});
  number = n.op<MulOp>({number, along(scaleB, -1)});
  Value result = quantized(n, number, along(scale, -2), broadcastable(n, zero, sums, -2, 0), n.elementOf(zero));
  return n.failed() ? n.refused() : Results(result);
}

Value convolved(OnnxNode &n, Value x, Value zeroX, Value weight, Value zeroW) {
  SmallVector<int64_t> kernel;
  if (!n.demand(n.rankOf(x) >= 3 && n.rankOf(x) == n.rankOf(weight),
                "the ranks of its weight and its input are different"))
    return x;
  for (int64_t dim = 2; dim < n.rankOf(weight); ++dim)
    kernel.push_back(n.staticSize(weight, dim));
  OnnxWindows w = readWindows(n, x, kernel);
  return convolve(n, centred(n, x, zeroX, 1), centred(n, weight, zeroW, 0), w, n.integer("group", 1));
}

Results convInteger(OnnxNode &n) {
  Value x = n.in(0), weight = n.in(1), zeroX = n.optionalIn(2), zeroW = n.optionalIn(3);
  if (n.failed())
    return n.refused();
  Value result = convolved(n, x, zeroX, weight, zeroW);
  return n.failed() ? n.refused() : Results(result);
}

Results qlinearConv(OnnxNode &n) {
  Value x = n.in(0), scaleX = n.in(1), zeroX = n.in(2), weight = n.in(3), scaleW = n.in(4), zeroW = n.in(5),
        scale = n.in(6), zero = n.in(7), bias = n.optionalIn(8);
  if (n.failed())
    return n.refused();
  Value sums = convolved(n, x, zeroX, weight, zeroW);
  if (n.failed())
    return n.refused();
  if (bias)
    sums = n.op<AddOp>({sums, n.alongDim(bias, 1, n.rankOf(sums))});
  auto along = [&](Value value) { return n.cast(broadcastable(n, value, sums, 1, 0), n.f32()); };
  Value number = n.op<MulOp>({n.cast(sums, n.f32()), n.op<MulOp>({along(scaleX), along(scaleW)})});
  Value result = quantized(n, number, along(scale), broadcastable(n, zero, sums, 1, 0), n.elementOf(zero));
  return n.failed() ? n.refused() : Results(result);
}

} // namespace

void registerOnnxQuantization(OnnxTable &t) {
  t["QuantizeLinear"] = quantizeLinear;
  t["DequantizeLinear"] = dequantizeLinear;
  t["DynamicQuantizeLinear"] = dynamicQuantize;
  t["MatMulInteger"] = matMulInteger;
  t["QLinearMatMul"] = qlinearMatMul;
  t["ConvInteger"] = convInteger;
  t["QLinearConv"] = qlinearConv;
}

} // namespace tilewright
