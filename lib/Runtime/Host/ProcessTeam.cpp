//===- ProcessTeam.cpp - the thread team shared by a process ---------------===//
#include "lib/Interfaces/ForkGeneration.h"
#include "lib/Runtime/Host/Affinity.h"
#include "lib/Runtime/Host/ThreadTeam.h"

#include <pthread.h>

namespace tilewright::runtime {

/// Number of fork() calls between the first process and this process. The variable needs no static constructor.
static std::atomic<uint64_t> forks{0};

uint64_t forkGeneration() {
  // Every call of a program executes this statement. After the first call it costs only a load of the static variable's
  // guard.
  [[maybe_unused]] static const int registered =
      pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  return forks.load(std::memory_order_relaxed);
}

ThreadTeam &ThreadTeam::process() {
  static ThreadTeam *team = new ThreadTeam; // never destroyed, because workers may run during static destruction
  return *team;
}

int ThreadTeam::run(int threads, Function function, void *context) {
  return runUnclipped(clipThreads(threads), function, context);
}

} // namespace tilewright::runtime
