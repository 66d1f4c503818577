//===- GraphOps.td - the model graph with torch's semantics ----------------===//
//
// The description of the dialect below states the conventions for symbolic sizes and element types.
//
// The constraints of an op are numbered (`matmul_c1`). The verifier's message contains this label, and the function in
// test/Graph/invalid.mlir that violates the constraint is named after it.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_DIALECTS_GRAPH_GRAPHOPS
#define TILEWRIGHT_DIALECTS_GRAPH_GRAPHOPS

include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/CommonTypeConstraints.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def TW_Dialect : Dialect {
  let hasConstantMaterializer = 1;
  let name = "tw";
  let cppNamespace = "::tilewright::graph";
  let summary = "The model graph with torch's semantics";
  let description = [{
    The dialect represents a model at the level of torch operators. Operators for which later stages have kernels
    (matmul, convolution, attention, softmax, normalizations, pooling, gather/scatter, scan, sort, random) are one op
    each. All other operators are expressed by elementwise ops, reductions, views, padding and concatenation. Ops of
    `tw` are independent of layouts, schedules and targets. These ops take and return values of builtin ranked tensor
    types and have no side effects on memory. Convolutions and pooling ops to which `--tw-propagate-layout` has added
    the attribute `tw.channels_last` have tensors N x spatial x C and weights spatial x C/groups x F (transposed
    convolutions: spatial x C x F/groups).

    A dimension with a symbolic size is `?` in the shape. The encoding of the tensor's type is then an affine map from
    the symbols of the function to all sizes. Sizes with equal expressions are equal:

        tensor<?x768xf32, affine_map<()[s0] -> (s0, 768)>>

    Symbol k of the map is the function's k-th `index` argument (k = 0, 1, ...), whose attribute `tw.symbol` is the
    symbol's name. Booleans are `i1`, and unsigned integers are `ui2` to `ui64`. All other integers are signless and are
    interpreted as signed. Elements of 2 and 4 bits are packed in memory (`--tw-pack-elements`), and integers of other
    widths take 1, 2, 4 or 8 bytes. Elements are integers of at most 64 bits, and floats of the formats in
    `dialects/Graph/Dtypes.def`.

    Constraints are numbered per op (`matmul_c1`), and the verifier's message contains the number. The verifier accepts
    an op if symbolic sizes neither satisfy nor violate a constraint for all values of the symbols. For each relation
    of sizes that such a constraint requires, `--tw-guard-sizes` adds a guard that each call checks.
  }];
}

/// Complex numbers are not elements: importers rewrite them as pairs of floats.
def TW_Tensor : Type<And<[IsRankedTensorTypePred, CPred<"::tilewright::graph::isElementType("
    "::mlir::cast<::mlir::RankedTensorType>($_self).getElementType())">]>,
  "ranked tensor of booleans, integers of at most 64 bits, or floats of a supported format", "::mlir::RankedTensorType">;

class TW_Op<string mnemonic, list<Trait> traits = []> : Op<TW_Dialect, mnemonic, !listconcat([Pure], traits)>;

//===----------------------------------------------------------------------===//
// Elementwise ops: operands are broadcast to the result's shape by NumPy's broadcasting rules
//===----------------------------------------------------------------------===//

class DeclareOpTrait<string trait> : NativeOpTrait<trait> { let cppNamespace = "::tilewright::graph"; }

def TW_ElementwiseOps : OpDocGroup {
  let summary = "Elementwise ops";
  let description = [{
    The operands are broadcast to the result's shape by NumPy's broadcasting rules. bf16 and f16 are computed in f32
    and rounded once. Every op of this group is written `tw.<name> operands attributes : (operand types) -> result type`
    and has these constraints:
    1. (elementwise_c1) each operand's shape broadcasts to the result's shape. The shapes are aligned at the last
       dimension, and each size of the operand is 1 or equals the size of the result.
    2. (elementwise_c2) the operands whose values are used in the computation have one element type. The result has the
       same type. Exceptions are comparisons, logical ops and is* tests, whose result is i1, and conversions
       (`tw.cast`, `tw.quantize`, `tw.dequantize`).
    3. (elementwise_c3) the op is defined on that element type. For example, exponentials, roots and `tw.div` need
       floats, and bitwise ops and shifts need integers. Booleans have no negation, rounding, shift, quotient or
       remainder.
  }];
}

