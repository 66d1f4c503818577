//===- FmaSpace.cpp - search space of a product without tensor cores --------------------------===//
//
//   tile_m: 2 4 8 (default 4)          threads_m: 8 16 (default 16)          k: 8 16 32 (default 16, changes the order
//   tile_n: 2 4 8 (default 4)          threads_n: 8 16 (default 16)            of sums)
//
// Tests: test/Codegen/GPU/Schedule/spaces.mlir, test/Python/test_cuda_spaces.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/KernelSpace.h"

using namespace mlir;

namespace tilewright::gpu {

KernelSpace spaceOfFma(const Contraction &product, const Schedule &initial) {
  enum : size_t { tileM, tileN, threadsM, threadsN, depth };
  KernelSpace made;
  made.initial = initial;
  made.whyNot = [product](const Schedule &schedule) { return whyNotFma(schedule, product); };
  Contraction sizes = product;
  const Type type = getElementTypeOrSelf(sizes.op->getResult(0).getType());
  made.addKnob({2, 4, 8});
  made.addKnob({2, 4, 8});
  made.addKnob({8, 16});
  made.addKnob({8, 16});
  made.addKnob({8, 16, 32}, /*reorders=*/isa<FloatType>(type));
  auto mostOf = [](int64_t size) { return int64_t(llvm::PowerOf2Ceil(uint64_t(std::max<int64_t>(size, 16)))); };
  made.addLimit(mostOf(sizes.likelySizeOf(sizes.rows)), {{1, {tileM, threadsM}}},
                "a tile does not have many more rows than the product");
  made.addLimit(mostOf(sizes.likelySizeOf(sizes.columns)), {{1, {tileN, threadsN}}},
                "a tile does not have many more columns than the product");
  // whyNotFma() computes the same numbers. The elements that a thread loads, (m + n) * k / threads, are at most
  // (tile_m + tile_n) * k / 8, because there are at least 8 threads along each side. In shared memory, a row of a tile
  // is padded by 16 bytes.
  constexpr int64_t leastThreads = 8, registers = 255, others = 40;
  const int64_t words = std::max<int64_t>(1, bytesInMemory(type) / 4);
  made.addLimit((registers - others) * leastThreads,
                {{2 * words * leastThreads, {tileM, tileN}},
                 {2 * words * leastThreads, {tileM}},
                 {2 * words * leastThreads, {tileN}},
                 {words, {tileM, depth}},
                 {words, {tileN, depth}}},
                "sums and loaded elements fit a thread's registers");
  auto bytes = [](OpOperand *operand) { return 2 * bytesInMemory(getElementTypeOrSelf(operand->get().getType())); };
  const int64_t ofA = bytes(sizes.lhs()), ofB = bytes(sizes.rhs());
  made.addLimit(mostStaticShared - 4 * 16,
                {{ofA, {tileM, threadsM, depth}}, {ofB, {tileN, threadsN, depth}}, {2 * 2 * 16, {depth}}},
                "two steps fit a block's shared memory");
  return made;
}

} // namespace tilewright::gpu
