#include "tilewright/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Math/Transforms/Approximation.h"
using namespace mlir;
namespace tilewright {
#define GEN_PASS_DEF_EXPANDMATH
#include "tilewright/Passes.h.inc"
namespace cpu { namespace {
struct ExpandMath : impl::ExpandMathBase<ExpandMath> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns);
    (void)applyPatternsGreedily(getOperation(), std::move(patterns));
  }
};
} } }
