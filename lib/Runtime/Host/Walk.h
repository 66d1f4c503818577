//===- Walk.h - one call's execution of a step range of a frame --------------===//
//
// Thread 0 executes the serial steps. For each other step, every thread executes its share of the tiles. Before a
// barrier, a thread executes remaining tiles of other threads' shares, and then waits for the tiles that other threads
// still execute. At the end, only the calling thread does this. Results do not depend on which thread executes a tile.
// The calling thread waits for tiles, not for threads: all tiles of a thread that starts late may be executed by other
// threads.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_WALK_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_WALK_H

#include "lib/Interfaces/StepObserver.h"
#include "lib/Runtime/Host/Frame.h"
#include "lib/Runtime/Host/Futex.h"
#include "lib/Runtime/Host/Kernel.h"
#include "lib/Runtime/Host/ThreadTeam.h"
#include "lib/Runtime/Host/TileClaims.h"

namespace tilewright::runtime {

class Walk {
public:
  /// Executes steps [begin, end) of `frame`. `begin` and `end` must be at a barrier or at an end of the frame.
  /// `pointers` has an entry per frame operand, and `scratch` has frame.scratchBytes bytes per thread.
  Walk(const Frame &frame, size_t begin, size_t end, const Kernel *kernels, const HostFunction *hostFunctions,
       void *const *pointers, uint8_t *scratch)
      : frame(frame), firstStep(begin), endStep(end), kernels(kernels), hostFunctions(hostFunctions),
        pointers(pointers), scratch(scratch), tilesDone(begin ? frame.steps[begin - 1].tilesToBarrier : 0) {}

  /// Executes the steps on the calling thread. Returns false if a host function failed or a kernel reported a failed
  /// check. error() then describes the failure.
  bool alone();

  /// Executes the steps on up to `threads` threads of `team`, whose shares are stored in `claims`. Returns the same as
  /// alone().
  bool together(ThreadTeam &team, int threads, TileClaims claims);

  /// Adds the nanoseconds that threads spend on step i of the plan to busy[i]; with null, no clock is read.
  void profile(std::atomic<int64_t> *busy) { this->busy = busy; }

  /// Reports the steps of `plan` that the calling thread executes to `observer`, which may be null.
  void observe(StepObserver *observer, const plan::Plan &plan) {
    this->observer = observer;
    observedPlan = &plan;
  }

  /// Returns the error after a failure: the error of the host function, or the failed check and the step of `plan` that
  /// reported it.
  RunError error(const plan::Plan &plan) const;

private:
  void noteIndex(const Frame::Step &step, const int64_t *status);
  void walkShare(int thread, int threads);
  void finish(size_t first, size_t end, int thread, int threads);
  void executeShare(size_t step, int thread, int owner);
  void count(const Frame::Step &step, int64_t tiles);
  class ObservedStep;
  bool execute(const Frame::Step &step, int64_t begin, int64_t end, int thread);
  bool perform(const Frame::Step &step, int64_t begin, int64_t end, int thread);

  const Frame &frame;
  const size_t firstStep, endStep;
  const Kernel *kernels;
  const HostFunction *hostFunctions;
  void *const *pointers;
  uint8_t *scratch;
  std::atomic<int64_t> *busy = nullptr;
  StepObserver *observer = nullptr;
  const plan::Plan *observedPlan = nullptr;
  const char *message = nullptr; ///< message of the host function that failed
  int32_t failedCallee = -1;
  /// The index of the step whose host function failed; 0 after any failure of a single thread. All threads compare with
  /// this index at barriers and return at the first barrier after the step. Thread 0 also reads it before serial steps.
  std::atomic<size_t> failedStep{SIZE_MAX};
  /// The first failed check that a kernel reported. Execution continues: kernels use index 0 instead of an index out of
  /// range and divide by 1 instead of by 0.
  std::atomic<bool> indexFailed{false};
  tilewright_failed_check failedCheck = TILEWRIGHT_FAILED_INDEX;
  int64_t badIndex = 0, badSize = 0;
  int32_t indexStep = -1;
  TileClaims claims;
  alignas(64) std::atomic<int64_t> tilesDone;
  Signal barriersPassed; ///< number of barriers passed
};

} // namespace tilewright::runtime

#endif
