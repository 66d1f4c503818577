//===- CalibrationFile.h - a host's rates, kept beside the object cache ---------------===//
//
// <cache folder>/calibration/<key>: the text of MachineRates.h with the trailer of CacheFile.h. The key names CPU,
// cores, caches and the versions of Tilewright and LLVM, so that a home shared by several machines has a file for each.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_COMPILER_CALIBRATIONFILE_H
#define TILEWRIGHT_LIB_COMPILER_CALIBRATIONFILE_H

#include "tilewright/MachineRates.h"

#include <optional>
#include <string>

namespace tilewright {

/// The rates of the host called `identity` that were kept in `folder`; nothing where there are none that can be read.
std::optional<MachineRates> loadRates(const std::string &folder, const std::string &identity);

/// Keeps them, all or nothing; any number of processes may. False with a sentence in `reason`.
bool storeRates(const std::string &folder, const std::string &identity, const MachineRates &rates, std::string &reason);

/// Where they are kept.
std::string ratesPath(const std::string &folder, const std::string &identity);

} // namespace tilewright

#endif
