//===- ExpandMath.cpp - --tw-cpu-expand-math: math on f32 becomes polynomials ---===//
//
// Before:
//   %y = math.exp %x : vector<16xf32>
// After:
//   %n = math.roundeven (%x * 1.44269504) ... six math.fma ... : vector<16xf32>
//
// Before:
//   %y = math.sin %x : vector<4xf64>
// After:
//   %0 = vector.extract %x[0], math.sin %0 : f64 ... vector.insert     (the library's, four times)
//
// f32 scalars and vectors of any shape are expanded with the ULP stated in ExpandMath.h, exp and exp2 with the flag afn
// to 17 bits only (what is rounded to 16 bits), remainders of vectors exactly; f64 vectors are unrolled into
// scalars for --convert-math-to-libm. What the CPU has instructions for stays: sqrt, fma, absf, copysign, floor, ceil,
// round, roundeven, trunc.
//
// Test: test/Target/CPU/expand-math.mlir, test/Unit/Math
//
//===----------------------------------------------------------------------===//
#include "lib/Target/CPU/ExpandMath.h"
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

/// `shortened`: the op carries afn, what it gives is rounded to 16 bits.
using Expander = std::function<Lanes(ArrayRef<Lanes>, bool shortened)>;

/// One math op on f32 becomes what `expander` makes of its operands.
struct ExpandSingle : RewritePattern {
  ExpandSingle(StringRef op, Expander expander, MLIRContext *context)
      : RewritePattern(op, 1, context), expander(std::move(expander)) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op->getResult(0)).isF32())
      return rewriter.notifyMatchFailure(op, "only f32 has polynomials");
    if (auto type = dyn_cast<VectorType>(op->getResult(0).getType()); type && type.isScalable())
      return rewriter.notifyMatchFailure(op, "scalable vectors are of other machines");
    ImplicitLocOpBuilder builder(op->getLoc(), rewriter);
    SmallVector<Lanes> operands;
    for (Value operand : op->getOperands())
      operands.push_back({&builder, operand});
    auto flags = dyn_cast<arith::ArithFastMathInterface>(op);
    bool shortened = flags && bitEnumContainsAny(flags.getFastMathFlagsAttr().getValue(), arith::FastMathFlags::afn);
    rewriter.replaceOp(op, expander(operands, shortened).value);
    return success();
  }
  Expander expander;
};

/// One math op on a vector of f64 becomes one per lane.
struct UnrollDouble : RewritePattern {
  UnrollDouble(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isa_and_nonnull<math::MathDialect>(op->getDialect()) || op->getNumResults() != 1 ||
        isa<math::SqrtOp, math::FmaOp, math::AbsFOp, math::CopySignOp, math::FloorOp, math::CeilOp, math::RoundOp,
            math::RoundEvenOp, math::TruncOp>(op))
      return failure();
    auto type = dyn_cast<VectorType>(op->getResult(0).getType());
    if (!type || !type.getElementType().isF64() || type.isScalable())
      return failure();
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

/// x^y; the exponents that models have need no logarithm. torch takes the square root for 0.5, too.
Lanes expandPower(Lanes x, Lanes y) {
  FloatAttr scalar;
  DenseElementsAttr splat;
  if (matchPattern(y.value, m_Constant(&splat)) && splat.isSplat())
    scalar = splat.getSplatValue<FloatAttr>();
  if (scalar || matchPattern(y.value, m_Constant(&scalar))) {
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
  }
  return expandPow(x, y.widened());
}

Lanes integerToDouble(Lanes x, Lanes n) { return n.make<arith::SIToFPOp>(x.like(x.builder->getF64Type()), n.value); }

void populateSingle(RewritePatternSet &patterns, bool avx512) {
  auto add = [&]<typename OpTy>(OpTy *, Expander expander) {
    patterns.add(std::make_unique<ExpandSingle>(OpTy::getOperationName(), std::move(expander), patterns.getContext()));
  };
#define TW_EXPAND(OP, EXPRESSION)                                                                                      \
  add((math::OP *)nullptr, [avx512](ArrayRef<Lanes> x, bool shortened) -> Lanes {                                      \
    (void)avx512, (void)shortened;                                                                                     \
    return EXPRESSION;                                                                                                 \
  });
  TW_EXPAND(ExpOp, expandExp(x[0], avx512, shortened))
  TW_EXPAND(Exp2Op, expandExp2(x[0], avx512, shortened))
  TW_EXPAND(ExpM1Op, expandExpM1(x[0]))
  TW_EXPAND(TanhOp, expandTanh(x[0]))
  TW_EXPAND(ErfOp, expandErf(x[0]))
  TW_EXPAND(ErfcOp, expandErfc(x[0]))
  TW_EXPAND(LogOp, expandLog(x[0], LogBase::E))
  TW_EXPAND(Log2Op, expandLog(x[0], LogBase::Two))
  TW_EXPAND(Log10Op, expandLog(x[0], LogBase::Ten))
  TW_EXPAND(Log1pOp, expandLog1p(x[0]))
  TW_EXPAND(SinOp, expandSin(x[0]))
  TW_EXPAND(CosOp, expandCos(x[0]))
  TW_EXPAND(TanOp, expandTan(x[0]))
  TW_EXPAND(AtanOp, expandAtan(x[0]))
  TW_EXPAND(Atan2Op, expandAtan2(x[0], x[1]))
  TW_EXPAND(AsinOp, expandAsin(x[0]))
  TW_EXPAND(AcosOp, expandAcos(x[0]))
  TW_EXPAND(SinhOp, expandSinh(x[0]))
  TW_EXPAND(CoshOp, expandCosh(x[0]))
  TW_EXPAND(AsinhOp, expandAsinh(x[0]))
  TW_EXPAND(AcoshOp, expandAcosh(x[0]))
  TW_EXPAND(AtanhOp, expandAtanh(x[0]))
  TW_EXPAND(CbrtOp, expandCbrt(x[0]))
  TW_EXPAND(RsqrtOp, 1.0 / sqrt(x[0]))
  TW_EXPAND(PowFOp, expandPower(x[0], x[1]))
  TW_EXPAND(FPowIOp, expandPow(x[0], integerToDouble(x[0], x[1])))
#undef TW_EXPAND
}

/// a / (1 + e^z), the shape of sigmoid and silu, where vrcp14ps is there to replace the division.
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
      auto type = dyn_cast<VectorType>(op.getType()); // of scalars fmodf is as quick
      if (!type || !type.getElementType().isF32() || type.isScalable())
        return;
      OpBuilder at(op);
      ImplicitLocOpBuilder builder(op.getLoc(), at);
      op.replaceAllUsesWith(expandRemainder({&builder, op.getLhs()}, {&builder, op.getRhs()}).value);
      op.erase();
    });
    RewritePatternSet patterns(&getContext());
    populateSingle(patterns, avx512);
    patterns.add<UnrollDouble>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
} // namespace cpu
} // namespace tilewright
