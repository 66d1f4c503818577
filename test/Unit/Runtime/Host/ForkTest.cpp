// Tests ForkMutex and ForkSafe, locks that a child of fork() can acquire.
#include "lib/Interfaces/ForkMutex.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <vector>

using namespace tilewright::runtime;

namespace {

/// Runs `body` in a child process with a time limit of one minute. Returns true if `body` returned true.
template <typename Body> bool inChild(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Holds a lock in another thread during the lifetime of this object.
template <typename Take, typename Give> class HeldElsewhere {
public:
  HeldElsewhere(Take take, Give give)
      : thread([this, take, give] {
          take();
          held = true;
          while (!ends)
            std::this_thread::yield();
          give();
        }) {
    while (!held)
      std::this_thread::yield();
  }
  ~HeldElsewhere() {
    ends = true;
    thread.join();
  }

private:
  std::atomic<bool> held{false}, ends{false};
  std::thread thread;
};

TEST(ForkMutexTest, ExcludesThreads) {
  ForkMutex mutex;
  int64_t counter = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; ++i) {
        EXPECT_FALSE(mutex.lock());
        ++counter;
        mutex.unlock();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(counter, 80000);
}

TEST(ForkMutexTest, AChildTakesAFreeLock) {
  ForkMutex mutex;
  ASSERT_FALSE(mutex.lock());
  mutex.unlock();
  EXPECT_TRUE(inChild([&] {
    const bool torn = mutex.lock();
    mutex.unlock();
    return !torn;
  }));
}

TEST(ForkMutexTest, AChildTakesOverALockThatAThreadOfItsParentHolds) {
  ForkMutex mutex;
  HeldElsewhere holder([&] { (void)mutex.lock(); }, [&] { mutex.unlock(); });
  EXPECT_TRUE(inChild([&] {
    const bool torn = mutex.lock();
    mutex.unlock();
    const bool again = mutex.lock(); // the child now owns the mutex
    mutex.unlock();
    return torn && !again;
  }));
}

TEST(ForkMutexTest, AGrandchildTakesOverALock) {
  ForkMutex mutex;
  HeldElsewhere holder([&] { (void)mutex.lock(); }, [&] { mutex.unlock(); });
  EXPECT_TRUE(inChild([&] { return inChild([&] { return mutex.lock(); }); }));
}

TEST(ForkMutexTest, ThreadsOfAChildExcludeEachOther) {
  ForkMutex mutex;
  HeldElsewhere holder([&] { (void)mutex.lock(); }, [&] { mutex.unlock(); });
  EXPECT_TRUE(inChild([&] {
    std::atomic<int> torn{0};
    int64_t counter = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 10000; ++i) {
          torn += mutex.lock();
          ++counter;
          mutex.unlock();
        }
      });
    for (std::thread &thread : threads)
      thread.join();
    return counter == 30000 && torn == 1;
  }));
}

TEST(ForkMutexTest, TheParentKeepsItsLock) {
  ForkMutex mutex;
  ASSERT_FALSE(mutex.lock());
  EXPECT_TRUE(inChild([&] { return mutex.lock(); }));
  mutex.unlock();
  EXPECT_FALSE(mutex.lock());
  mutex.unlock();
}

TEST(ForkSafeTest, ValueChangedDuringForkIsEmptyInTheChild) {
  ForkSafe<std::vector<std::string>> texts;
  texts.lock()->push_back("kept");
  EXPECT_TRUE(inChild([&] { return texts.lock()->size() == 1; }));
  std::unique_ptr<ForkSafe<std::vector<std::string>>::Access> access;
  HeldElsewhere holder([&] { access.reset(new ForkSafe<std::vector<std::string>>::Access(texts)); },
                       [&] { access.reset(); });
  EXPECT_TRUE(inChild([&] {
    if (!texts.lock()->empty())
      return false;
    texts.lock()->push_back("its own");
    return texts.lock()->size() == 1;
  }));
}

} // namespace
