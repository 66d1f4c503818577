//===- TransposedLoops.cpp - elementwise ops with transposed operands ------------===//
//
// Before:
//   linalg.generic {(d0, d1) -> (d1, d0), (d0, d1) -> (d0, d1)} ins(%a: memref<64x56xf32>) outs(%b: memref<56x64xf32>)
// After:
//   scf.for %q = 0 to 48 step 16 {                      // along the rows of %a
//     scf.for %p = 0 to 64 step 16 {                    // along the rows of %b
//       16 vectors %a[%p + i, %q ...], transposed in registers, the body on each, 16 vectors %b[%q + j, %p ...] } }
//   the last 8 indices %q: a loop over %p with masked loads of %a and 8 vectors %b[%q + j, %p ...]
//
// A single vector loop would gather the elements of %a one by one, while these loops load whole vectors. Blocks are
// transposed by log2(lanes) rounds of shuffles of two vectors (Eklundh's method). The first round exchanges blocks of
// half the size, the second round blocks of a quarter of the size, and so on.
//
// Test: test/Codegen/CPU/Vectorize/transposed-loops.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/CPU/Vectorize/TransposedLoops.h"
#include "lib/Codegen/CPU/Vectorize/LineLoops.h"
#include "mlir/Dialect/UB/IR/UBOps.h"

using namespace mlir;

namespace tilewright::vector_stage {
namespace {

/// The loops of a block. Results are contiguous along loop `along`. The operands in `crossing` are contiguous along
/// loop `across`.
struct Crossing {
  unsigned along = 0, across = 0;
  SmallVector<OpOperand *> crossing;
};

/// The maximum number of ops in the body, which is copied for each line of a block.
constexpr int64_t mostOpsInTranspose = 24;

std::optional<Crossing> crossingOf(linalg::LinalgOp op, unsigned along) {
  for (unsigned across = 0; across < op.getNumLoops(); ++across) {
    if (across == along)
      continue;
    Crossing found{along, across, {}};
    bool possible = true;
    for (OpOperand *input : op.getDpsInputOperands()) {
      if (accessAlong(op, *input, along) != Access::Scattered || smallStride(op, *input, along))
        continue;
      possible &= accessAlong(op, *input, across) == Access::Contiguous;
      found.crossing.push_back(input);
    }
    if (possible && !found.crossing.empty())
      return found;
  }
  return std::nullopt;
}

class BlockEmitter : LineLoops {
public:
  BlockEmitter(linalg::LinalgOp op, const Crossing &loops, int64_t lanes)
      : LineLoops(op, loops.along, lanes), loops(loops) {}

  void run() {
    overOthers(loops.across, [&] { blocks(); });
    op->erase();
  }

private:
  void blocks() {
    AffineExpr d0 = builder.getAffineDimExpr(0);
    OpFoldResult across = sizes[loops.across], whole = apply(d0 - d0 % lanes, across), rest = apply(d0 % lanes, across);
    loop(zero, whole, lanes, [&](Value iv) { alongBlocks(iv, lanes); });
    if (std::optional<int64_t> left = getConstantIntValue(rest)) {
      if (*left > 0)
        alongBlocks(valueOf(whole), *left);
      return;
    }
    // The number of remaining lines is not constant, so process each of these lines with gathers.
    loop(valueOf(whole), across, 1, [&](Value iv) {
      body.ivs[loops.across] = iv;
      overAlong([&](Value first, int64_t, Value mask) {
        body.ivs[loops.along] = first;
        body.emitElements(builder, IRMapping(), mask);
      });
    });
  }

  /// Emits `count` lines of results, starting at index `first` of the loop `across`.
  void alongBlocks(Value first, int64_t count) {
    overAlong([&](Value start, int64_t lines, Value mask) {
      SmallVector<SmallVector<Value>> transposed;
      for (OpOperand *operand : loops.crossing)
        transposed.push_back(transposedBlock(*operand, start, lines, first, count));
      body.ivs[loops.along] = start;
      for (int64_t line = 0; line < count; ++line) {
        body.ivs[loops.across] = plus(first, line);
        IRMapping values;
        for (auto [operand, vectors] : llvm::zip_equal(loops.crossing, transposed))
          values.map(op.getMatchingBlockArgument(operand), vectors[line]);
        body.emitElements(builder, values, mask);
      }
    });
  }

