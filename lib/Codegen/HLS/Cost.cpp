//===- Cost.cpp - estimated cycles and resources of hardware ---------------------------===//
//
// A pipelined nest takes depth + II * (iterations - 1) + 2 cycles. Estimate/Operators.cpp has the costs of operators.
//
// Test: test/Codegen/HLS/design.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/Cost.h"
#include "dialects/HLS/HLS.h"
#include "lib/Codegen/HLS/Cpp.h"
#include "lib/Codegen/HLS/PrintCpp.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include <limits>

using namespace mlir;

namespace tilewright::hls {
namespace {

/// Estimates cycles and multipliers of a block whose statements run one after another; its nests are appended to
/// `nests`.
struct BlockEstimator {
  std::vector<NestEstimate> &nests;
  bool shares;

  NestEstimate nest(affine::AffineForOp loop) {
    if (isBlockLoop(loop))
      return blocks(loop);
    NestEstimate estimate;
    estimate.iterations = 1;
    affine::AffineForOp at = loop;
    while (true) {
      auto attribute = at->getAttrOfType<LoopAttr>(loopAttrName);
      estimate.iterations *= at.getConstantUpperBound() - at.getConstantLowerBound();
      if (attribute) {
        estimate.label = attribute.getLabel().str();
        if (attribute.getIi() > 0) {
          estimate.ii = attribute.getIi();
          break;
        }
      }
      auto inner = dyn_cast<affine::AffineForOp>(at.getBody()->front());
      if (!inner || !llvm::hasNItems(*at.getBody(), 2))
        break;
      at = inner;
    }
    BodyCost body = bodyCost(*at.getBody());
    at.getBody()->walk([&](affine::AffineForOp inner) {
      estimate.copies *= inner.getConstantUpperBound() - inner.getConstantLowerBound();
    });
    // An operator starts one operation per cycle, so II operations of an iteration can share it.
    const int64_t sharers = shares ? std::max<int64_t>(1, estimate.ii) : 1;
    const int64_t sharedOperands = sharers > 1 ? 2 * body.operators : 0;
    estimate.dsp = llvm::divideCeil(body.dsp, sharers);
    estimate.lut = llvm::divideCeil(body.lut, sharers) + sharedOperands * sharedOperand().lut + nestControl().lut;
    estimate.ff = llvm::divideCeil(body.ff, sharers) + sharedOperands * sharedOperand().ff + nestControl().ff;
    estimate.macs = body.macs * estimate.iterations;
    estimate.cycles = estimate.ii > 0 ? nestCycles(estimate.iterations, estimate.ii, body.depth)
                                      : estimate.iterations * (body.depth + 1) + 2;
    return estimate;
  }

  /// Estimates a loop over blocks. The label, the II and the iterations are those of the last nest in the body. The
  /// iterations, and the products of all nests in the body, are multiplied by the trip count. The resources are those
  /// of the body. blockLoopCycles() computes the cycles.
  NestEstimate blocks(affine::AffineForOp loop) {
    std::vector<NestEstimate> inside;
    const int64_t trips = loop.getConstantUpperBound();
    auto [cycles, dsp] = BlockEstimator{inside, shares}.block(*loop.getBody());
    NestEstimate all = inside.empty() ? NestEstimate() : inside.back();
    for (const NestEstimate &other : llvm::drop_end(inside)) {
      all.lut += other.lut;
      all.ff += other.ff;
      all.macs += other.macs;
    }
    all.iterations *= trips;
    all.macs *= trips;
    all.cycles = blockLoopCycles(trips, cycles);
    all.dsp = dsp;
    all.blocks = trips;
    return all;
  }

