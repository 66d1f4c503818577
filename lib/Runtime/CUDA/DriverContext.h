//===- DriverContext.h - a GPU's primary context ----------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_CUDA_DRIVERCONTEXT_H
#define TILEWRIGHT_LIB_RUNTIME_CUDA_DRIVERCONTEXT_H

#include "lib/Runtime/CUDA/DriverApi.h"
#include "tilewright/ForkGeneration.h"

#include <memory>
#include <string>

namespace tilewright::runtime {

/// A device with its primary context, which torch uses, too. It is released with its last user.
class DriverContext {
public:
  /// Null with a reason in `error`: no driver, no such device, no memory for a context.
  static std::shared_ptr<DriverContext> of(int ordinal, std::string &error);
  ~DriverContext();

  /// The compute capability of a device, 90 for 9.0, without a context on it; 0: there is none, or no driver.
  static int capabilityOf(int ordinal);

  const driver::Api &api;
  const int ordinal;
  int capability = 0;  ///< 90 for 9.0
  int sharedOptIn = 0; ///< bytes of dynamic shared memory that a kernel may ask for
  bool pools = false;  ///< it allocates in the order of a stream
  std::string name;    ///< "NVIDIA H200"

  /// "cuda:0 (NVIDIA H200, sm_90)"
  std::string describe() const;
  driver::Context handle() const { return context; }
  /// False in a child that was forked from the process that made the context: CUDA does not work there.
  bool isOfThisProcess() const { return generation == forkGeneration(); }

  /// Makes the context the thread's current one while it lives; refuses in a forked child.
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
