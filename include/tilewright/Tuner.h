//===- Tuner.h - schedules found by measuring, and the records they are kept in -----------===//
//
//   tilewright tune model.pt2            Session -> kernels -> races in worker processes -> records
//   torch.compile, tilewright compile    records -> the schedules of the kernels they are about
//
// How it is decided: lib/Tuner/Search.h. docs/tuning.md tells it to users.
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
  Model, ///< the target's model chooses; nothing is measured
  Quick, ///< at most 16 schedules of a kernel are measured
  Full   ///< at most 64, or as many as are asked for
};

struct TuneOptions {
  TuneTier tier = TuneTier::Quick;
  double seconds = 0;         ///< for the whole model; 0: 90 for quick, 900 for full
  int trials = 0;             ///< schedules per kernel at most; 0: as the tier has it
  bool deterministic = false; ///< results keep every bit: only schedules that sum in the default's order
  bool again = false;         ///< measure also what has a record already
  double replay =
      0; ///< measure such a part of what has a record, chosen against default, and nothing else; keep nothing
  /// Of the symbolic sizes, in order; those not given are 8, within their ranges. Other classes of sizes are tuned
  /// after that of these (TuneReport::otherSizes).
  std::vector<int64_t> sizes;
  std::vector<std::string> worker; ///< a program and its arguments that call runTuneWorker()
  /// Told of each kernel as it is done, and of what is left: kernels done, kernels in all, seconds to go at most.
  std::function<void(const std::string &line, size_t done, size_t all, double secondsLeft)> progress;
  std::function<bool()> interrupted; ///< true: keep what is done, and stop
};

/// What became of one kernel of a model.
struct TunedKernel {
  std::string name, operations, key;
  int64_t calls = 0;  ///< in the model
  double share = 0;   ///< of the model's time, untuned
  int64_t points = 0; ///< schedules in its space
  int64_t measurements = 0;
  bool recorded = false;       ///< a record was there; nothing was measured
  std::string initial, chosen; ///< schedules; equal: the default stays
  double initialNanoseconds = 0, ratio = 1, low = 1, high = 1, noise = 0, seconds = 0;
  std::string verdict;
  std::vector<SeenSchedule> seen;                            ///< the fastest first
  std::vector<std::pair<std::string, std::string>> failures; ///< schedule and reason
};

struct TuneReport {
  std::vector<TunedKernel> kernels; ///< those with the largest share first
  double seconds = 0;
  /// The whole model, tuned to untuned, in one paired race: the median of ratios and its 95% interval.
  double ratio = 1, low = 1, high = 1;
  double untunedNanoseconds = 0;
  std::string verdict; ///< of the whole model
  bool interrupted = false;
  std::vector<std::string> problems;  ///< why records could not be written
  std::vector<int64_t> sizes;         ///< of the model's symbolic sizes, that it was measured at
  std::vector<TuneReport> otherSizes; ///< the same model, tuned for calls of other sizes

  /// This one, then those of the other sizes.
  std::vector<const TuneReport *> each() const;
  /// "" or "sizes 8, 64: ", before what is said of it.
  std::string sizesText() const;
};

