//===- HLSVerify.cpp - constraints of tw_hls that vendors' tools rely on -----===//
//
// The error message of each constraint contains the label of the constraint in HLSOps.td.
// test/Dialects/HLS/invalid.mlir has a case for each constraint.
//
//===----------------------------------------------------------------------===//
#include "dialects/HLS/HLS.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/AffineMap.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace tilewright::hls {
namespace {

LogicalResult verifyLoop(Operation *op, LoopAttr loop) {
  auto affineFor = dyn_cast<affine::AffineForOp>(op);
  if (!affineFor)
    return op->emitError("loop_c1: tw_hls.loop belongs on affine.for");
  if (!affineFor.hasConstantBounds() || affineFor.getStepAsInt() != 1)
    return op->emitError("loop_c1: loop '") << loop.getLabel() << "' has no constant bounds, or a step other than 1";
  const int64_t trips = affineFor.getConstantUpperBound() - affineFor.getConstantLowerBound();
  if (trips <= 0 || trips % loop.getUnroll() != 0)
    return op->emitError("loop_c2: loop '")
           << loop.getLabel() << "' of " << trips << " trips cannot be unrolled by " << loop.getUnroll();
  if (loop.getIi() > 0) {
    WalkResult walked = affineFor.getBody()->walk([&](affine::AffineForOp inner) {
      auto its = inner->getAttrOfType<LoopAttr>(loopAttrName);
      if (its && inner.hasConstantBounds() &&
          its.getUnroll() == inner.getConstantUpperBound() - inner.getConstantLowerBound())
        return WalkResult::advance();
      inner.emitError("loop_c3: this loop is inside the pipelined loop '")
          << loop.getLabel() << "' and is not fully unrolled";
      return WalkResult::interrupt();
    });
    if (walked.wasInterrupted())
      return failure();
  }
  if (loop.getDistance() > 0 && loop.getIi() == 0)
    return op->emitError("loop_c5: loop '") << loop.getLabel() << "' has a distance but is not pipelined";
  Block &body = *affineFor.getBody();
  if (loop.getFlatten() && !(llvm::hasNItems(body, 2) && isa<affine::AffineForOp>(body.front())))
    return op->emitError("loop_c4: loop '")
           << loop.getLabel() << "' cannot be flattened, because its body is not exactly one loop";
  return success();
}

LogicalResult verifySchedule(Operation *op, ScheduleAttr schedule) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp)
    return op->emitError("schedule_c1: tw_hls.schedule belongs on a linalg op");
  const unsigned loops = linalgOp.getNumLoops();
  SmallVector<int64_t> order(schedule.getOrder());
  llvm::sort(order);
  if (schedule.getUnroll().size() != loops || !llvm::equal(order, llvm::seq<int64_t>(0, loops)))
    return op->emitError("schedule_c1: the op has ") << loops << " loops, which its schedule does not order";
  SmallVector<int64_t> sizes = linalgOp.getStaticLoopRanges();
  if (ArrayRef<int64_t> block = schedule.getBlock(); !block.empty()) {
    if (block.size() != 2 || block[0] < 0 || block[0] >= int64_t(loops) || block[1] < 1 || sizes[block[0]] % block[1])
      return op->emitError("schedule_c2: a block is a loop of the op and a divisor of its size");
    sizes[block[0]] = block[1];
  }
  for (auto [size, unroll] : llvm::zip(sizes, schedule.getUnroll()))
    if (unroll < 1 || (!ShapedType::isDynamic(size) && size % unroll != 0))
      return op->emitError("schedule_c1: a loop of ") << size << " trips cannot be unrolled by " << unroll;
  return success();
}

/// The task that writes a channel or a port, and the task that reads it, in one dataflow region.
struct Users {
  TaskOp writer, reader;
};

} // namespace

LogicalResult HLSDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (auto loop = dyn_cast<LoopAttr>(attribute.getValue()))
    return verifyLoop(op, loop);
  if (auto schedule = dyn_cast<ScheduleAttr>(attribute.getValue()))
    return verifySchedule(op, schedule);
  return success();
}

LogicalResult HLSDialect::verifyRegionArgAttribute(Operation *op, unsigned region, unsigned argument,
                                                   NamedAttribute attribute) {
  auto interface = dyn_cast<InterfaceAttr>(attribute.getValue());
  if (!interface)
    return success();
  Type type = op->getRegion(region).getArgument(argument).getType();
  auto memory = dyn_cast<MemRefType>(type);
  bool fits = false;
  switch (interface.getProtocol()) {
  case Protocol::AxiMaster:
    fits = memory && memoryOf(memory) == Memory::Dram && interface.getBundle();
    break;
  case Protocol::AxiLite:
    fits = type.isIntOrIndexOrFloat();
    break;
  case Protocol::Stream:
    fits = isa<StreamType>(type);
    break;
  }
  if (fits && isIdentifier(interface.getName()))
    return success();
  return op->emitError("interface_c1: port '")
         << interface.getName() << "' of type " << type << " cannot be " << stringifyProtocol(interface.getProtocol())
         << " (a memref in dram with a bundle is axi_master, a scalar axi_lite, a stream stream)";
}

