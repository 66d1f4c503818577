//===- CallMemory.h - the memory of one call over a frame ------------------===//
//
// One block holds all a call needs beside the caller's tensors:
//
//   [arena, 64-byte aligned][scratch of thread 0][scratch of thread 1]...[claims][operand pointers]
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_CALLMEMORY_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_CALLMEMORY_H

#include "lib/Runtime/Host/Walk.h"

namespace tilewright::runtime {

/// What a call works with: whose steps they are, what they call, and where the spaces of its operands lie.
struct CallContext {
  const plan::Plan &plan;
  const Kernel *kernels;
  const HostFunction *hostFunctions;
  const void *const *inputs; ///< a pointer per input of the plan
  void *const *outputs;
  void *const *packed;
  uint8_t *constants;
  ThreadTeam *team;                     ///< null: only calls of one thread
  std::atomic<int64_t> *busy = nullptr; ///< see Walk::profile
};

class CallMemory {
public:
  /// Threads that a call over `frame` has work for, of `threads` that it may use.
  static int usefulThreads(const Frame &frame, int threads);

  CallMemory(const Frame &frame, int threads);

  /// Bytes of the block; negative when they do not fit into 64 bits.
  int64_t bytes() const { return totalBytes; }

  /// What to tell the caller when there is no such block.
  std::string shortage() const;

  /// Walks steps [begin, end) of the frame, from a barrier to a barrier; `block` has bytes() bytes, 64-byte aligned.
  /// False with a reason in `error`.
  bool walk(uint8_t *block, size_t begin, size_t end, const CallContext &call, std::string &error) const;

private:
  const Frame &frame;
  int threads;
  int64_t arenaBytes, claimBytes, scratchBytes = 0, totalBytes = 0;
};

} // namespace tilewright::runtime

#endif
