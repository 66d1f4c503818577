//===- NvvmThreadOps.cpp - exchange between threads in the dialect nvvm -------------------===//
#include "lib/Codegen/NVPTX/NvvmThreadOps.h"
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

} // namespace tilewright::cuda