/// The base class of all elementwise ops. `what` describes the operation on scalars.
class TW_Elementwise<string mnemonic, dag ins, string what, list<Trait> traits = []>
    : TW_Op<mnemonic, !listconcat([DeclareOpTrait<"Elementwise">], traits)>,
      Arguments<ins>, Results<(outs TW_Tensor:$result)> {
  let summary = what;
  let opDocGroup = TW_ElementwiseOps;
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}
class TW_Unary<string mnemonic, string what> : TW_Elementwise<mnemonic, (ins TW_Tensor:$input), what>;
class TW_Binary<string mnemonic, string what, list<Trait> traits = []>
    : TW_Elementwise<mnemonic, (ins TW_Tensor:$lhs, TW_Tensor:$rhs), what, traits>;
/// A function that is defined only for floats. Importers convert integers to floats before the op. If the function is in
/// C's math library, ScalarFunctions.def has a row for it.
def FloatsOnly : DeclareOpTrait<"FloatsOnly">;
class TW_UnaryOfFloats<string mnemonic, string what>
    : TW_Elementwise<mnemonic, (ins TW_Tensor:$input), what, [FloatsOnly]>;

def TW_AbsOp : TW_Unary<"abs", "|x|">;
def TW_NegOp : TW_Unary<"neg", "-x">;
def TW_ExpOp : TW_UnaryOfFloats<"exp", "e^x">;
def TW_Exp2Op : TW_UnaryOfFloats<"exp2", "2^x">;
def TW_Expm1Op : TW_UnaryOfFloats<"expm1", "e^x - 1">;
def TW_LogOp : TW_UnaryOfFloats<"log", "natural logarithm">;
def TW_Log2Op : TW_UnaryOfFloats<"log2", "base-2 logarithm">;
def TW_Log10Op : TW_UnaryOfFloats<"log10", "base-10 logarithm">;
def TW_Log1pOp : TW_UnaryOfFloats<"log1p", "log(1 + x)">;
def TW_SqrtOp : TW_UnaryOfFloats<"sqrt", "square root">;
def TW_RsqrtOp : TW_UnaryOfFloats<"rsqrt", "1 / sqrt(x)">;
def TW_ReciprocalOp : TW_UnaryOfFloats<"reciprocal", "1 / x">;
def TW_SinOp : TW_UnaryOfFloats<"sin", "sine of radians">;
def TW_CosOp : TW_UnaryOfFloats<"cos", "cosine of radians">;
def TW_TanOp : TW_UnaryOfFloats<"tan", "tangent of radians">;
def TW_AsinOp : TW_UnaryOfFloats<"asin", "arc sine">;
def TW_AcosOp : TW_UnaryOfFloats<"acos", "arc cosine">;
def TW_AtanOp : TW_UnaryOfFloats<"atan", "arc tangent">;
def TW_SinhOp : TW_UnaryOfFloats<"sinh", "hyperbolic sine">;
def TW_CoshOp : TW_UnaryOfFloats<"cosh", "hyperbolic cosine">;
def TW_TanhOp : TW_UnaryOfFloats<"tanh", "hyperbolic tangent">;
def TW_AsinhOp : TW_UnaryOfFloats<"asinh", "inverse hyperbolic sine">;
def TW_AcoshOp : TW_UnaryOfFloats<"acosh", "inverse hyperbolic cosine">;
def TW_AtanhOp : TW_UnaryOfFloats<"atanh", "inverse hyperbolic tangent">;
def TW_ErfOp : TW_UnaryOfFloats<"erf", "error function of Gauss">;
def TW_ErfcOp : TW_UnaryOfFloats<"erfc", "1 - erf(x)">;
def TW_SigmoidOp : TW_UnaryOfFloats<"sigmoid", "1 / (1 + e^-x)">;
def TW_ReluOp : TW_Unary<"relu", "max(x, 0), NaN stays NaN">;
def TW_SiluOp : TW_UnaryOfFloats<"silu", "x * sigmoid(x)">;
def TW_GeluOp : TW_UnaryOfFloats<"gelu", "x * Phi(x), Phi by erf">;
def TW_GeluTanhOp : TW_UnaryOfFloats<"gelu_tanh", "x * Phi(x), Phi by the tanh approximation of torch">;
def TW_FloorOp : TW_Unary<"floor", "round towards minus infinity">;
def TW_CeilOp : TW_Unary<"ceil", "round towards plus infinity">;
def TW_RoundOp : TW_Unary<"round", "round half to even">;
def TW_TruncOp : TW_Unary<"trunc", "round towards zero">;
def TW_SignOp : TW_Unary<"sign", "-1, 0 or 1 (0 for NaN)">;
def TW_BitwiseNotOp : TW_Unary<"bitwise_not", "one's complement; logical not for booleans">;
def TW_LogicalNotOp : TW_Unary<"logical_not", "x == 0, as a boolean">;
def TW_IsnanOp : TW_Unary<"isnan", "x is NaN, as a boolean">;
def TW_IsinfOp : TW_Unary<"isinf", "x is an infinity, as a boolean">;
def TW_CastOp : TW_Unary<"cast", "conversion to the result's element type by torch's rules (floats to integers truncate; anything to bool is x != 0)">;