  std::pair<int64_t, int64_t> block(Block &block) {
    int64_t cycles = 0, dsp = 0;
    for (Operation &op : block) {
      if (auto loop = dyn_cast<affine::AffineForOp>(op)) {
        NestEstimate estimate = nest(loop);
        cycles += estimate.cycles;
        dsp += estimate.dsp;
        nests.push_back(std::move(estimate));
        continue;
      }
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        auto [inner, used] = this->block(*loop.getBody());
        std::optional<llvm::APInt> trips = loop.getStaticTripCount();
        cycles += (trips ? trips->getSExtValue() : 1) * (inner + 1) + 2;
        dsp += used;
        continue;
      }
      OperatorCost cost = operatorCost(&op);
      cycles += cost.latency;
      dsp += cost.dsp;
      for (Region &region : op.getRegions())
        for (Block &inner : region) {
          auto [more, used] = this->block(inner);
          cycles += more;
          dsp += used;
        }
    }
    return {cycles, dsp};
  }
};

/// Returns the number of block memories for one memory of `depth` words of `width` bits; 0 if lookup tables can store
/// it. A block memory has 512 words of 36 bits, 1024 words of 18 bits, 2048 words of 9 bits, and so on (AMD UG573,
/// UG473). A memory with wider words, or with more words, takes several block memories.
int64_t blocksFor(int64_t depth, int64_t width) {
  constexpr int64_t bitsInLuts = 1024;
  if (depth * width <= bitsInLuts)
    return 0;
  constexpr std::pair<int64_t, int64_t> forms[] = {{512, 36}, {1024, 18}, {2048, 9}, {4096, 4}, {8192, 2}, {16384, 1}};
  int64_t least = std::numeric_limits<int64_t>::max();
  for (auto [words, bits] : forms)
    least = std::min<int64_t>(least, llvm::divideCeil(depth, words) * llvm::divideCeil(width, bits));
  return least;
}

/// Computes when each task of a design ends. A task starts when its operands are ready.
class Chain {
public:
  void add(TaskOp task, int64_t cycles, int64_t blocks) { steps.push_back({task, cycles, blocks}); }

  int64_t latency() {
    // A full queue of blocks delays its producer until its consumer, which is later in the list, releases a block.
    // Therefore, iterate until no time changes.
    bool changes = true;
    while (changes) {
      changes = false;
      for (const Step &step : steps)
        changes |= advance(step);
    }
    int64_t last = 0;
    for (auto &[value, time] : ended)
      last = std::max(last, time);
    return last;
  }

private:
  struct Step {
    TaskOp task;
    int64_t cycles, blocks;
  };

  static bool isBlocks(Value value) {
    auto stream = dyn_cast<StreamType>(value.getType());
    return stream && isa<MemRefType>(stream.getElement());
  }

  bool advance(const Step &step) {
    // As in the generated Verilog, the consumer of a queue starts two cycles after the producer, and ends at least two
    // cycles after the producer.
    constexpr int64_t queueLatency = 2;
    int64_t start = 0, end = 0;
    TaskOp task = step.task;
    for (Value value : task.getReads()) {
      start = std::max(start, ready.lookup(value));
      if (isa<StreamType>(value.getType()) && !isBlocks(value))
        end = std::max(end, ended.lookup(value) + queueLatency);
    }
    // The consumer can read a block after the producer has written it. The producer can start a block after the
    // consumer has released the memory of the block that is `depth` blocks earlier.
    bool changes = false;
    const int64_t each = step.cycles / step.blocks;
    std::vector<int64_t> ends;
    int64_t at = start;
    for (int64_t block = 0; block < step.blocks; ++block) {
      for (Value value : task.getReads())
        if (auto found = handedOn.find(value); isBlocks(value) && found != handedOn.end())
          at = std::max(at, found->second[block]);
      for (Value value : task.getWrites())
        if (auto found = givenBack.find(value); isBlocks(value) && found != givenBack.end())
          if (const int64_t depth = cast<StreamType>(value.getType()).getDepth(); block >= depth)
            at = std::max(at, found->second[block - depth]);
      if (block == 0)
        start = at;
      at += each;
      ends.push_back(at);
    }
    end = std::max(end, at + step.cycles - each * step.blocks);
    for (Value value : task.getReads())
      if (isBlocks(value))
        changes |= std::exchange(givenBack[value], ends) != ends;
    for (Value value : task.getWrites()) {
      const bool queue = isa<StreamType>(value.getType());
      if (isBlocks(value))
        changes |= std::exchange(handedOn[value], ends) != ends;
      const int64_t begins = isBlocks(value) ? 0 : queue ? start + queueLatency : end;
      changes |= std::exchange(ready[value], begins) != begins;
      changes |= std::exchange(ended[value], end) != end;
    }
    return changes;
  }

