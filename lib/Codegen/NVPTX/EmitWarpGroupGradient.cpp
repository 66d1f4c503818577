//===- EmitWarpGroupGradient.cpp - the gradient of attention on sm_90a by TMA and wgmma -------===//
//
// This file emits the schedule `attention` for a gradient with consumer warp groups (`consumers` is 1 or 2).
// GradientRows.h describes the two kinds of blocks. In both kinds, the first warp group is the producer, and each
// consumer warp group has 64 of the block's own rows. Tiles of other rows are copied to a ring of `stages` slots. Each
// slot has two mbarriers, full and empty:
//
//   producer:    thread 0: TMA of own rows ; for tiles: wait until the slot is empty ; TMA of both operands' rows
//                warp 1, if the own rows are keys: for tiles: wait until the slot is empty ; copy statistics of queries
//   consumers:   for tiles: wait until the slot is full
//                  start: scores = own_0 x other_0 ; start: products = own_1 x other_1 (wgmma, both in shared memory)
//                  wait for scores ; scores become weights
//                  start, if the own rows are keys: dV's sums += weights x other_1 (wgmma, weights in registers)
//                  wait for products ; products become dS
//                  start: dK's or dQ's sums += dS x other_0 ; wait ; the slot is empty: each warp arrives
//
// The tensor cores multiply while the threads compute weights, and compute dV while the threads compute dS. If there
// are two consumer warp groups, one can multiply while the other computes.
//
// Tests: test/Codegen/NVPTX/attention-gradient-wgmma.mlir, test/Python/test_cuda_attention_gradient_wgmma.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/WarpGroupGradient.h"
#include "lib/Codegen/NVPTX/EmitTensorCores.h"
#include "lib/Codegen/NVPTX/GradientRows.h"
#include "lib/Codegen/NVPTX/WarpGroups.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::cuda {
using namespace tilewright::gpu;
namespace {

class WarpGroupGradientEmitter : GradientRows {
public:
  WarpGroupGradientEmitter(ThreadKernel &kernel, const AttentionGradient &gradient)
      : GradientRows(kernel, gradient), groups(kernel), tiles(kernel.schedule, gradient) {
    // Number the warps so that the first consumer warp has the number 0. The numbers of the producer's warps are not
    // used.
    warp = elements.add(warp, index(-(warpGroupSize / warpSize)));
  }

  LogicalResult run() {
    shared = kernel.dynamicShared(tiles.bytes);
    forBothKinds([&] { emit(); });
    SmallVector<Attribute> recipes;
    for (AttentionGradient::Operand number : gradientMaps) {
      std::string reason; // no error is possible: the schedule was checked when it was selected
      const Operand of = operand(number);
      recipes.push_back(builder.getStringAttr(recipeOfHeads(of.tensor, of.dims[2], schedule.n, reason)->text()));
    }
    kernel.to->setAttr("tw_cuda.maps", builder.getArrayAttr(recipes));
    return success();
  }

private:
  using PipelineState = WarpGroups::PipelineState;

  Value i32(int64_t value) { return arith::ConstantIntOp::create(builder, loc, value, 32); }
  Value isEqual(Value a, Value b) { return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, a, b); }

  // The order of the mbarriers in memory is: ownFull, `full` of all slots, `empty` of all slots.
  Value ownFull() { return groups.inSlot(shared, barrierBytes, i32(0), tiles.barriers); }
  Value full(Value slot) { return groups.inSlot(shared, barrierBytes, slot, tiles.barriers + barrierBytes); }
  Value empty(Value slot) {
    return groups.inSlot(shared, barrierBytes, slot, tiles.barriers + barrierBytes * (1 + schedule.stages));
  }
  /// Returns a pointer to byte `offset` of a slot.
  Value inSlot(Value slot, int64_t offset) {
    return groups.inSlot(shared, tiles.slotBytes, slot, tiles.slots + offset);
  }
  Value bases(Value slot) { return inSlot(slot, tiles.statistics); }
  Value deltas(Value slot) { return inSlot(slot, tiles.statistics + schedule.n * statisticBytes); }

