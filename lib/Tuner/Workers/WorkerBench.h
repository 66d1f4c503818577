//===- WorkerBench.h - races of schedules on this machine -----------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TUNER_WORKERS_WORKERBENCH_H
#define TILEWRIGHT_LIB_TUNER_WORKERS_WORKERBENCH_H

#include "lib/Tuner/Bench.h"
#include "lib/Tuner/Workers/WorkerProcess.h"
#include "tilewright/Compiler.h"

#include <functional>
#include <map>
#include <memory>

namespace tilewright {

/// The worker processes of a tuning. The builders compile concurrently. The runner measures while the builders are
/// idle.
struct Workers {
  Workers(const std::vector<std::string> &command, unsigned builders);
  std::vector<std::unique_ptr<WorkerProcess>> builders;
  WorkerProcess runner;
};

/// The module that a bench measures: a file with a module at the end of the structured stage.
struct BenchSubject {
  std::string module;                                         ///< path of the file
  std::vector<int64_t> sizes;                                 ///< values of the symbolic sizes
  std::function<std::string(const SchedulePoint &)> schedule; ///< the schedule file's text for a point; "" for none
};

/// Compiles points in the builders and races them in the runner.
class WorkerBench final : public tuner::Bench {
public:
  /// Files are written to `folder`. `stop` returns true when measuring must end.
  WorkerBench(Workers &workers, const Options &options, BenchSubject subject, std::string folder,
              std::function<bool()> stop);

  /// Loads the module into the workers. Returns an error if the workers cannot call the module.
  llvm::Error load();

  std::vector<tuner::Lane> race(const std::vector<SchedulePoint> &points, int rounds, double deadline) override;
  std::string check(const SchedulePoint &point) override;
  bool stopped() override { return stop && stop(); }

  /// Returns the nanoseconds of each kernel by name, for a run with the default schedules.
  llvm::Expected<std::map<std::string, double>> profile();

private:
  struct Built {
    std::string artifact, failure;
  };
  void build(const std::vector<SchedulePoint> &points);
  /// Returns a file with the schedule of `point`, or "" if no file is needed.
  llvm::Expected<std::string> scheduleFile(const SchedulePoint &point);

  Workers &workers;
  const Options &options;
  BenchSubject subject;
  std::string folder;
  std::function<bool()> stop;
  std::map<SchedulePoint, Built> built;
  std::map<SchedulePoint, std::string> scheduleFiles;
};

} // namespace tilewright

#endif
