//===- KeepRoundings.cpp - --tw-keep-roundings: no rounding may go any more -----//
//
// Before:
//   %1 = arith.extf %0 fastmath<contract> : f16 to f32
// After:
//   %1 = arith.extf %0 : f16 to f32
//
// The flag says that a rounding is the compiler's own and may be dropped between fused ops. Once fusion is done it has
// nothing left to say, and the lowering to LLVM (22.1) cannot carry it.
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

struct KeepRoundings : impl::KeepRoundingsBase<KeepRoundings> {
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      if (auto ext = dyn_cast<arith::ExtFOp>(op))
        ext.removeFastmathAttr();
      else if (auto trunc = dyn_cast<arith::TruncFOp>(op))
        trunc.removeFastmathAttr();
    });
  }
};

} // namespace
} // namespace tilewright::vector_stage
