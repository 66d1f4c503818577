//===- CalibrationFile.cpp - a host's measured rates, stored in the cache folder ------===//
//
// Test: test/Unit/Driver/CalibrationFileTest.cpp
//
//===----------------------------------------------------------------------===//
#include "lib/Driver/CalibrationFile.h"
#include "lib/Driver/CacheFile.h"
#include "lib/Driver/ObjectCache.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace tilewright {

static std::string keyOfHost(const std::string &identity) { return CacheKey().add("calibration", identity).hex(); }

std::string ratesPath(const std::string &folder, const std::string &identity) {
  return folder + "/calibration/" + keyOfHost(identity);
}

std::optional<MachineRates> loadRates(const std::string &folder, const std::string &identity) {
  std::unique_ptr<llvm::MemoryBuffer> bytes;
  std::string reason;
  MachineRates rates;
  if (readCacheFile(ratesPath(folder, identity), keyOfHost(identity), bytes, reason) != CacheFileState::Valid ||
      !parseRates(std::string_view(bytes->getBufferStart(), bytes->getBufferSize()), rates))
    return std::nullopt;
  return rates;
}

bool storeRates(const std::string &folder, const std::string &identity, const MachineRates &rates,
                std::string &reason) {
  std::string path = ratesPath(folder, identity);
  if (std::error_code code = llvm::sys::fs::create_directories(
          llvm::sys::path::parent_path(path), /*IgnoreExisting=*/true, llvm::sys::fs::perms::owner_all)) {
    reason = folder + "/calibration cannot be created: " + code.message();
    return false;
  }
  return writeCacheFile(path, keyOfHost(identity), printRates(rates), reason);
}

} // namespace tilewright
