//===- MatchQuantized.cpp - --tw-match-quantized: integer products for products of dequantized bytes --===//
//
// Before:
//   %a = tw.dequantize %x, %sa, %za : (tensor<8x64xui8>, tensor<f32>, tensor<i32>) -> tensor<8x64xf32>
//   %b = tw.dequantize %w, %sb, %zb : (tensor<64x96xi8>, tensor<1x96xf32>, tensor<1x96xi32>) -> tensor<64x96xf32>
//   %c = tw.matmul %a, %b : tensor<8x96xf32>
// After:
//   %x' = %x - 128 as i8, %za' = %za - 128              // every byte is signed
//   %p = tw.matmul %x', %w : (tensor<8x64xi8>, tensor<64x96xi8>) -> tensor<8x96xi32>
//   %q = %p - (%za' * sum_k %w - 64 * %za' * %zb) - %zb * sum_k %x'
//   %c = tw.cast %q : f32, * (%sa * %sb)
//
// The integer product and its corrections are exact. Terms of a zero point that is known to be 0 are omitted, and the
// sums of a parameter are computed once. The input of a convolution is padded with its zero point, which represents
// 0.0. If a product with a dequantized operand is not replaced, a decision of the kind "quantize" states the reason
// (dialects/Graph/Decisions.h); --tw-form-kernels moves it to the module.
//
// Test: test/Graph/match-quantized.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Decisions.h"
#include "dialects/Graph/Values.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"

namespace tilewright {
#define GEN_PASS_DEF_MATCHQUANTIZED
#include "tilewright/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace tilewright::graph {
namespace {

/// The maximum number of products for which a sum always fits in a signed 32-bit integer. The factors of a product are
/// differences of a byte and a zero point, whose magnitude is at most 255 if the zero point is a byte.
constexpr int64_t longestSum = ((int64_t(1) << 31) - 1) / (255 * 255);

using ByteSizes = SmallVector<AffineExpr>;

/// The value (integers - zero) * scale, where scale and zero broadcast to the shape of the integers.
struct Bytes {
  Value integers, scale, zero;
};

class QuantizedMatcher {
public:
  explicit QuantizedMatcher(func::FuncOp function)
      : builder(function.getContext()), i8(builder.getI8Type()), i32(builder.getI32Type()), f32(builder.getF32Type()) {}

  void run(func::FuncOp function) {
    SmallVector<Operation *> products;
    function.walk([&](Operation *op) {
      if (isa<MatmulOp, ConvolutionOp>(op) && isa<FloatType>(elementOf(op->getResult(0))))
        products.push_back(op);
    });
    for (Operation *op : products) {
      builder.setInsertionPoint(op);
      loc = op->getLoc();
      std::optional<Bytes> a = bytesOf(op->getOperand(0)), b = bytesOf(op->getOperand(1));
      if (!a && !b)
        continue;
      std::string reason;
      if (!a || !b)
        reason = (a ? "its right side" : "its left side") + std::string(" is not dequantized");
      else if (auto matmul = dyn_cast<MatmulOp>(op))
        reason = rewriteMatmul(matmul, *a, *b);
      else
        reason = rewriteConvolution(cast<ConvolutionOp>(op), *a, *b);
      if (!reason.empty())
        tell(op, reason);
    }
  }

  DecisionList decisions;

private:
  void tell(Operation *op, StringRef reason) {
    std::string subject;
    llvm::raw_string_ostream(subject) << op->getName().stripDialect() << " of " << op->getOperand(0).getType()
                                      << " and " << op->getOperand(1).getType() << " in integers";
    decisions.add(loc, {"MatchQuantized", "quantize", /*done=*/false, subject, reason.str()});
  }

  //===-- finding -----------------------------------------------------------===//