def TW_AddOp : TW_Binary<"add", "x + y (logical or for booleans)">;
def TW_SubOp : TW_Binary<"sub", "x - y">;
def TW_MulOp : TW_Binary<"mul", "x * y (logical and for booleans)">;
def TW_DivOp : TW_Binary<"div", "x / y, floats", [FloatsOnly]> {
  let hasFolder = 1;
}
def TW_DivTruncOp : TW_Binary<"div_trunc", "x / y rounded towards zero">;
def TW_DivFloorOp : TW_Binary<"div_floor", "x / y rounded down">;
def TW_PowOp : TW_Binary<"pow", "x to the power y">;
def TW_FmodOp : TW_Binary<"fmod", "remainder with the sign of x">;
def TW_RemainderOp : TW_Binary<"remainder", "remainder with the sign of y">;
def TW_MaximumOp : TW_Binary<"maximum", "larger of x and y, or NaN if one of them is NaN">;
def TW_MinimumOp : TW_Binary<"minimum", "smaller of x and y, or NaN if one of them is NaN">;
def TW_Atan2Op : TW_Binary<"atan2", "angle of the point (y, x)", [FloatsOnly]>;
def TW_BitwiseAndOp : TW_Binary<"bitwise_and", "bitwise and">;
def TW_BitwiseOrOp : TW_Binary<"bitwise_or", "bitwise or">;
def TW_BitwiseXorOp : TW_Binary<"bitwise_xor", "bitwise exclusive or">;
def TW_ShiftLeftOp : TW_Binary<"shift_left", "x * 2^y">;
def TW_ShiftRightOp : TW_Binary<"shift_right", "arithmetic shift right (logical for unsigned integers)">;

// Comparisons and logic: the result is a boolean tensor.
def TW_EqOp : TW_Binary<"eq", "x == y, as a boolean">;
def TW_NeOp : TW_Binary<"ne", "x != y, as a boolean">;
def TW_LtOp : TW_Binary<"lt", "x < y, as a boolean">;
def TW_LeOp : TW_Binary<"le", "x <= y, as a boolean">;
def TW_GtOp : TW_Binary<"gt", "x > y, as a boolean">;
def TW_GeOp : TW_Binary<"ge", "x >= y, as a boolean">;
def TW_LogicalAndOp : TW_Binary<"logical_and", "x != 0 and y != 0, as a boolean">;
def TW_LogicalOrOp : TW_Binary<"logical_or", "x != 0 or y != 0, as a boolean">;
def TW_LogicalXorOp : TW_Binary<"logical_xor", "(x != 0) != (y != 0), as a boolean">;

def TW_WhereOp : TW_Elementwise<"where", (ins TW_Tensor:$condition, TW_Tensor:$lhs, TW_Tensor:$rhs),
    "lhs where the boolean condition holds, rhs elsewhere">;

def TW_RequireOp : TW_Elementwise<"require", (ins TW_Tensor:$condition, TW_Tensor:$input, StrAttr:$message),
    "input; a call on a CPU fails with the message if an element of the boolean condition is false. Device code and HLS designs do not check"> {
  let hasFolder = 1;
}

def TW_QuantizeOp : TW_Elementwise<"quantize", (ins TW_Tensor:$input, TW_Tensor:$inverse_scale, TW_Tensor:$zero_point,
    I64Attr:$low, I64Attr:$high),
    "round half to even of input * inverse_scale, plus zero_point, within low and high, as i8 or ui8 (NaN: 0); input a float of at most 32 bits, inverse_scale and zero_point f32">;
def TW_DequantizeOp : TW_Elementwise<"dequantize", (ins TW_Tensor:$input, TW_Tensor:$scale, TW_Tensor:$zero_point),
    "(input - zero_point) * scale, where input is i8 or ui8, scale f32, zero_point i32 and the result a float of at most 32 bits; one op, so that --tw-match-quantized finds products of such values">;

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

