//===- NvtxRanges.h - calls and kernels as ranges of NVIDIA's profilers ------------===//
//
//   NvtxRange range(library, name);         // ends at the end of the scope; none if `library` is null
//   NvtxSteps steps(library);               // one range within it for each kernel that the call launches
//   StepObserver::Scope scope(&steps);
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_PYTHON_MODULE_NVTXRANGES_H
#define TILEWRIGHT_PYTHON_MODULE_NVTXRANGES_H

#include "lib/Interfaces/StepObserver.h"
#include <string>

namespace tilewright::python {

/// The functions of an NVTX library.
struct NvtxLibrary {
  int (*push)(const char *name) = nullptr;
  int (*pop)() = nullptr;

  /// Opens the library at `path` once per process. Throws std::runtime_error if the library cannot be opened or does
  /// not define the functions for ranges.
  static const NvtxLibrary *open(const std::string &path);
};

class NvtxRange {
public:
  NvtxRange(const NvtxLibrary *library, const std::string &name) : library(library) {
    if (library)
      library->push(name.c_str());
  }
  ~NvtxRange() {
    if (library)
      library->pop();
  }
  NvtxRange(const NvtxRange &) = delete;
  NvtxRange &operator=(const NvtxRange &) = delete;

private:
  const NvtxLibrary *library;
};

class NvtxSteps final : public StepObserver {
public:
  explicit NvtxSteps(const NvtxLibrary *library) : library(library) {}

  void begin(const std::string &name) override { library->push(name.c_str()); }
  void end() override { library->pop(); }
  bool observesLaunches() const override { return true; }

private:
  const NvtxLibrary *library;
};

} // namespace tilewright::python

#endif
