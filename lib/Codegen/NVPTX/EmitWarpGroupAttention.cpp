//===- EmitWarpGroupAttention.cpp - attention on sm_90a by TMA and wgmma --------------------===//
//
// This file emits the schedule `attention` with consumer warp groups (`consumers` is 1 or 2). A block processes rows of
// queries of one head, 64 rows per consumer warp group. The block's first warp group is the producer: one of its
// threads issues all loads. Queries are in shared memory. Tiles of keys and values are copied to a ring of `stages`
// slots, each with two mbarriers:
//
//   producer:    TMA of queries ; for tiles of keys: wait until the slot is empty ; TMA of keys and values
//   consumers:   for tiles of keys to which the block's rows attend: wait until the slot is full
//                  scores = queries x keys (wgmma, both in shared memory) ; wait
//                  scores become weights, sums are scaled (AttentionRows.h)
//                  sums += weights x values (wgmma, weights in registers) ; wait ; the slot is empty: each warp arrives
//                result = sums / total
//
// Both products read a tile in its layout in memory: keys are contiguous along k, and values are contiguous along their
// columns and are transposed by wgmma. If there are two consumer warp groups, one can multiply while the other computes
// weights.
//
// Tests: test/Codegen/NVPTX/attention-wgmma.mlir, test/Python/test_cuda_attention_wgmma.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/WarpGroupAttention.h"
#include "lib/Codegen/NVPTX/AttentionRows.h"
#include "lib/Codegen/NVPTX/EmitTensorCores.h"
#include "lib/Codegen/NVPTX/WarpGroupCode.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::cuda {
using namespace tilewright::gpu;
namespace {

/// Gives an emitter with a different base class access to the TMA, mbarriers and wgmma of WarpGroupCode.
struct WarpGroups : WarpGroupCode {
  explicit WarpGroups(ThreadKernel &kernel) : WarpGroupCode(kernel) {}
  using WarpGroupCode::arrive, WarpGroupCode::arriveExpecting, WarpGroupCode::first, WarpGroupCode::initialise,
      WarpGroupCode::inSlot, WarpGroupCode::load, WarpGroupCode::Matrix, WarpGroupCode::multiply,
      WarpGroupCode::multiplyWords, WarpGroupCode::next, WarpGroupCode::PipelineState, WarpGroupCode::wait,
      WarpGroupCode::waitForGroups;
};

class WarpGroupAttentionEmitter : AttentionRows {
public:
  WarpGroupAttentionEmitter(ThreadKernel &kernel, Attention attention)
      : AttentionRows(kernel, attention), groups(kernel),
        queries(tileOfHead(kernel.schedule, attention, Attention::Query)),
        keys(tileOfHead(kernel.schedule, attention, Attention::Key)),
        values(tileOfHead(kernel.schedule, attention, Attention::Value)) {
    // Number the warps from the first consumer warp on. The numbers of the producer's warps are never used.
    warp = elements.add(warp, index(-(warpGroupSize / warpSize)));
  }