def TW_ConstantOp : TW_Op<"constant", [ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "A tensor known at compile time";
  let description = [{
    Scalar arguments of torch operators are imported as 0-d constants.

        %c = tw.constant dense<1.0> : tensor<f32>
  }];
  let arguments = (ins TypedAttrInterface:$value);
  let results = (outs TW_Tensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}

def TW_FromIndexOp : TW_Op<"from_index"> {
  let summary = "A symbolic size as a 0-d i64 tensor";
  let description = "The value of the affine expression `expr` over the function's symbols.";
  let arguments = (ins AffineMapAttr:$expr);
  let results = (outs TW_Tensor:$result);
  let assemblyFormat = "$expr attr-dict `:` type($result)";
}

def TW_IotaOp : TW_Op<"iota"> {
  let summary = "result[i0, ..., in] = i_dim";
  let description = "1. (iota_c1) `dim` is in range; the element type is an integer of more than one bit or a float.";
  let arguments = (ins I64Attr:$dim);
  let results = (outs TW_Tensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def TW_RandomKind : I32EnumAttr<"RandomKind", "distribution", [
    I32EnumAttrCase<"Uniform", 0, "uniform">, I32EnumAttrCase<"Normal", 1, "normal">, I32EnumAttrCase<"Bits", 2, "bits">]> {
  let cppNamespace = "::tilewright::graph";
}

def TW_RandomOp : TW_Op<"random"> {
  let summary = "Random numbers from Philox 4x32-10, one counter per element";
  let description = [{
    `seed` is an argument whose value changes with each call. `stream` is a number that distinguishes the random ops
    of one graph. `uniform` produces numbers in [0, 1) with 24 random bits (53 in f64; at most as many as the mantissa
    has), `normal` uses the Box-Muller transform, and `bits` produces 64 random bits as i64.
    Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
    1. (random_c1) `seed` is tensor<1xi64>.
  }];
  let arguments = (ins TW_Tensor:$seed, I64Attr:$stream, TW_RandomKind:$kind);
  let results = (outs TW_Tensor:$result);
  let assemblyFormat = "$kind $seed attr-dict `:` type($seed) `->` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Views, padding and concatenation, which move elements but compute none
//===----------------------------------------------------------------------===//

class TW_View<string mnemonic, dag extra> : TW_Op<mnemonic>, Arguments<!con((ins TW_Tensor:$input), extra)>,
    Results<(outs TW_Tensor:$result)> {
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}
def TW_ReshapeOp : TW_View<"reshape", (ins)> {
  let summary = "The same elements in row-major order, with another shape";
  let description = "1. (reshape_c1) input and result have equal numbers of elements and equal element types.";
  let hasFolder = 1;
}
def TW_PermuteOp : TW_View<"permute", (ins DenseI64ArrayAttr:$permutation)> {
  let summary = "Transpose: dimension i of the result is dimension permutation[i] of the input";
  let description = "1. (permute_c1) `permutation` is a permutation of the input's dimensions. 2. (permute_c2) the result's shape is the input's, permuted. 3. (permute_c3) the element type does not change.";
  let hasFolder = 1;
}
def TW_BroadcastOp : TW_View<"broadcast", (ins)> {
  let summary = "Repeat dimensions of size 1 by NumPy's broadcasting rules, aligned at the last dimension";
  let description = "1. (broadcast_c1) the input's shape broadcasts to the result's shape, and the element types are equal.";
  let hasFolder = 1;
}
def TW_SliceOp : TW_View<"slice", (ins AffineMapAttr:$offsets, DenseI64ArrayAttr:$strides)> {
  let summary = "result[i] = input[offsets + i * strides]; the result's type specifies the sizes";
  let description = [{
    `offsets` maps the function's symbols to one offset per dimension, e.g. affine_map<()[s0] -> (0, s0 - 1)>.
    1. (slice_c1) there is one offset, which is not negative, and one positive stride per dimension.
    2. (slice_c2) input and result have equal ranks and element types, and the last element of a slice that is not
       empty is inside the input.
  }];
  let hasFolder = 1;
}
def TW_FlipOp : TW_View<"flip", (ins DenseI64ArrayAttr:$dims)> {
  let summary = "Reverse the order of elements along `dims`";
  let description = "1. (flip_c1) `dims` are in range and distinct; the type does not change.";
}
def TW_PadOp : TW_View<"pad", (ins DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high, TypedAttrInterface:$value)> {
  let summary = "Pad with a constant; negative amounts crop";
  let description = "1. (pad_c1) there are one low and one high amount per dimension, and the value and the result have the input's element type. "
    "2. (pad_c2) each size is the input's plus low plus high. "
    "3. (pad_c3) the negative amounts of a dimension crop at most all of its elements.";
}
def TW_ConcatOp : TW_Op<"concat"> {
  let summary = "Concatenate tensors along `dim`";
  let description = [{
    1. (concat_c1) there is at least one operand, and `dim` is in range.
    2. (concat_c2) ranks, element types and the sizes of all dimensions except `dim` are equal; the result's size of
       `dim` is the sum of the operands' sizes.
  }];
  let arguments = (ins Variadic<TW_Tensor>:$inputs, I64Attr:$dim);
  let results = (outs TW_Tensor:$result);
  let assemblyFormat = "$inputs attr-dict `:` functional-type($inputs, $result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Reductions and rows
//===----------------------------------------------------------------------===//

def TW_ReduceKind : I32EnumAttr<"ReduceKind", "combining function", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Prod", 1, "prod">, I32EnumAttrCase<"Max", 2, "max">,
    I32EnumAttrCase<"Min", 3, "min">, I32EnumAttrCase<"Any", 4, "any">, I32EnumAttrCase<"All", 5, "all">]> {
  let cppNamespace = "::tilewright::graph";
}

def TW_ReduceOp : TW_Op<"reduce"> {
  let summary = "Reduce along `dims` with a combining function";
  let description = [{
    `max` and `min` propagate NaN. Floats are accumulated in f32 (f64 for f64), integers in the result's type.
    1. (reduce_c1) `dims` are in range and distinct.
    2. (reduce_c2) the result's shape is the input's shape without `dims`; with `keepdim`, these dimensions have size
       1.
    3. (reduce_c3) `max` and `min` keep the element type; the result of `any` and `all` is i1.
  }];
  let arguments = (ins TW_Tensor:$input, TW_ReduceKind:$kind, DenseI64ArrayAttr:$dims, UnitAttr:$keepdim);
  let results = (outs TW_Tensor:$result);
  let assemblyFormat = "$kind $input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}
def TW_ArgReduceOp : TW_Op<"arg_reduce"> {
  let summary = "Index (i64) of the first largest or smallest element along `dim`, or of the first NaN";
  let description = "1. (arg_reduce_c1) `kind` is max or min, and `dim` is in range. 2. (arg_reduce_c2) the result has the shape of a tw.reduce along `dim`, and its element type is i64.";
  let arguments = (ins TW_Tensor:$input, TW_ReduceKind:$kind, I64Attr:$dim, UnitAttr:$keepdim);
  let results = (outs TW_Tensor:$result);
  let assemblyFormat = "$kind $input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}
def TW_VarMeanOp : TW_Op<"var_mean"> {
  let summary = "Variance (with the divisor n - correction) and mean along `dims`, computed in two passes";
  let description = "1. (var_mean_c1) the constraint reduce_c1 holds. 2. (var_mean_c2) the constraint reduce_c2 holds for both results. 3. (var_mean_c3) the elements of the input and of the results are floats; results are of f64 only if the input is.";
  let arguments = (ins TW_Tensor:$input, DenseI64ArrayAttr:$dims, F64Attr:$correction, UnitAttr:$keepdim);
  let results = (outs TW_Tensor:$variance, TW_Tensor:$mean);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($variance) `,` type($mean)";
  let hasVerifier = 1;
}
def TW_SoftmaxOp : TW_Op<"softmax"> {
  let summary = "Softmax along `dim`, or log-softmax with `log`";
  let description = [{
    With `safe`, the result for a row whose elements are all -inf is 0 instead of NaN (torch's _safe_softmax).
    1. (softmax_c1) `dim` is in range, and the elements are floats.
    2. (softmax_c2) the result has the input's shape, and its elements are floats, of f64 only if the input's are.
  }];
  let arguments = (ins TW_Tensor:$input, I64Attr:$dim, UnitAttr:$log, UnitAttr:$safe);
  let results = (outs TW_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}
def TW_LayerNormOp : TW_Op<"layer_norm", [AttrSizedOperandSegments]> {
  let summary = "(x - mean) * rstd * weight + bias over the last `rank` dimensions";
  let description = [{
    The results are the output, the mean and the reciprocal standard deviation (rstd). In mean and rstd, the normalized
    dimensions have size 1, and the element type may differ from that of the input (torch uses f32 for bf16 and f16
    inputs). Results without users add no cost.
    1. (layer_norm_c1) 1 <= rank <= input rank.
    2. (layer_norm_c2) weight and bias, if present, have the normalized shape.
    3. (layer_norm_c3) the output has the input's shape; mean and rstd have size 1 in the normalized dimensions.
    4. (layer_norm_c4) the elements of all operands and results are floats; the operands are all of f64, or none is;
       results are of f64 only if the input is.
  }];
  let arguments = (ins TW_Tensor:$input, Optional<TW_Tensor>:$weight, Optional<TW_Tensor>:$bias, I64Attr:$rank, F64Attr:$eps);
  let results = (outs TW_Tensor:$result, TW_Tensor:$mean, TW_Tensor:$rstd);
  let assemblyFormat = "$input (`weight` `(` $weight^ `:` type($weight) `)`)? (`bias` `(` $bias^ `:` type($bias) `)`)? attr-dict `:` type($input) `->` type($result) `,` type($mean) `,` type($rstd)";
  let hasVerifier = 1;
}
def TW_RMSNormOp : TW_Op<"rms_norm"> {
  let summary = "x * rsqrt(mean(x^2) + eps) * weight over the last `rank` dimensions";
  let description = [{
    1. (rms_norm_c1) 1 <= rank <= input rank.
    2. (rms_norm_c2) weight, if present, has the normalized shape.
    3. (rms_norm_c3) the output has the input's shape; rstd has size 1 in the normalized dimensions.
    4. (rms_norm_c4) the elements of all operands and results are floats; the operands are all of f64, or none is;
       results are of f64 only if the input is.
  }];
  let arguments = (ins TW_Tensor:$input, Optional<TW_Tensor>:$weight, I64Attr:$rank, F64Attr:$eps);
  let results = (outs TW_Tensor:$result, TW_Tensor:$rstd);
  let assemblyFormat = "$input (`weight` `(` $weight^ `:` type($weight) `)`)? attr-dict `:` type($input) `->` type($result) `,` type($rstd)";
  let hasVerifier = 1;
}
def TW_ScanKind : I32EnumAttr<"ScanKind", "combining function", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Prod", 1, "prod">, I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">]> {
  let cppNamespace = "::tilewright::graph";
}
def TW_ScanOp : TW_Op<"scan"> {
  let summary = "Cumulative sum, product, maximum or minimum along `dim`";
  let description = "1. (scan_c1) `dim` is in range. 2. (scan_c2) the result's shape is the input's.";
  let arguments = (ins TW_Tensor:$input, TW_ScanKind:$kind, I64Attr:$dim);
  let results = (outs TW_Tensor:$result);
  let assemblyFormat = "$kind $input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}
def TW_SortOp : TW_Op<"sort"> {
  let summary = "Stable sort along `dim` that returns values and i64 indices; NaN is the largest value";
  let description = [{
    With `k`, only the first k elements are returned (topk).
    1. (sort_c1) `dim` is in range; `k`, if present, is not negative and not larger than the size of `dim`.
    2. (sort_c2) both results have the input's shape, with size k in dimension `dim` if `k` is present.
    3. (sort_c3) the values have the input's element type, and the indices are i64.
  }];
  let arguments = (ins TW_Tensor:$input, I64Attr:$dim, UnitAttr:$descending, OptionalAttr<I64Attr>:$k);
  let results = (outs TW_Tensor:$values, TW_Tensor:$indices);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($values) `,` type($indices)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

def TW_MatmulOp : TW_Op<"matmul"> {
  let summary = "Batched matrix product: result[b, m, n] = sum_k lhs[b, m, k] * rhs[b, k, n]";
  let description = [{
    Floats are accumulated in f32 (f64 for f64), integers in the result's type. The result of i8 operands may be i32,
    as in the products that --tw-match-quantized creates.
    1. (matmul_c1) the ranks are equal and at least 2.
    2. (matmul_c2) the batch dimensions are equal.
    3. (matmul_c3) K of lhs equals K of rhs.
    4. (matmul_c4) the result is batch x M x N.
    5. (matmul_c5) lhs and rhs have the same element type, except that f8E4M3FN and f8E5M2 may be mixed. The result of
       8-bit floats is f32, f16 or bf16.
  }];
  let arguments = (ins TW_Tensor:$lhs, TW_Tensor:$rhs);
  let results = (outs TW_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def TW_ConvolutionOp : TW_Op<"convolution"> {
  let summary = "Convolution (cross-correlation) of an input N x C x spatial with a weight F x C/groups x spatial";
  let description = [{
    With `transposed`, the weight is C x F/groups x spatial, and the op computes the gradient of a convolution with
    respect to its input. A negative padding crops the input.
    1. (convolution_c1) input and weight have rank 2 + d, where d is 1, 2 or 3.
    2. (convolution_c2) stride, padding, dilation and output_padding have d entries; strides and dilations are
       positive, output paddings not negative.
    3. (convolution_c3) `groups` divides C and F, and the input has the number of channels that the weight requires.
    4. (convolution_c4) the result has the sizes that follow from the operands and attributes.
    5. (convolution_c5) input and weight have the same element type, except that f8E4M3FN and f8E5M2 may be mixed.
  }];
  let arguments = (ins TW_Tensor:$input, TW_Tensor:$weight, DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$padding,
    DenseI64ArrayAttr:$dilation, UnitAttr:$transposed, DenseI64ArrayAttr:$output_padding, I64Attr:$groups);
  let results = (outs TW_Tensor:$result);
  let assemblyFormat = "$input `,` $weight attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def TW_ConvolutionWeightGradOp : TW_Op<"convolution_weight_grad"> {
  let summary = "Gradient of tw.convolution with respect to its weight, from the input and the result's gradient";
  let description = [{
    1. (convolution_weight_grad_c1) the constraints convolution_c1 and convolution_c2 hold for the input, the gradient
       of the result and the weight; the weight's channels are those of the gradient and of the input.
    2. (convolution_weight_grad_c2) input and gradient have the same element type, except that f8E4M3FN and f8E5M2
       may be mixed.
  }];
  let arguments = (ins TW_Tensor:$input, TW_Tensor:$grad, DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$padding,
    DenseI64ArrayAttr:$dilation, I64Attr:$groups);
  let results = (outs TW_Tensor:$result);
  let assemblyFormat = "$input `,` $grad attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def TW_AttentionOp : TW_Op<"attention"> {
  let summary = "softmax(scale * Q K^T + mask) V as one op, so that kernels need not store the whole score matrix";
  let description = [{
    The query is B x H x L x D, the key B x Hk x S x D and the value B x Hk x S x Dv. H is a multiple of Hk
    (grouped-query attention). The mask, if present, is boolean (true: attend) or float (added to the scores), and
    broadcasts to B x H x L x S. With `causal`, row i attends to columns up to i. The result of a row whose scores are
    all -inf is 0, or NaN with `nan_rows`, as after a tw.softmax without `safe`. `logsumexp` is B x H x L. It contains,
    for each row of scores, the logarithm of the sum of the exponentials; the backward pass reads it.
    1. (attention_c1) query, key and value have rank 4, and their sizes B, Hk, D and S are consistent.
    2. (attention_c2) H is a multiple of Hk.
    3. (attention_c3) the mask broadcasts.
    4. (attention_c4) the result is B x H x L x Dv, and logsumexp is B x H x L.
    5. (attention_c5) the query, key and value have the same float type. The elements of the result are floats, which
       are f64 only if the query is f64. The elements of logsumexp are f32, or f64 if the query is f64. The elements of
       the mask are i1 or floats.
  }];
  let arguments = (ins TW_Tensor:$query, TW_Tensor:$key, TW_Tensor:$value, Optional<TW_Tensor>:$mask, F64Attr:$scale, UnitAttr:$causal,
    UnitAttr:$nan_rows);
  let results = (outs TW_Tensor:$result, TW_Tensor:$logsumexp);
  let assemblyFormat = "$query `,` $key `,` $value (`mask` `(` $mask^ `:` type($mask) `)`)? attr-dict `:` type($query) `,` type($key) `,` type($value) `->` type($result) `,` type($logsumexp)";
  let hasVerifier = 1;
}

def TW_AttentionGradientOp : TW_Op<"attention_gradient"> {
  let summary = "Gradients of tw.attention with respect to its query, key and value";
  let description = [{
    `result` and `logsumexp` are the results of the attention, and `grad` is the gradient of `result`. Shapes are
    those of tw.attention with H = Hk. Kernels recompute the scores, so that they need not store the whole matrix. Rows
    with an infinite logsumexp attend to no key and contribute nothing to the gradients.
    1. (attention_gradient_c1) all ranks are 4 (logsumexp: 3), and the sizes B, H, L, D, S and Dv are equal in all
       operands.
    2. (attention_gradient_c2) the mask broadcasts.
    3. (attention_gradient_c3) the gradients have the shapes of query, key and value.
    4. (attention_gradient_c4) the constraint attention_c5 holds, and the result, its gradient and the gradients of
       query, key and value have the query's element type.
  }];
  let arguments = (ins TW_Tensor:$query, TW_Tensor:$key, TW_Tensor:$value, TW_Tensor:$result, TW_Tensor:$grad, TW_Tensor:$logsumexp,
    Optional<TW_Tensor>:$mask, F64Attr:$scale, UnitAttr:$causal);
  let results = (outs TW_Tensor:$grad_query, TW_Tensor:$grad_key, TW_Tensor:$grad_value);
  let assemblyFormat = "$query `,` $key `,` $value `,` $result `,` $grad `,` $logsumexp (`mask` `(` $mask^ `:` type($mask) `)`)? attr-dict `:` type($query) `,` type($key) `,` type($value) `,` type($result) `,` type($grad) `,` type($logsumexp) `->` type($grad_query) `,` type($grad_key) `,` type($grad_value)";
  let hasVerifier = 1;
}

include "dialects/Graph/PoolingOps.td"

//===----------------------------------------------------------------------===//
// Indexed reads and writes
//===----------------------------------------------------------------------===//

def TW_TakeOp : TW_Op<"take"> {
  let summary = "Advanced indexing: result[.., i.., ..] = input[.., indices[0][i..], indices[1][i..], .., ..]";
  let description = [{
    The index tensors (i64 or i32) are broadcast to a common shape I. They index the dimensions `dim` to
    `dim + count - 1` of the input. In the result, the dimensions of I replace the indexed dimensions. The operators
    embedding, index_select and aten.index with adjacent indices are imported as this op. Negative indices count from
    the end, unless the op has the attribute `tw.from_start`. If an index is out of range, the call fails with an error
    that names the op, the index and the size.
    1. (take_c1) `dim` and the number of index tensors fit the input's rank, and the index tensors broadcast to one
       shape.
    2. (take_c2) the result has the input's shape with the indexed dimensions replaced by I, and the input's element
       type.
    3. (take_c3) index tensors are i64 or i32.
  }];
  let arguments = (ins TW_Tensor:$input, Variadic<TW_Tensor>:$indices, I64Attr:$dim);
  let results = (outs TW_Tensor:$result);
  let assemblyFormat = "$input `[` $indices `]` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def TW_GatherOp : TW_Op<"gather"> {
  let summary = "Gather as torch.gather: result[i, j] = input[index[i, j], j] for dim 0";
  let description = "1. (gather_c1) `dim` is in range, and the ranks are equal. 2. (gather_c2) the result has the index's shape and the input's element type. 3. (gather_c3) the index is i64 or i32. "
    "4. (gather_c4) an index that is not empty is not larger than the input in any dimension except `dim`.";
  let arguments = (ins TW_Tensor:$input, TW_Tensor:$index, I64Attr:$dim);
  let results = (outs TW_Tensor:$result);
  let assemblyFormat = "$input `[` $index `]` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def TW_ScatterKind : I32EnumAttr<"ScatterKind", "how a written value is combined with the old one", [
    I32EnumAttrCase<"Set", 0, "set">, I32EnumAttrCase<"Add", 1, "add">, I32EnumAttrCase<"Mul", 2, "mul">,
    I32EnumAttrCase<"Max", 3, "max">, I32EnumAttrCase<"Min", 4, "min">]> {
  let cppNamespace = "::tilewright::graph";
}
def TW_ScatterOp : TW_Op<"scatter"> {
  let summary = "Scatter as torch.scatter: for dim 0, combine source[i, j] into a copy of input at [index[i, j], j]";
  let description = "1. (scatter_c1) `dim` is in range, the ranks are equal, and the index is i64 or i32. "
    "2. (scatter_c2) the result has the input's type. "
    "3. (scatter_c3) the source has the index's shape and the input's element type. "
    "4. (scatter_c4) the constraint gather_c4 holds.";
  let arguments = (ins TW_Tensor:$input, TW_Tensor:$index, TW_Tensor:$source, I64Attr:$dim, TW_ScatterKind:$kind);
  let results = (outs TW_Tensor:$result);
  let assemblyFormat = "$kind $input `[` $index `]` `,` $source attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def TW_PutOp : TW_Op<"put"> {
  let summary = "Advanced indexed write (index_put): combine a copy of input with source at the indices of tw.take";
  let description = [{
    1. (put_c1) the constraints take_c1 and take_c3 hold.
    2. (put_c2) the source broadcasts to the shape of tw.take's result, and has the input's element type.
    3. (put_c3) the result has the input's type.
  }];
  let arguments = (ins TW_Tensor:$input, TW_Tensor:$source, Variadic<TW_Tensor>:$indices, I64Attr:$dim, TW_ScatterKind:$kind);
  let results = (outs TW_Tensor:$result);
  let assemblyFormat = "$kind $input `[` $indices `]` `,` $source attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif
