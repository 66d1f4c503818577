//===- LaunchFile.h - the launch that a JSON file describes ---------------------------===//
#ifndef TILEWRIGHT_TOOLS_PTXCHECK_LAUNCHFILE_H
#define TILEWRIGHT_TOOLS_PTXCHECK_LAUNCHFILE_H

#include "tilewright/PtxChecker.h"
#include "tools/ptx-check/Npy.h"

namespace tilewright::ptx {

struct LaunchFile {
  struct Buffer {
    std::string name, out;       ///< out: the .npy file to write it to; "": none
    Array array;                 ///< what was read or filled in
    std::vector<uint8_t> memory; ///< holds the bytes that the kernel sees, aligned as a device's allocation is
    bool initialised = true;
    uint8_t *data();
  };
  Launch launch;
  std::vector<Buffer> buffers;
  std::vector<Argument> arguments;
  Memory memory;
};

/// Reads docs/targets/ptx-check.md's format. Paths are relative to the file's folder. False with a reason.
bool readLaunchFile(const std::string &path, LaunchFile &launch, std::string &error);

} // namespace tilewright::ptx

#endif
