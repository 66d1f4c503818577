//===- GroupReduction.cpp - reductions over the threads that share a row ----------------===//
//
// Five shuffles combine the values of a warp. A group of 4 to 16 lanes needs fewer shuffles. If a group has more than
// one warp, each warp then writes its value to a slot in shared memory, and all warps read all slots after one barrier:
//
//   256 threads: five shuffles ; lane 0 of warp w stores slot w ; barrier ; lane l loads slot l % 8 (lanes from 8 on
//   use the combiner's identity) ; five shuffles
//
// In a cluster, lane l loads slot l of all blocks, one block after the other. A group of one thread of each warp has
// one slot per thread, and each thread loads all slots of its group. All threads of a group combine the values in the
// same order, so they have equal results.
//
// Tests: test/Codegen/NVPTX/softmax.mlir, test/Codegen/NVPTX/rows-cluster.mlir,
// test/Codegen/NVPTX/rows-across-lanes.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/GroupReduction.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::gpu {

GroupReduction::GroupReduction(ThreadKernel &kernel)
    : kernel(kernel), builder(kernel.builder), loc(kernel.loc()), cluster(kernel.schedule.cluster),
      group(kernel.schedule.group * cluster) {}

void GroupReduction::allocateBuffers() {
  constexpr int64_t slotBytes = 8;
  int64_t slots = 0;
  if (kernel.schedule.rowsAcrossLanes)
    slots = kernel.schedule.threads;
  else if (group > warpSize)
    slots = kernel.schedule.group / warpSize;
  if (slots == 0)
    return;
  // Reductions use two buffers alternately, and each reduction has one barrier, between its writes and its reads. A
  // thread writes to a buffer again only after it has passed the barrier of the next reduction, which all threads
  // reach only after they have read this buffer.
  for (Value &buffer : buffers)
    buffer = kernel.allocateShared(slots * slotBytes);
}

Value GroupReduction::reduce(Operation *combiner, Value value) {
  if (kernel.schedule.rowsAcrossLanes)
    return acrossLanesOfWarps(combiner, value);
  value = reduceInWarp(kernel, combiner, value, std::min(group, warpSize));
  if (group <= warpSize)
    return value;
  return cluster > 1 ? inCluster(combiner, value) : acrossWarps(combiner, value);
}

/// Combines the values of the warps of a block, which are equal in all lanes of a warp.
Value GroupReduction::acrossWarps(Operation *combiner, Value value) {
  Type type = value.getType();
  const int64_t warps = group / warpSize;
  Value buffer = nextBuffer();
  Value warp = arith::DivUIOp::create(builder, loc, kernel.thread, index(warpSize));
  Value lane = laneInWarp();
  storeFromFirstLane(lane, toMemory(builder, loc, value), slot(buffer, warp, builder.getI64Type()));
  kernel.barrier();
  Value from = warps == warpSize ? lane : arith::RemUIOp::create(builder, loc, lane, index(warps)).getResult();
  Value stored = LLVM::LoadOp::create(builder, loc, memoryType(type), slot(buffer, from, builder.getI64Type()));
  Value others = orNeutral(combiner, fromMemory(builder, loc, stored, type), lane, warps);
  return reduceInWarp(kernel, combiner, others);
}

/// Combines the values of the warps of all blocks of a cluster, which are equal in all lanes of a warp. Each block has
/// one slot per warp.
Value GroupReduction::inCluster(Operation *combiner, Value value) {
  Type type = value.getType();
  const unsigned width = type.getIntOrFloatBitWidth();
  Type integer = builder.getIntegerType(width), stored = builder.getIntegerType(width > 32 ? 64 : 32);
  const int64_t warps = kernel.schedule.threads / warpSize;
  Value buffer = nextBuffer();
  Value warp = arith::DivUIOp::create(builder, loc, kernel.thread, index(warpSize));
  Value lane = laneInWarp();
  Value bits = type == integer ? value : arith::BitcastOp::create(builder, loc, integer, value).getResult();
  if (stored != integer)
    bits = arith::ExtUIOp::create(builder, loc, stored, bits);
  storeFromFirstLane(lane, bits, slot(buffer, warp, builder.getI64Type()));
  kernel.threads.arriveAtCluster(builder, loc);
  kernel.threads.waitForCluster(builder, loc);
  Value from = warps == warpSize ? lane : arith::RemUIOp::create(builder, loc, lane, index(warps)).getResult();
  from = slot(buffer, from, builder.getI64Type());
  Value all;
  for (int64_t rank = 0; rank < cluster; ++rank) {
    Value block = arith::ConstantIntOp::create(builder, loc, rank, 32);
    Value loaded = kernel.threads.loadFromBlock(builder, loc, from, block, stored);
    if (stored != integer)
      loaded = arith::TruncIOp::create(builder, loc, integer, loaded);
    Value other = type == integer ? loaded : arith::BitcastOp::create(builder, loc, type, loaded).getResult();
    all = all ? combine(builder, combiner, all, other) : other;
  }
  return reduceInWarp(kernel, combiner, orNeutral(combiner, all, lane, warps));
}

/// Combines the values of the threads that have the same lane number in all warps of a block. The slots are in the
/// order of the threads.
Value GroupReduction::acrossLanesOfWarps(Operation *combiner, Value value) {
  if (group == 1)
    return value;
  Type type = value.getType(), stored = memoryType(type);
  Value buffer = nextBuffer();
  LLVM::StoreOp::create(builder, loc, toMemory(builder, loc, value), slot(buffer, kernel.thread, stored));
  kernel.barrier();
  Value lane = laneInWarp(), all;
  for (int64_t warp = 0; warp < group; ++warp) {
    Value number = kernel.elements.add(lane, index(warp * warpSize));
    Value other = LLVM::LoadOp::create(builder, loc, stored, slot(buffer, number, stored));
    other = fromMemory(builder, loc, other, type);
    all = all ? combine(builder, combiner, all, other) : other;
  }
  return all;
}

Value GroupReduction::laneInWarp() { return arith::RemUIOp::create(builder, loc, kernel.thread, index(warpSize)); }

Value GroupReduction::nextBuffer() {
  std::swap(buffers[0], buffers[1]);
  return buffers[1];
}

/// Returns the address of a slot. The distance of two slots is the size of the type `spacing`.
Value GroupReduction::slot(Value buffer, Value number, Type spacing) {
  Value at = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), number);
  return LLVM::GEPOp::create(builder, loc, buffer.getType(), spacing, buffer, ArrayRef<LLVM::GEPArg>{at});
}

void GroupReduction::storeFromFirstLane(Value lane, Value value, Value slot) {
  Value first = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lane, index(0));
  auto branch = scf::IfOp::create(builder, loc, TypeRange(), first, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&branch.getThenRegion().front());
  LLVM::StoreOp::create(builder, loc, value, slot);
}

/// Returns `value` in the lanes 0 to `warps` - 1, which have loaded the slot of a warp. Returns the identity of
/// `combiner` in the other lanes.
Value GroupReduction::orNeutral(Operation *combiner, Value value, Value lane, int64_t warps) {
  if (warps == warpSize)
    return value;
  Value neutral = arith::ConstantOp::create(builder, loc, tile::identityOf(combiner));
  Value real = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, lane, index(warps));
  return arith::SelectOp::create(builder, loc, real, value, neutral);
}

} // namespace tilewright::gpu
