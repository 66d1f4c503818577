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
    return printUsage(argc, argv,
                      "usage: tilewright calibrate\nMeasures this machine for about two seconds, best while it does "
                      "nothing else.\nTILEWRIGHT_CACHE_DIR chooses the folder the result is kept in.\n");
  std::string path;
  llvm::Expected<MachineRates> rates = calibrateHost(path);
  if (!rates) {
    llvm::errs() << "tilewright calibrate: " << llvm::toString(rates.takeError()) << "\n";
    return 1;
  }
  llvm::outs() << printRates(*rates) << "\nkept in " << path << "\n";
  return 0;
}

} // namespace tilewright::driver
