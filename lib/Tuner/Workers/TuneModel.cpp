//===- TuneModel.cpp - tune the kernels of a model, the most important first -------------------------------===//
//
// 1. Lower the model to the end of the structured stage, and extract each distinct kernel into a separate module.
// 2. Profile the untuned model to find the kernels with the largest shares of its time.
// 3. Search the schedules of each of them (lib/Tuner/Search.h) on worker processes, until the time limit. The kernel
//    with the largest share is first.
// 4. Race the whole model with all found schedules against the untuned one. Discard the found schedules if they are not
//    faster.
// 5. Store a record for each kernel whose search was completed, even if the default is kept. If the race of step 4
//    fails, kernels for which another schedule was found get no record.
// For a model with symbolic sizes, steps 2 to 5 are executed once for each class of sizes with which the model can be
// called (lib/Tuner/SizeClasses.h), starting with the class of the given sizes. The classes share the time limit.
//
// Tests: test/Tuner/tune.test, test/Tuner/size-classes.test
//
//===----------------------------------------------------------------------===//
#include "lib/Interfaces/NumberText.h"
#include "lib/Interfaces/OperationText.h"
#include "lib/Tuner/Workers/CallSizes.h"
#include "lib/Tuner/Workers/TuneSession.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <numeric>

using namespace mlir;

namespace tilewright {
namespace {

class ModelTuner : public TuneSession {
public:
  using TuneSession::TuneSession;

  llvm::Expected<TuneReport> run() {
    if (!isMeasured())
      return ranked();
    const tuner::RecordStore store(options.records);
    const auto lists = sizesToTuneAt(module.lookupSymbol<func::FuncOp>("main"), tune.sizes);
    const double allSeconds = seconds;
    TuneReport all;
    for (size_t i = 0; i < lists.size(); ++i) {
      sizes = lists[i];
      beginAtSizes(kernels, sizes);
      chosen.clear();
      fresh.clear();
      report = TuneReport();
      report.sizes = sizes;
      const double begin = secondsSpent();
      if (llvm::Error failed = tuneAtSizes(store, std::max(0.0, allSeconds - begin) / double(lists.size() - i)))
        return std::move(failed);
      report.seconds = secondsSpent() - begin;
      if (i == 0)
        all = std::move(report);
      else
        all.otherSizes.push_back(std::move(report));
      if (interrupted())
        break;
    }
    return std::move(all);
  }

private:
  /// Tunes the model for one class of sizes. `share` is the time limit in seconds.
  llvm::Error tuneAtSizes(const tuner::RecordStore &store, double share) {
    readRecords(store);
    if (allRecorded())
      return llvm::Error::success();
    if (llvm::Error failed = requireWorker())
      return failed;
    const std::string whole = folder->file("model.mlirbc");
    if (llvm::Error failed = writeModule(module, whole))
      return failed;
    BenchSubject subject;
    subject.module = whole;
    subject.sizes = sizes;
    subject.schedule = [this](const SchedulePoint &point) { return point.empty() ? "" : allChosen(); };
    llvm::Expected<std::unique_ptr<WorkerBench>> model = makeBench(subject, "model");
    if (!model)
      return model.takeError();
    llvm::Expected<std::map<std::string, double>> profile = (*model)->profile();
    if (!profile) {
      const std::string why = "the untuned model cannot be measured: " + llvm::toString(profile.takeError());
      // On a device, the worker may fail because another process uses the device, or because there is not enough memory
      // for a second copy of the parameters.
      return isOnDevice() ? llvm::make_error<NoTuneWorker>(why) : llvm::createStringError(why);
    }
    double total = 0;
    for (const auto &[name, time] : *profile)
      total += time;
    for (TunableKernel &kernel : kernels) {
      TunedKernel &row = report.kernels.emplace_back();
      describeRow(kernel, row);
      row.share = total > 0 ? (*profile)[kernel.kernel.name] / total : 0;
    }
    std::vector<size_t> order(kernels.size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return report.kernels[a].share > report.kernels[b].share; });
    // Reserve a part of the time for the last race.
    const double end = secondsSpent() + share;
    seconds = secondsSpent() + std::max(share - lastRace, share / 2);
    size_t done = 0;
    for (size_t number : order) {
      tuneKernel(number, report.kernels[number]);
      ++done;
      const TunedKernel &row = report.kernels[number];
      if (tune.progress)
        tune.progress(lineOf(row), done, kernels.size(), std::max(0.0, seconds - secondsSpent()));
    }
    if (llvm::Error failed = raceModels(subject, store, end))
      return failed;
    report.interrupted = interrupted();
    std::vector<TunedKernel> sorted;
    for (size_t number : order)
      sorted.push_back(std::move(report.kernels[number]));
    report.kernels = std::move(sorted);
    return llvm::Error::success();
  }

