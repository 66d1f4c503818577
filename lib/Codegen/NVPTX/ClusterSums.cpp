//===- ClusterSums.cpp - sums of a tile that the blocks of a cluster share ------------------===//
//
// Each of the `split_k` blocks of a cluster computes the sums of all elements of the same tile, over its part of k:
//
//   each thread stores its sums to the block's shared memory ; all threads of the cluster wait for each other
//   each thread loads, for its share of the columns, the sums of all blocks, in the order of their ranks, and adds them
//   the blocks arrive at the second barrier ; each thread stores the results ; the blocks wait
//
// The order of the additions is fixed, so results are reproducible. A thread stores the four sums of a fragment at a
// time, and adjacent threads store adjacent 16 bytes. Thread t reads the sums that the threads t of the other blocks
// have stored, because these threads compute the same elements of the tile.
//
// Tests: test/Codegen/NVPTX/split-k.mlir, test/Python/test_cuda_split_k.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/NVPTX/ClusterSums.h"
#include "lib/Codegen/GPU/Schedule/WarpGroupProduct.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::cuda {
namespace {
constexpr int64_t sumsOfFragment = 4, bytesOfSums = 16, columnsOfFragment = 8;
} // namespace

ClusterSums::ClusterSums(ThreadKernel &kernel, Value shared)
    : WarpGroupCode(kernel), shared(shared), rank(remainder(kernel.block, schedule.splitK)) {}

std::pair<Value, Value> ClusterSums::rangeOf(Value steps) {
  Value next = elements.add(rank, index(1));
  return {quotient(elements.multiply(rank, steps), schedule.splitK),
          quotient(elements.multiply(next, steps), schedule.splitK)};
}

Value ClusterSums::addressOf(Value owner, int64_t number) {
  const int64_t consumers = schedule.consumers * warpGroupSize;
  const int64_t fragments = schedule.m / schedule.consumers / groupRows * columnsOfBlock(schedule) / columnsOfFragment;
  Value thread = elements.add(kernel.thread, index(-warpGroupSize));
  Value before =
      elements.multiply(elements.add(elements.multiply(owner, index(fragments)), index(number)), index(consumers));
  return inSlot(shared, bytesOfSums, toI32(elements.add(before, thread)));
}

void ClusterSums::add(ArrayRef<Value> sums, llvm::function_ref<void(ArrayRef<Value>, Value)> write) {
  const int64_t owners = schedule.n / columnsOfBlock(schedule), ofBlock = columnsOfBlock(schedule) / columnsOfFragment;
  const int64_t fragmentRows = schedule.m / schedule.consumers / groupRows;
  // Wait for the other consumer warps, because they may still read the ring.
  syncNamed(arith::ConstantIntOp::create(builder, loc, 1, 32), schedule.consumers * warpGroupSize);
  for (int64_t row = 0; row < fragmentRows; ++row)
    for (int64_t column = 0; column < owners * ofBlock; ++column)
      storeSums(addressOf(index(column / ofBlock), row * ofBlock + column % ofBlock),
                sums.slice(size_t((row * owners * ofBlock + column) * sumsOfFragment), size_t(sumsOfFragment)));
  arriveAtCluster();
  waitForCluster();
  const Value owns =
      owners < schedule.splitK ? isLess(rank, index(owners)) : Value(); // null if every block owns columns
  when(owns, [&] {
    SmallVector<Value> total;
    for (int64_t number = 0; number < fragmentRows * ofBlock; ++number) {
      Value from = addressOf(rank, number);
      SmallVector<SmallVector<Value>> parts;
      for (int64_t block = 0; block < schedule.splitK; ++block)
        parts.push_back(loadSums(from, block, sums.front().getType()));
      for (ArrayRef<Value> part : ArrayRef(parts).drop_front())
        for (auto [sum, other] : llvm::zip_equal(parts.front(), part))
          sum = sum.getType().isInteger() ? arith::AddIOp::create(builder, loc, sum, other).getResult()
                                          : arith::AddFOp::create(builder, loc, sum, other).getResult();
      llvm::append_range(total, parts.front());
    }
    if (!owns) // arrive before the results are stored, so that the other blocks wait less
      arriveAtCluster();
    write(total, elements.multiply(rank, index(columnsOfBlock(schedule))));
  });
  if (owns)
    arriveAtCluster();
  waitForCluster();
}

void ClusterSums::takePart() {
  for (int barrier = 0; barrier < 2; ++barrier) {
    arriveAtCluster();
    waitForCluster();
  }
}

} // namespace tilewright::cuda
