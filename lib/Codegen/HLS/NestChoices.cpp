//===- NestChoices.cpp - the schedules of a loop nest ---------------------===//
//
// Loop order: reduction loops are outside of the parallel loops along the result's last dimensions. If these dimensions
// are large enough, the number of iterations between two updates of the same element is then at least the latency of an
// update (such as an addition). The order of the updates of each element does not change. Unroll factors: the loops
// along the result's last two dimensions are unrolled by divisors of their sizes, where dimensions of size 1 are
// skipped. If the body uses no multipliers, only the loop along the last dimension is unrolled. If only one loop
// indexes the result and the body uses multipliers, the innermost reduction loop is also unrolled. The updates of its
// unrolled copies depend on each other, so its factor is limited by the number of iterations between two updates of the
// same element. If the nest has a loop over blocks, these rules apply to one block.
//
// Test: test/Codegen/HLS/select-schedules.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/NestChoices.h"
#include "lib/Codegen/HLS/Cost.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace tilewright::hls {
namespace {

/// The maximum unroll factor of one loop, of all loops of a nest together, and of a reduction loop. If two loops had
/// larger factors, arrays would need more banks than HLS tools allow.
constexpr int64_t mostCopies = 64, mostCopiesTogether = 1024, mostReductionCopies = 16;
/// The minimum number of iterations between two updates of the same element of the result before loops are unrolled, if
/// the sizes allow it.
constexpr int64_t wantedDistance = 1024;

SmallVector<int64_t> divisors(int64_t number) {
  SmallVector<int64_t> all;
  for (int64_t candidate = 1; candidate <= std::min(number, mostCopies); ++candidate)
    if (number % candidate == 0)
      all.push_back(candidate);
  return all;
}

/// Returns the parallel loops that index the dimensions of the result, the loop of the last dimension first. Loops with
/// one iteration are left out.
SmallVector<int64_t> loopsAlongResult(linalg::LinalgOp op) {
  SmallVector<int64_t> loops;
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  for (AffineExpr expr : llvm::reverse(map.getResults()))
    if (auto dim = dyn_cast<AffineDimExpr>(expr); dim && op.getStaticLoopRanges()[dim.getPosition()] > 1)
      loops.push_back(dim.getPosition());
  return loops;
}

/// Returns the cycles between two updates of one element of a result; 0 if nothing is accumulated.
int64_t recurrence(linalg::LinalgOp op) {
  int64_t longest = 0;
  Block &body = *op.getBlock();
  if (op.getNumReductionLoops() > 0)
    for (auto [argument, yielded] : llvm::zip(op.getRegionOutputArgs(), body.getTerminator()->getOperands()))
      longest = std::max(longest, chainLatency(argument, yielded) + 1);
  return longest;
}

/// Returns the largest number of cycles that the accesses to one array in an iteration take, if each bank has two
/// ports.
int64_t portInterval(linalg::LinalgOp op) {
  llvm::DenseMap<Value, int64_t> accesses;
  int64_t most = 1;
  for (OpOperand &operand : op->getOpOperands())
    if (isa<MemRefType>(operand.get().getType())) {
      int64_t count = op.isDpsInit(&operand) && op.getNumReductionLoops() > 0 ? 2 : 1;
      most = std::max<int64_t>(most, llvm::divideCeil(accesses[operand.get()] += count, 2));
    }
  return most;
}

/// Returns the largest number of memref.load ops that access one array in the body. Their indices are not affine, so
/// the bank of an access is unknown, and the loads cannot be distributed over several banks.
int64_t scatteredLoads(linalg::LinalgOp op) {
  llvm::DenseMap<Value, int64_t> loads;
  int64_t most = 0;
  op->walk([&](memref::LoadOp load) { most = std::max(most, ++loads[load.getMemRef()]); });
  return most;
}

} // namespace