  void emit() {
    Value isFirst = isEqual(kernel.thread, index(0));
    when(isFirst, [&] {
      groups.initialise(ownFull(), 1);
      for (int64_t stage = 0; stage < schedule.stages; ++stage) {
        // If the other rows are queries, the threads of a warp arrive after they have copied the statistics.
        groups.initialise(full(i32(stage)), ofKeys ? 1 + warpSize : 1);
        groups.initialise(empty(i32(stage)), schedule.consumers * (warpGroupSize / warpSize));
      }
      NVVM::FenceMbarrierInitOp::create(builder, loc);
    });
    NVVM::Barrier0Op::create(builder, loc);
    auto produce = [&] {
      when(isFirst, [&] { loadTiles(); });
      if (ofKeys)
        when(isEqual(quotient(kernel.thread, warpSize), index(1)), [&] { loadStatistics(); });
    };
    groups.divideRoles(produce, [&] { multiplyTiles(); });
  }

  /// Emits the producer's loop over the tiles. `emit` emits the code that fills a slot; this code runs after the slot
  /// is empty.
  void forTiles(llvm::function_ref<void(Value firstRow, Value slot)> emit) {
    PipelineState begin = groups.first();
    auto loop = scf::ForOp::create(builder, loc, firstTile, endTile, index(1), ValueRange{begin.slot, begin.parity});
    keepRolled(loop);
    elements.inScope([&] {
      builder.setInsertionPointToStart(loop.getBody());
      PipelineState now{loop.getRegionIterArg(0), loop.getRegionIterArg(1)};
      // In the first round, the consumers have released no slot. This wait returns immediately: an mbarrier reports the
      // phase before its first phase as complete.
      groups.wait(empty(now.slot), arith::XOrIOp::create(builder, loc, now.parity, i32(1)));
      emit(elements.multiply(loop.getInductionVar(), index(schedule.n)), now.slot);
      PipelineState then = groups.next(now);
      scf::YieldOp::create(builder, loc, ValueRange{then.slot, then.parity});
    });
  }

  /// Loads `tile.rows` rows of an operand, starting at `first`, in boxes of n rows and 64 columns.
  void loadRows(const HeadTile &tile, Value to, AttentionGradient::Operand number, Value first, Value barrier) {
    const auto map = size_t(llvm::find(gradientMaps, number) - std::begin(gradientMaps));
    for (int64_t box = 0; box < tile.boxes; ++box)
      for (int64_t row = 0; row < tile.rows; row += schedule.n) {
        SmallVector<Value> at = indicesOf(
            operand(number), {batch, head, elements.add(first, index(row)), index(box * lineBytes / elementBytes)});
        for (Value &coordinate : at)
          coordinate = toI32(coordinate);
        std::reverse(at.begin(), at.end());
        groups.load(groups.inSlot(to, 0, i32(0), box * tile.boxBytes() + row * lineBytes), kernel.maps[map], at,
                    barrier);
      }
  }

  void loadTiles() {
    groups.arriveExpecting(ownFull(), tiles.own[0].bytes() + tiles.own[1].bytes());
    for (unsigned number = 0; number < 2; ++number)
      loadRows(tiles.own[number], ownRows(number), ownOperand(number), blockRow, ownFull());
    forTiles([&](Value firstRow, Value slot) {
      groups.arriveExpecting(full(slot), tiles.other[0].bytes() + tiles.other[1].bytes());
      for (unsigned number = 0; number < 2; ++number)
        loadRows(tiles.other[number], otherRows(number, slot), otherOperand(number), firstRow, full(slot));
    });
  }

  void loadStatistics() {
    forTiles([&](Value firstRow, Value slot) {
      for (int64_t from = 0; from < schedule.n; from += warpSize) {
        Value inTile = elements.add(lane, index(from));
        Value valid = from + warpSize > schedule.n ? isLess(inTile, index(schedule.n)) : Value();
        when(valid, [&] {
          Value position = clampedOther(elements.add(firstRow, inTile));
          Value offset = elements.multiply(inTile, index(statisticBytes));
          Value base = baseOf(position), delta = deltaOf(position);
          LLVM::StoreOp::create(builder, loc, base, address(bases(slot), offset), /*alignment=*/4);
          LLVM::StoreOp::create(builder, loc, delta, address(deltas(slot), offset), /*alignment=*/4);
        });
      }
      groups.arrive(full(slot));
    });
  }

  Value ownRows(unsigned number) { return groups.inSlot(shared, 0, i32(0), tiles.ownOffsets[number]); }
  Value otherRows(unsigned number, Value slot) { return inSlot(slot, tiles.otherOffsets[number]); }

