//===- RecordsFolder.cpp - the folder of tuning records ---------------------------------------------------===//
#include "lib/Driver/ObjectCache.h"
#include "tilewright/Target.h"
#include "tilewright/Tuner.h"
#include "llvm/Support/FileSystem.h"

#include <cstdlib>

namespace tilewright {

std::string defaultRecordsFolder() {
  if (const char *folder = std::getenv("TILEWRIGHT_RECORDS_DIR"); folder && *folder)
    return folder;
  std::string error, cache = defaultCacheFolder(error);
  return cache.empty() ? "" : cache + "/records";
}

llvm::Error completeTuneOptions(Options &options) {
  if (options.tune != "off" && options.tune != "records" && options.tune != "strict" && options.tune != "stamp")
    return llvm::createStringError("tune is 'records', 'strict' or 'off', not '%s'", options.tune.c_str());
  if (options.tune == "off" || options.tune == "stamp") {
    options.records.clear();
    return llvm::Error::success();
  }
  const bool named = !options.records.empty();
  if (!named)
    options.records = defaultRecordsFolder();
  std::string unknown;
  Target *target = findTarget(options.target, unknown);
  if (options.tune == "strict" && target && !target->hasDevices() && !target->canMeasure(options))
    return llvm::createStringError("tune=strict requires measured schedules, but target '%s' has none",
                                   options.target.c_str());
  if (llvm::sys::fs::is_directory(options.records))
    return llvm::Error::success();
  if (named || options.tune == "strict")
    return llvm::createStringError("there is no folder of tuning records '%s'", options.records.c_str());
  options.records.clear();
  return llvm::Error::success();
}

} // namespace tilewright
