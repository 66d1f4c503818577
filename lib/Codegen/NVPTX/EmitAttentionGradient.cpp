//===- EmitAttentionGradient.cpp - the gradient of attention by mma.sync -----------------------===//
//
// This file emits the schedule `attention` for a gradient, if there are no consumer warp groups (`consumers` is 0).
// GradientRows.h describes the two kinds of blocks. In both kinds, a block has at least four warps, and each warp has
// 16 of the block's own rows:
//
//   load own rows ; sums = 0
//   for tiles of other rows: wait for the oldest ; barrier ; load the next into the slot that all warps have released
//     scores = own_0 x other_0 (mma) become weights ; own_1 x other_1 (mma) become dS
//     dV's sums += weights x other_1 ; dK's or dQ's sums += dS x other_0 (mma)
//
// The statistics of queries are copied to the tile's slot. The loop order of the blocks that own keys is that of
// algorithm 2 of Dao, FlashAttention-2, 2023.
//
// Tests: test/Codegen/NVPTX/attention-gradient.mlir, test/Python/test_cuda_attention_gradient.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/AttentionGradient.h"
#include "lib/Codegen/NVPTX/EmitTensorCores.h"
#include "lib/Codegen/NVPTX/GradientRows.h"
#include "lib/Codegen/NVPTX/InlineAssembly.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::cuda {
using namespace tilewright::gpu;
namespace {

class GradientEmitter : GradientRows {
public:
  GradientEmitter(ThreadKernel &kernel, const AttentionGradient &gradient)
      : GradientRows(kernel, gradient), tiles(kernel.schedule, gradient),
        atOnce(rowsAtOnce(kernel.schedule, gradient)) {}

  LogicalResult run() {
    shared = tiles.bytes <= mostStaticShared ? kernel.allocateShared(tiles.bytes) : kernel.dynamicShared(tiles.bytes);
    forBothKinds([&] { emit(); });
    return success();
  }

private:
  Rows rowsOf(AttentionGradient::Operand number, Value count, int64_t columns) {
    return {operand(number), batch, head, count, columns};
  }

  void emit() {
    for (unsigned number = 0; number < 2; ++number)
      copyRows(tiles.own[number], shared, rowsOf(ownOperand(number), ownCount, columnsOf(number)), blockRow);
    NVVM::CpAsyncCommitGroupOp::create(builder, loc);
    for (int64_t stage = 0; stage + 1 < schedule.stages; ++stage)
      load(elements.add(firstTile, index(stage)));
    own[0].clear();
    own[1].clear();
    if (keepsOwnRows(gradient)) {
      NVVM::CpAsyncWaitGroupOp::create(builder, loc, int32_t(schedule.stages - 1));
      NVVM::Barrier0Op::create(builder, loc);
      for (unsigned number = 0; number < 2; ++number)
        for (int64_t depth = 0; depth < tiles.own[number].columns; depth += 16)
          own[number].push_back(ownFragments(number, depth));
    }
    if (!ofKeys)
      loadOwnStatistics();

    auto loop = scf::ForOp::create(builder, loc, firstTile, endTile, index(1), SmallVector<Value>(numSums(), zero));
    keepRolled(loop); // two copies of the body would need more registers than a thread has
    elements.inScope([&] {
      builder.setInsertionPointToStart(loop.getBody());
      Value tile = loop.getInductionVar();
      NVVM::CpAsyncWaitGroupOp::create(builder, loc, int32_t(schedule.stages - 2));
      NVVM::Barrier0Op::create(builder, loc);
      load(elements.add(tile, index(schedule.stages - 1)));
      SmallVector<Value> next(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
      const Value known = std::exchange(lane, keepsOwnRows(gradient) ? lane : forgotten(lane));
      for (int64_t from = 0; from < schedule.n; from += atOnce)
        step(elements.add(elements.multiply(tile, index(schedule.n)), index(from)), slotOf(tile), from, next);
      lane = known;
      scf::YieldOp::create(builder, loc, next);
    });
    NVVM::CpAsyncWaitGroupOp::create(builder, loc, 0);
    write(SmallVector<Value>(loop.getResults()));
  }

  /// Returns a copy of `value` that the optimizer cannot analyze. Expressions of the copy are computed where they are
  /// used. Otherwise, the optimizer would compute all offsets in tiles before the loop. The offsets would occupy many
  /// registers, which the sums need.
  Value forgotten(Value value) {
    Value copy = inlineAssembly(builder, loc, "mov.b32 $0, $1;", "=r,r", toI32(value), builder.getI32Type());
    return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), copy);
  }

  Value slotOf(Value tile) {
    Value number = arith::RemUIOp::create(builder, loc, tile, index(schedule.stages));
    return address(shared, elements.add(index(tiles.slots), elements.multiply(number, index(tiles.slotBytes))));
  }

