//===- BlockPoolTest.cpp - pool of large memory blocks -------------------------===//
#include "lib/Runtime/Host/BlockPool.h"
#include "lib/Interfaces/OutputMemory.h"
#include "lib/Runtime/Host/ArenaPool.h"

#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <set>
#include <thread>
#include <vector>

using namespace tilewright::runtime;

namespace {

constexpr int64_t mebi = int64_t(1) << 20;

TEST(OutputMemory, IsAlignedAndWritable) {
  for (int64_t bytes : {int64_t(0), int64_t(1), int64_t(63), int64_t(4096), mebi, 2 * mebi, 3 * mebi + 5}) {
    OutputMemory memory = takeOutputMemory(bytes);
    ASSERT_NE(memory.data, nullptr) << bytes;
    EXPECT_GE(memory.bytes, bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data) % 64, 0u) << bytes;
    std::memset(memory.data, 1, size_t(bytes));
    giveOutputMemory(memory);
  }
}

TEST(OutputMemory, LargeBlocksAreReused) {
  OutputMemory first = takeOutputMemory(5 * mebi);
  giveOutputMemory(first);
  OutputMemory second = takeOutputMemory(5 * mebi - 100);
  EXPECT_EQ(first.data, second.data);
  OutputMemory other = takeOutputMemory(5 * mebi);
  EXPECT_NE(other.data, second.data);
  giveOutputMemory(second);
  giveOutputMemory(other);
}

TEST(OutputMemory, LargeBlocksAreNotUsedForSmallRequests) {
  OutputMemory large = takeOutputMemory(40 * mebi);
  giveOutputMemory(large);
  OutputMemory small = takeOutputMemory(20 * mebi);
  EXPECT_NE(large.data, small.data);
  giveOutputMemory(small);
}

TEST(OutputMemory, ImpossibleSizesAreRefused) { EXPECT_EQ(takeOutputMemory(int64_t(1) << 60).data, nullptr); }

TEST(OutputMemory, IdleMemoryIsFreed) {
  OutputMemory held = takeOutputMemory(5 * mebi), given = takeOutputMemory(6 * mebi),
               other = takeOutputMemory(3 * mebi);
  std::memset(held.data, 7, size_t(held.bytes));
  giveOutputMemory(given);
  giveOutputMemory(other);
  const int64_t all = freeIdleMemory(0);
  EXPECT_GE(all, 9 * mebi);
  EXPECT_LE(freeIdleMemory(1), all - 6 * mebi); // the largest block is freed as a whole
  EXPECT_EQ(freeIdleMemory(int64_t(1) << 40), 0);
  EXPECT_EQ(static_cast<uint8_t *>(held.data)[5 * mebi - 1], 7);
  giveOutputMemory(held);
}

TEST(BlockPool, SharedBlocksAreReturnedByTheLastHolder) {
  std::shared_ptr<Memory> one = BlockPool::process().share(7 * mebi), two = one;
  ASSERT_TRUE(one);
  const uint8_t *data = one->data();
  one.reset();
  std::shared_ptr<Memory> other = BlockPool::process().share(7 * mebi);
  EXPECT_NE(other->data(), data);
  two.reset();
  EXPECT_EQ(BlockPool::process().share(7 * mebi)->data(), data);
  EXPECT_FALSE(BlockPool::process().share(int64_t(1) << 60));
}

TEST(ArenaPool, LargeArenasAreReusedForPacks) {
  Memory arena;
  ASSERT_TRUE(ArenaPool::process().borrow(37 * mebi, arena));
  const uint8_t *data = arena.data();
  ArenaPool::process().giveBack(std::move(arena));
  EXPECT_EQ(ArenaPool::process().idleBytes(), 0);
  std::shared_ptr<Memory> pack = BlockPool::process().share(37 * mebi);
  EXPECT_EQ(pack->data(), data);
  ASSERT_TRUE(ArenaPool::process().borrow(37 * mebi, arena));
  EXPECT_NE(arena.data(), data);
  ArenaPool::process().giveBack(std::move(arena));
}

TEST(ArenaPool, SmallArenasAreKeptByThePool) {
  Memory arena;
  ASSERT_TRUE(ArenaPool::process().borrow(ArenaPool::large - mebi, arena));
  const uint8_t *data = arena.data();
  ArenaPool::process().giveBack(std::move(arena));
  EXPECT_GE(ArenaPool::process().idleBytes(), ArenaPool::large - mebi);
  ASSERT_TRUE(ArenaPool::process().borrow(mebi, arena));
  EXPECT_EQ(arena.data(), data);
  ArenaPool::process().giveBack(std::move(arena));
  ArenaPool::process().trim();
}

