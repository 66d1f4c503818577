//===- WorkerBench.h - races on this machine ------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_COMPILER_TUNE_WORKERBENCH_H
#define TILEWRIGHT_LIB_COMPILER_TUNE_WORKERBENCH_H

#include "lib/Compiler/Tune/WorkerProcess.h"
#include "lib/Tuner/Bench.h"
#include "tilewright/Compiler.h"

#include <functional>
#include <map>
#include <memory>

namespace tilewright {

/// The processes of one tuning: some that compile, side by side, and one that measures, alone.
struct Workers {
  Workers(const std::vector<std::string> &command, unsigned builders);
  std::vector<std::unique_ptr<WorkerProcess>> builders;
  WorkerProcess runner;
};

/// What a bench is about: a module at the end of the structured stage in a file.
struct BenchSubject {
  std::string module;                                         ///< file
  std::vector<int64_t> sizes;                                 ///< of the symbolic sizes
  std::function<std::string(const SchedulePoint &)> schedule; ///< the schedule file's text for a point; "" for none
};

/// Compiles points in the builders, races them in the runner.
class WorkerBench final : public tuner::Bench {
public:
  /// Files go to `folder`. `stop`: true when no more is to be measured.
  WorkerBench(Workers &workers, const Options &options, BenchSubject subject, std::string folder,
              std::function<bool()> stop);

  /// Tells the workers of the subject; an error when it cannot be called at all.
  llvm::Error load();

  std::vector<tuner::Lane> race(const std::vector<SchedulePoint> &points, int rounds, double deadline) override;
  std::string check(const SchedulePoint &point) override;
  bool stopped() override { return stop && stop(); }

  /// Nanoseconds of each kernel of the default's run, by name.
  llvm::Expected<std::map<std::string, double>> profile();

private:
  struct Built {
    std::string artifact, failure;
  };
  void build(const std::vector<SchedulePoint> &points);
  /// A file with the schedule of `point`; "" where there is nothing to say.
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
