//===- Walk.h - one call's way through a frame ----------------------------===//
//
// Every thread walks all steps, does its share of each, and waits where the frame says so. A share is contiguous and
// depends only on the grid and the number of threads, so that results do not depend on timing.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_WALK_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_WALK_H

#include "lib/Runtime/Host/Barrier.h"
#include "lib/Runtime/Host/Executor.h"

namespace tilewright::runtime {

class Walk {
public:
  /// `pointers` has one entry per frame operand, `scratch` frame.scratchBytes for each thread.
  Walk(const Frame &frame, const Kernel *kernels, const HostFunction *hostFunctions, void *const *pointers,
       uint8_t *scratch)
      : frame(frame), kernels(kernels), hostFunctions(hostFunctions), pointers(pointers), scratch(scratch) {}

  /// Walks on the calling thread. False when a host function failed.
  bool alone();

  /// Walks on up to `threads` threads of the process's team.
  bool together(int threads);

  /// After a failure: which step of `plan`, and what its host function said or which index was out of range.
  std::string errorText(const plan::Plan &plan) const;

private:
  void noteIndex(const Frame::Step &step, const int64_t *status);
  void walkShare(int thread, int threads);
  bool execute(const Frame::Step &step, int64_t begin, int64_t end, int thread);

  const Frame &frame;
  const Kernel *kernels;
  const HostFunction *hostFunctions;
  void *const *pointers;
  uint8_t *scratch;
  const char *message = nullptr; ///< of the host function that failed
  int32_t failedCallee = -1;
  /// The step that failed. Threads look at it at barriers only, and leave at the first barrier behind that step:
  /// so all leave at the same one.
  std::atomic<size_t> failedStep{SIZE_MAX};
  /// The first index out of range that a kernel told of. The walk goes on: kernels take place 0 instead.
  std::atomic<bool> indexFailed{false};
  int64_t badIndex = 0, badSize = 0;
  int32_t indexStep = -1;
  Barrier barrier;
};

} // namespace tilewright::runtime

#endif
