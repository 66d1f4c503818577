//===- StreamChannels.cpp - --tw-hls-stream-channels: replace arrays by queues ----------------===//
//
// Before:
//   %a = tw_hls.buffer "a" : memref<8x6xf32> ; task @load_x writes(%a) ; task @exp reads(%a)
// After:
//   %a = tw_hls.stream "a" : !tw_hls.stream<f32, 2>
//
// An array of several elements becomes a queue if its producer stores each element once, and its consumer loads each
// element once, both in row-major order and one element per iteration. If the producer and the consumer traverse the
// array in the same blocks instead, the array becomes a queue of blocks (BlockChannels.h). ROMs, and the arrays of a
// kernel that is launched more than once, are not changed. Then the pass simulates the accesses of all queues
// (ReplayDataflow.h) to find queue depths without deadlocks. For example, if a queue connects two tasks that are also
// connected by a path through arrays, the queue must store all elements until the tasks on this path have ended.
// Finally, the pass changes the tasks that copy data between ports and arrays, or between arrays, so that they copy
// several elements per cycle if possible (WidenMovers.cpp).
//
// Test: test/Codegen/HLS/stream-channels.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/HLS/HLS.h"
#include "lib/Codegen/HLS/BlockChannels.h"
#include "lib/Codegen/HLS/DataMovers.h"
#include "lib/Codegen/HLS/Names.h"
#include "lib/Codegen/HLS/QueueAccess.h"
#include "lib/Codegen/HLS/ReplayDataflow.h"
#include "tilewright/Passes.h"
#include <limits>

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_HLSSTREAMCHANNELS
#include "tilewright/Passes.h.inc"
} // namespace tilewright

namespace tilewright::hls {
namespace {

/// Returns the only access of `array` if it is a store and `store` is true, or if it is a load and `store` is false.
/// Returns null otherwise.
Operation *onlyAccess(Value array, bool store) {
  if (!array.hasOneUse())
    return nullptr;
  Operation *user = *array.user_begin();
  if (store) {
    auto its = dyn_cast<affine::AffineStoreOp>(user);
    return its && its.getMemRef() == array ? user : nullptr;
  }
  return isa<affine::AffineLoadOp>(user) ? user : nullptr;
}

/// Returns true if `access` accesses each element of its array once, in row-major order, in loops that are not
/// unrolled.
bool inOrder(Operation *access, MemRefType type, AffineMap map, ValueRange operands) {
  SmallVector<affine::AffineForOp> loops;
  for (Operation *parent = access->getParentOp(); !isa<func::FuncOp>(parent); parent = parent->getParentOp()) {
    auto loop = dyn_cast<affine::AffineForOp>(parent);
    if (!loop || !loop.hasConstantBounds() || loop.getConstantLowerBound() != 0)
      return false;
    auto attribute = loop->getAttrOfType<LoopAttr>(loopAttrName);
    if (!attribute || attribute.getUnroll() != 1)
      return false;
    loops.push_back(loop);
  }
  // Compute the linear index of the accessed element and the number of the iteration, as expressions of the loop
  // counters.
  Builder builder(access->getContext());
  SmallVector<AffineExpr> counters(map.getNumInputs());
  AffineExpr number = builder.getAffineConstantExpr(0);
  int64_t iterations = 1;
  for (auto [depth, loop] : llvm::enumerate(llvm::reverse(loops))) {
    for (auto [position, operand] : llvm::enumerate(operands))
      if (operand == loop.getInductionVar())
        counters[position] = builder.getAffineDimExpr(depth);
    number = number * loop.getConstantUpperBound() + builder.getAffineDimExpr(depth);
    iterations *= loop.getConstantUpperBound();
  }
  if (iterations != type.getNumElements() || !llvm::all_of(counters, [](AffineExpr expr) { return bool(expr); }))
    return false;
  AffineExpr linear = builder.getAffineConstantExpr(0);
  AffineMap overLoops = map.replaceDimsAndSymbols(counters, {}, loops.size(), 0);
  for (auto [size, expr] : llvm::zip(type.getShape(), overLoops.getResults()))
    linear = linear * size + expr;
  return simplifyAffineExpr(linear - number, loops.size(), 0) == builder.getAffineConstantExpr(0);
}

bool inOrder(Operation *access, MemRefType type) {
  if (auto load = dyn_cast<affine::AffineLoadOp>(access))
    return inOrder(access, type, load.getAffineMap(), load.getMapOperands());
  auto store = cast<affine::AffineStoreOp>(access);
  return inOrder(access, type, store.getAffineMap(), store.getMapOperands());
}

class Streamer {
public:
  explicit Streamer(func::FuncOp top) : top(top), module(top->getParentOfType<ModuleOp>()) {
    top.walk([&](TaskOp task) {
      tasks.push_back(task);
      functions.push_back(module.lookupSymbol<func::FuncOp>(task.getCallee()));
    });
  }

