//===- ThreadTeamTest.cpp - the threads that execute a plan ---------------===//
#include "lib/Runtime/Host/ThreadTeam.h"
#include "lib/Runtime/Host/Affinity.h"
#include "lib/Runtime/Host/JobClaim.h"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <vector>
#include <xmmintrin.h>

using namespace tilewright::runtime;

template <typename F> static int onTeam(ThreadTeam &team, int threads, F &&body) {
  return team.runUnclipped(
      threads, [](void *context, int thread, int threads) { (*static_cast<F *>(context))(thread, threads); }, &body);
}

TEST(ThreadTeam, EveryThreadRunsOnce) {
  ThreadTeam team;
  for (int threads : {1, 2, 3, 8, 2, 5, 1, 8}) {
    std::vector<std::atomic<int>> seen(8);
    EXPECT_EQ(onTeam(team, threads,
                     [&](int thread, int count) {
                       EXPECT_EQ(count, threads);
                       ++seen[thread];
                     }),
              threads);
    for (int i = 0; i < 8; ++i)
      EXPECT_EQ(seen[i], i < threads);
  }
}

TEST(ThreadTeam, CallerDoesNotWaitForHelpersThatHaveNotBegun) {
  ThreadTeam team;
  for (int round = 0; round < 2000; ++round) {
    std::atomic<int> inside{0}, calls{0};
    auto body = [&](int, int) {
      ++inside;
      ++calls;
      --inside;
    };
    using Body = decltype(body);
    EXPECT_EQ(
        team.runHelped(
            4, [](void *context, int thread, int threads) { (*static_cast<Body *>(context))(thread, threads); }, &body),
        4);
    EXPECT_EQ(inside, 0); // every thread that began has finished
    EXPECT_GE(calls, 1);
    EXPECT_LE(calls, 4);
  }
}

TEST(ThreadTeam, FirstClaimGetsTheJob) {
  JobClaim claim;
  EXPECT_TRUE(claim.settle(1));
  EXPECT_FALSE(claim.settle(1));
  EXPECT_TRUE(claim.settle(2));
  EXPECT_TRUE(claim.settle(3));
  EXPECT_FALSE(claim.settle(2)); // a worker that was woken for job 2 settles it after job 3
  EXPECT_FALSE(claim.settle(1));
  EXPECT_TRUE(claim.settle(4));
  EXPECT_TRUE(claim.settle(4u + INT32_MAX));
  EXPECT_TRUE(claim.settle(UINT32_MAX - 1));
  EXPECT_TRUE(claim.settle(1)); // job numbers wrap around
  EXPECT_FALSE(claim.settle(UINT32_MAX - 1));
}

TEST(ThreadTeam, ManyShortCalls) {
  ThreadTeam team;
  std::atomic<int> total{0};
  for (int i = 0; i < 2000; ++i)
    onTeam(team, 3, [&](int, int) { ++total; });
  EXPECT_EQ(total, 6000);
}

TEST(ThreadTeam, WakesSleepers) {
  ThreadTeam team;
  std::atomic<int> total{0};
  for (int i = 0; i < 5; ++i) {
    onTeam(team, 3, [&](int, int) { ++total; });
    usleep(2000); // much longer than the time for which workers spin
  }
  EXPECT_EQ(total, 15);
}

TEST(ThreadTeam, NestedCallRunsAlone) {
  ThreadTeam team;
  std::atomic<int> inner{0};
  onTeam(team, 3, [&](int, int) {
    EXPECT_EQ(onTeam(team, 3,
                     [&](int thread, int threads) {
                       EXPECT_EQ(threads, 1);
                       ++inner;
                     }),
              1);
  });
  EXPECT_EQ(inner, 3);
}

TEST(ThreadTeam, ConcurrentCallersAllFinish) {
  ThreadTeam team;
  std::atomic<int> calls{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&] {
      for (int k = 0; k < 200; ++k) {
        std::atomic<int> seen{0};
        int count = onTeam(team, 2, [&](int, int) { ++seen; });
        EXPECT_EQ(seen, count);
        ++calls;
      }
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(calls, 800);
}

// ThreadSanitizer does not allow new threads after a fork.
#ifdef __SANITIZE_THREAD__
#define TW_SKIP_WITHOUT_FORK() GTEST_SKIP() << "not under ThreadSanitizer"
#else
#define TW_SKIP_WITHOUT_FORK()
#endif

TEST(ThreadTeam, ChildOfForkStartsItsOwnWorkers) {
  TW_SKIP_WITHOUT_FORK();
  ThreadTeam team;
  EXPECT_EQ(onTeam(team, 3, [](int, int) {}), 3);
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    std::atomic<int> seen{0};
    int count = onTeam(team, 3, [&](int, int) { ++seen; });
    _exit(count == 3 && seen == 3 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(onTeam(team, 3, [](int, int) {}), 3);
}

TEST(ThreadTeam, ForkWhileAnotherThreadIsInside) {
  TW_SKIP_WITHOUT_FORK();
  ThreadTeam team;
  std::atomic<bool> inside{false}, goOn{false};
  std::thread busy([&] {
    onTeam(team, 2, [&](int thread, int) {
      inside = true;
      while (!goOn)
        std::this_thread::yield();
    });
  });
  while (!inside)
    std::this_thread::yield();
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(onTeam(team, 2, [](int, int) {}) == 2 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  goOn = true;
  busy.join();
}

TEST(ThreadTeam, WorkersBlockSignalsAndTakeTheFloatingPointMode) {
  ThreadTeam team;
  unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040); // flush denormal inputs and results to zero
  std::atomic<int> flushing{0}, blocked{0};
  onTeam(team, 3, [&](int thread, int) {
    flushing += (_mm_getcsr() & 0x8040) == 0x8040;
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    blocked += thread != 0 && sigismember(&mask, SIGINT) && sigismember(&mask, SIGTERM);
  });
  _mm_setcsr(before);
  EXPECT_EQ(flushing, 3);
  EXPECT_EQ(blocked, 2);
}

TEST(ThreadTeam, ShutdownAndUseAgain) {
  ThreadTeam team;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(onTeam(team, 2, [](int, int) {}), 2);
    team.shutdown();
  }
}

TEST(Affinity, ClipsToAllowedCpus) {
  int allowed = allowedCpuCount();
  EXPECT_GE(allowed, 1);
  EXPECT_EQ(clipThreads(1), 1);
  EXPECT_EQ(clipThreads(1 << 20), allowed);
  EXPECT_GE(clipThreads(0), 1);
  EXPECT_LE(clipThreads(-3), allowed);
}
