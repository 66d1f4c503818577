//===- ArenaPlannerTest.cpp - offsets of scratch buffers ------------------===//
#include "lib/Runtime/Plan/ArenaPlanner.h"

#include <gtest/gtest.h>
#include <random>

using namespace tilewright::plan;

// Buffers with overlapping lifetimes do not overlap in memory, offsets are aligned, and the total size covers all
// buffers.
TEST(ArenaPlanner, LiveBuffersNeverOverlap) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<ArenaRequest> requests(random() % 60);
    int64_t sum = 0;
    for (ArenaRequest &request : requests) {
      request.bytes = random() % 8 ? random() % 5000 : 0;
      request.live.first = int32_t(random() % 20);
      request.live.last = request.live.first + int32_t(random() % 6);
      sum += (request.bytes + 63) / 64 * 64;
    }
    ArenaLayout layout;
    std::string error;
    ASSERT_TRUE(planArena(requests, layout, error)) << error;
    EXPECT_LE(layout.total, sum);
    for (size_t i = 0; i < requests.size(); ++i) {
      EXPECT_EQ(layout.offsets[i] % arenaAlignment, 0);
      EXPECT_LE(layout.offsets[i] + requests[i].bytes, layout.total);
      for (size_t j = 0; j < i; ++j) {
        bool disjoint = layout.offsets[i] + requests[i].bytes <= layout.offsets[j] ||
                        layout.offsets[j] + requests[j].bytes <= layout.offsets[i];
        EXPECT_TRUE(disjoint || !requests[i].live.overlaps(requests[j].live) || !requests[i].bytes ||
                    !requests[j].bytes);
      }
    }
  }
}

TEST(ArenaPlanner, ChainNeedsTwoBuffers) {
  std::vector<ArenaRequest> requests;
  for (int32_t i = 0; i < 10; ++i)
    requests.push_back({1024, {i, i + 1}});
  ArenaLayout layout;
  std::string error;
  ASSERT_TRUE(planArena(requests, layout, error));
  EXPECT_EQ(layout.total, 2048);
}

TEST(ArenaPlanner, ImpossibleSizesAreErrors) {
  ArenaLayout layout;
  std::string error;
  EXPECT_FALSE(planArena({{-1, {0, 0}}}, layout, error));
  EXPECT_FALSE(planArena({{INT64_MAX, {0, 0}}}, layout, error));
  EXPECT_NE(error, "");
  std::vector<ArenaRequest> many(8, {int64_t(1) << 60, {0, 0}});
  EXPECT_FALSE(planArena(many, layout, error));
}
