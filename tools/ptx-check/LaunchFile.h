//===- LaunchFile.h - read the description of a launch from JSON ----------------------===//
#ifndef TILEWRIGHT_TOOLS_PTXCHECK_LAUNCHFILE_H
#define TILEWRIGHT_TOOLS_PTXCHECK_LAUNCHFILE_H

#include "tilewright/PtxChecker.h"
#include "tools/ptx-check/Npy.h"

namespace tilewright::ptx {

struct LaunchFile {
  struct Buffer {
    std::string name, out;       ///< out: the .npy file to which the buffer is written; "" if none
    Array array;                 ///< elements that were read from a file or filled in
    std::vector<uint8_t> memory; ///< the bytes that the kernel accesses, with the alignment of a device's allocation
    bool initialised = true;
    uint8_t *data();
  };
  Launch launch;
  std::vector<Buffer> buffers;
  std::vector<Argument> arguments;
  Memory memory;
};

/// Reads a launch file, whose format is described in docs/targets/ptx-check.md. Paths in the file are relative to its
/// folder. On failure, returns false and stores the reason in `error`.
bool readLaunchFile(const std::string &path, LaunchFile &launch, std::string &error);

} // namespace tilewright::ptx

#endif