  std::vector<Step> steps;
  /// Ready: cycle at which a task's result may be read; ended: cycle at which it is complete.
  llvm::DenseMap<Value, int64_t> ready, ended;
  /// HandedOn: cycles at which blocks are written; givenBack: cycles at which they are released.
  llvm::DenseMap<Value, std::vector<int64_t>> handedOn, givenBack;
};

/// Returns the cycles that each iteration of an unrolled loop after the first adds to the latency. If all iterations
/// update the same element, the updates are executed one after another. Otherwise, returns 0.
int64_t chainThrough(affine::AffineForOp loop) {
  int64_t longest = 0;
  loop.walk([&](affine::AffineStoreOp store) {
    if (llvm::is_contained(store.getMapOperands(), loop.getInductionVar()))
      return;
    for (Operation *user : store.getMemRef().getUsers())
      if (auto load = dyn_cast<affine::AffineLoadOp>(user); load && load->getBlock() == store->getBlock())
        longest = std::max(longest, chainLatency(load.getResult(), store.getValueToStore()));
  });
  return longest;
}

/// Returns true if `product` is added to an element of an array, as in a multiply-accumulate.
bool isAccumulated(Value product) {
  while (product.hasOneUse()) {
    Operation *user = *product.user_begin();
    if (auto store = dyn_cast<affine::AffineStoreOp>(user))
      return llvm::any_of(store.getMemRef().getUsers(), [&](Operation *other) {
        auto load = dyn_cast<affine::AffineLoadOp>(other);
        return load && load->getBlock() == store->getBlock() && load.getAffineMap() == store.getAffineMap() &&
               load.getMapOperands() == store.getMapOperands();
      });
    if (!isa<arith::AddFOp, arith::AddIOp, arith::SubFOp, arith::SubIOp>(user) && !isa<CastOpInterface>(user))
      return false;
    product = user->getResult(0);
  }
  return false;
}

/// Returns true if the task copies data to or from a port.
bool usesPort(TaskOp task) { return llvm::any_of(task->getOperands(), llvm::IsaPred<BlockArgument>); }

} // namespace

unsigned widthOf(Type element) { return element.isIndex() ? 32 : element.getIntOrFloatBitWidth(); }

bool mayBeInFabric(Operation *op) {
  return isa<arith::AddFOp, arith::SubFOp>(op) && op->getResult(0).getType().isF32();
}

OperatorCost operatorCost(Operation *op) {
  if (isa<affine::AffineLoadOp, memref::LoadOp>(op))
    return {1, 0, loadOperator().lut, loadOperator().ff};
  if (isa<affine::AffineStoreOp, memref::StoreOp>(op))
    return {1, 0, storeOperator().lut, storeOperator().ff};
  if (isa<ReadOp, WriteOp>(op))
    return queueOperator();
  if (op->getNumResults() != 1 || op->getNumOperands() == 0 ||
      isa<arith::ConstantOp, affine::AffineApplyOp, arith::IndexCastOp, LockOp>(op))
    return {};
  Type type = getElementTypeOrSelf(op->getOperand(0).getType());
  if (isa<arith::SelectOp>(op) || type.isIndex())
    return {};
  if (mayBeInFabric(op) && (op->hasAttr(fabricAttrName) || op->getParentOp()->hasAttr(fabricAttrName)))
    return quickAddition();
  if (isa<FloatType>(type) || isa<FloatType>(op->getResult(0).getType()))
    return floatOperator(op->getName().stripDialect(), isa<FloatType>(type) ? type.getIntOrFloatBitWidth() : 32);
  if (isa<arith::MulIOp>(op)) {
    // The cost depends on the width of the wider operand. For an operand that is an extension, this is the width before
    // the extension.
    unsigned width = 0;
    for (Value operand : op->getOperands()) {
      Operation *from = operand.getDefiningOp();
      Value source = from && isa<arith::ExtSIOp, arith::ExtUIOp>(from) ? from->getOperand(0) : operand;
      width = std::max(width, source.getType().getIntOrFloatBitWidth());
    }
    return integerProduct(width);
  }
  return integerOperator(isa<IntegerType>(type) ? type.getIntOrFloatBitWidth() : 32);
}

