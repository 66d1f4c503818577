//===- NvvmThreadOps.cpp - exchange between threads in the dialect nvvm -------------------===//
#include "lib/Codegen/NVPTX/NvvmThreadOps.h"
#include "lib/Codegen/NVPTX/InlineAssembly.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace tilewright::cuda {
namespace {

Value wordOf(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, value, 32);
}

/// The mask of all lanes of a warp.
Value everyLane(OpBuilder &builder, Location loc) { return wordOf(builder, loc, -1); }

} // namespace

void NvvmThreadOps::barrier(OpBuilder &builder, Location loc) const { NVVM::Barrier0Op::create(builder, loc); }

void NvvmThreadOps::syncWarp(OpBuilder &builder, Location loc) const {
  NVVM::SyncWarpOp::create(builder, loc, everyLane(builder, loc));
}

Value NvvmThreadOps::shuffleXor(OpBuilder &builder, Location loc, Value word, int32_t mask) const {
  return NVVM::ShflOp::create(builder, loc, builder.getI32Type(), everyLane(builder, loc), word,
                              wordOf(builder, loc, mask), wordOf(builder, loc, 31), NVVM::ShflKind::bfly, UnitAttr());
}

Value NvvmThreadOps::ballot(OpBuilder &builder, Location loc, Value vote) const {
  return NVVM::VoteSyncOp::create(builder, loc, builder.getI32Type(), everyLane(builder, loc), vote,
                                  NVVM::VoteSyncKind::ballot);
}

Value NvvmThreadOps::anyInBlock(OpBuilder &builder, Location loc, Value vote) const {
  Type word = builder.getI32Type();
  auto kind = NVVM::BarrierReductionAttr::get(builder.getContext(), NVVM::BarrierReduction::OR);
  Value any = NVVM::BarrierOp::create(builder, loc, TypeRange(word), Value(), Value(), kind,
                                      arith::ExtUIOp::create(builder, loc, word, vote))
                  .getResult(0);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, any, wordOf(builder, loc, 0));
}

void NvvmThreadOps::arriveAtCluster(OpBuilder &builder, Location loc) const {
  inlineAssembly(builder, loc, "barrier.cluster.arrive;", "~{memory}");
}

void NvvmThreadOps::waitForCluster(OpBuilder &builder, Location loc) const {
  inlineAssembly(builder, loc, "barrier.cluster.wait;", "~{memory}");
}

Value NvvmThreadOps::loadFromBlock(OpBuilder &builder, Location loc, Value pointer, Value rank, Type type) const {
  const bool wide = type.isInteger(64);
  const std::string text = std::string("{\n\t.reg .b32 there;\n\tmapa.shared::cluster.u32 there, $1, $2;\n\t") +
                           (wide ? "ld.shared::cluster.b64" : "ld.shared::cluster.b32") + " $0, [there];\n\t}";
  return inlineAssembly(builder, loc, text, wide ? "=l,r,r,~{memory}" : "=r,r,r,~{memory}", {pointer, rank}, type);
}

} // namespace tilewright::cuda
