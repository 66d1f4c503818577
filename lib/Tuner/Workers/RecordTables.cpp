//===- RecordTables.cpp - measure every schedule of every kernel of a model -----------------------------------===//
//
// Test: test/Tuner/replay.test
//
//===----------------------------------------------------------------------===//
#include "lib/Tuner/Table.h"
#include "lib/Tuner/Workers/TuneSession.h"
#include "llvm/Support/FileSystem.h"

#include <set>

using namespace mlir;

namespace tilewright {

/// Returns the changes of `point` from the default, in a form that is comparable between spaces with different knobs.
static std::string changesOf(const ScheduleSpace &space, const SchedulePoint &point) {
  std::string text;
  for (auto [knob, value] : llvm::zip_equal(space.knobs, point))
    if (value != knob.initial)
      text += knob.name + "=" + std::to_string(value) + " ";
  return text;
}

/// Returns the times of `points` in nanoseconds, and 0 for points that cannot run. The points are measured in groups.
/// Each group also contains the default `own`, and the times of a group are scaled by the time of the default, because
/// the machine's speed varies. `reference` is the default's time, set by the first group.
static llvm::Expected<std::vector<double>> timesOf(WorkerBench &bench, TuneSession &tuner,
                                                   llvm::ArrayRef<SchedulePoint> points, const SchedulePoint &own,
                                                   double &reference, const std::string &what) {
  constexpr size_t group = 24;
  constexpr int rounds = 25;
  std::vector<double> nanoseconds(points.size(), 0);
  for (size_t first = 0; first < points.size() && !tuner.interrupted(); first += group) {
    std::vector<SchedulePoint> list{own};
    for (size_t i = first; i < std::min(first + group, points.size()); ++i)
      list.push_back(points[i]);
    std::vector<tuner::Lane> lanes = bench.race(list, rounds, 0);
    if (lanes[0].nanoseconds.empty())
      return llvm::createStringError("the default schedule of " + what + " cannot be measured: " + lanes[0].failure);
    if (reference == 0)
      reference = tuner::median(lanes[0].nanoseconds);
    for (size_t i = 1; i < list.size(); ++i)
      if (!lanes[i].nanoseconds.empty())
        nanoseconds[first + i - 1] = reference * tuner::ratioOf(lanes[i].nanoseconds, lanes[0].nanoseconds).median;
    if (tuner.tune.progress)
      tuner.tune.progress(what, std::min(first + group, points.size()), points.size(), 0);
  }
  return nanoseconds;
}

llvm::Error recordTables(Session &session, ModuleOp module, const Options &given, const TuneOptions &tune,
                         StringRef folder, int64_t most) {
  WithoutSigpipe guard;
  TuneOptions whole = tune;
  whole.seconds = 1e9;
  TuneSession tuner(session, module, given, whole);
  if (llvm::Error failed = tuner.prepare())
    return failed;
  if (!tuner.isMeasured())
    return llvm::createStringError("target '%s' cannot be measured here, but a table consists of measurements",
                                   given.target.c_str());
  if (std::error_code code = llvm::sys::fs::create_directories(folder))
    return llvm::createStringError(code, "cannot make the folder '" + folder + "'");
  for (const TunableKernel &kernel : tuner.kernels) {
    const std::vector<SchedulePoint> &points = kernel.searched.points;
    if (!kernel.refusal.empty() || points.size() < 2 || int64_t(points.size()) > most)
      continue;
    tuner::Table table;
    table.operations = kernel.kernel.operations;
    table.family = kernel.record.family;
    table.sizes = kernel.record.sizes;
    table.machine = kernel.record.key.machine;
    table.searched = kernel.searched;
    // The table also contains the schedules that the constraints of the space exclude. Measure them separately.
    std::vector<SchedulePoint> outside;
    std::set<std::string> inside;
    for (const SchedulePoint &point : points)
      inside.insert(changesOf(kernel.searched.space, point));
    for (SchedulePoint &point : kernel.wide.points())
      if (inside.insert(changesOf(kernel.wide, point)).second)
        outside.push_back(std::move(point));
    double reference = 0;
    for (bool wide : {false, true}) {
      llvm::Expected<std::unique_ptr<WorkerBench>> bench = tuner.benchOf(kernel, wide);
      if (!bench)
        return bench.takeError();
      llvm::Expected<std::vector<double>> times =
          timesOf(**bench, tuner, wide ? outside : points, (wide ? kernel.wide : kernel.searched.space).initial(),
                  reference, kernel.kernel.name + " (" + kernel.kernel.operations + ")" + (wide ? ", outside" : ""));
      if (!times)
        return times.takeError();
      (wide ? table.outside : table.nanoseconds) = std::move(*times);
    }
    if (tuner.interrupted())
      return llvm::createStringError("interrupted");
    if (llvm::Error failed = tuner::writeTable(table, folder))
      return failed;
  }
  return llvm::Error::success();
}

} // namespace tilewright
