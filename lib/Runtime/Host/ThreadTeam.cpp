//===- ThreadTeam.cpp - the threads that execute a plan -------------------===//
#include "lib/Runtime/Host/ThreadTeam.h"
#include "lib/Interfaces/ForkGeneration.h"
#include "lib/Runtime/Host/JobClaim.h"

#include <algorithm>
#include <csignal>
#include <new>
#include <pthread.h>
#include <xmmintrin.h>

namespace tilewright::runtime {

/// A worker with its queue. The signal counts the jobs given to the worker. The signal's value stopTicket makes the
/// worker end. Each job is settled once: either the worker executes it, or the caller cancels it.
struct ThreadTeam::Worker {
  Signal jobs;
  JobClaim claim;
  ThreadTeam *team = nullptr;
  int thread = 0;
  uint32_t ticket = 0; ///< number of jobs that the caller has given
  pthread_t handle{};
};

static constexpr uint32_t stopTicket = UINT32_MAX;

ThreadTeam::ThreadTeam() : workers(std::make_unique<Worker *[]>(maxThreads)) { state.store(forkGeneration() << 1); }

ThreadTeam::~ThreadTeam() { shutdown(); }

bool ThreadTeam::tryEnter() {
  uint64_t generation = forkGeneration();
  uint64_t seen = state.load(std::memory_order_relaxed);
  bool forked = (seen >> 1) != generation;
  if (!forked && (seen & 1))
    return false;
  if (!state.compare_exchange_strong(seen, generation << 1 | 1, std::memory_order_acquire))
    return false;
  if (forked) {
    // The workers, and any caller that has entered the team, exist only in the parent process. Leak their memory.
    workerCount = 0;
    running.store(0, std::memory_order_relaxed);
    new (&finished) Signal;
  }
  return true;
}

void ThreadTeam::leave() { state.fetch_and(~uint64_t(1), std::memory_order_release); }

void *ThreadTeam::workerMain(void *argument) {
  auto *worker = static_cast<Worker *>(argument);
  ThreadTeam &team = *worker->team;
  for (uint32_t seen = 0;;) {
    seen = worker->jobs.waitWhile(seen);
    if (seen == stopTicket)
      return nullptr;
    if (!worker->claim.settle(seen))
      continue;
    if (_mm_getcsr() != team.job.controlWord)
      _mm_setcsr(team.job.controlWord);
    team.job.function(team.job.context, worker->thread, team.job.threads);
    // The last worker ends the job; afterwards no worker may access team.job.
    uint32_t ended = team.finished.word.load(std::memory_order_relaxed) + 1;
    if (team.running.fetch_sub(1, std::memory_order_acq_rel) == 1)
      team.finished.set(ended);
  }
}

/// Starts workers until there are `wanted` or no thread can be created. Returns the number of available workers, at
/// most `wanted`. The caller must have entered the team.
int ThreadTeam::ensureWorkers(int wanted) {
  if (workerCount >= wanted)
    return wanted;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (workerCount < wanted) {
    auto *worker = new (std::nothrow) Worker;
    if (!worker)
      break;
    worker->team = this;
    worker->thread = workerCount + 1;
    if (pthread_create(&worker->handle, nullptr, workerMain, worker) != 0) {
      delete worker;
      break;
    }
    pthread_setname_np(worker->handle, "tilewright");
    workers[workerCount++] = worker;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return std::min(workerCount, wanted);
}

int ThreadTeam::runUnclipped(int threads, Function function, void *context) {
  return runJob(threads, function, context, true);
}

int ThreadTeam::runHelped(int threads, Function function, void *context) {
  return runJob(threads, function, context, false);
}

int ThreadTeam::runJob(int threads, Function function, void *context, bool all) {
  threads = std::clamp(threads, 1, maxThreads);
  if (threads == 1 || !tryEnter()) {
    function(context, 0, 1);
    return 1;
  }
  int helpers = ensureWorkers(threads - 1);
  threads = helpers + 1;
  if (helpers == 0) {
    leave();
    function(context, 0, 1);
    return 1;
  }
  job = {function, context, threads, _mm_getcsr()};
  running.store(helpers, std::memory_order_relaxed);
  uint32_t before = finished.word.load(std::memory_order_relaxed);
  for (int i = 0; i < helpers; ++i) {
    Worker &worker = *workers[i];
    if (++worker.ticket == stopTicket)
      worker.ticket = 1;
    worker.jobs.set(worker.ticket);
  }
  function(context, 0, threads);
  bool last = false;
  for (int i = 0; i < helpers && !all; ++i)
    if (workers[i]->claim.settle(workers[i]->ticket))
      last = running.fetch_sub(1, std::memory_order_acq_rel) == 1;
  if (!last) // wait until the last worker has finished
    finished.waitWhile(before);
  leave();
  return threads;
}

/// Stops and joins all workers. The caller must have entered the team.
void ThreadTeam::stopWorkers() {
  for (int i = 0; i < workerCount; ++i)
    workers[i]->jobs.set(stopTicket);
  for (int i = 0; i < workerCount; ++i) {
    pthread_join(workers[i]->handle, nullptr);
    delete workers[i];
  }
  workerCount = 0;
}

void ThreadTeam::shutdown() {
  if (!tryEnter())
    return;
  stopWorkers();
  leave();
}

} // namespace tilewright::runtime
