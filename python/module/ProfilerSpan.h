//===- ProfilerSpan.h - a call as a span of torch.profiler ------------------------===//
//
//   ProfilerSpan span(name);                // ends at the end of the scope
//   StepSpans spans;                        // one span within it for each step of the plan on the CPU,
//   StepObserver::Scope scope(spans.get()); // while a profiler runs
//
// torch stores in a module variable whether a profiler is running, so a call without a profiler only costs a lookup in
// a dictionary.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_PYTHON_MODULE_PROFILERSPAN_H
#define TILEWRIGHT_PYTHON_MODULE_PROFILERSPAN_H

#include "lib/Interfaces/StepObserver.h"
#include <optional>
#include <pybind11/pybind11.h>
#include <string>

namespace tilewright::python {

class ProfilerSpan {
public:
  explicit ProfilerSpan(const std::string &name) {
    if (isProfiling())
      open(name);
  }
  ~ProfilerSpan() {
    if (span)
      close();
  }
  ProfilerSpan(const ProfilerSpan &) = delete;
  ProfilerSpan &operator=(const ProfilerSpan &) = delete;

  static bool isProfiling();

private:
  void open(const std::string &name);
  void close();
  pybind11::object span;
};

/// Opens a profiler span for each step of a call. begin() and end() acquire the GIL, which the call may have released.
class StepSpans final : public StepObserver {
public:
  /// Returns this object, or null if no profiler is running.
  StepObserver *get() { return ProfilerSpan::isProfiling() ? this : nullptr; }

  void begin(const std::string &name) override;
  void end() override;

private:
  std::optional<ProfilerSpan> span;
};

} // namespace tilewright::python

#endif
