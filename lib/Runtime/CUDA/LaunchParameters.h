//===- LaunchParameters.h - a launch's kernel parameters, kept between calls --------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_CUDA_LAUNCHPARAMETERS_H
#define TILEWRIGHT_LIB_RUNTIME_CUDA_LAUNCHPARAMETERS_H

#include "lib/Runtime/CUDA/DriverApi.h"
#include "lib/Runtime/CUDA/GridPlan.h"

#include <string>
#include <vector>

namespace tilewright::runtime {

/// The parameters of a step's launch in the form that cuLaunchKernel expects: addresses of buffers, sizes, the address
/// of a status if the launch checks indices, and tensor maps. The first call of set() builds the list. Later calls
/// update changed values, and encode the tensor maps again only if the address of a buffer or a size has changed.
class LaunchParameters {
public:
  enum class Outcome { Same, Changed, Failed };

  /// Sets the parameters of a launch. `status` is the address of the launch's status. Returns Changed in the first
  /// call, and if a value differs from the previous call. Returns Same if no value differs, and Failed with a reason in
  /// `error` on failure.
  Outcome set(const driver::Api &api, const GridLaunch &launch, uint64_t status, std::string &error);

  void **data() { return pointers.data(); }

private:
  bool encode(const driver::Api &api, const GridLaunch &launch, std::string &error);

  std::vector<uint64_t> words;         ///< addresses, sizes, address of the status
  std::vector<driver::TensorMap> maps; ///< encoded tensor maps for the current buffers and sizes
  std::vector<void *> pointers;        ///< pointers to each word and map; empty: not built yet
};

} // namespace tilewright::runtime

#endif
