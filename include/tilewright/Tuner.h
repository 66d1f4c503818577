//===- Tuner.h - finds schedules by measuring, and stores them in records -----------------===//
//
//   tilewright tune model.pt2            Session -> kernels -> races in worker processes -> records
//   torch.compile, tilewright compile    records -> the schedules of the recorded kernels
//
// lib/Tuner/Search.h describes how the search selects schedules, docs/tuning.md how users run it.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_TUNER_H
#define TILEWRIGHT_TUNER_H

#include "tilewright/Compiler.h"
#include "tilewright/ScheduleSpace.h"
#include "llvm/Support/JSON.h"
#include <functional>

namespace tilewright {

enum class TuneTier {
  Model, ///< the target's cost model chooses; no schedules of a kernel are measured
  Quick, ///< at most 16 schedules of a kernel are measured
  Full   ///< at most 64 schedules, or TuneOptions::trials
};

struct TuneOptions {
  TuneTier tier = TuneTier::Quick;
  double seconds = 0; ///< time limit for the whole model; 0: 90 for quick, 900 for full
  int trials = 0;     ///< maximum number of schedules per kernel; 0: the default of the tier
  /// True: only schedules with the default's order of sums are used, so no bit of a result changes.
  bool deterministic = false;
  bool again = false; ///< true: kernels that have a record are measured, too
  /// Share of the kernels whose recorded schedule is measured against the default; if not 0, no records are written.
  double replay = 0;
  /// Values of the symbolic sizes, in order. A missing value is 8, or the bound of the size's range that is nearest to
  /// 8. The other classes of sizes (lib/Tuner/SizeClasses.h) are tuned afterwards (TuneReport::otherSizes).
  std::vector<int64_t> sizes;
  std::vector<std::string> worker; ///< command line of a program that calls runTuneWorker()
  /// Called when a kernel has been tuned, with a line of text, the number of tuned kernels, the number of all kernels,
  /// and an upper bound of the remaining time in seconds.
  std::function<void(const std::string &line, size_t done, size_t all, double secondsLeft)> progress;
  std::function<bool()> interrupted; ///< if it returns true, the tuner stops and keeps the results so far
};

/// The result for one kernel of a model.
struct TunedKernel {
  std::string name, operations, key;
  int64_t calls = 0;  ///< number of calls of the kernel in the model
  double share = 0;   ///< share of the kernel in the untuned model's time
  int64_t points = 0; ///< number of schedules in the kernel's space
  int64_t measurements = 0;
  bool recorded = false;       ///< true: a record existed, and nothing was measured
  std::string initial, chosen; ///< schedules; if equal, the default is kept
  double initialNanoseconds = 0, ratio = 1, low = 1, high = 1, noise = 0, seconds = 0;
  std::string verdict;
  std::vector<SeenSchedule> seen;                            ///< measured schedules, the fastest first
  std::vector<std::pair<std::string, std::string>> failures; ///< each failed schedule with the reason
};

struct TuneReport {
  std::vector<TunedKernel> kernels; ///< the kernels with the largest share of time first
  double seconds = 0;
  /// The time of the whole tuned model relative to the untuned model, from one paired race: the median of the ratios,
  /// and its 95% confidence interval.
  double ratio = 1, low = 1, high = 1;
  double untunedNanoseconds = 0;
  std::string verdict; ///< a sentence about the whole model
  bool interrupted = false;
  std::vector<std::string> problems;  ///< why records could not be written
  std::vector<int64_t> sizes;         ///< values of the model's symbolic sizes during measurement
  std::vector<TuneReport> otherSizes; ///< the same model, tuned for calls of other sizes

