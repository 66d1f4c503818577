//===- ProcessTeam.cpp - the thread team that a process shares -------------===//
#include "lib/Runtime/Host/Affinity.h"
#include "lib/Runtime/Host/ThreadTeam.h"
#include "tilewright/ForkGeneration.h"

#include <pthread.h>

namespace tilewright::runtime {

/// How many fork()s lie between the first process and this one. Constant-initialized: no static constructor.
static std::atomic<uint64_t> forks{0};

uint64_t forkGeneration() {
  // A call's way leads here: a static that is there costs a load.
  [[maybe_unused]] static const int registered =
      pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  return forks.load(std::memory_order_relaxed);
}

ThreadTeam &ThreadTeam::process() {
  static ThreadTeam *team = new ThreadTeam; // leaked on purpose: workers outlive static destructors
  return *team;
}

int ThreadTeam::run(int threads, Function function, void *context) {
  return runUnclipped(clipThreads(threads), function, context);
}

} // namespace tilewright::runtime