  void multiplyTiles() {
    groups.wait(ownFull(), i32(0));
    if (!ofKeys)
      loadOwnStatistics();
    SmallVector<Value> initial{groups.first().slot, groups.first().parity};
    initial.append(numSums(), zero);
    auto loop = scf::ForOp::create(builder, loc, firstTile, endTile, index(1), initial);
    keepRolled(loop);
    elements.inScope([&] {
      builder.setInsertionPointToStart(loop.getBody());
      PipelineState now{loop.getRegionIterArg(0), loop.getRegionIterArg(1)};
      SmallVector<Value> sums(loop.getRegionIterArgs().drop_front(2));
      groups.wait(full(now.slot), now.parity);
      step(elements.multiply(loop.getInductionVar(), index(schedule.n)), now.slot, sums);
      // Wait until all threads of the warp have read the statistics. The warp then arrives.
      NVVM::SyncWarpOp::create(builder, loc, i32(-1));
      when(isEqual(lane, index(0)), [&] { groups.arrive(empty(now.slot)); });
      PipelineState then = groups.next(now);
      SmallVector<Value> yielded{then.slot, then.parity};
      yielded.append(sums);
      scf::YieldOp::create(builder, loc, yielded);
    });
    write(SmallVector<Value>(loop.getResults().drop_front(2)));
  }

  /// Processes the tile in a slot, whose first row is `begin`.
  void step(Value begin, Value slot, MutableArrayRef<Value> sums) {
    MutableArrayRef<Value> ofHead = sums.take_front(size_t(gradient.headSize / 2));
    SmallVector<Value> weights = startProduct(0, slot), slopes = startProduct(1, slot);
    groups.waitForGroups(1, weights);
    toWeights(begin, weights, ofKeys ? bases(slot) : Value());
    if (ofKeys)
      accumulate(weights, 1, slot, sums.drop_front(ofHead.size()));
    groups.waitForGroups(ofKeys ? 1 : 0, slopes);
    toSlopes(weights, slopes, ofKeys ? deltas(slot) : Value());
    accumulate(slopes, 0, slot, ofHead);
    groups.waitForGroups(0, sums);
  }

  /// Starts the product of this warp group's own rows and the tile's rows of operand `number`.
  SmallVector<Value> startProduct(unsigned number, Value slot) {
    Value group = quotient(warp, warpGroupSize / warpSize);
    Value rowBytes = toI32(elements.multiply(group, index(groupRows * lineBytes)));
    Value mine = LLVM::GEPOp::create(builder, loc, shared.getType(), builder.getI8Type(), ownRows(number),
                                     ArrayRef<LLVM::GEPArg>{rowBytes});
    SmallVector<Value> made(size_t(schedule.n / 2), LLVM::UndefOp::create(builder, loc, f32));
    groups.multiply(element, element, {{mine, /*alongK=*/true, 0, tiles.own[number].boxBytes()}},
                    {otherRows(number, slot), /*alongK=*/true, 0, tiles.other[number].boxBytes()}, schedule.n,
                    filledUp(columnsOf(number)) / 16, made, /*anew=*/true);
    return made;
  }

  /// Rounds `left` (own rows x n) to the operands' type. Starts the product of `left` and the tile's rows of operand
  /// `number`, which is added to `sums`.
  void accumulate(ArrayRef<Value> left, unsigned number, Value slot, MutableArrayRef<Value> sums) {
    groups.multiplyWords(element, words(left),
                         {otherRows(number, slot), /*alongK=*/false, tiles.other[number].boxBytes()}, columnsOf(number),
                         sums);
  }

  static constexpr int64_t barrierBytes = 8, statisticBytes = 4, elementBytes = 2;

  WarpGroups groups;
  WarpGroupGradientTiles tiles;
  Value shared;
};

} // namespace

LogicalResult emitWarpGroupGradient(ThreadKernel &kernel, const AttentionGradient &gradient) {
  // The limit of shared memory is INT64_MAX, because its size was checked when the schedule was selected.
  if (std::string wrong = whyNotWarpGroupGradient(kernel.schedule, gradient, INT64_MAX); !wrong.empty())
    return kernel.from.emitOpError("its schedule `attention` with consumers is invalid: ") << wrong;
  return WarpGroupGradientEmitter(kernel, gradient).run();
}

} // namespace tilewright::cuda