  /// Loads a tile. There is no tile to load after the last tile. In this case, an empty group of copies is committed,
  /// so that the number of groups does not change.
  void load(Value tile) {
    when(isLess(tile, endTile), [&] {
      Value slot = slotOf(tile), first = elements.multiply(tile, index(schedule.n));
      for (unsigned number = 0; number < 2; ++number)
        copyRows(tiles.far[number], slot, rowsOf(otherOperand(number), otherCount, columnsOf(number)), first);
      if (!ofKeys)
        return;
      Value thread = keepsOwnRows(gradient) ? kernel.thread : forgotten(kernel.thread);
      when(isLess(thread, index(schedule.n)), [&] {
        Value position = clampedOther(elements.add(first, thread));
        Value offset = elements.multiply(thread, index(4)), base = baseOf(position), delta = deltaOf(position);
        LLVM::StoreOp::create(builder, loc, base, address(basesIn(slot, 0), offset), /*alignment=*/4);
        LLVM::StoreOp::create(builder, loc, delta, address(deltasIn(slot, 0), offset), /*alignment=*/4);
      });
    });
    NVVM::CpAsyncCommitGroupOp::create(builder, loc);
  }

  /// Return a pointer to the statistics of the tile's rows, starting at row `from`.
  Value basesIn(Value slot, int64_t from) { return address(slot, index(tiles.statistics + from * 4)); }
  Value deltasIn(Value slot, int64_t from) { return address(slot, index(tiles.statistics + (schedule.n + from) * 4)); }

  SmallVector<Value> ownFragments(unsigned number, int64_t depth) {
    return loadFragments(tiles.own[number], shared, elements.multiply(warp, index(16)), depth, /*isLhs=*/true);
  }

  /// Multiplies this warp's own rows by `atOnce` rows of a tile, starting at `from`. Returns fragments of 16 x 8.
  SmallVector<Value> product(unsigned number, Value slot, int64_t from) {
    SmallVector<Value> made(size_t(atOnce / 2), zero);
    for (int64_t depth = 0; depth < tiles.own[number].columns; depth += 16) {
      SmallVector<Value> left = own[number].empty() ? ownFragments(number, depth) : own[number][size_t(depth / 16)];
      for (int64_t j = 0; j < atOnce / 8; j += 2) {
        SmallVector<Value> right = loadFragments(tiles.far[number], slot, index(from + j * 8), depth, /*isLhs=*/false);
        for (int64_t next = 0; next < 2; ++next)
          multiply(left, ArrayRef(right).slice(size_t(next) * 2, 2), four(made, j + next));
      }
    }
    return made;
  }

  /// Rounds `left` (own rows x atOnce) to the operands' type, and adds the product of `left` and `atOnce` rows of a
  /// tile, starting at `from`, to `sums`.
  void accumulate(MutableArrayRef<Value> left, unsigned number, Value slot, int64_t from, MutableArrayRef<Value> sums) {
    SharedTile transposed = tiles.far[number];
    transposed.alongK = false;
    for (int64_t depth = 0; depth < atOnce / 16; ++depth) {
      SmallVector<Value> words;
      for (int64_t part = 0; part < 4; ++part)
        words.push_back(packed(four(left, depth * 2 + part / 2).slice(size_t(part % 2) * 2, 2)));
      for (int64_t j = 0; j < columnsOf(number) / 8; j += 2) {
        SmallVector<Value> right = loadFragments(transposed, slot, index(j * 8), from + depth * 16, /*isLhs=*/false);
        for (int64_t next = 0; next < 2 && j + next < columnsOf(number) / 8; ++next)
          multiply(words, ArrayRef(right).slice(size_t(next) * 2, 2), four(sums, j + next));
      }
    }
  }

  /// Processes `atOnce` rows of a tile, starting at row `from` of the tile, which is row `begin` of the other operands.
  void step(Value begin, Value slot, int64_t from, MutableArrayRef<Value> sums) {
    SmallVector<Value> weights = product(0, slot, from), slopes = product(1, slot, from);
    toWeights(begin, weights, basesIn(slot, from));
    toSlopes(weights, slopes, deltasIn(slot, from));
    const auto ofHead = size_t(gradient.headSize / 2);
    if (ofKeys)
      accumulate(weights, 1, slot, from, sums.drop_front(ofHead));
    accumulate(slopes, 0, slot, from, sums.take_front(ofHead));
  }

  GradientTiles tiles;
  int64_t atOnce; ///< rows of a tile whose scores are in registers at the same time
  Value shared;
  SmallVector<SmallVector<Value>> own[2]; ///< fragments of own rows, if they are in registers
};

} // namespace

LogicalResult emitAttentionGradient(ThreadKernel &kernel, const AttentionGradient &gradient) {
  if (std::string wrong = whyNotAttentionGradient(kernel.schedule, gradient); !wrong.empty())
    return kernel.from.emitOpError("its schedule `attention` is invalid: ") << wrong;
  return GradientEmitter(kernel, gradient).run();
}

} // namespace tilewright::cuda
