//===- EmitWarpGroupAttention.cpp - attention on sm_90a by TMA and wgmma --------------------===//
//
// This file emits the schedule `attention` with consumer warp groups (`consumers` is 1 or 2). A block processes rows of
// queries of one head, 64 rows per consumer warp group. The block's first warp group is the producer: one of its
// threads issues all loads. Queries are in shared memory. Tiles of keys and of values are copied to two rings of
// `stages` slots. Each slot has two mbarriers, full and empty:
//
//   producer:    TMA of queries ; for tiles of keys to which the block's rows attend:
//                  wait until the slot for keys is empty ; TMA of keys ; the same for values
//   consumers:   scores = queries x keys of tile 0 (wgmma, both in shared memory) ; wait ; scores become weights
//                for tiles 1, 2, ...:
//                  wait for this group's turn
//                  start: scores = queries x keys of this tile
//                  start: sums += weights x values of the previous tile (wgmma, weights in registers)
//                  the turn of the other group begins
//                  wait for scores ; the slot of keys is empty: each warp arrives
//                  scores become weights (AttentionRows.h)
//                  wait for sums ; the slot of values is empty ; rescale sums to the new maxima
//                sums += weights x values of the last tile ; result = sums / total
//
// Both products read a tile in its layout in memory: keys are contiguous along k, and values are contiguous along their
// columns and are transposed by wgmma. The tensor cores compute the second product while the threads compute weights.
// If there are two consumer warp groups, named barriers let one start its products while the other computes weights.
// This is the pipeline of Shah et al., FlashAttention-3, 2024, sections 3.1 and 3.2.
//
// Tests: test/Codegen/NVPTX/attention-wgmma.mlir, test/Python/test_cuda_attention_wgmma.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/WarpGroupAttention.h"
#include "lib/Codegen/NVPTX/AttentionRows.h"
#include "lib/Codegen/NVPTX/EmitTensorCores.h"
#include "lib/Codegen/NVPTX/WarpGroups.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::cuda {
using namespace tilewright::gpu;
namespace {

class WarpGroupAttentionEmitter : AttentionRows {
public:
  WarpGroupAttentionEmitter(ThreadKernel &kernel, Attention attention)
      : AttentionRows(kernel, attention), groups(kernel),
        queries(tileOfHead(kernel.schedule, attention, Attention::Query)), keys(ringOf(Attention::Key)),
        values(ringOf(Attention::Value)) {
    // Number the warps so that the first consumer warp has the number 0. The numbers of the producer's warps are not
    // used.
    warp = elements.add(warp, index(-(warpGroupSize / warpSize)));
  }

  LogicalResult run() {
    locateRows();
    shared = kernel.dynamicShared(bytesOfWarpGroups(schedule, attention));
    Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, kernel.thread, index(0));
    when(isFirst, [&] {
      groups.initialise(queriesFull(), 1);
      for (int64_t stage = 0; stage < schedule.stages; ++stage) {
        for (const Ring &ring : {keys, values}) {
          groups.initialise(full(ring, i32(stage)), 1);
          groups.initialise(empty(ring, i32(stage)), schedule.consumers * (warpGroupSize / warpSize));
        }
      }
      NVVM::FenceMbarrierInitOp::create(builder, loc);
    });
    NVVM::Barrier0Op::create(builder, loc);
    groups.divideRoles([&] { when(isFirst, [&] { loadTiles(); }); }, [&] { multiplyTiles(); });
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

  using PipelineState = WarpGroups::PipelineState;

  /// A ring of tiles of keys or of values.
  struct Ring {
    HeadTile tile;
    int64_t slots;    ///< offset of the first slot in the shared memory
    int64_t barriers; ///< offset of the mbarriers: `full` of all slots, then `empty` of all slots
  };

