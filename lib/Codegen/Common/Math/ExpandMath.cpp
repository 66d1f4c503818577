//===- ExpandMath.cpp - --tw-expand-math: math to polynomials -----------------===//
//
// Before:
//   %y = math.exp %x : vector<16xf32>
// After:
//   %n = math.roundeven (%x * 1.44269504) ... eight math.fma ... : vector<16xf32>      (with AVX-512)
//
// Before:
//   %y = math.cbrt %x : vector<4xf64>
// After:
//   %0 = vector.extract %x[0], math.cbrt %0 : f64 ... vector.insert     (libm's function, four times)
//
// Functions of f32 scalars, and of f32 vectors of any shape, are expanded to polynomials (ExpandMath.h).
// dialects/Graph/ScalarFunctions.def states the errors. With AVX-512, exp and exp2 with the flag afn are accurate to
// only 17 and 18 bits, because their results are rounded to a type of 16 bits. Functions of f64 vectors are expanded as
// in ExpandMath64.h, and remainders of vectors are exact. f64 scalars are unchanged, because the conversion to LLVM
// lowers them to calls of libm. If there is no formula for a function of f64 vectors (cbrt, most powers), the op is
// unrolled to scalars. Ops that LLVM lowers to instructions are unchanged: sqrt, fma, absf, copysign, floor, ceil,
// round, roundeven, trunc. f64 is rounded to bf16 through f32, as in all other passes. With the option
// `bf16-denormals`, the second of these roundings is computed by integer ops.
//
// Tests: test/Codegen/CPU/MicroKernels/expand-math.mlir, test/Unit/Codegen/Common
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/Common/Math/ExpandMath64.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "tilewright/Passes.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_EXPANDMATH
#include "tilewright/Passes.h.inc"

