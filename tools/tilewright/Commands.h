//===- Commands.h - the driver's commands --------------------------------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_COMMANDS_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_COMMANDS_H

namespace tilewright::driver {

/// `tilewright bench ...`: becomes python3 -m tilewright.bench.
int runBench(int argc, const char *const *argv);
/// `tilewright cache ...`: looks at the object cache.
int runCache(int argc, const char *const *argv);
/// `tilewright calibrate`: measures and keeps the host's rates.
int runCalibrate(int argc, const char *const *argv);
/// `tilewright compile ...`: argv[0] is "compile". Returns the exit status: 0, 1 for an error, 2 for a wrong flag.
int runCompile(int argc, const char *const *argv);
/// `tilewright explain model.pt2`: what became of a model, as text or as a page.
int runExplain(int argc, const char *const *argv);
/// `tilewright inspect model.so`: prints its manifest.
int runInspect(int argc, const char *const *argv);
/// `tilewright run ...`, likewise.
int runRun(int argc, const char *const *argv);

/// `tilewright tune model.pt2`: searches schedules, and looks after the records of them.
int runTune(int argc, const char *const *argv);

/// `tilewright machine`: the machine description, a line each.
int runMachine(int argc, const char *const *argv);

} // namespace tilewright::driver

#endif