  // The shared memory contains the queries, then the slots of both rings, then the mbarriers.
  Ring ringOf(Attention::Operand operand) const {
    const HeadTile keyTile = tileOfHead(schedule, attention, Attention::Key);
    const HeadTile valueTile = tileOfHead(schedule, attention, Attention::Value);
    const int64_t first = queries.bytes(), second = first + keyTile.bytes() * schedule.stages;
    const int64_t barriers = second + valueTile.bytes() * schedule.stages + barrierBytes;
    if (operand == Attention::Key)
      return {keyTile, first, barriers};
    return {valueTile, second, barriers + 2 * barrierBytes * schedule.stages};
  }
  Value slotOf(const Ring &ring, Value slot) { return groups.inSlot(shared, ring.tile.bytes(), slot, ring.slots); }
  Value full(const Ring &ring, Value slot) { return groups.inSlot(shared, barrierBytes, slot, ring.barriers); }
  Value empty(const Ring &ring, Value slot) {
    return groups.inSlot(shared, barrierBytes, slot, ring.barriers + barrierBytes * schedule.stages);
  }
  Value queriesFull() { return groups.inSlot(shared, barrierBytes, i32(0), keys.barriers - barrierBytes); }

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
    PipelineState begin = groups.first();
    auto loop = scf::ForOp::create(builder, loc, index(0), divideUp(columnsSeen(), schedule.n), index(1),
                                   ValueRange{begin.slot, begin.parity});
    keepRolled(loop);
    elements.inScope([&] {
      builder.setInsertionPointToStart(loop.getBody());
      PipelineState now{loop.getRegionIterArg(0), loop.getRegionIterArg(1)};
      Value row = elements.multiply(loop.getInductionVar(), index(schedule.n));
      for (auto number : {Attention::Key, Attention::Value}) {
        const Ring &ring = number == Attention::Key ? keys : values;
        // In the first round, the consumers have released no slot. This wait returns immediately: an mbarrier reports
        // the phase before its first phase as complete.
        groups.wait(empty(ring, now.slot), arith::XOrIOp::create(builder, loc, now.parity, i32(1)));
        groups.arriveExpecting(full(ring, now.slot), ring.tile.bytes());
        loadRows(ring.tile, slotOf(ring, now.slot), number, keyHead, row, full(ring, now.slot));
      }
      PipelineState then = groups.next(now);
      scf::YieldOp::create(builder, loc, ValueRange{then.slot, then.parity});
    });
  }

