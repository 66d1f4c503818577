//===- OutputMemoryTest.cpp - memory of the tensors that calls return -----===//
#include "tilewright/OutputMemory.h"

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
    void *memory = takeOutputMemory(bytes);
    ASSERT_NE(memory, nullptr) << bytes;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u) << bytes;
    std::memset(memory, 1, size_t(bytes));
    giveOutputMemory(memory, bytes);
  }
}

TEST(OutputMemory, LargeBlocksComeAgain) {
  void *first = takeOutputMemory(5 * mebi);
  giveOutputMemory(first, 5 * mebi);
  void *second = takeOutputMemory(5 * mebi - 100);
  EXPECT_EQ(first, second);
  void *other = takeOutputMemory(5 * mebi);
  EXPECT_NE(other, second);
  giveOutputMemory(second, 5 * mebi - 100);
  giveOutputMemory(other, 5 * mebi);
}

TEST(OutputMemory, NoBlockIsKeptForMuchLess) {
  void *large = takeOutputMemory(40 * mebi);
  giveOutputMemory(large, 40 * mebi);
  void *small = takeOutputMemory(20 * mebi);
  EXPECT_NE(large, small);
  giveOutputMemory(small, 20 * mebi);
}

TEST(OutputMemory, ImpossibleSizesAreRefused) { EXPECT_EQ(takeOutputMemory(int64_t(1) << 60), nullptr); }

TEST(OutputMemory, ThreadsNeverShareABlock) {
  auto work = [] {
    for (int round = 0; round < 200; ++round) {
      std::vector<unsigned char *> blocks;
      for (int i = 0; i < 4; ++i) {
        blocks.push_back(static_cast<unsigned char *>(takeOutputMemory(mebi / 4)));
        std::memset(blocks.back(), round + i, 64);
      }
      EXPECT_EQ(std::set<unsigned char *>(blocks.begin(), blocks.end()).size(), blocks.size());
      for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(blocks[i][63], static_cast<unsigned char>(round + i));
        giveOutputMemory(blocks[i], mebi / 4);
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
