//===- ProfilerSpan.h - a call as a span of torch.profiler ------------------------===//
//
//   ProfilerSpan span(name);   // ends at the end of the scope
//
// A module variable of torch states whether a profiler runs, so a call without a profiler only needs a lookup.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_PYTHON_MODULE_PROFILERSPAN_H
#define TILEWRIGHT_PYTHON_MODULE_PROFILERSPAN_H

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

private:
  static bool isProfiling();
  void open(const std::string &name);
  void close();
  pybind11::object span;
};

} // namespace tilewright::python

#endif
