//===- tilewright.cpp - the driver: one program with a command per task -----------===//
//
//   tilewright compile model.pt2 --emit=structured
//   tilewright run model.pt2 --input x=x.npy --output results
//
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "tilewright/Compiler.h"
#include "tilewright/Target.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

using namespace tilewright::driver;

namespace {

struct Command {
  llvm::StringLiteral name, summary;
  int (*run)(int argc, const char *const *argv);
  /// True if the command only compiles, or runs the model only with --measure. Without --measure, every crash of the
  /// process is then reported as a crash of the compiler. All other runs report a crash of the compiler only while they
  /// compile.
  bool onlyCompiles = false;
};

constexpr Command commands[] = {
    {"bench", "compare the speed of models and kernels with eager, Inductor, OpenVINO and JAX", runBench},
    {"cache", "list, explain, prune or clear the cache of compiled code", runCache},
    {"calibrate", "measure the rates of this machine, which the cost model uses, in a few seconds", runCalibrate},
    {"compile", "compile a model (.pt2, .onnx or MLIR) to a library, or print its IR after a stage or its assembly",
     runCompile,
     /*onlyCompiles=*/true},
    {"explain",
     "report how a model was compiled: its kernels, the reasons why ops were not fused, and the IR of every stage",
     runExplain, /*onlyCompiles=*/true},
    {"inspect", "print the manifest of a library: inputs, outputs, weights, kernels and the required CPU", runInspect},
    {"machine", "print the machine description on which schedules depend, and measure the peak rate of FMAs",
     runMachine},
    {"run", "compile a model and call it on .npy files or random inputs; --check compares with the reference", runRun},
    {"tune", "search schedules for the kernels of a model, and store the best ones as records", runTune},
};

std::vector<std::string> commandNames() {
  std::vector<std::string> names;
  for (const Command &command : commands)
    names.push_back(command.name.str());
  return names;
}

constexpr int exitOfCrash = 70; // EX_SOFTWARE

void printCommands(llvm::raw_ostream &os) {
  os << "usage: tilewright <command> [flags]\n\ncommands:\n";
  for (const Command &command : commands)
    os << "  " << llvm::left_justify(command.name, 11) << command.summary << "\n";
  os << "\n`tilewright <command> --help` lists the flags of a command, `tilewright --version` prints the version.\n";
}

} // namespace

int tilewright::driver::printUsage(int argc, const char *const *argv, const char *usage) {
  const bool asked = argc == 2 && (llvm::StringRef(argv[1]) == "--help" || llvm::StringRef(argv[1]) == "-h");
  (asked ? llvm::outs() : llvm::errs()) << usage;
  return asked ? 0 : 2;
}

int main(int argc, char **argv) {
  llvm::StringRef name = argc > 1 ? argv[1] : "";
  // After a crash the process exits without destructors, because the compiler's threads are blocked and may hold locks.
  tilewright::onCompilerCrash([&](const std::string &message) {
    llvm::errs() << "tilewright " << name << ": " << message << "\ntilewright: this command reproduces the crash:";
    for (int i = 0; i < argc; ++i)
      llvm::errs() << " " << argv[i];
    llvm::errs() << "\n";
    llvm::outs().flush();
    std::_Exit(exitOfCrash);
  });
  const bool measures = std::find(argv, argv + argc, llvm::StringRef("--measure")) != argv + argc;
  for (const Command &command : commands)
    if (name == command.name)
      return command.onlyCompiles && !measures
                 ? tilewright::runCaughtProgram([&] { return command.run(argc - 1, argv + 1); })
                 : command.run(argc - 1, argv + 1);
  if (name == "--help" || name == "-h" || name == "help") {
    printCommands(llvm::outs());
    return 0;
  }
  if (name == "--version") {
    llvm::outs() << "tilewright " TILEWRIGHT_VERSION ", LLVM " LLVM_VERSION_STRING "\n";
    return 0;
  }
  if (!name.empty())
    llvm::errs() << "tilewright: unknown command '" << name << "'" << tilewright::suggestName(name, commandNames())
                 << "\n";
  printCommands(llvm::errs());
  return 2;
}
