//===- ThreadTeam.h - the threads that execute a plan ---------------------===//
//
// A call of a program that uses several threads runs a function on the team, which executes all steps of a step range
// (StepRanges.h) or of the whole plan. The calling thread is thread 0.
//
//   ThreadTeam::process().run(8, [](void *context, int thread, int threads) { ... }, &call);
//
// Between calls the workers spin for 200 us and then sleep. They block every signal, so that handlers (including
// Python's) run on the program's own threads. A call never waits for a busy team: a concurrent or nested call runs on
// its own thread only. After fork() the child has an empty team and starts new workers.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_THREADTEAM_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_THREADTEAM_H

#include "lib/Runtime/Host/Futex.h"

#include <memory>

namespace tilewright::runtime {

class ThreadTeam {
public:
  /// The function that each thread executes. `thread` is in [0, threads). The function must not throw.
  using Function = void (*)(void *context, int thread, int threads);

  ThreadTeam();
  /// Stops and joins the workers. No run() may be active.
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam &) = delete;
  ThreadTeam &operator=(const ThreadTeam &) = delete;

  /// Returns the team that all executables of the process share. It is never destroyed.
  static ThreadTeam &process();

  /// Runs `function` on up to `threads` threads (0 or less: the default, see clipThreads) and returns the number of
  /// threads after all have finished. The number is less than requested if there are too few CPUs or threads, and 1 if
  /// the team is busy. Workers use the caller's floating-point mode (flush denormals, rounding).
  int run(int threads, Function function, void *context);

  /// Like runUnclipped(), for a `function` that distributes the work dynamically. Workers that have not started when
  /// the calling thread finishes are canceled, so that the caller does not wait for threads that are not scheduled.
  int runHelped(int threads, Function function, void *context);

  /// Joins the workers. The next run() starts new workers. Has no effect while a run() is active.
  void shutdown();

  /// Like run(), but the number of threads may exceed the allowed CPUs, for tests of oversubscription.
  int runUnclipped(int threads, Function function, void *context);

  static constexpr int maxThreads = 1024;

private:
  struct Worker;

  bool tryEnter();
  void leave();
  int ensureWorkers(int wanted);
  int runJob(int threads, Function function, void *context, bool all);
  void stopWorkers();
  static void *workerMain(void *worker);

  struct Job {
    Function function = nullptr;
    void *context = nullptr;
    int threads = 0;
    unsigned controlWord = 0; ///< MXCSR of the caller
  };

  alignas(64) std::atomic<uint64_t> state{0}; ///< fork generation * 2, plus 1 if the team is busy
  Job job;                                    ///< written by the caller before the workers are signalled
  alignas(64) std::atomic<int> running{0};    ///< number of workers that have not finished the job
  Signal finished;                            ///< counts the jobs that a worker was the last to finish
  int workerCount = 0;                        ///< guarded by `state`
  std::unique_ptr<Worker *[]> workers;
};

} // namespace tilewright::runtime

#endif
