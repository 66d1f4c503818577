//===- Walk.cpp - one call's way through a frame --------------------------===//
#include "lib/Runtime/Host/Walk.h"

#include <algorithm>
#include <cstring>

namespace tilewright::runtime {

/// Does tiles [begin, end) of `step`. False when a host function failed.
bool Walk::execute(const Frame::Step &step, int64_t begin, int64_t end, int thread) {
  void *const *buffers = pointers + step.firstOperand;
  const int64_t *sizes = frame.sizes.data() + step.firstSize;
  switch (step.kind) {
  case plan::Step::Kind::Launch: {
    uint8_t *own = scratch + frame.scratchBytes * thread;
    auto *status = reinterpret_cast<int64_t *>(own);
    if (step.checks)
      status[0] = 0;
    kernels[step.callee].function(buffers, sizes, begin, end, own);
    if (step.checks && status[0])
      noteIndex(step, status);
    return true;
  }
  case plan::Step::Kind::Copy: {
    if (step.copyBytes == 0)
      return true;
    if (step.serial) {
      memmove(buffers[1], buffers[0], size_t(step.copyBytes));
      return true;
    }
    int64_t tile = (step.copyBytes / step.grid + 64) / 64 * 64; // grid * tile >= copyBytes
    int64_t first = std::min(begin * tile, step.copyBytes), last = std::min(end * tile, step.copyBytes);
    memcpy(static_cast<uint8_t *>(buffers[1]) + first, static_cast<const uint8_t *>(buffers[0]) + first,
           size_t(last - first));
    return true;
  }
  case plan::Step::Kind::Host:
    message = hostFunctions[step.callee].call(hostFunctions[step.callee].context, buffers, sizes);
    failedCallee = step.callee;
    return message == nullptr;
  }
  return true;
}

void Walk::noteIndex(const Frame::Step &step, const int64_t *status) {
  if (indexFailed.exchange(true, std::memory_order_relaxed))
    return;
  indexStep = step.number;
  badIndex = status[1];
  badSize = status[2];
}

bool Walk::alone() {
  for (const Frame::Step &step : frame.steps)
    if (!execute(step, 0, step.grid, 0))
      return false;
  return !indexFailed.load(std::memory_order_relaxed);
}

void Walk::walkShare(int thread, int threads) {
  for (size_t i = 0; i < frame.steps.size(); ++i) {
    const Frame::Step &step = frame.steps[i];
    if (step.barrierBefore)
      barrier.wait(threads);
    if ((step.barrierBefore || thread == 0) && failedStep.load(std::memory_order_relaxed) < i) {
      if (step.barrierBefore)
        return;
      continue; // thread 0 goes to the barrier where the others find the failure
    }
    if (step.serial) {
      if (thread == 0 && !execute(step, 0, step.grid, 0))
        failedStep.store(i, std::memory_order_relaxed);
      continue;
    }
    int64_t share = step.grid / threads, rest = step.grid % threads;
    int64_t begin = share * thread + std::min<int64_t>(thread, rest);
    int64_t end = begin + share + (thread < rest);
    if (begin < end)
      execute(step, begin, end, thread);
  }
}

bool Walk::together(int threads) {
  ThreadTeam::process().runUnclipped(
      threads,
      [](void *walk, int thread, int threads) {
        auto &self = *static_cast<Walk *>(walk);
        if (threads == 1)
          self.failedStep.store(self.alone() ? SIZE_MAX : 0, std::memory_order_relaxed);
        else
          self.walkShare(thread, threads);
      },
      this);
  return failedStep.load(std::memory_order_relaxed) == SIZE_MAX && !indexFailed.load(std::memory_order_relaxed);
}

std::string Walk::errorText(const plan::Plan &plan) const {
  if (failedCallee < 0 && indexStep >= 0)
    return "index " + std::to_string(badIndex) + " is out of range for a dimension of size " + std::to_string(badSize) +
           ", in " + plan.steps[indexStep].label + " [step " + std::to_string(indexStep) + "]";
  if (failedCallee < 0)
    return "the plan failed";
  return "host function '" + plan.hostFunctions[failedCallee] + "' failed: " + (message ? message : "no reason given");
}

} // namespace tilewright::runtime
