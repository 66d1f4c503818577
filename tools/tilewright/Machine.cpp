//===- Machine.cpp - tilewright machine ------------------------------------------===//
#include "Commands.h"
#include "tilewright/HostCode.h"
#include "llvm/Support/raw_ostream.h"

namespace tilewright::driver {

int runMachine(int argc, const char *const *argv) {
  if (argc > 1)
    return printUsage(argc, argv,
                      "usage: tilewright machine\nPrints the description of this machine. The environment variable "
                      "TILEWRIGHT_CPU selects another machine.\n");
  llvm::Expected<std::string> text = printHost();
  if (!text) {
    llvm::errs() << "tilewright machine: " << llvm::toString(text.takeError()) << "\n";
    return 1;
  }
  llvm::outs() << *text;
  return 0;
}

} // namespace tilewright::driver
