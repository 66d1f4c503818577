//===- DriverContext.h - a GPU's primary context ----------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_CUDA_DRIVERCONTEXT_H
#define TILEWRIGHT_LIB_RUNTIME_CUDA_DRIVERCONTEXT_H

#include "lib/Interfaces/ForkGeneration.h"
#include "lib/Runtime/CUDA/DriverApi.h"

#include <memory>
#include <string>

namespace tilewright::runtime {

/// A device with its primary context, which torch uses as well. The context is released together with the last
/// reference to this object.
class DriverContext {
public:
  /// Returns the context of a device. Returns null with a reason in `error` if there is no driver or no such device, or
  /// if the driver cannot create a context.
  static std::shared_ptr<DriverContext> of(int ordinal, std::string &error);
  ~DriverContext();

  /// Returns a device's compute capability (90 for 9.0) without creating a context, or 0 if there is no device or
  /// driver.
  static int capabilityOf(int ordinal);
  /// Returns a device's name without creating a context, or "" if there is no device or driver.
  static std::string nameOf(int ordinal);

  const driver::Api &api;
  const int ordinal;
  int capability = 0;  ///< 90 for 9.0
  int sharedOptIn = 0; ///< maximum bytes of dynamic shared memory of a kernel
  int cacheBytes = 0;  ///< size of the L2 cache; 0: unknown
  bool pools = false;  ///< the device supports stream-ordered allocation
  std::string name;    ///< "NVIDIA H200"

  /// Returns a description of the device, such as "cuda:0 (NVIDIA H200, sm_90)".
  std::string describe() const;
  driver::Context handle() const { return context; }
  /// Returns false in a child process that was forked after the context was created. CUDA does not work in such a
  /// child.
  bool isOfThisProcess() const { return generation == forkGeneration(); }

  /// Makes the context the thread's current context during the object's lifetime. If that is not possible, as in a
  /// forked child, the object converts to false, and `error` has the reason.
  class Current {
  public:
    Current(const DriverContext &context, std::string &error);
    ~Current();
    explicit operator bool() const { return good; }

  private:
    const DriverContext &context;
    bool good = false, pushed = false;
  };

private:
  DriverContext(const driver::Api &api, int ordinal) : api(api), ordinal(ordinal) {}
  driver::Device device = 0;
  driver::Context context = nullptr;
  const uint64_t generation = forkGeneration();
};

} // namespace tilewright::runtime

#endif