namespace cpu {
namespace {

/// Returns the expanded function, or std::nullopt if there is no formula. `shortened` is true if the op has the flag
/// afn. Ops with this flag have results that are rounded to 16 bits.
using Expander = std::function<std::optional<Lanes>(ArrayRef<Lanes>, bool shortened)>;

bool isVectorOfDouble(Type type) { return isa<VectorType>(type) && getElementTypeOrSelf(type).isF64(); }

/// Replaces a math op on f32, or on a vector of f64, by the result of `expander`.
struct ExpandOp : RewritePattern {
  ExpandOp(StringRef op, Expander expander, MLIRContext *context)
      : RewritePattern(op, 2, context), expander(std::move(expander)) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    Type result = op->getResult(0).getType();
    if (!getElementTypeOrSelf(result).isF32() && !isVectorOfDouble(result))
      return rewriter.notifyMatchFailure(op, "only f32 and vectors of f64 have polynomials");
    if (auto type = dyn_cast<VectorType>(result); type && type.isScalable())
      return rewriter.notifyMatchFailure(op, "scalable vectors are not supported");
    ImplicitLocOpBuilder builder(op->getLoc(), rewriter);
    SmallVector<Lanes> operands;
    for (Value operand : op->getOperands())
      operands.push_back({&builder, operand});
    auto flags = dyn_cast<arith::ArithFastMathInterface>(op);
    bool shortened = flags && bitEnumContainsAny(flags.getFastMathFlagsAttr().getValue(), arith::FastMathFlags::afn);
    std::optional<Lanes> expanded = expander(operands, shortened);
    if (!expanded)
      return rewriter.notifyMatchFailure(op, "no formula");
    rewriter.replaceOp(op, expanded->value);
    return success();
  }
  Expander expander;
};

/// Replaces a math op on a vector of f64, for which there is no formula, by one scalar op per lane.
struct UnrollDouble : RewritePattern {
  UnrollDouble(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isa_and_nonnull<math::MathDialect>(op->getDialect()) || op->getNumResults() != 1 ||
        isa<math::SqrtOp, math::FmaOp, math::AbsFOp, math::CopySignOp, math::FloorOp, math::CeilOp, math::RoundOp,
            math::RoundEvenOp, math::TruncOp>(op))
      return rewriter.notifyMatchFailure(op, "expected a math op that has no vector instruction");
    auto type = dyn_cast<VectorType>(op->getResult(0).getType());
    if (!type || !isVectorOfDouble(type) || type.isScalable())
      return rewriter.notifyMatchFailure(op, "expected a fixed-size vector of f64");
    Location loc = op->getLoc();
    Value result = arith::ConstantOp::create(rewriter, loc, rewriter.getZeroAttr(type));
    SmallVector<int64_t> strides = computeStrides(type.getShape());
    for (int64_t lane = 0; lane < type.getNumElements(); ++lane) {
      SmallVector<int64_t> position = delinearize(lane, strides);
      SmallVector<Value> scalars;
      for (Value operand : op->getOperands())
        scalars.push_back(vector::ExtractOp::create(rewriter, loc, operand, position));
      Operation *scalar =
          rewriter.create(loc, op->getName().getIdentifier(), scalars, type.getElementType(), op->getAttrs());
      result = vector::InsertOp::create(rewriter, loc, scalar->getResult(0), result, position);
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// Returns x^y if y is one of the constants 1, 2, 3, 0.5, -0.5 and -1, which need no logarithm. Otherwise returns
/// std::nullopt. Like torch, uses the square root for 0.5.
std::optional<Lanes> knownPower(Lanes x, Lanes y) {
  FloatAttr scalar;
  DenseElementsAttr splat;
  if (matchPattern(y.value, m_Constant(&splat)) && splat.isSplat())
    scalar = splat.getSplatValue<FloatAttr>();
  if (!scalar && !matchPattern(y.value, m_Constant(&scalar)))
    return std::nullopt;
  double exponent = scalar.getValueAsDouble();
  if (exponent == 1.0)
    return x;
  if (exponent == 2.0)
    return x * x;
  if (exponent == 3.0)
    return x * x * x;
  if (exponent == 0.5)
    return sqrt(x);
  if (exponent == -0.5)
    return 1.0 / sqrt(x);
  if (exponent == -1.0)
    return 1.0 / x;
  return std::nullopt;
}

Lanes expandPower(Lanes x, Lanes y) {
  std::optional<Lanes> known = knownPower(x, y);
  return known ? *known : expandPow(x, y.widened());
}

Lanes integerToDouble(Lanes x, Lanes n) { return n.make<arith::SIToFPOp>(x.like(x.builder->getF64Type()), n.value); }

void populateExpansions(RewritePatternSet &patterns, bool avx512) {
  auto add = [&]<typename OpTy>(OpTy *, Expander expander) {
    patterns.add(std::make_unique<ExpandOp>(OpTy::getOperationName(), std::move(expander), patterns.getContext()));
  };
  // The macro's arguments are an op, the function for f32, and the function for vectors of f64.
#define TW_EXPAND(OP, SINGLE, DOUBLE)                                                                                  \
  add((math::OP *)nullptr, [avx512](ArrayRef<Lanes> x, bool shortened) -> std::optional<Lanes> {                       \
    (void)avx512, (void)shortened;                                                                                     \
    if (x[0].element().isF64())                                                                                        \
      return DOUBLE;                                                                                                   \
    return SINGLE;                                                                                                     \
  });
#define TW_MATH_FUNCTION(MATH, NAME, SINGLE, SINGLE_ULP, DOUBLE, DOUBLE_ULP) TW_EXPAND(MATH, SINGLE, DOUBLE)
#include "dialects/Graph/ScalarFunctions.def"
  TW_EXPAND(Atan2Op, expandAtan2(x[0], x[1]), f64::atan2(x[0], x[1]))
  TW_EXPAND(RsqrtOp, 1.0 / sqrt(x[0]), 1.0 / sqrt(x[0]))
  TW_EXPAND(PowFOp, expandPower(x[0], x[1]), knownPower(x[0], x[1]))
  TW_EXPAND(FPowIOp, expandPow(x[0], integerToDouble(x[0], x[1])), std::nullopt)
#undef TW_EXPAND
}

/// Rounds f32 to bf16, to nearest, ties to even, by integer ops, because vcvtneps2bf16 treats denormals as 0.
Lanes roundToBfloat16(Lanes x) {
  ImplicitLocOpBuilder &b = *x.builder;
  Lanes bits = x.asInteger(), last = shiftRight(bits, 16) & 1;
  Lanes rounded = select(equal(x, x), bits + last + bits.integer(0x7fff), bits | bits.integer(1 << 22));
  Lanes high = bits.make<arith::TruncIOp>(bits.like(b.getI16Type()), shiftRight(rounded, 16).value);
  return high.make<arith::BitcastOp>(x.like(b.getBF16Type()), high.value);
}

/// Returns true if `op` is a / (1 + e^z), as in sigmoid and silu, and vrcp14ps can replace the division.
bool isLogistic(arith::DivFOp op) {
  auto type = dyn_cast<VectorType>(op.getType());
  auto sum = op.getRhs().getDefiningOp<arith::AddFOp>();
  return type && type.getElementType().isF32() && !type.isScalable() && type.getShape().back() % 16 == 0 && sum &&
         (matchPattern(sum.getLhs(), m_OneFloat()) || matchPattern(sum.getRhs(), m_OneFloat())) &&
         (sum.getLhs().getDefiningOp<math::ExpOp>() || sum.getRhs().getDefiningOp<math::ExpOp>());
}

struct ExpandMath : impl::ExpandMathBase<ExpandMath> {
  using Base::Base;
  void runOnOperation() override {
    getOperation().walk([](math::SincosOp op) {
      OpBuilder builder(op);
      op.getResult(0).replaceAllUsesWith(math::SinOp::create(builder, op.getLoc(), op.getOperand()));
      op.getResult(1).replaceAllUsesWith(math::CosOp::create(builder, op.getLoc(), op.getOperand()));
      op.erase();
    });
    if (avx512)
      getOperation().walk([](arith::DivFOp op) {
        if (!isLogistic(op))
          return;
        OpBuilder at(op);
        ImplicitLocOpBuilder builder(op.getLoc(), at);
        op.replaceAllUsesWith(expandLogistic({&builder, op.getLhs()}, {&builder, op.getRhs()}).value);
        op.erase();
      });
    getOperation().walk([](arith::RemFOp op) {
      auto type = dyn_cast<VectorType>(op.getType()); // fmodf is as fast for scalars
      if (!type || type.isScalable() || !(type.getElementType().isF32() || type.getElementType().isF64()))
        return;
      OpBuilder at(op);
      ImplicitLocOpBuilder builder(op.getLoc(), at);
      Lanes x{&builder, op.getLhs()}, y{&builder, op.getRhs()};
      op.replaceAllUsesWith((type.getElementType().isF64() ? f64::remainder(x, y) : expandRemainder(x, y)).value);
      op.erase();
    });
    if (bf16Denormals)
      getOperation().walk([](arith::TruncFOp op) {
        auto first = op.getIn().getDefiningOp<arith::TruncFOp>();
        if (!getElementTypeOrSelf(op.getType()).isBF16() || !first || !getElementTypeOrSelf(first.getIn()).isF64())
          return;
        OpBuilder at(op);
        ImplicitLocOpBuilder builder(op.getLoc(), at);
        op.replaceAllUsesWith(roundToBfloat16({&builder, op.getIn()}).value);
        op.erase();
      });
    RewritePatternSet patterns(&getContext());
    populateExpansions(patterns, avx512);
    patterns.add<UnrollDouble>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
} // namespace cpu
} // namespace tilewright
