//===- KeepRoundings.cpp - --tw-keep-roundings: no rounding may go any more -----//
//
// Before:
//   %1 = arith.extf %0 fastmath<contract> : f16 to f32
//   %2 = arith.mulf %1, %1 fastmath<contract> : f32
// After:
//   %1 = arith.extf %0 : f16 to f32
//   %2 = arith.mulf %1, %1 : f32
//
// The flag says that a rounding is the compiler's own and may be dropped between fused ops. Under rounding = "eager"
// none may, so the pass runs before fusion; products in elementwise loops are rounded before they are added, too. Once
// fusion is done the flag has nothing left to say.
//
// Test: test/Vector/keep-roundings.mlir
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

/// A loop without reductions, or no loop.
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
