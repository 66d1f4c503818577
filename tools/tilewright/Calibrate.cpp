//===- Calibrate.cpp - tilewright calibrate --------------------------------------===//
//
// Test: test/Tools/calibrate.test
//
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "tilewright/HostCode.h"
#include "llvm/Support/raw_ostream.h"

namespace tilewright::driver {

int runCalibrate(int argc, const char *const *argv) {
  if (argc > 1)
    return printUsage(
        argc, argv,
        "usage: tilewright calibrate\nMeasures the rates of this machine for a few seconds. No other program "
        "should be busy during the measurement.\nThe rates are stored in the folder of the cache, which "
        "the environment variable TILEWRIGHT_CACHE_DIR selects.\n");
  std::string path;
  llvm::Expected<MachineRates> rates = calibrateHost(path);
  if (!rates) {
    llvm::errs() << "tilewright calibrate: " << llvm::toString(rates.takeError()) << "\n";
    return 1;
  }
  llvm::outs() << printRates(*rates) << "\nstored in " << path << "\n";
  return 0;
}

} // namespace tilewright::driver
