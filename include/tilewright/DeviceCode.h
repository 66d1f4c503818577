//===- DeviceCode.h - kernels of a GPU and their plan, for targets ---------------------===//
//
// This header declares the part of the runtime that a target for a device needs: a function that creates an artifact
// (plan, table of kernels and PTX in one image), and a function that loads it. Targets include no other header of the
// runtime. HostCode.h is the equivalent for the host's CPU.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_DEVICECODE_H
#define TILEWRIGHT_DEVICECODE_H

#include "tilewright/Compiler.h"
#include "tilewright/TensorMapRecipe.h"

namespace tilewright {

/// Specifies how a kernel is launched. The kernel has the following parameters, in this order:
///   - the buffers of the launch, in the order of the plan;
///   - the sizes of the launch, with 64 bits each;
///   - if the plan specifies that the kernel checks its indices, the status: three int64_t, to which the kernel writes
///     { nonzero, index, size } if an index is out of range;
///   - the tensor maps, by value.
/// Every buffer is aligned to 16 bytes.
struct DeviceKernel {
  std::string name;
  int64_t threads = 0; ///< threads per block; the number of blocks is the plan's grid
  int64_t shared = 0;  ///< bytes of dynamic shared memory
  std::vector<TensorMapRecipe> maps;
};

/// The error that a device cannot be used, or that it rejects a program. Compiling the program again would not help.
class DeviceError : public llvm::ErrorInfo<DeviceError> {
public:
  static char ID;
  explicit DeviceError(std::string text) : text(std::move(text)) {}
  void log(llvm::raw_ostream &stream) const override { stream << text; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

private:
  std::string text;
};

/// Returns the artifact of `module`: its tw_plan.program, with `kernels` in `ptx`.
llvm::Expected<std::string> emitDeviceArtifact(mlir::ModuleOp module, llvm::StringRef ptx,
                                               llvm::ArrayRef<DeviceKernel> kernels);

/// The device on which an artifact runs, and options of its calls.
struct DeviceOptions {
  /// Name of the device. "emulated" is the PTX interpreter; its findings are errors of the call, with kernel and line.
  /// "cuda" and "cuda:1" are GPUs that the NVIDIA driver runs. "" is "cuda".
  std::string device;
  bool graph = false; ///< true: a call with the same symbols as the previous call is launched as one CUDA graph
  bool cache = true;  ///< true: use the cache of assembled code
};

llvm::Expected<std::shared_ptr<Program>> loadDeviceArtifact(llvm::StringRef artifact, const DeviceOptions &options);

/// Assembles the kernels of `artifact` for the device, and stores the result in the cache of assembled code, where a
/// later loadDeviceArtifact() finds it, possibly in another process. Does nothing if the cache is off, or if there is
/// no ptxas or no GPU.
llvm::Error assembleDeviceArtifact(llvm::StringRef artifact, const DeviceOptions &options);

/// Returns an error if `device` is not the name of a device of a GPU target (DeviceOptions).
llvm::Error checkDevice(llvm::StringRef device);

/// Returns the compute capability of a GPU, such as 90 for 9.0. Returns 0 if `device` is no GPU, or if there is no
/// driver.
int deviceCapability(llvm::StringRef device);
/// Returns the name of a GPU, such as "NVIDIA H200". Returns "" if `device` is no GPU, or if there is no driver.
std::string deviceName(llvm::StringRef device);

} // namespace tilewright

#endif