  LogicalResult run() {
    locateRows();
    shared = kernel.dynamicShared(bytesOfWarpGroups(schedule, attention));
    Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, kernel.thread, index(0));
    when(isFirst, [&] {
      groups.initialise(queriesFull(), 1);
      for (int64_t stage = 0; stage < schedule.stages; ++stage) {
        groups.initialise(full(i32(stage)), 1);
        groups.initialise(empty(i32(stage)), schedule.consumers * (warpGroupSize / warpSize));
      }
      NVVM::FenceMbarrierInitOp::create(builder, loc);
    });
    NVVM::Barrier0Op::create(builder, loc);
    Value loads = isLess(kernel.thread, index(warpGroupSize));
    auto branch = scf::IfOp::create(builder, loc, TypeRange(), loads, /*withElse=*/true);
    elements.inScope([&] {
      builder.setInsertionPointToStart(&branch.getThenRegion().front());
      share(producerRegisters, NVVM::SetMaxRegisterAction::decrease);
      when(isFirst, [&] { loadTiles(); });
    });
    elements.inScope([&] {
      builder.setInsertionPointToStart(&branch.getElseRegion().front());
      share(consumerRegisters, NVVM::SetMaxRegisterAction::increase);
      multiplyTiles();
    });
    SmallVector<Attribute> recipes;
    for (auto operand : {Attention::Query, Attention::Key, Attention::Value}) {
      std::string reason; // no error is possible: the schedule was checked when it was selected
      recipes.push_back(builder.getStringAttr(
          recipeOf(attention, operand, tileOfHead(schedule, attention, operand).rows, reason)->text()));
    }
    kernel.to->setAttr("tw_cuda.maps", builder.getArrayAttr(recipes));
    return success();
  }

private:
  Value i32(int64_t value) { return arith::ConstantIntOp::create(builder, loc, value, 32); }

  /// Sets the number of registers of the executing warp group's threads to `registers`. The producer releases
  /// registers, and the consumers acquire them. If there is only one consumer warp group, it has the maximum number of
  /// registers anyway, so nothing is emitted.
  void share(int64_t registers, NVVM::SetMaxRegisterAction action) {
    if (schedule.consumers > 1)
      NVVM::SetMaxRegisterOp::create(builder, loc, uint32_t(registers), action);
  }

  // The shared memory contains the queries, then the slots, then the mbarriers.
  int64_t slotBytes() const { return keys.bytes() + values.bytes(); }
  int64_t endOfSlots() const { return queries.bytes() + slotBytes() * schedule.stages; }
  Value keysOf(Value slot) { return groups.inSlot(shared, slotBytes(), slot, queries.bytes()); }
  Value valuesOf(Value slot) { return groups.inSlot(shared, slotBytes(), slot, queries.bytes() + keys.bytes()); }
  Value full(Value slot) { return groups.inSlot(shared, 8, slot, endOfSlots()); }
  Value empty(Value slot) { return groups.inSlot(shared, 8, slot, endOfSlots() + 8 * schedule.stages); }
  Value queriesFull() { return groups.inSlot(shared, 8, i32(0), endOfSlots() + 16 * schedule.stages); }

  /// Loads rows of a head, starting at `first`, in boxes.
  void loadRows(const HeadTile &tile, Value to, Attention::Operand number, Value head, Value first, Value barrier) {
    for (int64_t box = 0; box < tile.boxes; ++box) {
      SmallVector<Value> at = indicesOf(operand(number), {batch, head, first, index(box * lineBytes / 2)});
      for (Value &coordinate : at)
        coordinate = toI32(coordinate);
      std::reverse(at.begin(), at.end());
      groups.load(groups.inSlot(to, 0, i32(0), box * tile.boxBytes()), kernel.maps[number], at, barrier);
    }
  }

  void loadTiles() {
    groups.arriveExpecting(queriesFull(), queries.bytes());
    loadRows(queries, shared, Attention::Query, firstHead, blockRow, queriesFull());
    WarpGroups::PipelineState begin = groups.first();
    auto loop = scf::ForOp::create(builder, loc, index(0), divideUp(columnsSeen(), schedule.n), index(1),
                                   ValueRange{begin.slot, begin.parity});
    keepRolled(loop);
    elements.inScope([&] {
      builder.setInsertionPointToStart(loop.getBody());
      WarpGroups::PipelineState now{loop.getRegionIterArg(0), loop.getRegionIterArg(1)};
      // In the first round, this wait is for the phase before the first phase, which is complete by definition.
      groups.wait(empty(now.slot), arith::XOrIOp::create(builder, loc, now.parity, i32(1)));
      groups.arriveExpecting(full(now.slot), slotBytes());
      Value row = elements.multiply(loop.getInductionVar(), index(schedule.n));
      loadRows(keys, keysOf(now.slot), Attention::Key, keyHead, row, full(now.slot));
      loadRows(values, valuesOf(now.slot), Attention::Value, keyHead, row, full(now.slot));
      WarpGroups::PipelineState then = groups.next(now);
      scf::YieldOp::create(builder, loc, ValueRange{then.slot, then.parity});
    });
  }