  /// Returns `value` as scaled bytes. Views between `value` and the bytes are emitted again on the bytes. Returns
  /// std::nullopt if `value` is not a view of dequantized bytes, or if a view is not supported.
  std::optional<Bytes> bytesOf(Value value) {
    Operation *op = value.getDefiningOp();
    if (auto dequantize = dyn_cast_or_null<DequantizeOp>(op)) {
      if (sizesOf(dequantize.getInput()) != sizesOf(value))
        return std::nullopt;
      return Bytes{dequantize.getInput(), dequantize.getScale(), dequantize.getZeroPoint()};
    }
    if (!isa_and_nonnull<ReshapeOp, PermuteOp>(op))
      return std::nullopt;
    std::optional<Bytes> inner = bytesOf(op->getOperand(0));
    if (!inner)
      return std::nullopt;
    ByteSizes before = sizesOf(op->getOperand(0)), after = sizesOf(value);
    std::optional<Value> scale = viewed(op, inner->scale, before, after), zero = viewed(op, inner->zero, before, after);
    if (!scale || !zero)
      return std::nullopt;
    Operation *view = builder.clone(*op);
    view->setOperands(inner->integers);
    view->getResult(0).setType(tensorWithSizes(after, elementOf(inner->integers)));
    return Bytes{view->getResult(0), *scale, *zero};
  }

  /// Returns the scale or zero point `value`, which broadcasts to the operand of the view `op`, in a shape that
  /// broadcasts to the result of `op`. Returns std::nullopt for views that are not supported.
  std::optional<Value> viewed(Operation *op, Value value, ArrayRef<AffineExpr> before, ArrayRef<AffineExpr> after) {
    ByteSizes own = sizesOf(value);
    if (llvm::all_of(own, isUnitSize))
      return reshaped(value, {});
    ByteSizes full(before.size() - own.size(), getAffineConstantExpr(1, builder.getContext()));
    llvm::append_range(full, own);
    if (auto permute = dyn_cast<PermuteOp>(op)) {
      ByteSizes permuted;
      for (int64_t from : permute.getPermutation())
        permuted.push_back(full[from]);
      return PermuteOp::create(builder, loc, tensorWithSizes(permuted, elementOf(value)), reshaped(value, full),
                               permute.getPermutationAttr())
          .getResult();
    }
    // Other views are supported only if the scale or zero point has one element per row and the view preserves the
    // rows.
    if (after.empty() || before.back() != after.back() || !isUnitSize(full.back()) ||
        ArrayRef(full).drop_back() != ArrayRef(before).drop_back())
      return std::nullopt;
    ByteSizes rows(after);
    rows.back() = full.back();
    return reshaped(value, rows);
  }

  /// Returns true if a scale or zero point, extended to rank `rank` by leading dimensions of size 1, has size 1 in all
  /// of `dims`.
  static bool isUniformAlong(Value value, int64_t rank, ArrayRef<int64_t> dims) {
    ByteSizes own = sizesOf(value);
    int64_t missing = rank - static_cast<int64_t>(own.size());
    return llvm::all_of(dims, [&](int64_t dim) { return dim < missing || isUnitSize(own[dim - missing]); });
  }

  //===-- writing -----------------------------------------------------------===//

  Value reshaped(Value value, ArrayRef<AffineExpr> sizes) {
    RankedTensorType type = tensorWithSizes(sizes, elementOf(value));
    return value.getType() == type ? value : ReshapeOp::create(builder, loc, type, value).getResult();
  }
  Value converted(Value value, Type element) {
    if (elementOf(value) == element)
      return value;
    return CastOp::create(builder, loc, withElementType(tensorOf(value), element), value);
  }
  Value integer(int64_t value) {
    auto type = RankedTensorType::get({}, i32);
    return ConstantOp::create(builder, loc, type,
                              cast<TypedAttr>(DenseElementsAttr::get(type, builder.getI32IntegerAttr(value))));
  }
  /// Emits an elementwise op on operands that broadcast to each other.
  template <typename OpT> Value elementwise(Value lhs, Value rhs) {
    ByteSizes a = sizesOf(lhs), b = sizesOf(rhs);
    if (a.size() < b.size())
      std::swap(a, b);
    for (size_t i = 0; i < b.size(); ++i)
      if (AffineExpr &size = a[a.size() - b.size() + i]; isUnitSize(size))
        size = b[i];
    return OpT::create(builder, loc, tensorWithSizes(a, elementOf(lhs)), lhs, rhs);
  }
  static std::optional<int64_t> constantOf(Value value) {
    DenseElementsAttr elements;
    if (!matchPattern(value, m_Constant(&elements)) || !elements.isSplat())
      return std::nullopt;
    return elements.getSplatValue<APInt>().getSExtValue();
  }
  static bool isZero(Value value) { return constantOf(value) == 0; }

