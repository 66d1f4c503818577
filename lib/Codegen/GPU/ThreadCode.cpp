//===- ThreadCode.cpp - arithmetic and conditions in the code of one thread -------------===//
#include "lib/Codegen/GPU/ThreadCode.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tilewright::gpu {

Value ThreadCode::divideUp(Value value, int64_t by) {
  if (std::optional<int64_t> known = getConstantIntValue(value))
    return index(llvm::divideCeil(*known, by));
  Value more = elements.add(value, index(by - 1));
  return arith::DivUIOp::create(builder, loc, more, index(by));
}

Value ThreadCode::remainder(Value value, int64_t by) { return arith::RemUIOp::create(builder, loc, value, index(by)); }
Value ThreadCode::quotient(Value value, int64_t by) { return arith::DivUIOp::create(builder, loc, value, index(by)); }
Value ThreadCode::toI32(Value value) { return arith::IndexCastOp::create(builder, loc, builder.getI32Type(), value); }
Value ThreadCode::isLess(Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, a, b);
}

Value ThreadCode::both(Value a, Value b) {
  return a && b ? arith::AndIOp::create(builder, loc, a, b).getResult() : a ? a : b;
}

bool ThreadCode::dividesEvenly(Value extent, int64_t by) {
  std::optional<int64_t> known = getConstantIntValue(extent);
  return known && *known % by == 0;
}

void ThreadCode::keepRolled(scf::ForOp loop) {
  MLIRContext *context = builder.getContext();
  auto unroll = LLVM::LoopUnrollAttr::get(context, builder.getBoolAttr(true), {}, {}, {}, {}, {}, {});
  loop->setAttr("loop_annotation",
                LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}));
}

void ThreadCode::when(Value condition, llvm::function_ref<void()> body) {
  if (!condition)
    return body();
  auto branch = scf::IfOp::create(builder, loc, TypeRange(), condition, /*withElse=*/false);
  elements.inScope([&] {
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    body();
  });
}

} // namespace tilewright::gpu