  /// Returns the operand's block, transposed: the first `count` of the returned vectors are contiguous along loop
  /// `along`. `lines` is the number of lines of the block, or 0 if it is unknown. If it is unknown, reads after the
  /// last line are replaced by reads of the last line.
  SmallVector<Value> transposedBlock(OpOperand &operand, Value start, int64_t lines, Value first, int64_t count) {
    Value memref = operand.get();
    VectorType type = body.vectorOf(cast<MemRefType>(memref.getType()).getElementType());
    Value mask, none;
    if (count < lanes) {
      mask = firstLanes(constant(count));
      none = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    }
    body.ivs[loops.across] = first;
    SmallVector<Value> block;
    for (int64_t line = 0; line < lanes; ++line) {
      if (lines > 0 && line >= lines) {
        block.push_back(ub::PoisonOp::create(builder, loc, type));
        continue;
      }
      Value at = plus(start, line);
      if (lines == 0) {
        Value last = arith::SubIOp::create(builder, loc, valueOf(sizes[loops.along]), constant(1));
        at = arith::MinSIOp::create(builder, loc, at, last);
      }
      body.ivs[loops.along] = at;
      SmallVector<Value> indices = body.indicesOf(builder, operand);
      block.push_back(mask ? vector::MaskedLoadOp::create(builder, loc, type, memref, indices, mask, none).getResult()
                           : vector::LoadOp::create(builder, loc, type, memref, indices).getResult());
    }
    transpose(block);
    return block;
  }

  void transpose(SmallVector<Value> &block) {
    for (int64_t half = lanes / 2; half >= 1; half /= 2) {
      SmallVector<int64_t> low, high;
      for (int64_t lane = 0; lane < lanes; ++lane) {
        bool second = lane / half % 2 == 1;
        low.push_back(second ? lanes + lane - half : lane);
        high.push_back(second ? lanes + lane : lane + half);
      }
      for (int64_t line = 0; line < lanes; ++line) {
        if (line / half % 2 == 1)
          continue;
        Value a = block[line], b = block[line + half];
        block[line] = vector::ShuffleOp::create(builder, loc, a, b, low);
        block[line + half] = vector::ShuffleOp::create(builder, loc, a, b, high);
      }
    }
  }

  Crossing loops;
};

/// Returns the loop along which all results are contiguous, or nullopt if there is none.
std::optional<unsigned> alongResults(linalg::LinalgOp op) {
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
    if (llvm::all_of(op.getDpsInitsMutable(),
                     [&](OpOperand &output) { return accessAlong(op, output, loop) == Access::Contiguous; }))
      return loop;
  return std::nullopt;
}

/// Returns true if the body has at most `mostOpsInTranspose` ops, all of which are arith ops with one result or
/// linalg.index.
bool hasShortBody(linalg::LinalgOp op) {
  int64_t count = 0;
  for (Operation &inner : op.getBlock()->without_terminator()) {
    bool plain = isa<arith::ArithDialect>(inner.getDialect()) && inner.getNumResults() == 1;
    if (!plain && !isa<linalg::IndexOp>(inner))
      return false;
    ++count;
  }
  return count <= mostOpsInTranspose;
}

} // namespace

bool emitTransposedLoops(linalg::LinalgOp op, int64_t lanes) {
  if (op.getNumReductionLoops() > 0 || op.getNumDpsInits() == 0 || lanes < 2 || !hasShortBody(op))
    return false;
  std::optional<unsigned> along = alongResults(op);
  if (!along)
    return false;
  std::optional<Crossing> loops = crossingOf(op, *along);
  if (!loops)
    return false;
  // If a loop has only one iteration, blocks along it would use only one lane.
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  if (sizes[loops->along] == 1 || sizes[loops->across] == 1)
    return false;
  BlockEmitter(op, *loops, lanes).run();
  return true;
}

} // namespace tilewright::vector_stage
