//===- OnceSteps.h - pack all packed buffers of a plan once -----------------===//
//
// The inputs of the `once` steps must not change afterwards. This condition holds for the weights of an ahead-of-time
// library. The JIT instead packs groups of steps and checks whether parameters have changed (Packing.h).
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_ONCESTEPS_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_ONCESTEPS_H

#include "lib/Runtime/Host/Kernel.h"
#include "lib/Runtime/Host/Memory.h"
#include "lib/Runtime/Host/ThreadTeam.h"
#include "lib/Runtime/Plan/Plan.h"

namespace tilewright::runtime {

/// The packed buffers of a plan, in their order.
struct PackedBuffers {
  Memory memory;
  std::vector<void *> pointers;
  std::vector<int64_t> bytes;
};

/// Runs the `once` steps of the verified `plan` on up to `threads` threads of `team`. `inputs` has a pointer per input
/// of the plan; pointers of inputs that `once` steps read must not be null. `kernels` has an entry per kernel of the
/// plan, with the code of those that `once` steps call. Returns false with a reason in `error`.
bool runOnceSteps(const plan::Plan &plan, const Kernel *kernels, const void *const *inputs, ThreadTeam &team,
                  int threads, PackedBuffers &packed, std::string &error);

} // namespace tilewright::runtime

#endif
