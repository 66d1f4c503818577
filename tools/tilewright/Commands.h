//===- Commands.h - the driver's commands --------------------------------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_COMMANDS_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_COMMANDS_H

namespace tilewright::driver {

/// `tilewright bench ...`: replaces the process by python3 -m tilewright.bench.
int runBench(int argc, const char *const *argv);
/// `tilewright cache ...`: lists, explains and prunes the object cache.
int runCache(int argc, const char *const *argv);
/// `tilewright calibrate`: measures and stores the host's rates.
int runCalibrate(int argc, const char *const *argv);
/// `tilewright compile ...`: argv[0] is "compile". Returns the exit status: 0, 1 for an error, 2 for a wrong flag.
int runCompile(int argc, const char *const *argv);
/// `tilewright explain model.pt2`: shows how a model was compiled, as text or as a page.
int runExplain(int argc, const char *const *argv);
/// `tilewright inspect model.so`: prints its manifest.
int runInspect(int argc, const char *const *argv);
/// `tilewright run ...`: compiles a model and calls it. The exit status is the same as that of compile.
int runRun(int argc, const char *const *argv);

/// `tilewright tune model.pt2`: searches schedules, and manages their records.
int runTune(int argc, const char *const *argv);

/// `tilewright machine`: prints the machine description, one entry per line.
int runMachine(int argc, const char *const *argv);

/// Prints the usage of a command that has no flags of LLVM. If the only argument is --help or -h, it is printed to
/// standard output, else as an error. Returns the exit status: 0 or 2.
int printUsage(int argc, const char *const *argv, const char *usage);

} // namespace tilewright::driver

#endif
