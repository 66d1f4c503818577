//===- Exponentials.cpp - exp by the GPU's ex2.approx ---------------------------------------===//
//
//   exp(x) = 2^t (1 + l ln 2), t = x log2(e) rounded, l = the rounding error of t
//
// This formula takes eight instructions and has an error of at most 3 ULP. ex2.approx causes 2 ULP of this error (see
// the table of errors in the PTX ISA). The polynomial of --tw-expand-math takes more instructions. For x below -104,
// the result is 0, and for x above 89, it is infinity. These bounds ensure that l is finite. The result for NaN is NaN.
//
// Tests: test/Codegen/NVPTX/softmax.mlir, test/Python/test_cuda.py (test_exp_has_an_error_of_at_most_3_ulp)
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Exponentials.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace tilewright::gpu {

void expandExponentials(func::FuncOp kernel) {
  constexpr double log2E = 1.44269504088896340736, ln2 = 0.693147180559945309417;
  constexpr double log2EHigh = float(log2E), log2ELow = log2E - log2EHigh;
  SmallVector<math::ExpOp> found;
  kernel.walk([&](math::ExpOp op) {
    if (op.getType().isF32())
      found.push_back(op);
  });
  for (math::ExpOp op : found) {
    ImplicitLocOpBuilder b(op.getLoc(), op);
    auto number = [&](double value) -> Value { return arith::ConstantOp::create(b, b.getF32FloatAttr(float(value))); };
    Value x = arith::MaximumFOp::create(b, op.getOperand(), number(-104.0));
    x = arith::MinimumFOp::create(b, x, number(89.0));
    Value t = arith::MulFOp::create(b, x, number(log2EHigh));
    Value left = math::FmaOp::create(b, x, number(log2EHigh), arith::NegFOp::create(b, t));
    left = math::FmaOp::create(b, x, number(log2ELow), left);
    Value factor = math::FmaOp::create(b, left, number(ln2), number(1.0));
    Value power = LLVM::Exp2Op::create(b, t);
    op.replaceAllUsesWith(arith::MulFOp::create(b, power, factor).getResult());
    op.erase();
  }
}

} // namespace tilewright::gpu