  static std::string lineOf(const TunedKernel &row) {
    std::string text;
    llvm::raw_string_ostream out(text);
    out << row.name << " (" << shortOperations(row.operations) << ", " << numberText("%.1f", 100 * row.share)
        << "% of the time): ";
    if (row.recorded)
      out << "recorded";
    else if (row.chosen != row.initial)
      out << row.chosen << ", " << numberText("%.3f", row.ratio) << " of the default's time";
    else
      out << "the default";
    out << "; " << row.verdict;
    return text;
  }

  static bool canBeTuned(const TunableKernel &kernel) {
    return kernel.refusal.empty() && kernel.searched.points.size() >= 2;
  }

  /// For a target with devices, for which nothing is measured, reports the predicted times of the default and of the
  /// best schedules.
  TuneReport ranked() {
    for (const TunableKernel &kernel : kernels) {
      TunedKernel &row = report.kernels.emplace_back();
      describeRow(kernel, row);
      const tuner::Searched &searched = kernel.searched;
      if (!canBeTuned(kernel) || searched.predicted.empty()) {
        row.verdict = !kernel.refusal.empty() ? kernel.refusal
                      : canBeTuned(kernel)    ? "there is no cost model for its kind of schedule; nothing was measured"
                                              : "it has only one schedule";
        continue;
      }
      std::vector<size_t> order(searched.points.size());
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [&](size_t a, size_t b) { return searched.predicted[a] < searched.predicted[b]; });
      auto own = std::find(searched.points.begin(), searched.points.end(), searched.space.initial());
      row.initialNanoseconds = searched.predicted[size_t(own - searched.points.begin())];
      for (size_t i = 0; i < std::min(order.size(), tuner::KernelRecord::mostSeen); ++i) {
        const double ratio = searched.predicted[order[i]] / row.initialNanoseconds;
        row.seen.push_back({searched.space.print(searched.points[order[i]]), ratio, ratio, ratio});
      }
      row.verdict = "the cost model ranks the default first; nothing was measured";
      if (SchedulePoint best = tuner::bestByModel(searched, tune.deterministic); best != searched.space.initial())
        row.verdict = "the cost model ranks " + searched.space.print(best) + " first; nothing was measured";
    }
    report.verdict =
        "ranked by the cost model of " + machine() + ", because there is no GPU for measurements; no record is written";
    report.seconds = secondsSpent();
    return std::move(report);
  }

  /// Reads the records that exist when tuning begins.
  void readRecords(const tuner::RecordStore &store) {
    std::string why;
    recorded.clear();
    for (const TunableKernel &kernel : kernels)
      recorded.push_back(canBeTuned(kernel) && !tune.again ? store.find(kernel.record.key, why) : std::nullopt);
    others = store.all();
  }

  /// Returns true if every tunable kernel has a record and neither `again` nor `replay` is set. In this case, fills the
  /// report from the records, and nothing is compiled or measured.
  bool allRecorded() {
    if (tune.again || tune.replay > 0)
      return false;
    for (auto [kernel, record] : llvm::zip_equal(kernels, recorded))
      if (canBeTuned(kernel) && !record)
        return false;
    for (size_t number = 0; number < kernels.size(); ++number) {
      TunedKernel &row = report.kernels.emplace_back();
      describeRow(kernels[number], row);
      tuneKernel(number, row);
    }
    report.verdict = "every kernel has a record";
    return true;
  }

  static void describeRow(const TunableKernel &kernel, TunedKernel &row) {
    row.name = kernel.kernel.name;
    row.operations = kernel.kernel.operations;
    row.calls = kernel.kernel.calls;
    row.key = kernel.record.key.signature.empty() ? "" : kernel.record.key.hash();
    row.points = int64_t(kernel.searched.points.size());
    row.initial = row.chosen = kernel.record.initial;
  }

