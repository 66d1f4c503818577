//===- TuneSession.h - what a tuning of a model is made of --------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_COMPILER_TUNE_TUNESESSION_H
#define TILEWRIGHT_LIB_COMPILER_TUNE_TUNESESSION_H

#include "lib/Compiler/TemporaryFolder.h"
#include "lib/Compiler/Tune/TunableKernels.h"
#include "lib/Compiler/Tune/WorkerBench.h"
#include "tilewright/Tuner.h"

#include <chrono>

namespace tilewright {

/// A worker's death must not be the tuner's: SIGPIPE is ignored while this lives.
class WithoutSigpipe {
public:
  WithoutSigpipe();
  ~WithoutSigpipe();

private:
  void (*before)(int);
};

llvm::Error writeModule(mlir::ModuleOp module, const std::string &path);

/// The kernels of a model, workers, and a clock.
class TuneSession {
public:
  TuneSession(Session &session, mlir::ModuleOp module, const Options &given, const TuneOptions &tune);

  /// Lowers the model, finds its kernels and starts nothing yet; an error where the target has no
  /// spaces.
  llvm::Error prepare();

  /// An error (NoTuneWorker) unless a worker answers.
  llvm::Error requireWorker();

  /// A bench of `kernel`; the workers are told of it. `wide`: its points are of kernel.wide.
  llvm::Expected<std::unique_ptr<WorkerBench>> benchOf(const TunableKernel &kernel, bool wide = false);
  llvm::Expected<std::unique_ptr<WorkerBench>> makeBench(BenchSubject subject, const std::string &name);

  double secondsSpent() const;
  bool interrupted() const { return tune.interrupted && tune.interrupted(); }
  /// Whether schedules run here; else the target's model ranks them.
  bool isMeasured() const { return !target->hasDevices(); }
  bool isOver() const { return interrupted() || secondsSpent() > seconds; }

  std::vector<TunableKernel> kernels;
  mlir::ModuleOp module;
  Options options;
  const TuneOptions &tune;
  double seconds;             ///< after so many nothing more is begun
  std::vector<int64_t> sizes; ///< of the model's symbolic sizes, that are measured at
  std::unique_ptr<TemporaryFolder> folder;

private:
  Session &session;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  Target *target = nullptr;
  std::unique_ptr<Workers> workers;
};

} // namespace tilewright

#endif
