//===- EmulatedDevice.h - run a plan's kernels in ptx-check's interpreter -------------===//
//
// The emulated device uses host memory, so that kernels access the caller's tensors directly, or copies of tensors that
// are not aligned to 16 bytes. The PTX interpreter checks every access against the buffers of the launch. If the PTX
// interpreter reports an error, the call fails. If the environment variable TILEWRIGHT_SAVE_LAUNCHES=FOLDER is set,
// every launch is saved in that folder for ptx-check.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_CUDA_EMULATEDDEVICE_H
#define TILEWRIGHT_LIB_RUNTIME_CUDA_EMULATEDDEVICE_H

#include "lib/Runtime/CUDA/GridPlan.h"
#include "tilewright/PtxChecker.h"

#include <memory>
#include <string>
#include <vector>

namespace tilewright::runtime {

class EmulatedDevice {
public:
  /// Returns null with a reason in `error` if the PTX cannot be parsed or lacks a kernel of the plan.
  static std::unique_ptr<EmulatedDevice> create(std::unique_ptr<GridPlan> plan, std::string ptx, std::string &error);

  /// Runs the plan. `symbols` has a value per symbol. Returns false with a reason in `error`; the contents of the
  /// outputs are then undefined.
  bool run(const void *const *inputs, void *const *outputs, const int64_t *symbols, RunError &error) const;

  int32_t numOutputs() const { return plan->plan().numOutputs; }

private:
  EmulatedDevice() = default;

  class Call;

  std::unique_ptr<GridPlan> plan;
  std::string text; ///< PTX of the module
  std::unique_ptr<ptx::Module> module;
};

} // namespace tilewright::runtime

#endif