  void tuneKernel(size_t number, TunedKernel &row) {
    TunableKernel &kernel = kernels[number];
    if (!kernel.refusal.empty()) {
      row.verdict = kernel.refusal;
      return;
    }
    if (kernel.searched.points.size() < 2) {
      row.verdict = "it has only one schedule";
      return;
    }
    if (const std::optional<tuner::KernelRecord> &record = recorded[number]) {
      row.recorded = true;
      row.chosen = record->chosen;
      row.verdict = record->verdict;
      row.noise = record->noise;
      row.initialNanoseconds = record->initialNanoseconds;
      row.seen = record->seen;
      if (tune.replay > 0)
        replay(kernel, *record, row);
      return;
    }
    if (tune.replay > 0) {
      row.verdict = "it has no record";
      return;
    }
    if (isOver()) {
      row.verdict = interrupted() ? "interrupted before it was measured" : "no time was left for it";
      return;
    }
    if (tune.tier == TuneTier::Quick && !tune.again && row.share < smallShare) {
      row.verdict = "less than 0.5% of the model's time: not measured";
      row.measurements = 1;
      kernel.record.chosen = kernel.record.initial;
      kernel.record.chosenClass = kernel.record.initialClass;
      kernel.record.tier = "quick";
      kernel.record.verdict = row.verdict;
      kernel.record.measurements = 1;
      fresh.push_back(&kernel);
      return;
    }
    const double begin = secondsSpent();
    tuner::SearchOptions search;
    search.tier = tune.tier;
    search.measurements = tune.trials;
    search.deterministic = tune.deterministic;
    for (const tuner::KernelRecord &near : tuner::nearestRecords(others, kernel.record, 3)) {
      std::vector<std::string> best{near.chosen};
      for (size_t i = 0; i < near.seen.size() && best.size() < tuner::bestOfSimilar; ++i)
        if (near.seen[i].schedule != near.chosen)
          best.push_back(near.seen[i].schedule);
      for (const std::string &schedule : best)
        if (auto values = parsePoint(schedule))
          search.similar.push_back(kernel.searched.space.nearest(*values));
    }
    llvm::Expected<std::unique_ptr<WorkerBench>> bench = benchOf(kernel);
    if (!bench) {
      row.verdict = "it cannot be called alone: " + llvm::toString(bench.takeError());
      return;
    }
    tuner::SearchResult result = tuner::search(kernel.searched, **bench, search);
    const ScheduleSpace &space = kernel.searched.space;
    row.seconds = secondsSpent() - begin;
    row.measurements = result.measurements;
    row.chosen = space.print(result.best);
    row.ratio = result.ratio.median;
    row.low = result.ratio.low;
    row.high = result.ratio.high;
    row.noise = result.noise;
    row.initialNanoseconds = result.defaultNanoseconds;
    row.verdict = result.verdict;
    for (const tuner::Measured &seen : result.measured)
      row.seen.push_back({space.print(seen.point), seen.ratio.median, seen.ratio.low, seen.ratio.high});
    for (const auto &[point, reason] : result.failures)
      row.failures.emplace_back(space.print(point), reason);
    if (interrupted() || !result.decided)
      return; // do not write a record for an incomplete search
    chosen[kernel.kernel.name] = scheduleEntry(kernel, result.best);
    tuner::KernelRecord &record = kernel.record;
    record.chosen = row.chosen;
    record.chosenClass = space.numericsClass(result.best);
    record.tier = tune.tier == TuneTier::Full ? "full" : tune.tier == TuneTier::Model ? "model" : "quick";
    record.verdict = result.verdict;
    record.measurements = result.measurements;
    record.initialNanoseconds = result.defaultNanoseconds;
    record.noise = result.noise;
    record.seen = row.seen;
    if (record.seen.size() > tuner::KernelRecord::mostSeen)
      record.seen.resize(tuner::KernelRecord::mostSeen);
    record.failures = row.failures;
    fresh.push_back(&kernel);
  }

  /// Races the choice of `record` against the default again, and reports the deviation from the recorded ratio.
  void replay(const TunableKernel &kernel, const tuner::KernelRecord &record, TunedKernel &row) {
    // The hash selects the same kernels at every replay of the same fraction.
    uint64_t drawn = 0;
    if (StringRef(record.key.hash()).take_front(8).getAsInteger(16, drawn) ||
        double(drawn) >= tune.replay * double(uint64_t(1) << 32)) {
      row.verdict = "not in the part that is replayed";
      return;
    }
    if (record.chosen == record.initial) {
      row.verdict = "the default, as recorded";
      return;
    }
    std::string why;
    const ScheduleSpace &space = kernel.searched.space;
    std::optional<SchedulePoint> point = space.parse(record.chosen, why);
    if (!point) {
      row.verdict = "the record's schedule is not in the schedule space: " + why;
      return;
    }
    llvm::Expected<std::unique_ptr<WorkerBench>> bench = benchOf(kernel);
    if (!bench) {
      row.verdict = "it cannot be called alone: " + llvm::toString(bench.takeError());
      return;
    }
    double incumbent = 0;
    std::string aborted;
    std::vector<tuner::Lane> lanes =
        tuner::steadyRace(**bench, {space.initial(), *point, space.initial()}, 25, incumbent, aborted);
    if (lanes.empty() || lanes[1].nanoseconds.empty()) {
      row.verdict = "it could not be measured: " + (lanes.empty() ? aborted : lanes[1].failure);
      return;
    }
    const double recorded = record.chosenRatio();
    tuner::Ratio ratio = tuner::ratioOf(lanes[1].nanoseconds, lanes[0].nanoseconds);
    row.recorded = false;
    row.measurements = 2;
    row.ratio = ratio.median;
    row.low = ratio.low;
    row.high = ratio.high;
    row.noise = tuner::noiseOf(lanes[0].nanoseconds, lanes[2].nanoseconds);
    row.initialNanoseconds = tuner::median(lanes[0].nanoseconds);
    row.verdict.clear();
    llvm::raw_string_ostream(row.verdict)
        << numberText("recorded with %.3f, drift %+.1f%%", recorded, 100 * (ratio.median / recorded - 1));
  }

