//===- KeepRoundings.cpp - --tw-keep-roundings: forbids dropping roundings ---===//
//
// Before:
//   %1 = arith.extf %0 fastmath<contract> : f16 to f32
//   %2 = arith.mulf %1, %1 fastmath<contract> : f32
// After:
//   %1 = arith.extf %0 : f16 to f32
//   %2 = arith.mulf %1, %1 : f32
//
// The fast-math flag `contract` marks roundings that the compiler introduced and may drop between fused ops. With
// rounding = "eager" the compiler must not drop any of them, so the pass removes the flag before fusion. Without the
// flag, a multiply and an add are not contracted, so that products in elementwise loops are also rounded before they
// are added. The code that contracts a multiply and an add later (the vectorization of loops, and LLVM's code generator
// with rounding = "eager") tests the same flag.
//
// Test: test/Kernels/keep-roundings.mlir
//
//===----------------------------------------------------------------------===//
#include "tilewright/Passes.h"

namespace tilewright {
#define GEN_PASS_DEF_KEEPROUNDINGS
#include "tilewright/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace tilewright::vector_stage {
namespace {

/// Returns true if `parent` is a linalg op without reduction loops, or not a linalg op.
bool isElementwise(Operation *parent) {
  auto loop = dyn_cast_or_null<linalg::LinalgOp>(parent);
  return !loop || loop.getNumReductionLoops() == 0;
}

struct KeepRoundings : impl::KeepRoundingsBase<KeepRoundings> {
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      if (auto ext = dyn_cast<arith::ExtFOp>(op))
        ext.removeFastmathAttr();
      else if (auto trunc = dyn_cast<arith::TruncFOp>(op))
        trunc.removeFastmathAttr();
      else if (isa<arith::MulFOp, arith::AddFOp, arith::SubFOp>(op) && isElementwise(op->getParentOp()))
        op->setAttr("fastmath", arith::FastMathFlagsAttr::get(op->getContext(), arith::FastMathFlags::none));
    });
  }
};

} // namespace
} // namespace tilewright::vector_stage