SmallVector<Choice> choicesOf(linalg::LinalgOp op, bool shares, std::optional<BlockLoop> block) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges(), along = loopsAlongResult(op);
  int64_t blocks = 1;
  if (block) {
    blocks = sizes[block->loop] / block->size;
    sizes[block->loop] = block->size;
  }
  const int64_t between = recurrence(op), ports = portInterval(op), scattered = scatteredLoads(op);
  BodyCost body = bodyCost(*op.getBlock());
  body.depth += 2; // cycles of the load and of the store

  // Select the parallel loops that are placed inside the reduction loops: those of the last dimensions of the result,
  // until there are at least `wantedDistance` iterations between two updates of the same element.
  SmallVector<int64_t> inside;
  int64_t distance = 1;
  for (int64_t loop : along)
    if (distance < wantedDistance) {
      inside.insert(inside.begin(), loop);
      distance *= sizes[loop];
    }
  SmallVector<int64_t> order;
  for (auto kind : {utils::IteratorType::parallel, utils::IteratorType::reduction})
    for (auto [loop, its] : llvm::enumerate(op.getIteratorTypesArray()))
      if (its == kind && !llvm::is_contained(inside, int64_t(loop)))
        order.push_back(loop);
  llvm::append_range(order, inside);

  SmallVector<int64_t> copied; // loops that may be unrolled
  for (int64_t loop : along)
    if (copied.size() < 2)
      copied.push_back(loop);
  // The innermost reduction loop, if it may be unrolled because only one loop indexes the result.
  int64_t reduction = -1;
  for (int64_t loop : order)
    if (op.getIteratorTypesArray()[loop] == utils::IteratorType::reduction && sizes[loop] > 1)
      reduction = loop;
  if (copied.size() != 1 || between == 0 || body.dsp == 0)
    reduction = -1;
  SmallVector<SmallVector<int64_t>> unrolls;
  for (int64_t first : copied.empty() ? SmallVector<int64_t>{1} : divisors(sizes[copied[0]]))
    for (int64_t second : copied.size() < 2 || body.dsp == 0 ? SmallVector<int64_t>{1} : divisors(sizes[copied[1]])) {
      SmallVector<int64_t> unroll(sizes.size(), 1);
      if (!copied.empty())
        unroll[copied[0]] = first;
      if (copied.size() > 1)
        unroll[copied[1]] = second;
      for (int64_t terms : reduction < 0 ? SmallVector<int64_t>{1} : divisors(sizes[reduction])) {
        if (terms > mostReductionCopies)
          break;
        if (reduction >= 0)
          unroll[reduction] = terms;
        unrolls.push_back(unroll);
      }
    }

  SmallVector<Choice> all;
  for (SmallVector<int64_t> &unroll : unrolls) {
    Choice choice;
    int64_t iterations = 1, copies = 1, distance = 1;
    for (auto [size, by] : llvm::zip(sizes, unroll)) {
      iterations *= size / by;
      copies *= by;
    }
    for (int64_t loop : inside)
      distance *= sizes[loop] / unroll[loop];
    // The terms of an unrolled reduction are combined one after another.
    const int64_t terms = reduction < 0 ? 1 : unroll[reduction];
    const int64_t chain = between == 0 ? 0 : between + (terms - 1) * (between - 1);
    if ((body.dsp == 0 && copies > 16) || copies > mostCopiesTogether || (iterations == 1 && copies > 1))
      continue; // there would be too many wires or banks, or no loop to pipeline
    if (terms > 1 && chain > distance)
      continue; // the updates limit the II, so a smaller unroll factor is as fast
    choice.ii = std::max({int64_t(1), ports, int64_t(llvm::divideCeil(scattered * copies, 2)),
                          chain == 0 ? 1 : int64_t(llvm::divideCeil(chain, distance))});
    choice.cycles = nestCycles(iterations, choice.ii, body.depth + (terms - 1) * std::max<int64_t>(0, between - 1));
    if (block) {
      choice.blockCycles = blockCycles(choice.cycles);
      choice.cycles = blockLoopCycles(blocks, choice.cycles);
    }
    choice.dsp = llvm::divideCeil(body.dsp * copies, shares ? choice.ii : 1);
    choice.dsp = std::max(choice.dsp, body.dsp > 0 ? int64_t(1) : int64_t(0));
    choice.order = order;
    choice.unroll = unroll;
    all.push_back(std::move(choice));
  }
  // Remove each schedule for which another one is at least as fast and needs no more multipliers.
  llvm::sort(all, [](const Choice &a, const Choice &b) {
    return std::tie(a.dsp, a.cycles, a.unroll) < std::tie(b.dsp, b.cycles, b.unroll);
  });
  SmallVector<Choice> best;
  for (Choice &choice : all)
    if (best.empty() || choice.cycles < best.back().cycles)
      best.push_back(std::move(choice));
  return best;
}

} // namespace tilewright::hls
