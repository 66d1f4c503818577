//===- EmulatedDevice.h - a plan's kernels on ptx-check's interpreter -----------------===//
//
// A device whose memory is the host's: kernels get the caller's pointers as they are, and every access is checked
// against the buffer of the launch that it belongs to. What the checker finds fails the call. With the environment
// variable TILEWRIGHT_SAVE_LAUNCHES=FOLDER every launch is saved there for ptx-check.
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
  /// Null with a reason in `error`: PTX that cannot be read, or that does not have a kernel of the plan.
  static std::unique_ptr<EmulatedDevice> create(std::unique_ptr<GridPlan> plan, std::string ptx, std::string &error);

  /// Walks the plan. `symbols` has a value per symbol. False with a reason in `error`; what outputs then hold is
  /// undefined.
  bool run(const void *const *inputs, void *const *outputs, const int64_t *symbols, std::string &error) const;

  int32_t numOutputs() const { return plan->plan().numOutputs; }

private:
  EmulatedDevice() = default;

  class Call;

  std::unique_ptr<GridPlan> plan;
  std::string text; ///< of the module
  std::unique_ptr<ptx::Module> module;
};

} // namespace tilewright::runtime

#endif