  /// Converts ui8 to i8: subtracts 128 from the bytes and from the zero point.
  Bytes asSigned(Bytes bytes) {
    if (elementOf(bytes.integers) == i8)
      return bytes;
    Value moved = elementwise<SubOp>(converted(bytes.integers, i32), integer(128));
    std::optional<int64_t> zero = constantOf(bytes.zero);
    return {converted(moved, i8), bytes.scale,
            zero ? integer(*zero - 128) : elementwise<SubOp>(bytes.zero, integer(128))};
  }

  /// Returns the sums along `dims`, with size 1 in these dimensions.
  Value sumAlong(Value bytes, ArrayRef<int64_t> dims) {
    ByteSizes sizes = sizesOf(bytes);
    for (int64_t dim : dims)
      sizes[dim] = getAffineConstantExpr(1, builder.getContext());
    return ReduceOp::create(builder, loc, tensorWithSizes(sizes, i32), converted(bytes, i32), ReduceKind::Sum,
                            builder.getDenseI64ArrayAttr(dims), /*keepdim=*/true);
  }

  /// Returns sum (a - za) (b - zb). `sum` is sum a b, and `count` is the number of terms. `sumOfB` is called unless za
  /// is known to be 0, and `sumOfA` unless zb is known to be 0.
  Value corrected(Value sum, Value za, Value zb, int64_t count, function_ref<Value()> sumOfA,
                  function_ref<Value()> sumOfB) {
    // The terms that do not depend on a are combined first. If b, zb and za are parameters or constants, these terms
    // are computed only once.
    if (!isZero(za)) {
      Value ofColumns = elementwise<MulOp>(sumOfB(), za);
      if (!isZero(zb))
        ofColumns = elementwise<SubOp>(ofColumns, elementwise<MulOp>(elementwise<MulOp>(zb, integer(count)), za));
      sum = elementwise<SubOp>(sum, ofColumns);
    }
    return isZero(zb) ? sum : elementwise<SubOp>(sum, elementwise<MulOp>(sumOfA(), zb));
  }

  void replace(Operation *op, Value sum, Value sa, Value sb) {
    Value result = elementwise<MulOp>(converted(sum, f32), elementwise<MulOp>(sa, sb));
    op->getResult(0).replaceAllUsesWith(converted(result, elementOf(op->getResult(0))));
    op->erase();
  }

  static std::string tooLong(std::optional<int64_t> count) {
    if (!count)
      return "the length of its sums is symbolic, so that they may overflow 32 bits";
    return "a sum of " + std::to_string(*count) + " products may overflow 32 bits; at most " +
           std::to_string(longestSum) + " products always fit";
  }

  /// Replaces the product by an integer product. Returns the reason if this is impossible, otherwise an empty string.
  std::string rewriteMatmul(MatmulOp op, Bytes a, Bytes b) {
    int64_t rank = rankOf(op.getLhs()), last = rank - 1;
    if (!isUniformAlong(a.scale, rank, last) || !isUniformAlong(a.zero, rank, last) ||
        !isUniformAlong(b.scale, rank, last - 1) || !isUniformAlong(b.zero, rank, last - 1))
      return "a scale or zero point changes along the sum";
    auto depth = dyn_cast<AffineConstantExpr>(sizesOf(op.getLhs()).back());
    if (!depth || depth.getValue() > longestSum)
      return tooLong(depth ? std::optional(depth.getValue()) : std::nullopt);
    a = asSigned(a);
    b = asSigned(b);
    Value sum = MatmulOp::create(builder, loc, tensorWithSizes(sizesOf(op.getResult()), i32), a.integers, b.integers);
    sum = corrected(
        sum, a.zero, b.zero, depth.getValue(), [&] { return sumAlong(a.integers, last); },
        [&] { return sumAlong(b.integers, last - 1); });
    replace(op, sum, a.scale, b.scale);
    return "";
  }