  LogicalResult run() {
    SmallVector<BufferOp> buffers;
    top.walk([&](BufferOp buffer) { buffers.push_back(buffer); });
    for (BufferOp buffer : buffers)
      stream(buffer);
    return size();
  }

private:
  /// Returns the argument through which a task writes or reads `channel`. Returns null if no task does this, or if the
  /// task's function has several calls.
  BlockArgument argumentOf(Value channel, bool writes) {
    for (auto [task, function] : llvm::zip(tasks, functions)) {
      if (!llvm::is_contained(writes ? task.getWrites() : task.getReads(), channel))
        continue;
      if (llvm::count(functions, function) > 1)
        return {};
      unsigned position = llvm::find(task->getOperands(), channel) - task->operand_begin();
      return function.getArgument(position);
    }
    return {};
  }

  void stream(BufferOp buffer) {
    auto type = cast<MemRefType>(buffer.getMemory().getType());
    if (buffer.getValue() || type.getNumElements() < 2)
      return;
    BlockArgument written = argumentOf(buffer.getMemory(), true), read = argumentOf(buffer.getMemory(), false);
    if (!written || !read)
      return;
    Operation *store = onlyAccess(written, true), *load = onlyAccess(read, false);
    const bool oneByOne = store && load && inOrder(store, cast<MemRefType>(written.getType())) &&
                          inOrder(load, cast<MemRefType>(read.getType()));
    if (!oneByOne)
      return streamBlocks(buffer, written, read);
    auto queue = StreamType::get(top.getContext(), type.getElementType(), 2);
    OpBuilder builder(buffer);
    auto made = StreamOp::create(builder, buffer.getLoc(), queue, buffer.getNameAttr());
    buffer.getMemory().replaceAllUsesWith(made.getQueue());
    buffer.erase();
    accessQueue(written, store, queue);
    accessQueue(read, load, queue);
    streams.push_back({made, written, read});
  }

  /// Replaces the array by a queue of blocks if the producer and the consumer access it in the same blocks.
  void streamBlocks(BufferOp buffer, BlockArgument written, BlockArgument read) {
    std::optional<ArrayBlocks> blocks = blocksOf(written);
    if (!blocks || !(blocksOf(read) == blocks))
      return;
    auto queue = StreamType::get(top.getContext(), blocks->type, 2);
    OpBuilder builder(buffer);
    auto made = StreamOp::create(builder, buffer.getLoc(), queue, buffer.getNameAttr());
    buffer.getMemory().replaceAllUsesWith(made.getQueue());
    buffer.erase();
    lockBlocks(written, *blocks, queue, true);
    lockBlocks(read, *blocks, queue, false);
    streams.push_back({made, written, read});
  }