  /// Returns this report, followed by the reports of the other classes of sizes.
  std::vector<const TuneReport *> each() const;
  /// Returns "" or "sizes 8, 64: ", a prefix for messages about this report.
  std::string sizesText() const;
};

/// The error that no process which compiles and measures schedules could be started, so nothing was tuned.
class NoTuneWorker : public llvm::ErrorInfo<NoTuneWorker> {
public:
  static char ID;
  explicit NoTuneWorker(std::string reason) : reason(std::move(reason)) {}
  void log(llvm::raw_ostream &os) const override { os << reason; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

private:
  std::string reason;
};

/// Tunes the kernels of `module` (a graph) and writes records, starting with the kernels that take most of the model's
/// time. The last race measures the whole model. If the new schedules do not make it faster, the new records choose the
/// default schedules.
llvm::Expected<TuneReport> tuneModel(Session &session, mlir::ModuleOp module, const Options &options,
                                     const TuneOptions &tune);

/// Returns an HTML file about a tuning: the measured schedules, the chosen schedule compared with the default with
/// confidence intervals, and the time spent. The file loads nothing from the network, and has a light and a dark style.
std::string tunePage(const TuneReport &report, llvm::StringRef model);

/// Returns `report` as JSON, with all its numbers.
llvm::json::Value toJson(const TuneReport &report, llvm::StringRef model);

/// A design of target hls with its estimate. Nothing is measured.
struct DesignPoint {
  int64_t offered = 0; ///< multipliers (DSP) that the design may use
  int64_t latency = 0, interval = 0, dsp = 0, bram = 0, uram = 0;
  bool best = false;   ///< true: no other design is better in latency or DSP and at least as good in the other number
  std::string refusal; ///< the reason why there is no design
};

/// Creates designs of `module` with increasing numbers of multipliers, up to the limit in the option `budget`. Designs
/// that need more block memory than the budget are rejected, each with the reason. The last design whose field `best`
/// is true is the fastest that fits.
llvm::Expected<std::vector<DesignPoint>> tuneDesign(Session &session, mlir::ModuleOp module, const Options &options,
                                                    const TuneOptions &tune);

/// Returns an HTML file that plots latency over DSP.
std::string designPage(const std::vector<DesignPoint> &points, llvm::StringRef model);

llvm::json::Value toJson(const std::vector<DesignPoint> &points, llvm::StringRef model);

/// Runs the process in which schedules are compiled or measured: reads requests from standard input and writes answers
/// to standard output until the input is closed. Returns the exit status.
int runTuneWorker();

/// Returns the spaces of the kernels of `module` as text: the knobs, the constraints and the numbers of points.
llvm::Expected<std::string> listSpaces(Session &session, mlir::ModuleOp module, const Options &options);

/// Selects at most `count` random schedules of each kernel other than the default (with the seed `seed`). Returns them
/// as lines of JSON for a schedule file (Options::scheduleFile): {"matmul_add_0": {"tiles": [64, 96], "order": 1}}.
/// With `deterministic`, selects only schedules with the default's order of sums.
llvm::Expected<std::string> drawSchedules(Session &session, mlir::ModuleOp module, const Options &options, int count,
                                          uint64_t seed, bool deterministic);

/// Measures every schedule of every kernel of `module`, and writes a table per kernel to `folder`, for replayTables().
/// Spaces with more than `most` points, and with fewer than two points, are skipped.
llvm::Error recordTables(Session &session, mlir::ModuleOp module, const Options &options, const TuneOptions &tune,
                         llvm::StringRef folder, int64_t most);

/// Options of replayTables(), which runs the tuner on the tables in a folder. The times are those of a simulated
/// machine with measurement noise `noise` and faults. For each table, replayTables() reports the time of the best
/// schedule relative to the time of the tuner's result. It tunes each table `runs` times in each tier, with different
/// seeds.
struct ReplayOptions {
  double noise = 0.01; ///< standard deviation of the logarithm of a time
  double faults = 0;   ///< probability that a schedule crashes, hangs or is killed
  int runs = 10;
  uint64_t seed = 0;
};
struct ReplayedTable {
  std::string name;
  int64_t points = 0;
  int64_t outside = 0; ///< schedules outside of the space that were also measured
  double spread = 1;   ///< median time / best time; "best" is the fastest of all measured schedules
  /// Geometric means over the runs: best / default, and best / chosen of both tiers.
  double initial = 1, quick = 1, full = 1;
  double quickMeasurements = 0, fullMeasurements = 0;
  double agreed = 1;    ///< share of pairs of tunings of a tier whose choices are equal, or whose times are within 2%
  double falseWins = 0; ///< share of tunings that replaced the default although all schedules took the same time
  double slower = 0;    ///< share of all tunings whose choice is more than 1% slower than the default
  int lost = 0;         ///< number of tunings without a result
  double transfer = 1;  ///< best / chosen if only 4 schedules are measured, first the best of similar tables; 0: none
};
llvm::Expected<std::vector<ReplayedTable>> replayTables(llvm::StringRef folder, const ReplayOptions &options);

/// Returns the folder of records: TILEWRIGHT_RECORDS_DIR, or "records" in the folder of the object cache. Returns "" if
/// there is none.
std::string defaultRecordsFolder();

/// Checks `tune`, and sets `records` to the folder in which schedules are looked up. An empty path means that there is
/// none.
llvm::Error completeTuneOptions(Options &options);

/// Returns a digest of the records in `folder`, for keys of caches. Returns "" if there are none.
std::string recordsDigest(llvm::StringRef folder);

/// Returns lines about the records in `folder`: a summary of all records, or the full contents of those whose key
/// begins with `key`, with the reason why each is used on this machine or not.
llvm::Expected<std::string> explainRecords(llvm::StringRef folder, llvm::StringRef key, const Options &options);

/// Copies the records of `from` to `to`, except those for which `to` has a record with at least as many measurements.
/// Returns the number of copied records. Damaged records are listed in `warnings` and skipped.
llvm::Expected<int64_t> mergeRecords(llvm::StringRef from, llvm::StringRef to, std::vector<std::string> &warnings);

} // namespace tilewright

#endif