LogicalResult BufferOp::verify() {
  auto type = cast<MemRefType>(getMemory().getType());
  if (!isIdentifier(getName()) || memoryOf(type) == Memory::Dram)
    return emitOpError("buffer_c1: '") << getName()
                                       << "' is not a C identifier, or its memory is dram, which is off-chip";
  if (auto value = getValue(); value && cast<ShapedType>(value->getType()).getShape() != type.getShape())
    return emitOpError("buffer_c2: '") << getName() << "' has a value of type " << value->getType();
  return success();
}

LogicalResult TaskOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto callee = symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, getCalleeAttr());
  if (!callee)
    return emitOpError("task_c1: there is no function @") << getCallee();
  if (TypeRange(callee.getArgumentTypes()) != TypeRange(getOperandTypes()) || callee.getNumResults() != 0)
    return emitOpError("task_c1: @") << getCallee() << " is of type " << callee.getFunctionType()
                                     << ", which does not match these operands";
  return success();
}

LogicalResult DataflowOp::verify() {
  llvm::MapVector<Value, Users> users;
  llvm::DenseMap<Operation *, int64_t> position;
  int64_t next = 0;
  for (Operation &op : getBody().front()) {
    position[&op] = next++;
    if (isa<BufferOp, StreamOp>(op))
      users[op.getResult(0)];
    else if (!isa<TaskOp>(op))
      return op.emitError("dataflow_c1: a dataflow region contains buffers, streams and tasks, not '")
             << op.getName() << "'";
  }
  llvm::DenseMap<StringAttr, TaskOp> bundles;
  auto function = (*this)->getParentOfType<func::FuncOp>();
  // The errors about two tasks have a note at the first task.
  auto conflict = [](TaskOp task, TaskOp other) {
    InFlightDiagnostic error = task.emitOpError();
    error.attachNote(other.getLoc()) << "the task of @" << other.getCallee() << " is here";
    return error;
  };
  auto use = [&](TaskOp task, Value value, bool writes) -> LogicalResult {
    const bool isPort = isa<BlockArgument>(value);
    Users &of = users[value];
    TaskOp &mine = writes ? of.writer : of.reader;
    TaskOp &other = writes ? of.reader : of.writer;
    if (mine && isPort)
      return conflict(task, mine) << "dataflow_c4: it uses a port that @" << mine.getCallee() << " already uses";
    if (mine)
      return conflict(task, mine) << "dataflow_c2: " << (writes ? "writes" : "reads") << " a channel that @"
                                  << mine.getCallee() << (writes ? " writes" : " reads")
                                  << " already; a channel has one " << (writes ? "producer" : "consumer");
    mine = task;
    if (other == task)
      return task.emitOpError("dataflow_c3: @")
             << task.getCallee() << " reads a channel that it writes, but feedback is not allowed";
    if (isPort && other)
      return conflict(task, other) << "dataflow_c4: it uses a port that @" << other.getCallee() << " already uses";
    if (!isPort || !function)
      return success();
    auto interface =
        function.getArgAttrOfType<InterfaceAttr>(cast<BlockArgument>(value).getArgNumber(), interfaceAttrName);
    if (!interface || !interface.getBundle())
      return success();
    auto [entry, isNew] = bundles.try_emplace(interface.getBundle(), task);
    if (!isNew && entry->second != task)
      return conflict(task, entry->second) << "dataflow_c4: bundle '" << interface.getBundle().getValue()
                                           << "' belongs to @" << entry->second.getCallee() << " already";
    return success();
  };
  for (auto task : getBody().getOps<TaskOp>()) {
    for (Value value : task.getReads())
      if (failed(use(task, value, /*writes=*/false)))
        return failure();
    for (Value value : task.getWrites())
      if (failed(use(task, value, /*writes=*/true)))
        return failure();
  }
  for (auto &[value, of] : users) {
    Operation *channel = value.getDefiningOp();
    if (!channel || channel->getBlock() != &getBody().front())
      continue;
    auto buffer = dyn_cast<BufferOp>(channel);
    const bool rom = buffer && buffer.getValue();
    if (!of.reader || (!of.writer && !rom) || (of.writer && rom))
      return channel->emitOpError("dataflow_c2: a channel has one producer and one consumer (a ROM no producer)");
    if (of.writer && position[of.writer] > position[of.reader])
      return of.writer.emitOpError("dataflow_c3: writes a channel that the earlier task @")
             << of.reader.getCallee() << " reads, but feedback is not allowed";
  }
  return success();
}

} // namespace tilewright::hls
