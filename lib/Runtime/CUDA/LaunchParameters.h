//===- LaunchParameters.h - what a launch gives its kernel, kept between calls ------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_CUDA_LAUNCHPARAMETERS_H
#define TILEWRIGHT_LIB_RUNTIME_CUDA_LAUNCHPARAMETERS_H

#include "lib/Runtime/CUDA/DriverApi.h"
#include "lib/Runtime/CUDA/GridPlan.h"

#include <string>
#include <vector>

namespace tilewright::runtime {

/// The parameters of a step's launch as cuLaunchKernel takes them: addresses of buffers, sizes, the address of a status
/// where the launch checks, tensor maps. Laid out by the first call; a later one writes what has changed, and tensor
/// maps are encoded again only where their buffer has moved or a size is another.
class LaunchParameters {
public:
  enum class Outcome { Same, Changed, Failed };

  /// Failed: a reason is in `error`.
  Outcome set(const driver::Api &api, const GridLaunch &launch, uint64_t status, std::string &error);

  void **data() { return pointers.data(); }

private:
  bool encode(const driver::Api &api, const GridLaunch &launch, std::string &error);

  std::vector<uint64_t> words;         ///< addresses, sizes, the status
  std::vector<driver::TensorMap> maps; ///< of these words
  std::vector<void *> pointers;        ///< to each word and map; empty: nothing is laid out
};

} // namespace tilewright::runtime

#endif