BodyCost bodyCost(Block &body) {
  BodyCost cost;
  llvm::DenseMap<Value, int64_t> ready;
  for (Operation &op : body) {
    int64_t start = 0;
    for (Value operand : op.getOperands())
      start = std::max(start, ready.lookup(operand));
    OperatorCost its = operatorCost(&op);
    cost.dsp += its.dsp;
    cost.lut += its.lut;
    cost.ff += its.ff;
    cost.macs += isa<arith::MulFOp, arith::MulIOp>(op) && isAccumulated(op.getResult(0));
    cost.operators += its.latency > 0 && !isa<affine::AffineLoadOp, affine::AffineStoreOp, ReadOp, WriteOp>(op);
    int64_t copies = 1;
    int64_t added = 0;
    if (auto loop = dyn_cast<affine::AffineForOp>(op)) {
      copies = loop.getConstantUpperBound() - loop.getConstantLowerBound();
      added = (copies - 1) * chainThrough(loop);
    }
    for (Region &region : op.getRegions())
      for (Block &inner : region) {
        BodyCost more = bodyCost(inner);
        its.latency = std::max(its.latency, more.depth + added);
        cost.dsp += more.dsp * copies;
        cost.lut += more.lut * copies;
        cost.ff += more.ff * copies;
        cost.operators += more.operators * copies;
        cost.macs += more.macs * copies;
      }
    for (Value result : op.getResults())
      ready[result] = start + its.latency;
    cost.depth = std::max(cost.depth, start + its.latency);
  }
  return cost;
}

int64_t chainLatency(Value from, Value to) {
  if (from == to)
    return 0;
  Operation *op = to.getDefiningOp();
  if (!op || op->getBlock() != from.getParentBlock())
    return -1;
  int64_t longest = -1;
  for (Value operand : op->getOperands())
    longest = std::max(longest, chainLatency(from, operand));
  return longest < 0 ? -1 : longest + operatorCost(op).latency;
}

int64_t nestCycles(int64_t iterations, int64_t ii, int64_t depth) { return depth + ii * (iterations - 1) + 2; }

int64_t blockCycles(int64_t inside) { return inside + 2; }
int64_t blockLoopCycles(int64_t blocks, int64_t inside) { return blocks * blockCycles(inside) + 2; }

bool isBlockLoop(affine::AffineForOp loop) {
  auto attribute = loop->getAttrOfType<LoopAttr>(loopAttrName);
  return attribute && attribute.getIi() == 0 && attribute.getUnroll() == 1 && !attribute.getFlatten() &&
         isa<func::FuncOp>(loop->getParentOp());
}

int64_t blockMemories(MemRefType type) {
  if (memoryOf(type) != Memory::Bram && memoryOf(type) != Memory::BramWords)
    return 0;
  PartitionAttr partition = banksOf(type);
  const int64_t banks = partition ? partition.getBanks(type.getShape()) : 1;
  if (memoryOf(type) == Memory::BramWords)
    return blocksFor(llvm::divideCeil(type.getNumElements(), banks), banks * widthOf(type.getElementType()));
  return banks * blocksFor(llvm::divideCeil(type.getNumElements(), banks), widthOf(type.getElementType()));
}

