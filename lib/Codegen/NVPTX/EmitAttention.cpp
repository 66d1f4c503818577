//===- EmitAttention.cpp - the schedule `attention`: online softmax on tensor cores --------===//
//
// A block processes rows of queries of one head, 16 per warp, and iterates over the keys. Tiles of keys and values are
// copied to a ring of slots in shared memory by cp.async. Scores, weights and sums are in registers. Queries are also
// in registers, or in shared memory if a head has more than 192 elements:
//
//   load queries ; sums = 0, max = -inf, total = 0
//   for tiles of keys: wait for the oldest ; barrier ; load the next into the slot that all warps have released
//     scores = queries x keys (mma) * scale + mask, -inf if hidden
//     max' = max of max and scores ; weights = exp(scores - max') ; sums, total *= exp(max - max') ; total += weights
//     sums += weights x values (mma)
//   result = sums / total, 0 for a row without visible keys ; logsumexp = max + log total
//
// The fragments of two adjacent tiles of scores have the layout of the second product's left operand, so the weights
// need no shared memory. If the query heads that share keys have only a few rows together, as in a decoding step, a
// block processes the rows of all of these heads. The keys are then read only once. exp(x) is ex2.approx(x log2(e)).
// ex2.approx has an error of at most 2 ULP. The rounding of its argument causes another error, which increases with
// |x|.
//
// Tests: test/Codegen/NVPTX/attention.mlir, test/Python/test_cuda_attention_mma.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/AttentionGradient.h"
#include "lib/Codegen/NVPTX/AttentionRows.h"
#include "lib/Codegen/NVPTX/EmitTensorCores.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::cuda {
using namespace tilewright::gpu;
namespace {

class AttentionEmitter : AttentionRows {
public:
  AttentionEmitter(ThreadKernel &kernel, Attention attention)
      : AttentionRows(kernel, attention), keys(tileOfKeys(kernel.schedule, attention)),
        values(tileOfValues(kernel.schedule, attention)) {}

  LogicalResult run() {
    locateRows();
    int64_t slotBytes = keys.bytes() + values.bytes(), bytes = sharedBytes(schedule, attention);
    shared = bytes <= mostStaticShared ? kernel.allocateShared(bytes) : kernel.dynamicShared(bytes);
    SmallVector<SmallVector<Value>> queries;
    if (attention.keepsQueriesShared())
      copyQueries();
    else
      queries = loadQueries();
    Value tiles = divideUp(columnsSeen(), schedule.n);
    auto slot = [&](Value tile) {
      Value number = arith::RemUIOp::create(builder, loc, tile, index(schedule.stages));
      return address(shared, elements.multiply(number, index(slotBytes)));
    };
    auto load = [&](Value tile) {
      // There is no tile to load after the last tile. Commit an empty group of copies instead, so that the number of
      // groups does not change.
      when(isLess(tile, tiles), [&] {
        Value to = slot(tile);
        Value first = elements.multiply(tile, index(schedule.n));
        copyRows(keys, to, {operand(Attention::Key), batch, keyHead, columns(), attention.headSize}, first);
        copyRows(values, to, {operand(Attention::Value), batch, keyHead, columns(), attention.valueSize}, first);
      });
      NVVM::CpAsyncCommitGroupOp::create(builder, loc);
    };
    for (int64_t stage = 0; stage + 1 < schedule.stages; ++stage)
      load(index(stage));
    auto loop = scf::ForOp::create(builder, loc, index(0), tiles, index(1), beginning());
    elements.inScope([&] {
      builder.setInsertionPointToStart(loop.getBody());
      Value tile = loop.getInductionVar();
      NVVM::CpAsyncWaitGroupOp::create(builder, loc, int32_t(schedule.stages - 2));
      NVVM::Barrier0Op::create(builder, loc);
      load(elements.add(tile, index(schedule.stages - 1)));
      SmallVector<Value> next(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
      step(queries, tile, slot(tile), next);
      scf::YieldOp::create(builder, loc, next);
    });
    NVVM::CpAsyncWaitGroupOp::create(builder, loc, 0);
    write(SmallVector<Value>(loop.getResults()));
    return success();
  }

private:
  /// Loads the left operand of the first product: four words per 16 elements of a head.
  SmallVector<SmallVector<Value>> loadQueries() {
    SmallVector<SmallVector<Value>> words;
    for (int64_t depth = 0; depth < keys.columns; depth += 16) {
      words.emplace_back();
      for (int64_t part = 0; part < 4; ++part) {
        const Row &mine = row[part % 2];
        if (depth + part / 2 * 8 >= attention.headSize) {
          words.back().push_back(asFragment(LLVM::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0))));
          continue;
        }
        Value column = elements.add(pair, index(depth + part / 2 * 8));
        Value from = globalAddress(operand(Attention::Query), {batch, mine.head, mine.position, column});
        words.back().push_back(
            asFragment(LLVM::LoadOp::create(builder, loc, builder.getI32Type(), from, /*alignment=*/4).getResult()));
      }
    }
    return words;
  }

