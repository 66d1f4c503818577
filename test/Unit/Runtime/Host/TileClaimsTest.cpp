//===- TileClaimsTest.cpp - assigns a call's tiles to threads -------------===//
#include "lib/Runtime/Host/TileClaims.h"

#include <gtest/gtest.h>
#include <thread>
#include <vector>

using namespace tilewright::runtime;

static std::vector<uint8_t> aligned(int64_t bytes, uint8_t *&start) {
  std::vector<uint8_t> memory(size_t(bytes) + 64, 0xff);
  start = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64);
  return memory;
}

TEST(TileClaims, SharesAreContiguousAndComplete) {
  for (int threads : {1, 2, 3, 8})
    for (int64_t grid : {int64_t(1), int64_t(7), int64_t(16), int64_t(1000), TileClaims::maxGrid}) {
      uint8_t *start;
      auto memory = aligned(TileClaims::bytes(3, threads), start);
      TileClaims claims(start, 3, threads);
      claims.share(1, grid);
      int64_t next = 0;
      for (int thread = 0; thread < threads; ++thread)
        for (Tiles tiles; !(tiles = claims.own(1, thread)).empty(); next = tiles.end)
          EXPECT_EQ(tiles.begin, next);
      EXPECT_EQ(next, grid);
    }
}

TEST(TileClaims, OwnerClaimsFromTheFrontAndOthersFromTheBack) {
  uint8_t *start;
  auto memory = aligned(TileClaims::bytes(1, 2), start);
  TileClaims claims(start, 1, 2);
  claims.share(0, 32);
  Tiles mine = claims.own(0, 1), stolen = claims.steal(0, 1);
  EXPECT_EQ(mine.begin, 16);
  EXPECT_EQ(mine.end, 20);
  EXPECT_EQ(stolen.begin, 29);
  EXPECT_EQ(stolen.end, 32);
}

TEST(TileClaims, EveryTileIsClaimedOnceUnderContention) {
  constexpr int threads = 4;
  constexpr int64_t steps = 20, grid = 999;
  uint8_t *start;
  auto memory = aligned(TileClaims::bytes(steps, threads), start);
  TileClaims claims(start, steps, threads);
  for (int64_t step = 0; step < steps; ++step)
    claims.share(step, grid);
  std::vector<std::atomic<int>> done(steps * grid);
  auto work = [&](int thread) {
    TileClaims mine = claims;
    auto mark = [&](int64_t step, Tiles tiles) {
      for (int64_t i = tiles.begin; i < tiles.end; ++i)
        ++done[step * grid + i];
    };
    for (int64_t step = 0; step < steps; ++step) {
      for (Tiles tiles; !(tiles = mine.own(step, thread)).empty();)
        mark(step, tiles);
      for (int other = 1; other < threads; ++other)
        for (Tiles tiles; !(tiles = mine.steal(step, (thread + other) % threads)).empty();)
          mark(step, tiles);
    }
  };
  std::vector<std::thread> running;
  for (int thread = 1; thread < threads; ++thread) // thread 0 never starts
    running.emplace_back(work, thread);
  for (std::thread &thread : running)
    thread.join();
  for (auto &count : done)
    ASSERT_EQ(count, 1);
}
