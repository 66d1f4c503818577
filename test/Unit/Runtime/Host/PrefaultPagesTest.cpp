//===- PrefaultPagesTest.cpp - pages that are allocated before their use ----------===//
#include "lib/Runtime/Host/PrefaultPages.h"
#include "lib/Runtime/Host/Affinity.h"
#include "lib/Runtime/Host/BlockPool.h"

#include <chrono>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace tilewright::runtime;

namespace {

constexpr int64_t mebi = int64_t(1) << 20;

/// Waits for at most ten seconds until `bytes` are ready. Returns true if they are.
bool comes(int64_t bytes) {
  for (int i = 0; i < 1000 && PrefaultPages::process().waiting() != bytes; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return PrefaultPages::process().waiting() == bytes;
}

class PrefaultPagesTest : public testing::Test {
protected:
  void SetUp() override {
    if (clipThreads(0) == 1)
      GTEST_SKIP() << "with one CPU no pages are prefaulted";
    PrefaultPages::process().drop();
  }
  void TearDown() override { PrefaultPages::process().drop(); }
};

TEST_F(PrefaultPagesTest, BlocksUsePrefaultedPages) {
  PrefaultPages::process().bring(33 * mebi);
  ASSERT_TRUE(comes(32 * mebi)); // whole huge pages
  std::shared_ptr<Memory> block = BlockPool::process().share(21 * mebi);
  ASSERT_TRUE(block);
  EXPECT_EQ(PrefaultPages::process().waiting(), 12 * mebi);
  std::memset(block->data(), 7, size_t(block->size()));
  std::shared_ptr<Memory> small = BlockPool::process().share(mebi), rest = BlockPool::process().share(40 * mebi);
  EXPECT_EQ(PrefaultPages::process().waiting(), 0);
  std::memset(rest->data(), 1, size_t(rest->size()));
  EXPECT_EQ(block->data()[21 * mebi - 1], 7);
}

TEST_F(PrefaultPagesTest, UnusedPagesAreReleased) {
  PrefaultPages::process().bring(64 * mebi);
  PrefaultPages::process().drop(); // some pages may still be in preparation
  EXPECT_EQ(PrefaultPages::process().waiting(), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(PrefaultPages::process().waiting(), 0);
  PrefaultPages::process().bring(8 * mebi); // later requests work
  EXPECT_TRUE(comes(8 * mebi));
}

TEST_F(PrefaultPagesTest, FewFreePagesAreNotPrefaulted) {
  PrefaultPages::process().bring(3 * mebi);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(PrefaultPages::process().waiting(), 0);
}

TEST_F(PrefaultPagesTest, ForkedChildPrefaultsItsOwnPages) {
  PrefaultPages::process().bring(8 * mebi);
  ASSERT_TRUE(comes(8 * mebi));
  const pid_t child = fork();
  if (child == 0) {
    PrefaultPages::process().drop();
    PrefaultPages::process().bring(16 * mebi);
    _exit(comes(16 * mebi) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

} // namespace
