//===- CalibrationFile.h - a host's measured rates, stored in the cache folder --------===//
//
// The file <cache folder>/calibration/<key> contains the rates as text (MachineRates.h), followed by the trailer of
// CacheFile.h. The key is a hash of the host's identity (rateIdentity() in lib/Runtime/Host/Calibration.h) and of the
// versions of Tilewright and LLVM. Different machines that share a home directory therefore have separate files.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_DRIVER_CALIBRATIONFILE_H
#define TILEWRIGHT_LIB_DRIVER_CALIBRATIONFILE_H

#include "tilewright/MachineRates.h"

#include <optional>
#include <string>

namespace tilewright {

/// Returns the rates of the host `identity` stored in `folder`, or nullopt if none can be read.
std::optional<MachineRates> loadRates(const std::string &folder, const std::string &identity);

/// Stores the rates atomically; several processes may do so at once. Returns false with a sentence in `reason`.
bool storeRates(const std::string &folder, const std::string &identity, const MachineRates &rates, std::string &reason);

/// Returns the path of the file with the rates of the host `identity`.
std::string ratesPath(const std::string &folder, const std::string &identity);

} // namespace tilewright

#endif
