//===- EmulatedDevice.h - a plan's kernels on ptx-check's interpreter -----------------===//
//
// A device whose memory is the host's: kernels get the caller's pointers as they are, and every access is checked
// against the buffer of the launch that it belongs to. What the checker finds fails the call. With the environment
// variable TILEWRIGHT_SAVE_LAUNCHES=FOLDER every launch is saved there for ptx-check.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_CUDA_EMULATEDDEVICE_H
#define TILEWRIGHT_LIB_RUNTIME_CUDA_EMULATEDDEVICE_H

#include "lib/Runtime/Host/Frame.h"
#include "lib/Runtime/Plan/Plan.h"
#include "tilewright/PtxChecker.h"
#include "tilewright/TensorMapRecipe.h"

#include <memory>
#include <string>
#include <vector>

namespace tilewright::runtime {

/// As DeviceKernel in include/tilewright/DeviceCode.h.
struct GridKernel {
  std::string name;
  uint32_t threads = 0, shared = 0;
  std::vector<TensorMapRecipe> maps;
};

class EmulatedDevice {
public:
  /// `kernels` are plan.kernels, in order. Null with a reason in `error`: an invalid plan, PTX that cannot be read, a
  /// kernel that it does not have, a tensor map of a buffer or size that a launch does not have.
  static std::unique_ptr<EmulatedDevice> create(plan::Plan plan, std::vector<GridKernel> kernels, std::string ptx,
                                                std::string &error);

  /// Walks the plan. `symbols` has a value per symbol. False with a reason in `error`; what outputs then hold is
  /// undefined.
  bool run(const void *const *inputs, void *const *outputs, const int64_t *symbols, std::string &error) const;

  int32_t numOutputs() const { return program.numOutputs; }

private:
  EmulatedDevice() = default;

  struct Call;
  bool walk(const Frame &frame, Call &call, std::string &error) const;
  bool launch(const Frame &frame, size_t step, Call &call, std::string &error) const;

  plan::Plan program;
  std::vector<GridKernel> kernels;
  std::string text; ///< of the module
  std::unique_ptr<ptx::Module> module;
  std::vector<int64_t> packedBytes; ///< by slot
};

} // namespace tilewright::runtime

#endif
