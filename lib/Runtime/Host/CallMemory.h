//===- CallMemory.h - the memory of one call of a frame ------------------===//
//
// One block contains the memory of a call, except for the caller's tensors, packs and constants:
//
//   [arena, 64-byte aligned][scratch of thread 0][scratch of thread 1]...[claims][operand pointers]
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_CALLMEMORY_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_CALLMEMORY_H

#include "lib/Runtime/Host/Walk.h"

namespace tilewright::runtime {

/// The data of a call: its plan, the functions that the steps call, and the pointers to inputs, outputs, packs and
/// constants.
struct CallContext {
  const plan::Plan &plan;
  const Kernel *kernels;
  const HostFunction *hostFunctions;
  const void *const *inputs; ///< a pointer per input of the plan
  void *const *outputs;
  void *const *packed;
  uint8_t *constants;
  ThreadTeam *team;                     ///< null is allowed if one thread executes the call
  std::atomic<int64_t> *busy = nullptr; ///< see Walk::profile
  StepObserver *observer = nullptr;     ///< see Walk::observe
};

class CallMemory {
public:
  /// Returns the number of threads, at most `threads`, that have tasks in a call with `frame`.
  static int usefulThreads(const Frame &frame, int threads);

  CallMemory(const Frame &frame, int threads);

  /// Returns the size of the block in bytes. A negative size means that the size exceeds 64 bits.
  int64_t bytes() const { return totalBytes; }

  /// Returns the error for a failed allocation of the block.
  RunError shortage() const;

  /// Executes steps [begin, end) of the frame. `begin` and `end` must be at a barrier or at an end of the frame.
  /// `block` has bytes() bytes and is 64-byte aligned. On failure, returns false with a reason in `error`.
  bool walk(uint8_t *block, size_t begin, size_t end, const CallContext &call, RunError &error) const;

private:
  const Frame &frame;
  int threads;
  int64_t arenaBytes, claimBytes, scratchBytes = 0, totalBytes = 0;
};

} // namespace tilewright::runtime

#endif
