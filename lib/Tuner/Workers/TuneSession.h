//===- TuneSession.h - the parts of a tuning of a model -----------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TUNER_WORKERS_TUNESESSION_H
#define TILEWRIGHT_LIB_TUNER_WORKERS_TUNESESSION_H

#include "lib/Driver/TemporaryFolder.h"
#include "lib/Tuner/Workers/TunableKernels.h"
#include "lib/Tuner/Workers/WorkerBench.h"
#include "tilewright/Tuner.h"

#include <chrono>

namespace tilewright {

/// Ignores SIGPIPE during its lifetime, so that the tuner does not end when a worker process ends.
class WithoutSigpipe {
public:
  WithoutSigpipe();
  ~WithoutSigpipe();

private:
  void (*before)(int);
};

llvm::Error writeModule(mlir::ModuleOp module, const std::string &path);

/// The state of one tuning of a model: its kernels, the worker processes that measure them, and the time limit.
class TuneSession {
public:
  TuneSession(Session &session, mlir::ModuleOp module, const Options &given, const TuneOptions &tune);

  /// Lowers the model and finds its kernels, without starting workers. Returns an error if the target has no spaces.
  llvm::Error prepare();

  /// Returns an error (NoTuneWorker) if no worker process responds.
  llvm::Error requireWorker();

  /// Returns a bench for `kernel`, which is loaded into the workers. If `wide` is true, the points of the bench are
  /// points of the space kernel.wide.
  llvm::Expected<std::unique_ptr<WorkerBench>> benchOf(const TunableKernel &kernel, bool wide = false);
  llvm::Expected<std::unique_ptr<WorkerBench>> makeBench(BenchSubject subject, const std::string &name);

  double secondsSpent() const;
  bool interrupted() const { return tune.interrupted && tune.interrupted(); }
  /// Returns true if schedules are measured. If the target's device does not exist on this machine, the cost model
  /// ranks the schedules.
  bool isMeasured() const { return target->canMeasure(options); }
  /// Returns true if a device other than the host runs the kernels.
  bool isOnDevice() const { return target->hasDevices(); }
  /// Returns the target's key of the machine for which the kernels are compiled.
  std::string machine() const { return target->machineKey(options); }
  bool isOver() const { return interrupted() || secondsSpent() > seconds; }

  std::vector<TunableKernel> kernels;
  mlir::ModuleOp module;
  Options options;
  const TuneOptions &tune;
  double seconds;             ///< time limit, after which no more work is started
  std::vector<int64_t> sizes; ///< values of the model's symbolic sizes for the measurements
  std::unique_ptr<TemporaryFolder> folder;

private:
  Session &session;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  Target *target = nullptr;
  std::unique_ptr<Workers> workers;
};

} // namespace tilewright

#endif