TEST(BlockPool, PagesOfOtherSizesAreUsedAgain) {
  BlockPool pool;
  std::vector<Memory> blocks(6);
  for (Memory &block : blocks) {
    ASSERT_TRUE(pool.take(6 * mebi + 100, block));
    std::memset(block.data(), 1, size_t(block.size()));
  }
  for (Memory &block : blocks)
    pool.give(std::move(block));
  EXPECT_GE(pool.idleBytes(), 36 * mebi);
  // Each block of 17 MiB consists of huge pages from several returned blocks, which have three huge pages each.
  std::vector<Memory> others(2);
  for (Memory &other : others) {
    ASSERT_TRUE(pool.take(17 * mebi, other));
    std::memset(other.data(), 2, size_t(other.size()));
  }
  EXPECT_LE(pool.idleBytes(), 4 * mebi);
  for (const Memory &other : others)
    for (int64_t i = 0; i < 17 * mebi; i += 4096)
      ASSERT_EQ(other.data()[i], 2);
  // Blocks that were merged are split again.
  for (Memory &other : others)
    pool.give(std::move(other));
  Memory large;
  ASSERT_TRUE(pool.take(40 * mebi, large));
  std::memset(large.data(), 3, size_t(large.size()));
  EXPECT_LE(pool.idleBytes(), 2 * mebi);
}

TEST(BlockPool, BlocksThatNearlyFillAHugePageGetOne) {
  BlockPool pool;
  Memory block;
  ASSERT_TRUE(pool.take(3 * mebi / 2, block));
  EXPECT_EQ(block.size(), 2 * mebi);
  const uint8_t *address = block.data();
  pool.give(std::move(block));
  ASSERT_TRUE(pool.take(3 * mebi / 2 - 5, block));
  EXPECT_EQ(block.data(), address);
}

/// Tests that the pool retains the peak of memory allocated in recent training steps. If later steps need less, it
/// releases the surplus.
TEST(BlockPool, KeepsRecentlyUsedBlocks) {
  BlockPool pool;
  auto step = [&](int blocks) {
    std::vector<Memory> taken(static_cast<size_t>(blocks));
    for (Memory &block : taken)
      ASSERT_TRUE(pool.take(4 * mebi, block));
    for (Memory &block : taken)
      pool.give(std::move(block));
  };
  for (int i = 0; i < 3; ++i) {
    step(8);
    EXPECT_EQ(pool.idleBytes(), 32 * mebi);
  }
  step(3);
  EXPECT_EQ(pool.idleBytes(), 32 * mebi);
  step(3);
  step(3);
  EXPECT_EQ(pool.idleBytes(), 12 * mebi);
  // The limit includes allocated blocks: if 8 MiB are allocated, 4 MiB are retained.
  std::vector<Memory> out(2);
  for (Memory &block : out)
    ASSERT_TRUE(pool.take(4 * mebi, block));
  EXPECT_EQ(pool.idleBytes(), 4 * mebi);
  for (Memory &block : out)
    pool.give(std::move(block));
  EXPECT_EQ(pool.idleBytes(), 12 * mebi);
}

TEST(OutputMemory, HeapReturnsFreePagesToTheSystem) {
  std::vector<std::vector<char>> blocks(1 << 16), between(1 << 10);
  for (size_t i = 0; i < blocks.size(); ++i) {
    blocks[i].assign(1000, 'a');
    if (i % 64 == 63)
      between[i / 64].assign(1000, 'b'); // allocations that prevent the heap from shrinking without trimHeap()
  }
  blocks.clear();
  const int64_t held = trimHeap(INT64_MAX); // this limit requests no trimming
  ASSERT_GT(held, 60 * mebi);
  EXPECT_LT(trimHeap(0), held - 30 * mebi);
  EXPECT_EQ(between.back().back(), 'b');
}

TEST(BlockPool, ThreadsNeverShareABlock) {
  auto work = [] {
    for (int round = 0; round < 200; ++round) {
      std::vector<OutputMemory> blocks;
      std::set<void *> different;
      for (int i = 0; i < 4; ++i) {
        blocks.push_back(takeOutputMemory(mebi / 4));
        different.insert(blocks.back().data);
        std::memset(blocks.back().data, round + i, 64);
      }
      EXPECT_EQ(different.size(), blocks.size());
      for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(static_cast<unsigned char *>(blocks[i].data)[63], static_cast<unsigned char>(round + i));
        giveOutputMemory(blocks[i]);
      }
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back(work);
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace
