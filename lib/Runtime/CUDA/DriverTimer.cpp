//===- DriverTimer.cpp - measure calls on a GPU ---------------------------------------------===//
//
// Test: test/Python/test_cuda_tuning.py
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/CUDA/DriverTimer.h"

#include <algorithm>

namespace tilewright::runtime {

bool DriverTimer::good(driver::Code code, const char *what, RunError &error) const {
  if (code != 0)
    error = RunError(code == driver::kOutOfMemory ? RunError::Kind::OutOfMemory : RunError::Kind::Other,
                     context->describe() + " failed " + what + ": " + context->api.explain(code));
  return code == 0;
}

std::unique_ptr<DriverTimer> DriverTimer::create(std::shared_ptr<DriverContext> context, RunError &error) {
  std::unique_ptr<DriverTimer> timer(new DriverTimer(std::move(context)));
  DriverContext::Current current(*timer->context, error.text);
  if (!current)
    return nullptr;
  const driver::Api &api = timer->context->api;
  if (!api.elapsedTime) {
    error = "the NVIDIA driver has no function cuEventElapsedTime, which measurements need: update the driver";
    return nullptr;
  }
  // The minimum size of the buffer. Its writes must take longer than the host needs to enqueue a call of a few kernels.
  // On cards with a small L2 cache, writing 32 MiB takes about 50 us.
  constexpr size_t leastFlushed = size_t(32) << 20;
  timer->flushedBytes = std::max(leastFlushed, 2 * size_t(std::max(timer->context->cacheBytes, 0)));
  const bool made = timer->good(api.allocate(&timer->flushed, timer->flushedBytes), "to allocate memory", error) &&
                    timer->good(api.createEvent(&timer->from, 0), "to create an event", error) &&
                    timer->good(api.createEvent(&timer->to, 0), "to create an event", error);
  return made ? std::move(timer) : nullptr;
}

DriverTimer::~DriverTimer() {
  std::string error;
  DriverContext::Current current(*context, error);
  if (!current)
    return;
  for (driver::Event event : {from, to})
    if (event)
      context->api.destroyEvent(event);
  if (flushed)
    context->api.free(flushed);
  for (driver::Address address : memory)
    context->api.free(address);
}

void *DriverTimer::allocate(size_t bytes, RunError &error) {
  DriverContext::Current current(*context, error.text);
  driver::Address address = 0;
  if (!current || !good(context->api.allocate(&address, std::max<size_t>(bytes, 1)), "to allocate memory", error))
    return nullptr;
  memory.push_back(address);
  return reinterpret_cast<void *>(address);
}

bool DriverTimer::copyIn(void *to, const void *from, size_t bytes, RunError &error) {
  DriverContext::Current current(*context, error.text);
  return current &&
         (bytes == 0 || (good(context->api.copyIn(reinterpret_cast<driver::Address>(to), from, bytes, nullptr),
                              "to copy an input", error) &&
                         good(context->api.synchronize(nullptr), "to copy an input", error)));
}

bool DriverTimer::copyOut(void *to, const void *from, size_t bytes, RunError &error) {
  DriverContext::Current current(*context, error.text);
  return current &&
         (bytes == 0 || (good(context->api.copyOut(to, reinterpret_cast<driver::Address>(from), bytes, nullptr),
                              "to copy a result", error) &&
                         good(context->api.synchronize(nullptr), "to copy a result", error)));
}

bool DriverTimer::time(const std::function<bool(RunError &)> &enqueue, double &nanoseconds, RunError &error) {
  DriverContext::Current current(*context, error.text);
  const driver::Api &api = context->api;
  if (!current || !good(api.fill(flushed, 0, flushedBytes, nullptr), "to write memory", error) ||
      !good(api.recordEvent(from, nullptr), "to record an event", error) || !enqueue(error) ||
      !good(api.recordEvent(to, nullptr), "to record an event", error) ||
      !good(api.synchronizeEvent(to), "in a measured call", error))
    return false;
  float milliseconds = 0;
  if (!good(api.elapsedTime(&milliseconds, from, to), "to read the time of an event", error))
    return false;
  nanoseconds = double(milliseconds) * 1e6;
  return true;
}

} // namespace tilewright::runtime