  /// Returns a schedule file with all schedules that were found.
  std::string allChosen() const {
    std::string text;
    for (const auto &[name, entry] : chosen)
      if (!entry.empty())
        text += (text.empty() ? "{\"" : ", \"") + name + "\": " + entry;
    return text.empty() ? "" : text + "}";
  }

  /// Compares the whole tuned model with the untuned one in a race (Search.h), then stores the records.
  llvm::Error raceModels(const BenchSubject &subject, const tuner::RecordStore &store, double total) {
    report.verdict = "nothing was changed";
    if (!allChosen().empty() && !interrupted()) {
      seconds = std::max(total, secondsSpent() + lastRace); // the last race is run even after the time limit
      llvm::Expected<std::unique_ptr<WorkerBench>> model = makeBench(subject, "model");
      if (!model)
        return model.takeError();
      const SchedulePoint untuned, tuned{1};
      double incumbent = 0;
      std::string wrong;
      bool measured = true; // false if the race failed; a later tuning then decides
      std::vector<tuner::Lane> lanes = tuner::steadyRace(**model, {untuned, tuned, untuned}, 11, incumbent, wrong);
      if (lanes.empty() || lanes[1].nanoseconds.empty()) {
        if (!lanes.empty())
          wrong = lanes[1].failure;
        wrong = "not kept: the whole model could not be measured" + (wrong.empty() ? "" : ": " + wrong);
        measured = false;
      } else {
        tuner::Ratio ratio = tuner::ratioOf(lanes[1].nanoseconds, lanes[0].nanoseconds);
        report.ratio = ratio.median;
        report.low = ratio.low;
        report.high = ratio.high;
        report.untunedNanoseconds = tuner::median(lanes[0].nanoseconds);
        if (ratio.median >= 1)
          wrong = "discarded: the whole model was not faster with the tuned schedules";
      }
      report.verdict = wrong.empty() ? "tuned" : wrong;
      if (!wrong.empty())
        for (TunableKernel *kernel : fresh) {
          if (kernel->record.chosen == kernel->record.initial)
            continue;
          kernel->record.chosen = kernel->record.initial;
          kernel->record.chosenClass = kernel->record.initialClass;
          kernel->record.verdict = measured ? wrong : "";
          for (TunedKernel &row : report.kernels)
            if (row.name == kernel->kernel.name) {
              row.chosen = row.initial;
              row.verdict = wrong;
            }
        }
    }
    for (TunableKernel *kernel : fresh) {
      if (kernel->record.verdict.empty())
        continue;
      // If the record cannot be written, for example because the disk is full, still report the result.
      if (llvm::Error failed = store.store(kernel->record, tune.again))
        report.problems.push_back(llvm::toString(std::move(failed)));
    }
    return llvm::Error::success();
  }

  /// Tier quick ignores kernels that take less than this share of the model's time.
  static constexpr double smallShare = 0.005;
  static constexpr double lastRace = 25;                    ///< seconds
  std::map<std::string, std::string> chosen;                ///< entries of a schedule file, by kernel
  std::vector<std::optional<tuner::KernelRecord>> recorded; ///< per kernel
  std::vector<tuner::KernelRecord> others;                  ///< all existing records, including similar kernels
  std::vector<TunableKernel *> fresh;                       ///< the kernels for which this tuning writes records
  TuneReport report;
};
} // namespace

llvm::Expected<TuneReport> tuneModel(Session &session, ModuleOp module, const Options &given, const TuneOptions &tune) {
  WithoutSigpipe guard;
  Options options = given;
  if (options.records.empty())
    options.records = defaultRecordsFolder();
  if (options.records.empty())
    return llvm::createStringError("there is no folder for records: set TILEWRIGHT_RECORDS_DIR, or HOME");
  ModelTuner tuner(session, module, options, tune);
  if (llvm::Error failed = tuner.prepare())
    return std::move(failed);
  return tuner.run();
}

} // namespace tilewright
