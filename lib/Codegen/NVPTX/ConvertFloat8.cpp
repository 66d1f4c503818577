//===- ConvertFloat8.cpp - --tw-cuda-convert-float8: conversions of 8-bit floats by cvt ----===//
//
// Before:
//   %y = arith.truncf %x : f32 to f8E5M2
// After:
//   %0 = llvm.call_intrinsic "llvm.nvvm.ff.to.e5m2x2.rn"(%zero, %x) : (f32, f32) -> i16
//   ... infinity if |%x| rounds to infinity, a byte, arith.bitcast : i8 to f8E5M2
//
// This pass lowers conversions of scalars between f32 and 8-bit floats, for sm_89 and later. The instruction cvt
// saturates to the largest finite value of the type, which is torch's behavior for e4m3. For e5m2, torch's result is
// infinite if the magnitude of the operand is at least halfway between the largest finite value and the next power of
// two. --tw-expand-float8 handles all other conversions.
//
// Tests: test/Codegen/NVPTX/convert-float8-pass.mlir, test/Codegen/NVPTX/convert-float8.mlir,
// test/Python/test_cuda_float8.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/NVPTX/Float8Name.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "tilewright/ElementTypes.h"
#include "tilewright/Passes.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_CONVERTFLOAT8
#include "tilewright/Passes.h.inc"
namespace cuda {
namespace {

Value intrinsic(ImplicitLocOpBuilder &b, const llvm::Twine &name, Type result, ValueRange arguments) {
  return LLVM::CallIntrinsicOp::create(b, b.getLoc(), result, b.getStringAttr(name), arguments).getResult(0);
}

Value extended(ImplicitLocOpBuilder &b, Value x) {
  Value byte = arith::BitcastOp::create(b, b.getI8Type(), x);
  Value word = arith::ExtUIOp::create(b, b.getI16Type(), byte);
  Value two =
      intrinsic(b, "llvm.nvvm." + ptxName(x.getType()) + "x2.to.f16x2.rn", VectorType::get({2}, b.getF16Type()), word);
  Value first = LLVM::ConstantOp::create(b, b.getI32IntegerAttr(0));
  Value half = LLVM::ExtractElementOp::create(b, two, first);
  return arith::ExtFOp::create(b, b.getF32Type(), half);
}

Value rounded(ImplicitLocOpBuilder &b, Value x, Type to) {
  auto number = [&](float value) -> Value { return arith::ConstantOp::create(b, b.getF32FloatAttr(value)); };
  // The result contains the second operand in its lower byte.
  Value two = intrinsic(b, "llvm.nvvm.ff.to." + ptxName(to) + "x2.rn", b.getI16Type(), {number(0), x});
  Value byte = arith::TruncIOp::create(b, b.getI8Type(), two);
  if (isa<Float8E5M2Type>(to)) {
    constexpr float halfway = 61440; // halfway between 57344 and 65536; ties go to the latter, which is even
    Value beyond = arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, math::AbsFOp::create(b, x), number(halfway));
    // The bits of an infinity are the bits of the largest value of the same sign, plus one.
    Value one = arith::ConstantOp::create(b, b.getI8IntegerAttr(1));
    byte = arith::SelectOp::create(b, beyond, arith::AddIOp::create(b, byte, one), byte);
  }
  return arith::BitcastOp::create(b, to, byte);
}

struct ConvertFloat8 : impl::ConvertFloat8Base<ConvertFloat8> {
  void runOnOperation() override {
    SmallVector<Operation *> found;
    getOperation().walk([&](Operation *op) {
      if (isa<arith::ExtFOp, arith::TruncFOp>(op) &&
          (isFloat8(op->getOperand(0).getType()) || isFloat8(op->getResult(0).getType())))
        found.push_back(op);
    });
    for (Operation *op : found) {
      ImplicitLocOpBuilder b(op->getLoc(), op);
      Value x = op->getOperand(0);
      Type to = op->getResult(0).getType();
      const bool extends = isa<arith::ExtFOp>(op);
      if ((extends ? to : x.getType()) != b.getF32Type())
        continue;
      op->getResult(0).replaceAllUsesWith(extends ? extended(b, x) : rounded(b, x, to));
      op->erase();
    }
  }
};

} // namespace
} // namespace cuda
} // namespace tilewright