  std::string rewriteConvolution(ConvolutionOp op, Bytes a, Bytes b) {
    int64_t rank = rankOf(op.getInput());
    SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, rank)),
                         window = llvm::to_vector(llvm::seq<int64_t>(1, rank));
    if (op.getTransposed())
      return "it is transposed";
    if (op.getGroups() != 1)
      return "it has " + std::to_string(op.getGroups()) + " groups";
    if (rank > 4)
      return "it is three-dimensional";
    if (!isUniformAlong(a.scale, rank, all) || !isUniformAlong(a.zero, rank, all) ||
        !isUniformAlong(b.scale, rank, window) || !isUniformAlong(b.zero, rank, window))
      return "a scale or zero point changes along the sum";
    std::optional<int64_t> count = 1;
    for (AffineExpr size : ArrayRef(sizesOf(op.getWeight())).drop_front()) {
      auto constant = dyn_cast<AffineConstantExpr>(size);
      count = constant && count ? std::optional(*count * constant.getValue()) : std::nullopt;
    }
    if (!count || *count > longestSum)
      return tooLong(count);
    if (llvm::any_of(op.getPadding(), [](int64_t p) { return p < 0; }))
      return "its padding is negative";
    bool pads = llvm::any_of(op.getPadding(), [](int64_t p) { return p != 0; });
    a = asSigned(a);
    b = asSigned(b);
    std::optional<int64_t> zero = constantOf(a.zero);
    if (pads && (!zero || *zero < -128 || *zero > 127))
      return zero ? "its zero point " + std::to_string(*zero) +
                        " does not fit in a byte, so no byte can represent its padding"
                  : "its zero point is not constant, so that the byte that represents its padding is unknown";
    Value input = a.integers;
    if (pads) {
      SmallVector<int64_t> amounts(rank, 0);
      ByteSizes sizes = sizesOf(input);
      for (auto [i, amount] : llvm::enumerate(op.getPadding())) {
        amounts[2 + i] = amount;
        sizes[2 + i] = sizes[2 + i] + 2 * amount;
      }
      input = PadOp::create(builder, loc, tensorWithSizes(sizes, i8), input, amounts, amounts,
                            cast<TypedAttr>(builder.getI8IntegerAttr(*zero)));
    }
    SmallVector<int64_t> none(rank - 2, 0);
    auto convolve = [&](Value image, Value weight, AffineExpr filters) {
      ByteSizes sizes = sizesOf(op.getResult());
      sizes[1] = filters;
      return ConvolutionOp::create(builder, loc, tensorWithSizes(sizes, i32), image, weight, op.getStride(), none,
                                   op.getDilation(), /*transposed=*/false, none, /*groups=*/1);
    };
    Value sum = convolve(input, b.integers, sizesOf(op.getWeight())[0]);
    // Reshapes a value with one element per filter so that its elements correspond to the channels of the result.
    auto perFilter = [&](Value value) {
      if (llvm::all_of(sizesOf(value), isUnitSize))
        return reshaped(value, {});
      ByteSizes sizes(rank - 1, getAffineConstantExpr(1, builder.getContext()));
      sizes[0] = sizesOf(value)[0];
      return reshaped(value, sizes);
    };
    a.zero = reshaped(a.zero, {});
    sum = corrected(
        sum, a.zero, isZero(b.zero) ? b.zero : perFilter(b.zero), *count,
        [&]() -> Value {
          Value sums = sumAlong(input, 1);
          if (llvm::all_of(ArrayRef(sizesOf(b.integers)).drop_front(2), isUnitSize) &&
              llvm::all_of(op.getStride(), [](int64_t step) { return step == 1; }))
            return sums; // the window has one pixel
          ByteSizes ones = sizesOf(b.integers);
          ones[0] = ones[1] = getAffineConstantExpr(1, builder.getContext());
          auto type = tensorWithSizes(ones, i32);
          Value kernel = ConstantOp::create(
              builder, loc, type, cast<TypedAttr>(DenseElementsAttr::get(type, builder.getI32IntegerAttr(1))));
          return convolve(sums, kernel, ones[0]).getResult();
        },
        [&] { return perFilter(sumAlong(b.integers, window)); });
    replace(op, sum, reshaped(a.scale, {}), perFilter(b.scale));
    return "";
  }

  OpBuilder builder;
  Type i8, i32, f32;
  Location loc = builder.getUnknownLoc();
};

struct MatchQuantized : impl::MatchQuantizedBase<MatchQuantized> {
  void runOnOperation() override {
    if (failed(requireForm(getOperation(), IRForm::Graph, getArgument())))
      return signalPassFailure();
    QuantizedMatcher matcher(getOperation());
    matcher.run(getOperation());
    matcher.decisions.store(getOperation());
  }
};

} // namespace
} // namespace tilewright::graph