/// No process can be started in which schedules are compiled and measured; nothing was tuned.
class NoTuneWorker : public llvm::ErrorInfo<NoTuneWorker> {
public:
  static char ID;
  explicit NoTuneWorker(std::string reason) : reason(std::move(reason)) {}
  void log(llvm::raw_ostream &os) const override { os << reason; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

private:
  std::string reason;
};

/// Tunes the kernels of `module` (a graph), the ones that take most of its time first, and writes records. No record
/// makes the model slower: the last race is of the whole model, and what does not help there is taken back.
llvm::Expected<TuneReport> tuneModel(Session &session, mlir::ModuleOp module, const Options &options,
                                     const TuneOptions &tune);

/// One HTML file about a tuning: which schedules were seen, the chosen against the default with intervals, where the
/// time went. No network, light and dark.
std::string tunePage(const TuneReport &report, llvm::StringRef model);

/// The numbers of a tuning of `model`, all of TuneReport.
llvm::json::Value toJson(const TuneReport &report, llvm::StringRef model);

/// A design of target hls, as its estimator has it; nothing is measured.
struct DesignPoint {
  int64_t offered = 0; ///< multipliers (DSP) that it was allowed
  int64_t latency = 0, interval = 0, dsp = 0, bram = 0, uram = 0;
  bool best = false;   ///< no other has both a lower latency and fewer DSP
  std::string refusal; ///< why there is none
};

/// Designs of `module` at more and more multipliers, up to what options.budget has; those whose block memories it does
/// not have are refused, each with the reason. The last that is best is the fastest that fits.
llvm::Expected<std::vector<DesignPoint>> tuneDesign(Session &session, mlir::ModuleOp module, const Options &options,
                                                    const TuneOptions &tune);

/// One HTML file with latency over DSP.
std::string designPage(const std::vector<DesignPoint> &points, llvm::StringRef model);

llvm::json::Value toJson(const std::vector<DesignPoint> &points, llvm::StringRef model);

/// Reads requests on standard input and answers on standard output until it is closed: the process in which schedules
/// are compiled, or measured. The exit status.
int runTuneWorker();

/// The spaces of the kernels of `module` as text: knobs, constraints, numbers of points.
llvm::Expected<std::string> listSpaces(Session &session, mlir::ModuleOp module, const Options &options);

/// `count` schedules of each kernel, drawn by `seed`, as lines of JSON that a schedule file may hold (Options::
/// scheduleFile): {"kernel_0": {"tiles": [64, 96], "order": 1}}. `deterministic`: of the default's order of sums.
llvm::Expected<std::string> drawSchedules(Session &session, mlir::ModuleOp module, const Options &options, int count,
                                          uint64_t seed, bool deterministic);

/// Measures every schedule of every kernel of `module`, and writes a table per kernel to `folder`, for
/// replayTables(). `most`: spaces with more points are left out.
llvm::Error recordTables(Session &session, mlir::ModuleOp module, const Options &options, const TuneOptions &tune,
                         llvm::StringRef folder, int64_t most);

/// Runs the tuner on the tables in `folder` as on a machine with `noise` and faults, and says how near it comes to the
/// best of each table. `runs` tunings each, seeded.
struct ReplayOptions {
  double noise = 0.01; ///< standard deviation of the logarithm of a time
  double faults = 0;   ///< of a schedule: it crashes, hangs or is killed
  int runs = 10;
  uint64_t seed = 0;
};
struct ReplayedTable {
  std::string name;
  int64_t points = 0;
  int64_t outside = 0;                     ///< schedules that the space leaves out, and that were measured, too
  double spread = 1;                       ///< median / best, of all of them; so is every best here
  double initial = 1, quick = 1, full = 1; ///< best / chosen; of runs the mean of logarithms
  double quickMeasurements = 0, fullMeasurements = 0;
  double agreed = 1;    ///< of pairs of tunings, quick and full alike: the same schedule, or times within 2%
  double falseWins = 0; ///< of tunings in which every schedule has the default's time: another was taken
  double slower = 0;    ///< of all tunings: the chosen one is more than 1% slower than the default
  int lost = 0;         ///< tunings without a result
  double transfer = 1;  ///< best / chosen with the other tables' best of the same knobs first, and four measurements
};
llvm::Expected<std::vector<ReplayedTable>> replayTables(llvm::StringRef folder, const ReplayOptions &options);

/// Where records lie: TILEWRIGHT_RECORDS_DIR, or "records" in the folder of the object cache; empty where there is
/// none.
std::string defaultRecordsFolder();

/// Checks `tune` and sets `records` to the folder that schedules are looked up in; empty: in none.
llvm::Error completeTuneOptions(Options &options);

/// A digest of what records `folder` holds, for keys of caches; empty where there are none.
std::string recordsDigest(llvm::StringRef folder);

/// Lines about the records in `folder`: all; or those whose key begins with `key`, in full and with the reason why they
/// are used on this machine or not.
llvm::Expected<std::string> explainRecords(llvm::StringRef folder, llvm::StringRef key, const Options &options);

/// Copies records of `from` to `to` that are better measured than those there; the number copied. Damaged ones are
/// named in `warnings` and left.
llvm::Expected<int64_t> mergeRecords(llvm::StringRef from, llvm::StringRef to, std::vector<std::string> &warnings);

} // namespace tilewright

#endif