  void multiplyTiles() {
    Value group = quotient(warp, warpGroupSize / warpSize);
    Value rowBytes = toI32(elements.multiply(group, index(groupRows * lineBytes)));
    Value mine = LLVM::GEPOp::create(builder, loc, shared.getType(), builder.getI8Type(), shared,
                                     ArrayRef<LLVM::GEPArg>{rowBytes});
    Value isFirstLane = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lane, index(0));
    groups.wait(queriesFull(), i32(0));
    SmallVector<Value> initial{groups.first().slot, groups.first().parity};
    const size_t numStateValues = initial.size();
    initial.append(beginning());
    auto loop = scf::ForOp::create(builder, loc, index(0), divideUp(columnsSeen(), schedule.n), index(1), initial);
    keepRolled(loop);
    elements.inScope([&] {
      builder.setInsertionPointToStart(loop.getBody());
      WarpGroups::PipelineState now{loop.getRegionIterArg(0), loop.getRegionIterArg(1)};
      SmallVector<Value> state(loop.getRegionIterArgs().drop_front(numStateValues));
      groups.wait(full(now.slot), now.parity);
      SmallVector<Value> scores(size_t(schedule.n / 2), LLVM::UndefOp::create(builder, loc, f32));
      groups.multiply(element, element, {{mine, /*alongK=*/true, 0, queries.boxBytes()}},
                      {keysOf(now.slot), /*alongK=*/true, 0, keys.boxBytes()}, schedule.n,
                      filledUp(attention.headSize) / 16, scores, /*anew=*/true);
      groups.waitForGroups(0, scores);
      weigh(loop.getInductionVar(), scores, state);
      MutableArrayRef<Value> sums = MutableArrayRef<Value>(state).drop_back(4);
      groups.multiplyWords(element, weights(scores), {valuesOf(now.slot), /*alongK=*/false, values.boxBytes()},
                           attention.valueSize, sums);
      groups.waitForGroups(0, sums);
      when(isFirstLane, [&] { groups.arrive(empty(now.slot)); });
      WarpGroups::PipelineState then = groups.next(now);
      SmallVector<Value> yielded{then.slot, then.parity};
      yielded.append(state);
      scf::YieldOp::create(builder, loc, yielded);
    });
    write(SmallVector<Value>(loop.getResults().drop_front(numStateValues)));
  }

  /// Returns the weights in the operands' type, four words per 16 keys, in the layout of a left operand in registers.
  SmallVector<Value> weights(ArrayRef<Value> scores) {
    SmallVector<Value> words;
    for (size_t first = 0; first < scores.size(); first += 2) {
      Value word = packed(scores.slice(first, 2));
      if (!word.getType().isInteger())
        word = LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), word);
      words.push_back(word);
    }
    return words;
  }

  WarpGroups groups;
  HeadTile queries, keys, values;
  Value shared;
};

} // namespace

LogicalResult emitWarpGroupAttention(ThreadKernel &kernel) {
  std::string reason;
  std::optional<Attention> attention = matchAttention(kernel.from, reason);
  if (!attention)
    return kernel.from.emitOpError("its schedule `attention` with consumers does not fit: ") << reason;
  // The limit of shared memory is INT64_MAX, because its size was checked when the schedule was selected.
  if (std::string wrong = whyNotWarpGroupAttention(kernel.schedule, *attention, INT64_MAX); !wrong.empty())
    return kernel.from.emitOpError("its schedule `attention` with consumers is invalid: ") << wrong;
  return WarpGroupAttentionEmitter(kernel, *attention).run();
}

} // namespace tilewright::cuda
