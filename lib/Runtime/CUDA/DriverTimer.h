//===- DriverTimer.h - measure calls on a GPU -----------------------------------------------===//
//
// A DriverTimer owns device memory for the tensors of measured calls. It uses events to measure the time that the
// device needs for the work of a call. Before each measurement, it writes a buffer that is larger than the L2 cache, so
// that every call reads its operands from the card's memory. The host enqueues the call while the device still writes
// this buffer. Therefore, the measured time of a short call does not include the time that the host needs to launch it.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_CUDA_DRIVERTIMER_H
#define TILEWRIGHT_LIB_RUNTIME_CUDA_DRIVERTIMER_H

#include "lib/Runtime/CUDA/DriverContext.h"
#include "tilewright/RunError.h"

#include <functional>
#include <vector>

namespace tilewright::runtime {

class DriverTimer {
public:
  /// Returns null with a reason in `error` if the device has not enough memory.
  static std::unique_ptr<DriverTimer> create(std::shared_ptr<DriverContext> context, RunError &error);
  /// Frees the memory.
  ~DriverTimer();

  /// Returns `bytes` bytes of device memory. If there is not enough memory, returns null with a reason in `error`.
  void *allocate(size_t bytes, RunError &error);
  bool copyIn(void *to, const void *from, size_t bytes, RunError &error);
  bool copyOut(void *to, const void *from, size_t bytes, RunError &error);

  /// Calls `enqueue`, which enqueues work into the default stream, and waits for this work. Sets `nanoseconds` to the
  /// time that the device needed for the work.
  bool time(const std::function<bool(RunError &)> &enqueue, double &nanoseconds, RunError &error);

private:
  explicit DriverTimer(std::shared_ptr<DriverContext> context) : context(std::move(context)) {}
  /// Returns true if `code` is success. Otherwise, sets `error` to a text that contains `what` and the code.
  bool good(driver::Code code, const char *what, RunError &error) const;

  std::shared_ptr<DriverContext> context;
  std::vector<driver::Address> memory;
  driver::Address flushed = 0; ///< the buffer that replaces the contents of the L2 cache
  size_t flushedBytes = 0;
  driver::Event from = nullptr, to = nullptr;
};

} // namespace tilewright::runtime

#endif