int64_t ultraMemories(MemRefType type) {
  if (!isUltra(memoryOf(type)))
    return 0;
  constexpr int64_t words = 4096, bits = 72; // AMD UG573
  PartitionAttr partition = banksOf(type);
  const int64_t banks = partition ? partition.getBanks(type.getShape()) : 1;
  if (memoryOf(type) == Memory::UramWords)
    return llvm::divideCeil(llvm::divideCeil(type.getNumElements(), banks), words) *
           llvm::divideCeil(banks * widthOf(type.getElementType()), bits);
  return banks * llvm::divideCeil(llvm::divideCeil(type.getNumElements(), banks), words) *
         llvm::divideCeil(widthOf(type.getElementType()), bits);
}

int64_t blockMemories(StreamType type) {
  if (auto block = dyn_cast<MemRefType>(type.getElement()))
    return type.getDepth() * blockMemories(block);
  return blocksFor(type.getDepth(), widthOf(type.getElement()));
}

DesignEstimate estimateDesign(func::FuncOp top, bool shares) {
  DesignEstimate design;
  auto module = top->getParentOfType<ModuleOp>();
  Chain all, inside;
  top.walk([&](Operation *op) {
    if (auto buffer = dyn_cast<BufferOp>(op)) {
      const int64_t blocks = blockMemories(cast<MemRefType>(buffer.getMemory().getType()));
      if (buffer.getValue())
        design.romBram += blocks;
      else // a channel has two arrays: one is written while the other is read
        design.channelBram += 2 * blocks, design.oneCallBram -= blocks;
      design.total.uram += 2 * ultraMemories(cast<MemRefType>(buffer.getMemory().getType()));
    }
    if (auto stream = dyn_cast<StreamOp>(op)) {
      auto type = cast<StreamType>(stream.getQueue().getType());
      QueueEstimate queue{stream.getName().str(), streamType(type), "", "", type.getDepth(), blockMemories(type)};
      for (Operation *user : stream.getQueue().getUsers()) {
        auto task = cast<TaskOp>(user);
        (llvm::is_contained(task.getWrites(), stream.getQueue()) ? queue.from : queue.to) = task.getCallee().str();
      }
      design.channelBram += queue.bram;
      design.queues.push_back(std::move(queue));
      design.lut += queueLane().lut;
      design.ff += queueLane().ff;
    }
    auto task = dyn_cast<TaskOp>(op);
    if (!task)
      return;
    auto function = module.lookupSymbol<func::FuncOp>(task.getCallee());
    TaskEstimate estimate;
    estimate.name = task.getCallee().str();
    std::tie(estimate.cycles, estimate.dsp) = BlockEstimator{estimate.nests, shares}.block(function.getBody().front());
    function.walk([&](BufferOp buffer) {
      auto type = cast<MemRefType>(buffer.getMemory().getType());
      estimate.bram += blockMemories(type);
      design.total.uram += ultraMemories(type);
    });
    for (const NestEstimate &nest : estimate.nests)
      estimate.blocks = std::max(estimate.blocks, nest.blocks);
    all.add(task, estimate.cycles, estimate.blocks);
    inside.add(task, usesPort(task) ? 0 : estimate.cycles, estimate.blocks);
    design.interval = std::max(design.interval, estimate.cycles);
    for (const NestEstimate &nest : estimate.nests) {
      estimate.lut += nest.lut;
      estimate.ff += nest.ff;
      design.macs += nest.macs;
    }
    design.lut += estimate.lut;
    design.ff += estimate.ff;
    design.total.dsp += estimate.dsp;
    design.total.bram += estimate.bram;
    design.tasks.push_back(std::move(estimate));
  });
  design.latency = all.latency();
  design.kernelLatency = inside.latency();
  design.total.bram += design.channelBram + design.romBram;
  design.oneCallBram += design.total.bram;
  return design;
}

} // namespace tilewright::hls
