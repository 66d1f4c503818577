//===- Quantization.cpp - torch's quantized_decomposed ops ----------------------------===//
//
// The emitted ops compute the same operations as torch.ao.quantization.fx._decomposed, so that integer results are
// equal to eager's. For 8-bit integers, most operators become tw.quantize or tw.dequantize. tw.quantize takes few
// instructions, because its result is an 8-bit integer, and the pass --tw-match-quantized matches tw.dequantize before
// products. For wider integers, the operators become arithmetic ops.
//
//===----------------------------------------------------------------------------===//
#include "lib/Import/ATen/Table.h"
#include "lib/Import/Builder/Node.h"

namespace tilewright {
namespace {

/// Reshapes argument `index`, a tensor of one element, to a 0-d tensor.
Value single(Node &n, unsigned index, llvm::StringRef name) {
  Value value = n.tensor(index, name);
  if (n.failed())
    return value;
  if (elementCount(n.typeOf(value)) != n.constantSize(1)) {
    n.refuse(name + " has " + llvm::Twine(n.rankOf(value)) + " dimensions; expected one element");
    return value;
  }
  return n.reshape(value, ArrayRef<AffineExpr>());
}

/// Returns clamp(x, quant_min, quant_max) in the result's type. The bounds are the arguments `index` and `index` + 1.
Value clamped(Node &n, Value x, unsigned index) {
  double low = n.number(index, "quant_min"), high = n.number(index + 1, "quant_max");
  if (n.failed())
    return x;
  return n.cast(n.op<MinimumOp>(n.op<MaximumOp>(x, low), high), n.element());
}

/// Returns round(x * inverse) + zero, clamped to the bounds in the arguments `rangeIndex` and `rangeIndex` + 1.
/// `inverse` is the reciprocal of the scale, in f32.
Value quantized(Node &n, Value x, Value inverse, Value zero, unsigned rangeIndex) {
  double low = n.number(rangeIndex, "quant_min"), high = n.number(rangeIndex + 1, "quant_max");
  if (n.failed())
    return x;
  if (n.element().isInteger(8)) {
    zero = n.cast(zero, n.f32());
    auto type = tensorWithSizes(n.broadcastSizes({x, inverse, zero}), n.element());
    return QuantizeOp::create(n.builder, n.loc, TypeRange{type}, ValueRange{x, inverse, zero},
                              ArrayRef{n.builder.getNamedAttr("low", n.builder.getI64IntegerAttr(int64_t(low))),
                                       n.builder.getNamedAttr("high", n.builder.getI64IntegerAttr(int64_t(high)))})
        .getResult();
  }
  Value rounded = n.op<RoundOp>({n.op<MulOp>({n.cast(x, n.f32()), inverse})});
  return clamped(n, n.op<AddOp>({rounded, n.cast(zero, n.f32())}), rangeIndex);
}

Value reciprocal(Node &n, Value scale) { return n.op<DivOp>({n.scalar(1.0, n.elementOf(scale)), scale}); }

/// The type in which elements are dequantized: f64 for results of f64, otherwise f32.
Type dequantizedType(Node &n) { return n.element().isF64() ? n.element() : n.f32(); }

/// Returns (x - zero) * scale. As in torch, the difference is computed in integers for 8-bit integers, and in f32 for
/// wider integers. For results of f64, both operations are computed in f64.
Value dequantized(Node &n, Value x, Value scale, Value zero) {
  Type from = n.elementOf(x), i32 = IntegerType::get(&n.importer.context, 32), type = dequantizedType(n);
  if (from.isInteger(8) && type.isF32())
    return n.op<DequantizeOp>({x, n.cast(scale, type), n.cast(zero, i32)}, n.element());
  Value difference = n.op<SubOp>({n.cast(x, type), n.cast(zero, type)});
  return n.cast(n.op<MulOp>({difference, n.cast(scale, type)}), n.element());
}

//===--- one scale for the tensor ---===//

/// Calls `make` with the input, and with the scale and the zero point, which are constant numbers.
Results withNumbers(Node &n, llvm::function_ref<Value(Value x, double scale, int64_t zero)> make) {
  Value x = n.tensor(0, "input");
  double scale = n.number(1, "scale");
  int64_t zero = n.integer(2, "zero_point");
  if (n.failed())
    return n.refused();
  return make(x, scale, zero);
}

/// Calls `make` with the input, and with the scale and the zero point, which are tensors of one element.
Results withTensors(Node &n, llvm::function_ref<Value(Value x, Value scale, Value zero)> make) {
  Value x = n.tensor(0, "input"), scale = single(n, 1, "scale"), zero = single(n, 2, "zero_point");
  if (n.failed())
    return n.refused();
  return make(x, scale, zero);
}

Results quantizePerTensor(Node &n) {
  return withNumbers(n, [&](Value x, double scale, int64_t zero) {
    return quantized(n, x, n.scalar(1.0 / scale, n.f32()), n.scalar(double(zero), n.f32()), 3);
  });
}

Results quantizePerTensorTensor(Node &n) {
  return withTensors(n, [&](Value x, Value scale, Value zero) {
    return quantized(n, x, n.cast(reciprocal(n, scale), n.f32()), zero, 3);
  });
}

Results dequantizePerTensor(Node &n) {
  return withNumbers(n, [&](Value x, double scale, int64_t zero) {
    Type i32 = IntegerType::get(&n.importer.context, 32);
    return dequantized(n, x, n.scalar(scale, dequantizedType(n)), n.scalarInt(zero, i32));
  });
}

Results dequantizePerTensorTensor(Node &n) {
  return withTensors(n, [&](Value x, Value scale, Value zero) { return dequantized(n, x, scale, zero); });
}

//===--- one scale for each channel ---===//

/// Reshapes scales or zero points to broadcast along `axis` of `rank` dimensions.
Value perChannel(Node &n, Value value, int64_t axis, int64_t rank) {
  if (n.rankOf(value) != 1) {
    n.refuse("scales and zero points of rank " + llvm::Twine(n.rankOf(value)) + "; expected one number per channel");
    return value;
  }
  return n.alongDim(value, axis, rank);
}

/// Refuses types of scales and zero points that torch's per-channel ops do not support.
bool acceptsParameters(Node &n, Value scales, Value zeros) {
  if (!n.elementOf(scales).isF32())
    n.refuse("scales of " + dtypeName(n.elementOf(scales)) + "; expected float32");
  else if (zeros && !n.elementOf(zeros).isSignlessInteger(32) && !n.elementOf(zeros).isSignlessInteger(64))
    n.refuse("zero points of " + dtypeName(n.elementOf(zeros)) + "; expected int32 or int64");
  return !n.failed();
}

Results quantizePerChannel(Node &n) {
  Value x = n.tensor(0, "input"), scales = n.tensor(1, "scales"), zeros = n.tensor(2, "zero_points");
  int64_t rank = n.rankOf(x), axis = n.dim(3, "axis", rank);
  if (n.failed() || !acceptsParameters(n, scales, zeros))
    return n.refused();
  scales = perChannel(n, scales, axis, rank);
  zeros = perChannel(n, zeros, axis, rank);
  if (n.failed())
    return n.refused();
  return quantized(n, x, reciprocal(n, scales), zeros, 4);
}

Results dequantizePerChannel(Node &n) {
  Value x = n.tensor(0, "input"), scales = n.tensor(1, "scales"), zeros = n.optionalTensor(2, "zero_points");
  int64_t rank = n.rankOf(x), axis = n.dim(3, "axis", rank);
  if (n.failed() || !acceptsParameters(n, scales, zeros))
    return n.refused();
  scales = perChannel(n, scales, axis, rank);
  if (zeros)
    zeros = perChannel(n, zeros, axis, rank);
  if (n.failed())
    return n.refused();
  if (n.elementOf(x).isInteger(8))
    return dequantized(n, x, scales, zeros ? zeros : n.scalarInt(0, IntegerType::get(&n.importer.context, 32)));
  // In this op, torch computes the difference in integers for wider integers, too.
  Value difference = zeros ? n.op<SubOp>({n.cast(x, n.i64()), n.cast(zeros, n.i64())}) : x;
  Type type = dequantizedType(n);
  return n.cast(n.op<MulOp>({n.cast(difference, type), n.cast(scales, type)}), n.element());
}

//===--- one scale for each row ---===//

Results quantizePerToken(Node &n) {
  Value x = n.tensor(0, "input"), scales = n.tensor(1, "scales"), zeros = n.tensor(2, "zero_points");
  if (n.failed())
    return n.refused();
  Type f64 = n.f64(), compute = n.elementOf(scales).isF64() ? f64 : n.f32();
  Value product = n.op<MulOp>({n.cast(x, compute), n.cast(reciprocal(n, scales), compute)});
  // The sum is computed in f64 and rounded to `compute` once. In f32, it could be fused with the product to an FMA,
  // which rounds differently.
  Value sum = n.cast(n.op<AddOp>({n.cast(product, f64), n.cast(zeros, f64)}), compute);
  Value result = clamped(n, n.op<RoundOp>({sum}), 3);
  return n.failed() ? n.refused() : Results(result);
}

Results dequantizePerToken(Node &n) {
  Value x = n.tensor(0, "input"), scales = n.tensor(1, "scales"), zeros = n.tensor(2, "zero_points");
  if (n.failed())
    return n.refused();
  bool whole = n.elementOf(x).isInteger(8) && isa<IntegerType>(n.elementOf(zeros));
  if (whole)
    return dequantized(n, x, scales, zeros);
  Value difference = n.op<SubOp>({n.cast(x, n.f64()), n.cast(zeros, n.f64())});
  return n.cast(n.op<MulOp>({difference, n.cast(scales, n.f64())}), n.element());
}

//===--- scales and zero points computed from a tensor ---===//

/// Returns the minimum and the maximum of each row (`rows`) or of the whole tensor, extended to include 0. They are in
/// f32, which represents f16 and bf16 exactly.
std::pair<Value, Value> rangeOf(Node &n, Value x, bool rows) {
  auto dims = rows ? SmallVector<int64_t>{n.rankOf(x) - 1} : llvm::to_vector(llvm::seq<int64_t>(0, n.rankOf(x)));
  auto least = n.cast(n.reduce(ReduceKind::Min, x, dims, rows), n.f32());
  auto greatest = n.cast(n.reduce(ReduceKind::Max, x, dims, rows), n.f32());
  Value zero = n.scalar(0.0, n.f32());
  return {n.op<MinimumOp>({least, zero}), n.op<MaximumOp>({greatest, zero})};
}

/// Rounds an f32 value to the type of `x`, as an operation in that type does, and converts it back to f32.
Value roundedAs(Node &n, Value value, Value x) { return n.convert(n.convert(value, n.elementOf(x)), n.f32()); }

/// Returns the input, whose elements must be f32, f16 or bf16. If `rows`, there is a scale per row, and the input must
/// have at least one dimension.
Value measurable(Node &n, bool rows) {
  Value x = n.tensor(0, "input");
  if (n.failed())
    return x;
  if (!isa<Float32Type, Float16Type, BFloat16Type>(n.elementOf(x)))
    n.refuse("input of " + dtypeName(n.elementOf(x)) + "; expected float32, float16 or bfloat16");
  else if (rows && n.rankOf(x) == 0)
    n.refuse("input without dimensions; expected rows");
  return x;
}

/// Computes a scale and a zero point in the same way as torch.ao.quantization.utils.determine_qparams.
Results chooseForTensor(Node &n, bool symmetric) {
  Value x = measurable(n, /*rows=*/false);
  double low = n.number(1, "quant_min"), high = n.number(2, "quant_max"), least = n.number(3, "eps");
  if (n.failed())
    return n.refused();
  auto [negative, positive] = rangeOf(n, x, /*rows=*/false);
  Value scale, zero;
  if (symmetric) {
    positive = n.op<MaximumOp>({n.op<NegOp>({negative}), positive});
    scale = roundedAs(n, n.op<DivOp>(positive, (high - low) / 2), x);
  } else {
    scale = roundedAs(n, n.op<DivOp>(roundedAs(n, n.op<SubOp>({positive, negative}), x), high - low), x);
  }
  scale = n.op<MaximumOp>(scale, double(float(least)));
  if (symmetric)
    zero = n.scalarInt(low >= 0 ? 128 : 0, n.i64());
  else
    zero = n.cast(n.op<MinimumOp>(
                      n.op<MaximumOp>(
                          n.op<SubOp>({n.scalar(low, n.f32()), n.op<RoundOp>({n.op<DivOp>({negative, scale})})}), low),
                      high),
                  n.i64());
  SmallVector<AffineExpr> one{n.constantSize(1)};
  return {n.reshape(n.cast(scale, n.f64()), one), n.reshape(zero, one)};
}

Results chooseForRows(Node &n) {
  Value x = measurable(n, /*rows=*/true);
  if (n.failed())
    return n.refused();
  constexpr double low = -128, high = 127;
  auto as = [&](Value value) { return roundedAs(n, value, x); };
  auto [negative, positive] = rangeOf(n, x, /*rows=*/true);
  Value scale = as(n.op<DivOp>(as(n.op<SubOp>({positive, negative})), high - low));
  scale = as(n.op<MaximumOp>(scale, 0x1p-23));
  Value below = as(n.op<DivOp>({negative, scale})), above = as(n.op<DivOp>({positive, scale}));
  Value errors = n.op<AddOp>({as(n.op<AddOp>(below, low)), as(n.op<AddOp>(above, high))});
  auto less = [&](double bound, Value value) { return as(n.op<SubOp>({n.scalar(bound, n.f32()), value})); };
  Value zero = n.where(n.compare<GtOp>(as(errors), n.scalar(0.0, n.f32())), less(low, below), less(high, above));
  zero = n.op<RoundOp>({n.op<MinimumOp>(n.op<MaximumOp>(zero, low), high)});
  return {n.cast(scale, n.f64()), n.cast(zero, n.i64())};
}

} // namespace

void registerQuantization(Table &t) {
  const std::string family = "quantized_decomposed.";
  t[family + "quantize_per_tensor.default"] = quantizePerTensor;
  t[family + "quantize_per_tensor.tensor"] = quantizePerTensorTensor;
  t[family + "dequantize_per_tensor.default"] = dequantizePerTensor;
  t[family + "dequantize_per_tensor.tensor"] = dequantizePerTensorTensor;
  t[family + "quantize_per_channel.default"] = quantizePerChannel;
  t[family + "dequantize_per_channel.default"] = dequantizePerChannel;
  t[family + "quantize_per_token.default"] = quantizePerToken;
  t[family + "dequantize_per_token.default"] = dequantizePerToken;
  t[family + "choose_qparams.tensor"] = [](Node &n) { return chooseForTensor(n, /*symmetric=*/false); };
  t[family + "choose_qparams_symmetric.tensor"] = [](Node &n) { return chooseForTensor(n, /*symmetric=*/true); };
  t[family + "choose_qparams_per_token_asymmetric.default"] = chooseForRows;
  t[family + "choose_qparams_per_token.default"] = [](Node &n) {
    return n.refuse("torch declares results of float64 and int64, but eager returns the dtype of the input");
  };
}

} // namespace tilewright