  void multiplyTiles() {
    group = quotient(warp, warpGroupSize / warpSize);
    Value rowBytes = toI32(elements.multiply(group, index(groupRows * lineBytes)));
    mine = LLVM::GEPOp::create(builder, loc, shared.getType(), builder.getI8Type(), shared,
                               ArrayRef<LLVM::GEPArg>{rowBytes});
    isFirstLane = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lane, index(0));
    groups.wait(queriesFull(), i32(0));
    Value tiles = divideUp(columnsSeen(), schedule.n);
    if (attention.sizeOf(Attention::Key, 2) > 0)
      return write(sumTiles(tiles));
    // There may be no keys. The state then remains the initial state.
    SmallVector<Value> state = beginning();
    auto branch =
        scf::IfOp::create(builder, loc, ValueRange(state).getTypes(), isLess(index(0), tiles), /*withElse=*/true);
    elements.inScope([&] {
      builder.setInsertionPointToStart(&branch.getThenRegion().front());
      scf::YieldOp::create(builder, loc, sumTiles(tiles));
      builder.setInsertionPointToStart(&branch.getElseRegion().front());
      scf::YieldOp::create(builder, loc, state);
    });
    write(SmallVector<Value>(branch.getResults()));
  }

  /// Returns the state after all tiles. There must be at least one tile.
  SmallVector<Value> sumTiles(Value tiles) {
    PipelineState begin = groups.first();
    SmallVector<Value> state = beginning();
    // The first group has the first turn.
    if (takesTurns())
      when(isLess(index(0), group), [&] { passTurn(); });
    groups.wait(full(keys, begin.slot), begin.parity);
    SmallVector<Value> scores = startScores(begin);
    finishScores(0, begin, scores);
    weigh(index(0), scores, MutableArrayRef<Value>(state).take_back(4));

    SmallVector<Value> initial{begin.slot, begin.parity};
    initial.append(words(scores));
    const size_t numWords = initial.size() - 2;
    initial.append(state);
    auto loop = scf::ForOp::create(builder, loc, index(1), tiles, index(1), initial);
    keepRolled(loop);
    elements.inScope([&] {
      builder.setInsertionPointToStart(loop.getBody());
      PipelineState ofValues{loop.getRegionIterArg(0), loop.getRegionIterArg(1)}, ofKeys = groups.next(ofValues);
      SmallVector<Value> weights(loop.getRegionIterArgs().drop_front(2).take_front(numWords));
      SmallVector<Value> state(loop.getRegionIterArgs().drop_front(2 + numWords));
      MutableArrayRef<Value> sums = MutableArrayRef<Value>(state).drop_back(4);
      groups.wait(full(keys, ofKeys.slot), ofKeys.parity);
      groups.wait(full(values, ofValues.slot), ofValues.parity);
      if (takesTurns())
        groups.syncNamed(turnOf(group), turnThreads);
      SmallVector<Value> scores = startScores(ofKeys);
      startSums(weights, ofValues, sums);
      if (takesTurns()) {
        // After its last tile, the second group does not pass the turn, because the first group no longer waits for
        // one.
        Value another = isLess(elements.add(loop.getInductionVar(), index(1)), tiles);
        Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, group, index(0));
        when(arith::OrIOp::create(builder, loc, another, isFirst), [&] { passTurn(); });
      }
      finishScores(1, ofKeys, scores);
      std::array<Value, 2> factors = weigh(loop.getInductionVar(), scores, MutableArrayRef<Value>(state).take_back(4));
      // The wait also has the scores as operands. Therefore, their exponentials are computed before the wait. The
      // weights that the product in flight reads are overwritten only after the wait.
      SmallVector<Value> all(sums);
      all.append(scores);
      groups.waitForGroups(0, all);
      llvm::copy(ArrayRef<Value>(all).take_front(sums.size()), sums.begin());
      llvm::copy(ArrayRef<Value>(all).drop_front(sums.size()), scores.begin());
      release(values, ofValues);
      rescale(sums, factors);
      SmallVector<Value> yielded{ofKeys.slot, ofKeys.parity};
      yielded.append(words(scores));
      yielded.append(state);
      scf::YieldOp::create(builder, loc, yielded);
    });
    SmallVector<Value> made(loop.getResults());
    PipelineState last{made[0], made[1]};
    state.assign(made.begin() + 2 + int64_t(numWords), made.end());
    groups.wait(full(values, last.slot), last.parity);
    MutableArrayRef<Value> sums = MutableArrayRef<Value>(state).drop_back(4);
    startSums(ArrayRef<Value>(made).drop_front(2).take_front(numWords), last, sums);
    groups.waitForGroups(0, sums);
    return state;
  }

  /// Starts the product of this group's queries and a tile of keys. Returns the scores, which finishScores() completes.
  SmallVector<Value> startScores(const PipelineState &at) {
    SmallVector<Value> scores(size_t(schedule.n / 2), LLVM::UndefOp::create(builder, loc, f32));
    groups.multiply(element, element, {{mine, /*alongK=*/true, 0, queries.boxBytes()}},
                    {slotOf(keys, at.slot), /*alongK=*/true, 0, keys.tile.boxBytes()}, schedule.n,
                    filledUp(attention.headSize) / 16, scores, /*anew=*/true);
    return scores;
  }

  /// Waits until at most `groupsAfter` products that were started later are in flight. Then releases the slot of keys.
  void finishScores(int64_t groupsAfter, const PipelineState &at, MutableArrayRef<Value> scores) {
    groups.waitForGroups(groupsAfter, scores);
    release(keys, at);
  }

  /// Starts the product of weights and a tile of values.
  void startSums(ArrayRef<Value> weights, const PipelineState &at, MutableArrayRef<Value> sums) {
    groups.multiplyWords(element, weights, {slotOf(values, at.slot), /*alongK=*/false, values.tile.boxBytes()},
                         attention.valueSize, sums);
  }

  void release(const Ring &ring, const PipelineState &at) {
    when(isFirstLane, [&] { groups.arrive(empty(ring, at.slot)); });
  }

  /// Returns true if two consumer warp groups start their products in turns.
  bool takesTurns() const { return schedule.consumers == 2; }
  /// Returns the number of the named barrier at which consumer group `ofGroup` waits for its turn.
  Value turnOf(Value ofGroup) { return toI32(elements.add(ofGroup, index(1))); }
  /// Starts the turn of the other group.
  void passTurn() { groups.arriveNamed(turnOf(arith::SubIOp::create(builder, loc, index(1), group)), turnThreads); }

  static constexpr int64_t barrierBytes = 8, turnThreads = 2 * warpGroupSize;

  WarpGroups groups;
  HeadTile queries;
  Ring keys, values;
  Value shared;
  // The following values exist in consumers only:
  Value group; ///< number of this consumer warp group
  Value mine;  ///< the first row of this group's queries in shared memory
  Value isFirstLane;
};

} // namespace

LogicalResult emitWarpGroupAttention(ThreadKernel &kernel) {
  std::string reason;
  if (std::optional<AttentionGradient> gradient = matchAttentionGradient(kernel.from, reason))
    return emitWarpGroupGradient(kernel, *gradient);
  std::optional<Attention> attention = matchAttention(kernel.from, reason);
  if (!attention)
    return kernel.from.emitOpError("its schedule `attention` with consumers does not fit: ") << reason;
  // The limit of shared memory is INT64_MAX, because its size was checked when the schedule was selected.
  if (std::string wrong = whyNotWarpGroupAttention(kernel.schedule, *attention, INT64_MAX); !wrong.empty())
    return kernel.from.emitOpError("its schedule `attention` with consumers is invalid: ") << wrong;
  return WarpGroupAttentionEmitter(kernel, *attention).run();
}

} // namespace tilewright::cuda
