//===- GroupReduction.cpp - reductions over the threads that share a row ----------------===//
//
// Five shuffles combine the values of a warp. A group of 4 to 16 lanes needs fewer shuffles. If a group has more than
// one warp, each warp then writes its value to a slot in shared memory, and all warps read all slots after one barrier:
//
//   256 threads: five shuffles ; lane 0 of warp w stores slot w ; barrier ; lane l loads slot l % 8 (lanes from 8 on
//   use the combiner's identity) ; five shuffles
//
// In a cluster, lane l loads slot l of all blocks, one block after the other. A group of one thread of each warp has
// one slot per thread, and each thread loads all slots of its group. In a cluster, the threads of the first warp then
// store the results of their block, and each thread loads the results of all blocks. All threads of a group combine the
// values in the same order, so they have equal results.
//
// Tests: test/Codegen/NVPTX/softmax.mlir, test/Codegen/NVPTX/rows-cluster.mlir,
// test/Codegen/NVPTX/rows-across-lanes.mlir, test/Codegen/NVPTX/rows-across-lanes-cluster.mlir
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
  // A block writes to one of these buffers again only after the next barrier of the cluster, which all blocks reach
  // only after they have read this buffer.
  if (kernel.schedule.rowsAcrossLanes && cluster > 1)
    for (Value &buffer : ofBlock)
      buffer = kernel.allocateShared(warpSize * slotBytes);
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
  Value buffer = nextOf(buffers);
  Value warp = arith::DivUIOp::create(builder, loc, kernel.thread, index(warpSize));
  Value lane = laneInWarp();
  storeIf(isEqual(lane, 0), toMemory(builder, loc, value), slot(buffer, warp, builder.getI64Type()));
  kernel.barrier();
  Value from = warps == warpSize ? lane : arith::RemUIOp::create(builder, loc, lane, index(warps)).getResult();
  Value stored = LLVM::LoadOp::create(builder, loc, memoryType(type), slot(buffer, from, builder.getI64Type()));
  Value others = orNeutral(combiner, fromMemory(builder, loc, stored, type), lane, warps);
  return reduceInWarp(kernel, combiner, others);
}

/// Returns the integer type, of 32 or 64 bits, in which a value of type `type` is stored for the other blocks of a
/// cluster.
Type GroupReduction::storedType(Type type) {
  return builder.getIntegerType(type.getIntOrFloatBitWidth() > 32 ? 64 : 32);
}

/// Returns the bits of `value` in the type storedType().
Value GroupReduction::asStored(Value value) {
  Type integer = builder.getIntegerType(value.getType().getIntOrFloatBitWidth()), stored = storedType(value.getType());
  if (value.getType() != integer)
    value = arith::BitcastOp::create(builder, loc, integer, value);
  return stored == integer ? value : arith::ExtUIOp::create(builder, loc, stored, value).getResult();
}

/// Waits until all blocks of the cluster have stored their values, and combines the values of type `type` that are at
/// the address `slot` in each block, in the order of the blocks.
Value GroupReduction::overBlocks(Operation *combiner, Value slot, Type type) {
  Type integer = builder.getIntegerType(type.getIntOrFloatBitWidth()), stored = storedType(type);
  kernel.threads.arriveAtCluster(builder, loc);
  kernel.threads.waitForCluster(builder, loc);
  Value all;
  for (int64_t rank = 0; rank < cluster; ++rank) {
    Value block = arith::ConstantIntOp::create(builder, loc, rank, 32);
    Value loaded = kernel.threads.loadFromBlock(builder, loc, slot, block, stored);
    if (stored != integer)
      loaded = arith::TruncIOp::create(builder, loc, integer, loaded);
    Value other = type == integer ? loaded : arith::BitcastOp::create(builder, loc, type, loaded).getResult();
    all = all ? combine(builder, combiner, all, other) : other;
  }
  return all;
}

/// Combines the values of the warps of all blocks of a cluster, which are equal in all lanes of a warp. Each block has
/// one slot per warp.
Value GroupReduction::inCluster(Operation *combiner, Value value) {
  const int64_t warps = kernel.schedule.threads / warpSize;
  Value buffer = nextOf(buffers);
  Value warp = arith::DivUIOp::create(builder, loc, kernel.thread, index(warpSize));
  Value lane = laneInWarp();
  storeIf(isEqual(lane, 0), asStored(value), slot(buffer, warp, builder.getI64Type()));
  Value from = warps == warpSize ? lane : arith::RemUIOp::create(builder, loc, lane, index(warps)).getResult();
  Value all = overBlocks(combiner, slot(buffer, from, builder.getI64Type()), value.getType());
  return reduceInWarp(kernel, combiner, orNeutral(combiner, all, lane, warps));
}

/// Combines the values of the threads that have the same lane number in all warps of a block, and then the results of
/// the blocks of a cluster. The slots are in the order of the threads.
Value GroupReduction::acrossLanesOfWarps(Operation *combiner, Value value) {
  const int64_t warps = kernel.schedule.group;
  Type type = value.getType(), stored = memoryType(type);
  Value lane = laneInWarp(), all = value;
  if (warps > 1) {
    Value buffer = nextOf(buffers);
    LLVM::StoreOp::create(builder, loc, toMemory(builder, loc, value), slot(buffer, kernel.thread, stored));
    kernel.barrier();
    all = {};
    for (int64_t warp = 0; warp < warps; ++warp) {
      Value number = kernel.elements.add(lane, index(warp * warpSize));
      Value other = LLVM::LoadOp::create(builder, loc, stored, slot(buffer, number, stored));
      other = fromMemory(builder, loc, other, type);
      all = all ? combine(builder, combiner, all, other) : other;
    }
  }
  if (cluster == 1)
    return all;
  Value mine = slot(nextOf(ofBlock), lane, builder.getI64Type());
  Value isFirstWarp = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, kernel.thread, index(warpSize));
  storeIf(isFirstWarp, asStored(all), mine);
  return overBlocks(combiner, mine, type);
}

Value GroupReduction::laneInWarp() { return arith::RemUIOp::create(builder, loc, kernel.thread, index(warpSize)); }

Value GroupReduction::nextOf(std::array<Value, 2> &alternate) {
  std::swap(alternate[0], alternate[1]);
  return alternate[1];
}

Value GroupReduction::isEqual(Value value, int64_t number) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, value, index(number));
}

/// Returns the address of a slot. The distance of two slots is the size of the type `spacing`.
Value GroupReduction::slot(Value buffer, Value number, Type spacing) {
  Value at = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), number);
  return LLVM::GEPOp::create(builder, loc, buffer.getType(), spacing, buffer, ArrayRef<LLVM::GEPArg>{at});
}

void GroupReduction::storeIf(Value condition, Value value, Value slot) {
  auto branch = scf::IfOp::create(builder, loc, TypeRange(), condition, /*withElse=*/false);
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
