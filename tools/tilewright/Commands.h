//===- Commands.h - the driver's commands --------------------------------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_COMMANDS_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_COMMANDS_H

namespace tilewright::driver {

/// `tilewright bench ...`: executes python3 -m tilewright.bench in this process. Returns only if the Python interpreter
/// cannot be executed.
int runBench(int argc, const char *const *argv);
/// `tilewright cache ...`: lists, explains, prunes or clears the entries of the object cache.
int runCache(int argc, const char *const *argv);
/// `tilewright calibrate`: measures and stores the host's rates.
int runCalibrate(int argc, const char *const *argv);
/// `tilewright compile ...`: compiles a model. argv[0] is "compile". Returns the exit status, which is 0 for success, 2
/// if the command line cannot be parsed, and 1 for any other error.
int runCompile(int argc, const char *const *argv);
/// `tilewright explain model.pt2`: reports how a model is compiled, as text, HTML or JSON.
int runExplain(int argc, const char *const *argv);
/// `tilewright inspect model.so`: prints the manifest of a library.
int runInspect(int argc, const char *const *argv);
/// `tilewright run ...`: compiles a model, or loads a library, and calls it. The exit statuses are those of
/// runCompile().
int runRun(int argc, const char *const *argv);

/// `tilewright tune model.pt2`: searches schedules, and manages their records.
int runTune(int argc, const char *const *argv);

/// `tilewright machine`: prints the machine description and the measured peak rate of FMAs, one entry per line.
int runMachine(int argc, const char *const *argv);

/// Prints `usage`, for commands that do not parse flags with llvm::cl. If the only argument is --help or -h, prints to
/// standard output and returns the exit status 0. Otherwise prints to standard error and returns 2.
int printUsage(int argc, const char *const *argv, const char *usage);

} // namespace tilewright::driver

#endif
