//===- DeviceCode.h - kernels of a GPU and their plan, for tenants ---------------------===//
//
// What a tenant that runs on a device needs of the runtime, so that it includes nothing of it: an artifact (plan, a
// table of kernels and PTX in one image), and its loading. HostCode.h is the same for the host's CPU.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_DEVICECODE_H
#define TILEWRIGHT_DEVICECODE_H

#include "tilewright/Compiler.h"
#include "tilewright/TensorMapRecipe.h"

namespace tilewright {

/// How a kernel is launched. Its parameters are the buffers of its launch in order, then the launch's sizes (64 bits
/// each), where the plan says that it checks its indices, the status: three int64_t, { not 0, index, size } once one
/// was out of range, and its tensor maps, by value. Every buffer begins at a multiple of 16 bytes.
struct DeviceKernel {
  std::string name;
  int64_t threads = 0; ///< of a block; the plan's grid is the number of blocks
  int64_t shared = 0;  ///< bytes of dynamic shared memory
  std::vector<TensorMapRecipe> maps;
};

/// A device that cannot be used, or does not take a program: compiling it again would not help.
class DeviceError : public llvm::ErrorInfo<DeviceError> {
public:
  static char ID;
  explicit DeviceError(std::string text) : text(std::move(text)) {}
  void log(llvm::raw_ostream &stream) const override { stream << text; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

private:
  std::string text;
};

/// The artifact of `module`: its tw_plan.program, with `kernels` in `ptx`.
llvm::Expected<std::string> emitDeviceArtifact(mlir::ModuleOp module, llvm::StringRef ptx,
                                               llvm::ArrayRef<DeviceKernel> kernels);

/// A program from it, on the device that `options` name. "emulated": on ptx-check's interpreter; what it finds is the
/// call's error, with kernel and line. "cuda", "cuda:1": on that GPU, by NVIDIA's driver; "" is "cuda".
llvm::Expected<std::shared_ptr<Program>> loadDeviceArtifact(llvm::StringRef artifact, const Options &options);

/// An error where Options::device can be no device of a GPU target.
llvm::Error checkDevice(llvm::StringRef device);

/// The compute capability of a GPU, as 90 for 9.0; 0: there is none, or no driver.
int deviceCapability(llvm::StringRef device);

} // namespace tilewright

#endif
