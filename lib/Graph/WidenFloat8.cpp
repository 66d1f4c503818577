//===- WidenFloat8.cpp - --tw-widen-float8: products of 8-bit floats on targets without them ----------===//
//
// Before:
//   %1 = tw.matmul %a, %b : (tensor<64x32xf8E4M3FN>, tensor<32x48xf8E5M2>) -> tensor<64x48xf32>
// After:
//   %0 = tw.cast %a : (tensor<64x32xf8E4M3FN>) -> tensor<64x32xf16>
//   %1 = tw.cast %b : (tensor<32x48xf8E5M2>) -> tensor<32x48xf16>
//   %2 = tw.matmul %0, %1 : (tensor<64x32xf16>, tensor<32x48xf16>) -> tensor<64x48xf32>
//
// All 8-bit floats are representable in f16 and in bf16, so the products are the same. The option `to` is the type that
// the target multiplies: f16 on GPUs before sm_89, bf16 on CPUs.
//
// Test: test/Graph/widen-float8.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_WIDENFLOAT8
#include "tilewright/Passes.h.inc"

namespace {
struct WidenFloat8 : impl::WidenFloat8Base<WidenFloat8> {
  using Base::Base;
  void runOnOperation() final {
    if (failed(requireForm(getOperation(), IRForm::Graph, getArgument())))
      return signalPassFailure();
    Builder types(&getContext());
    const Type wide = to == "bf16" ? Type(types.getBF16Type()) : types.getF16Type();
    getOperation().walk([&](graph::MatmulOp op) {
      OpBuilder builder(op);
      for (OpOperand &operand : op->getOpOperands()) {
        auto type = cast<RankedTensorType>(operand.get().getType());
        if (graph::isFloat8(type))
          operand.set(graph::CastOp::create(builder, op.getLoc(), graph::withElementType(type, wide), operand.get()));
      }
    });
  }
};
} // namespace
} // namespace tilewright
