//===- Machine.cpp - tilewright machine ------------------------------------------===//
#include "Commands.h"
#include "lib/Runtime/Host/Machine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

namespace tilewright::driver {

int runMachine(int argc, const char *const *argv) {
  if (argc > 1) {
    llvm::errs() << "usage: tilewright machine\nTILEWRIGHT_CPU chooses another machine than this one.\n";
    return 2;
  }
  runtime::MachineDescription machine;
  std::string error;
  if (!runtime::describeMachineFromEnvironment(machine, error)) {
    llvm::errs() << "tilewright machine: " << error << "\n";
    return 1;
  }
  llvm::outs() << "name: " << machine.name << "\nllvm: " << machine.llvmCpu << " " << machine.features
               << "\nvector bytes: " << machine.vectorBytes << "\nL1d bytes: " << machine.l1dBytes
               << "\nL2 bytes: " << machine.l2Bytes << "\nL3 bytes: " << machine.l3Bytes << " for " << machine.l3Cpus
               << " CPUs\ncores: " << machine.physicalCores << " (" << machine.logicalCpus << " logical)\n";
  llvm::outs() << "bf16 tiles: " << (machine.sets.amxBf16 ? "yes" : "no")
               << "\nbf16 dot at full rate: " << (machine.bf16DotFullRate ? "yes" : "no")
               << llvm::format("\nFMA peak, one thread: %.1f GFLOP/s\n", runtime::fmaPeak());
  return 0;
}

} // namespace tilewright::driver
