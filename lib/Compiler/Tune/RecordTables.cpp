//===- RecordTables.cpp - every schedule of every kernel of a model, measured ---------------------------------===//
//
// Test: test/Tuner/replay.test
//
//===----------------------------------------------------------------------===//
#include "lib/Compiler/Tune/TuneSession.h"
#include "lib/Tuner/Table.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;

namespace tilewright {

llvm::Error recordTables(Session &session, ModuleOp module, const Options &given, const TuneOptions &tune,
                         StringRef folder, int64_t most) {
  WithoutSigpipe guard;
  TuneOptions whole = tune;
  whole.seconds = 1e9;
  TuneSession tuner(session, module, given, whole);
  if (llvm::Error failed = tuner.prepare())
    return failed;
  if (!tuner.isMeasured())
    return llvm::createStringError("target '%s' is not measured here, and tables are measurements",
                                   given.target.c_str());
  if (std::error_code code = llvm::sys::fs::create_directories(folder))
    return llvm::createStringError(code, "cannot make the folder '" + folder + "'");
  for (const TunableKernel &kernel : tuner.kernels) {
    const std::vector<SchedulePoint> &points = kernel.searched.points;
    if (!kernel.refusal.empty() || points.size() < 2 || int64_t(points.size()) > most)
      continue;
    llvm::Expected<std::unique_ptr<WorkerBench>> bench = tuner.benchOf(kernel);
    if (!bench)
      return bench.takeError();
    tuner::Table table;
    table.operations = kernel.kernel.operations;
    table.family = kernel.record.family;
    table.sizes = kernel.record.sizes;
    table.machine = kernel.record.key.machine;
    table.searched = kernel.searched;
    table.nanoseconds.assign(points.size(), 0);
    // In groups, each with the default, to whose time all are scaled: the machine's speed changes while it lasts.
    const SchedulePoint own = kernel.searched.space.initial();
    constexpr size_t group = 24;
    constexpr int rounds = 25;
    double reference = 0;
    for (size_t first = 0; first < points.size() && !tuner.interrupted(); first += group) {
      std::vector<SchedulePoint> list{own};
      for (size_t i = first; i < std::min(first + group, points.size()); ++i)
        list.push_back(points[i]);
      std::vector<tuner::Lane> lanes = (*bench)->race(list, rounds, 0);
      if (lanes[0].nanoseconds.empty())
        return llvm::createStringError("the default schedule of " + kernel.kernel.name +
                                       " cannot be measured: " + lanes[0].failure);
      if (reference == 0)
        reference = tuner::median(lanes[0].nanoseconds);
      for (size_t i = 1; i < list.size(); ++i)
        table.nanoseconds[first + i - 1] =
            lanes[i].nanoseconds.empty()
                ? 0
                : reference * tuner::ratioOf(lanes[i].nanoseconds, lanes[0].nanoseconds).median;
      if (tune.progress)
        tune.progress(kernel.kernel.name + " (" + kernel.kernel.operations + ")",
                      std::min(first + group, points.size()), points.size(), 0);
    }
    if (tuner.interrupted())
      return llvm::createStringError("interrupted");
    if (llvm::Error failed = tuner::writeTable(table, folder))
      return failed;
  }
  return llvm::Error::success();
}

} // namespace tilewright