  /// Copies the queries to shared memory. These copies belong to the first group of copies.
  void copyQueries() {
    SharedTile tile = tileOfQueries(schedule, attention);
    forChunks(tile, shared, [&](Value rowInTile, Value chunk, Value to) {
      Row from = rowAt(elements.add(blockRow, rowInTile));
      Value inside, column = columnOf(chunk, tile, attention.headSize, inside);
      copyChunk(to, globalAddress(operand(Attention::Query), {batch, from.head, from.position, column}), inside);
    });
  }

  /// Processes one tile of keys. `queries` is empty if the queries are in shared memory.
  void step(ArrayRef<SmallVector<Value>> queries, Value tile, Value slot, SmallVector<Value> &state) {
    SmallVector<Value> scores(size_t(schedule.n / 2), zero);
    for (int64_t depth = 0; depth < keys.columns; depth += 16) {
      SmallVector<Value> left = queries.empty()
                                    ? loadFragments(tileOfQueries(schedule, attention), shared,
                                                    elements.multiply(warp, index(16)), depth, /*isLhs=*/true)
                                    : queries[size_t(depth / 16)];
      for (int64_t j = 0; j < schedule.n / 8; j += 2) {
        SmallVector<Value> right = loadFragments(keys, slot, index(j * 8), depth, /*isLhs=*/false);
        for (int64_t next = 0; next < 2; ++next)
          multiply(left, ArrayRef(right).slice(size_t(next) * 2, 2), four(scores, j + next));
      }
    }
    MutableArrayRef<Value> sums = MutableArrayRef<Value>(state).drop_back(4);
    rescale(sums, weigh(tile, scores, MutableArrayRef<Value>(state).take_back(4)));
    for (int64_t depth = 0; depth < schedule.n / 16; ++depth) {
      SmallVector<Value> left;
      for (int64_t part = 0; part < 4; ++part)
        left.push_back(packed(four(scores, depth * 2 + part / 2).slice(size_t(part % 2) * 2, 2)));
      for (int64_t j = 0; j < attention.valueSize / 8; j += 2) {
        SmallVector<Value> right = loadFragments(values, slot, index(j * 8), depth * 16, /*isLhs=*/false);
        for (int64_t next = 0; next < 2 && j + next < attention.valueSize / 8; ++next)
          multiply(left, ArrayRef(right).slice(size_t(next) * 2, 2), four(sums, j + next));
      }
    }
  }

  SharedTile keys, values; ///< tiles of one stage
  Value shared;            ///< memory of all stages, then of the queries
};

} // namespace

LogicalResult emitAttention(ThreadKernel &kernel) {
  std::string reason;
  if (std::optional<AttentionGradient> gradient = matchAttentionGradient(kernel.from, reason))
    return emitAttentionGradient(kernel, *gradient);
  std::optional<Attention> attention = matchAttention(kernel.from, reason);
  if (!attention)
    return kernel.from.emitOpError("its schedule `attention` does not fit: ") << reason;
  if (std::string wrong = whyNotAttention(kernel.schedule, *attention); !wrong.empty())
    return kernel.from.emitOpError("its schedule `attention` is invalid: ") << wrong;
  return AttentionEmitter(kernel, *attention).run();
}

} // namespace tilewright::cuda
