//===- SaveLaunch.h - save a launch of the emulated device for ptx-check -----------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_CUDA_SAVELAUNCH_H
#define TILEWRIGHT_LIB_RUNTIME_CUDA_SAVELAUNCH_H

#include "tilewright/PtxChecker.h"

#include <string>
#include <vector>

namespace tilewright::runtime {

/// Writes `<folder>/<number>-<kernel>/`: kernels.ptx, launch.json and a .npy of bytes with the contents of each buffer
/// before the launch, so that `ptx-check kernels.ptx --args launch.json` repeats the launch. `<number>` is the first
/// number that no saved launch of the same kernel has. Each of the launch's `arguments` is a tensor map or has at most
/// eight bytes. An argument that is the address of an allocation in `memory` is saved as that buffer. Returns false
/// with a reason in `error` on failure.
bool saveLaunch(const std::string &folder, const std::string &ptx, const ptx::Memory &memory, const ptx::Launch &launch,
                const std::vector<ptx::Argument> &arguments, std::string &error);

} // namespace tilewright::runtime

#endif
