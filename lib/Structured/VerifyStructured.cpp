//===- VerifyStructured.cpp - --tw-verify-structured: the stage's contract ----===//
//
// After the structured stage only linalg, tw_tile, tensor, arith, math, affine and func ops remain. The pass fails with
// an error at the first op of another dialect.
//
// Test: test/Structured/verify-structured.mlir
//
//===----------------------------------------------------------------------===//
#include "tilewright/Passes.h"

namespace tilewright {
#define GEN_PASS_DEF_VERIFYSTRUCTURED
#include "tilewright/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace tilewright::structured {
namespace {

struct VerifyStructured : impl::VerifyStructuredBase<VerifyStructured> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](Operation *op) {
      if (isa<ModuleOp>(op))
        return WalkResult::advance();
      Dialect *dialect = op->getDialect();
      if (isa_and_nonnull<linalg::LinalgDialect, tile::TileDialect, tensor::TensorDialect, arith::ArithDialect,
                          math::MathDialect, affine::AffineDialect, func::FuncDialect>(dialect))
        return WalkResult::advance();
      op->emitOpError("may not remain after the structured stage: only linalg, tw_tile, tensor, arith, math, affine "
                      "and func ops may");
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
} // namespace tilewright::structured
