//===- Walk.h - one call's way through a stretch of a frame ---------------===//
//
// Every thread walks all its steps, does its share of each, helps the others where the frame says that all must be done
// with what came before, and waits for what others still do. Tiles do not depend on who does them: nor do results.
// The calling thread waits for tiles and not for threads: one that comes late finds nothing left to do.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_WALK_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_WALK_H

#include "lib/Runtime/Host/Frame.h"
#include "lib/Runtime/Host/Futex.h"
#include "lib/Runtime/Host/Kernel.h"
#include "lib/Runtime/Host/ThreadTeam.h"
#include "lib/Runtime/Host/TileClaims.h"

namespace tilewright::runtime {

class Walk {
public:
  /// Walks steps [begin, end) of `frame`: before the first and behind the last there are barriers, or nothing.
  /// `pointers` has one entry per frame operand, `scratch` frame.scratchBytes for each thread.
  Walk(const Frame &frame, size_t begin, size_t end, const Kernel *kernels, const HostFunction *hostFunctions,
       void *const *pointers, uint8_t *scratch)
      : frame(frame), firstStep(begin), endStep(end), kernels(kernels), hostFunctions(hostFunctions),
        pointers(pointers), scratch(scratch), tilesDone(begin ? frame.steps[begin - 1].tilesToBarrier : 0) {}

  /// Walks on the calling thread. False when a host function failed.
  bool alone();

  /// Walks on up to `threads` threads of `team`, whose shares are kept in `claims`.
  bool together(ThreadTeam &team, int threads, TileClaims claims);

  /// Adds the nanoseconds that threads work on step i of the plan to busy[i]; null: no clock is read.
  void profile(std::atomic<int64_t> *busy) { this->busy = busy; }

  /// After a failure: which step of `plan`, and what its host function said or which index was out of range.
  std::string errorText(const plan::Plan &plan) const;

private:
  void noteIndex(const Frame::Step &step, const int64_t *status);
  void walkShare(int thread, int threads);
  void finish(size_t first, size_t end, int thread, int threads);
  void executeShare(size_t step, int thread, int owner);
  void count(const Frame::Step &step, int64_t tiles);
  bool execute(const Frame::Step &step, int64_t begin, int64_t end, int thread);
  bool perform(const Frame::Step &step, int64_t begin, int64_t end, int thread);

  const Frame &frame;
  const size_t firstStep, endStep;
  const Kernel *kernels;
  const HostFunction *hostFunctions;
  void *const *pointers;
  uint8_t *scratch;
  std::atomic<int64_t> *busy = nullptr;
  const char *message = nullptr; ///< of the host function that failed
  int32_t failedCallee = -1;
  /// The step that failed. Threads look at it at barriers only, and leave at the first barrier behind that step.
  std::atomic<size_t> failedStep{SIZE_MAX};
  /// The first index out of range, or division by 0, that a kernel told of. The walk goes on: kernels take place 0 and
  /// divide by 1 instead.
  std::atomic<bool> indexFailed{false};
  bool isDivision = false;
  int64_t badIndex = 0, badSize = 0;
  int32_t indexStep = -1;
  TileClaims claims;
  alignas(64) std::atomic<int64_t> tilesDone;
  Signal barriersPassed; ///< counts them
};

} // namespace tilewright::runtime

#endif
