//===- Walk.cpp - one call's execution of a step range of a frame ------------===//
#include "lib/Runtime/Host/Walk.h"

#include <algorithm>
#include <cstring>

namespace tilewright::runtime {

/// Executes tiles [begin, end) of `step`. Returns false if a host function failed.
bool Walk::perform(const Frame::Step &step, int64_t begin, int64_t end, int thread) {
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

bool Walk::execute(const Frame::Step &step, int64_t begin, int64_t end, int thread) {
  if (!busy)
    return perform(step, begin, end, thread);
  int64_t start = monotonicNanoseconds();
  bool ok = perform(step, begin, end, thread);
  busy[step.number].fetch_add(monotonicNanoseconds() - start, std::memory_order_relaxed);
  return ok;
}

void Walk::noteIndex(const Frame::Step &step, const int64_t *status) {
  if (indexFailed.exchange(true, std::memory_order_relaxed))
    return;
  indexStep = step.number;
  failedCheck = tilewright_failed_check(status[0]);
  badIndex = status[1];
  badSize = status[2];
}

/// Reports a step to the observer if `thread` is 0, which is the thread that called alone() or together(). The
/// constructor reports the start of the step, and the destructor reports its end.
class Walk::ObservedStep {
public:
  ObservedStep(const Walk &walk, const Frame::Step &step, int thread)
      : observer(thread == 0 ? walk.observer : nullptr) {
    if (observer)
      begin(*walk.observedPlan, step);
  }
  ~ObservedStep() {
    if (observer)
      observer->end();
  }
  ObservedStep(const ObservedStep &) = delete;
  ObservedStep &operator=(const ObservedStep &) = delete;

private:
  void begin(const plan::Plan &plan, const Frame::Step &step) {
    switch (step.kind) {
    case plan::Step::Kind::Launch:
      return observer->begin(plan.kernels[step.callee]);
    case plan::Step::Kind::Copy:
      return observer->begin("copy");
    case plan::Step::Kind::Host:
      return observer->begin(plan.hostFunctions[step.callee]);
    }
  }

  StepObserver *observer;
};

bool Walk::alone() {
  for (size_t i = firstStep; i < endStep; ++i) {
    const Frame::Step &step = frame.steps[i];
    ObservedStep observed(*this, step, /*thread=*/0);
    if (!execute(step, 0, step.grid, 0))
      return false;
  }
  return !indexFailed.load(std::memory_order_relaxed);
}

/// Counts `tiles` finished tiles of `step`. The thread that finishes the last tile before a barrier wakes the other
/// threads.
void Walk::count(const Frame::Step &step, int64_t tiles) {
  if (tiles == 0)
    return;
  if (tilesDone.fetch_add(tiles, std::memory_order_acq_rel) + tiles == step.tilesToBarrier)
    barriersPassed.set(barriersPassed.word.load(std::memory_order_relaxed) + 1);
}

/// Executes the remaining tiles of `owner`'s share of step `i`. The owner takes tiles from the front, other threads
/// from the back.
void Walk::executeShare(size_t i, int thread, int owner) {
  int64_t tiles = 0;
  for (;;) {
    Tiles taken = owner == thread ? claims.own(int64_t(i), owner) : claims.steal(int64_t(i), owner);
    if (taken.empty())
      break;
    execute(frame.steps[i], taken.begin, taken.end, thread);
    tiles += taken.end - taken.begin;
  }
  count(frame.steps[i], tiles);
}

/// Executes remaining tiles of other threads' shares of the steps [first, end), between which there is no barrier. Then
/// waits until all tiles of these steps are finished.
void Walk::finish(size_t first, size_t end, int thread, int threads) {
  int64_t goal = frame.steps[first].tilesToBarrier;
  auto done = [&] { return tilesDone.load(std::memory_order_acquire) >= goal; };
  for (size_t i = first; i < end; ++i)
    if (!frame.steps[i].serial)
      for (int other = 1; other < threads && !done(); ++other)
        executeShare(i, thread, (thread + other) % threads);
  while (!done()) {
    uint32_t passed = barriersPassed.word.load(std::memory_order_acquire);
    if (!done())
      barriersPassed.waitWhile(passed);
  }
}

void Walk::walkShare(int thread, int threads) {
  size_t first = firstStep; // the first step after the last barrier
  for (size_t i = firstStep; i < endStep; ++i) {
    const Frame::Step &step = frame.steps[i];
    if (step.barrierBefore && i != firstStep) {
      finish(first, i, thread, threads);
      first = i;
      if (failedStep.load(std::memory_order_relaxed) < i)
        return;
    }
    if (step.serial) {
      if (thread != 0)
        continue;
      ObservedStep observed(*this, step, thread);
      // After a failed step, thread 0 skips serial steps, but counts them as finished, until the barrier at which the
      // other threads observe the failure.
      if (failedStep.load(std::memory_order_relaxed) > i && !execute(step, 0, step.grid, 0))
        failedStep.store(i, std::memory_order_relaxed);
      count(step, 1);
      continue;
    }
    ObservedStep observed(*this, step, thread);
    executeShare(i, thread, thread);
  }
  // Only the calling thread must wait for the remaining tiles.
  if (thread == 0 && first < endStep)
    finish(first, endStep, thread, threads);
}

bool Walk::together(ThreadTeam &team, int threads, TileClaims shares) {
  claims = shares;
  for (size_t i = firstStep; i < endStep; ++i)
    if (!frame.steps[i].serial)
      claims.share(int64_t(i), frame.steps[i].grid);
  team.runHelped(
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

RunError Walk::error(const plan::Plan &plan) const {
  if (failedCallee >= 0)
    return "host function '" + plan.hostFunctions[failedCallee] +
           "' failed: " + (message ? message : "no reason given");
  if (indexStep < 0)
    return "the plan failed";
  const std::string location = ", in " + plan.steps[indexStep].label;
  RunError error;
  switch (failedCheck) {
  case TILEWRIGHT_FAILED_INDEX:
    error = {RunError::Kind::IndexOutOfRange, "index " + std::to_string(badIndex) +
                                                  " is out of range for a dimension of size " +
                                                  std::to_string(badSize) + location};
    break;
  case TILEWRIGHT_FAILED_DIVISOR:
    error = {RunError::Kind::DivisionByZero, "ZeroDivisionError: an integer is divided by 0" + location};
    break;
  case TILEWRIGHT_FAILED_CONDITION: {
    const std::vector<std::string> &messages = plan.steps[indexStep].messages;
    error = {RunError::Kind::ConditionFailed,
             (size_t(badIndex) < messages.size() ? messages[badIndex] : "a condition does not hold") + location};
    break;
  }
  }
  error.step = size_t(indexStep);
  return error;
}

} // namespace tilewright::runtime