  LogicalResult size() {
    for (func::FuncOp function : functions)
      function.setType(FunctionType::get(function.getContext(), function.getBody().getArgumentTypes(), {}));
    if (streams.empty())
      return success();
    std::vector<ReplayTask> replay(tasks.size());
    llvm::DenseMap<Value, size_t> writerOf;
    for (auto [number, task] : llvm::enumerate(tasks)) {
      for (Value value : task.getReads())
        if (isa<MemRefType>(value.getType()) && writerOf.contains(value))
          replay[number].after.push_back(writerOf[value]);
      for (Value value : task.getWrites())
        writerOf[value] = number;
      functions[number].walk([&](Operation *op) {
        auto read = dyn_cast<ReadOp>(op);
        auto write = dyn_cast<WriteOp>(op);
        if (!read && !write)
          return;
        const size_t queue = queueOf(read ? read.getStream() : write.getStream(), write != nullptr);
        if (queue == streams.size())
          return; // skip ports of the design, which the test bench fills and empties
        // All accesses in one loop body form one nest of the replay, because they alternate. Each other loop body is a
        // separate nest.
        std::vector<ReplayNest> &nests = replay[number].nests;
        if (nests.empty() || lastBlock != op->getBlock()) {
          int64_t iterations = 1;
          for (Operation *parent = op->getParentOp(); !isa<func::FuncOp>(parent); parent = parent->getParentOp())
            iterations *= cast<affine::AffineForOp>(parent).getConstantUpperBound();
          nests.push_back({iterations, {}});
          lastBlock = op->getBlock();
        }
        nests.back().accesses.push_back({queue, write != nullptr});
      });
      addLocks(functions[number], replay[number].nests);
    }
    std::vector<int64_t> least(streams.size(), 2);
    least.resize(2 * streams.size(), std::numeric_limits<int64_t>::max());
    std::vector<int64_t> depths = sizeQueues(replay, std::move(least));
    if (depths.empty())
      return top.emitError(
          "the tasks of this design would wait for each other, whatever the depths of their queues are");
    for (auto [stream, depth] : llvm::zip_first(streams, depths)) {
      auto type =
          StreamType::get(top.getContext(), cast<StreamType>(stream.op.getQueue().getType()).getElement(), depth);
      stream.op.getQueue().setType(type);
      stream.written.setType(type);
      stream.read.setType(type);
    }
    for (func::FuncOp function : functions)
      function.setType(FunctionType::get(function.getContext(), function.getBody().getArgumentTypes(), {}));
    return success();
  }

  size_t queueOf(Value argument, bool writes) {
    auto is = [&](const Stream &stream) { return argument == (writes ? stream.written : stream.read); };
    return llvm::find_if(streams, is) - streams.begin();
  }

  /// Models a queue of blocks as two queues of the replay. The first queue counts the used memories, and has the depth
  /// of the queue of blocks: the producer acquires a memory before it begins a block, and the consumer releases the
  /// memory after the block. The second queue counts the blocks that the producer has completed.
  void addLocks(func::FuncOp function, std::vector<ReplayNest> &nests) {
    ReplayNest before, after;
    int64_t blocks = 1;
    function.walk([&](LockOp lock) {
      blocks = cast<affine::AffineForOp>(lock->getParentOp()).getConstantUpperBound();
      const bool writes = lock.getWrites();
      const size_t memory = queueOf(lock.getStream(), writes), content = streams.size() + memory;
      before.accesses.push_back({writes ? memory : content, writes});
      after.accesses.push_back({writes ? content : memory, writes});
    });
    if (before.accesses.empty() && after.accesses.empty())
      return;
    before.iterations = after.iterations = 1;
    std::vector<ReplayNest> inside = std::move(nests);
    nests.clear();
    for (int64_t block = 0; block < blocks; ++block) {
      nests.push_back(before);
      for (ReplayNest nest : inside) {
        nest.iterations /= blocks;
        nests.push_back(std::move(nest));
      }
      nests.push_back(after);
    }
  }

  struct Stream {
    StreamOp op;
    BlockArgument written, read;
  };
  func::FuncOp top;
  ModuleOp module;
  SmallVector<TaskOp> tasks;
  SmallVector<func::FuncOp> functions;
  SmallVector<Stream> streams;
  Block *lastBlock = nullptr;
};

struct HlsStreamChannels : impl::HlsStreamChannelsBase<HlsStreamChannels> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(topAttrName)) {
        if (failed(Streamer(function).run()))
          return signalPassFailure();
        widenMovers(function); // widen the movers of the arrays that have not become queues
      }
  }
};

} // namespace
} // namespace tilewright::hls
