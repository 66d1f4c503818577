//===- Tune.cpp - tilewright tune ------------------------------------------------------------------------===//
//
//   tilewright tune model.pt2 --tier=quick           searches schedules by measuring, and writes records
//   tilewright tune --list model.pt2                 prints knobs, constraints and numbers of schedules
//   tilewright tune --target=hls model.mlir          prints estimates of designs with increasing numbers of multipliers
//   tilewright tune explain [KEY] | merge DIR | import DIR | export DIR | replay MODEL   manages records
//   tilewright tune --record-tables=DIR model.mlir   measures all schedules, and writes a table of their times
//   tilewright tune --replay-tables=DIR              tests the search with the times in these tables
//
// `tilewright tune --worker` runs a worker process, which compiles and measures (lib/Tuner/Workers/Worker.cpp).
//
// Tests: test/Tuner/tune.test, test/Tuner/tune-faults.test, test/Tuner/replay.test, test/Tuner/report.test
//
//===----------------------------------------------------------------------===//
#include "Tune.h"
#include "Commands.h"
#include "ModelFile.h"
#include "PythonPart.h"
#include "TargetFlags.h"
#include "ThreadsFlag.h"
#include "dialects/Graph/Graph.h"
#include "lib/Interfaces/JsonText.h"
#include "lib/Interfaces/NumberText.h"
#include "lib/Interfaces/OperationText.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include <cmath>
#include <csignal>

using namespace mlir;
namespace cl = llvm::cl;

namespace tilewright::driver {
namespace {

/// The flags of `tilewright tune`, registered while the command runs. Flags that LLVM's static constructors have
/// registered are removed first.
struct TuneFlags {
  cl::OptionCategory category{"Flags of tune"};
  cl::opt<std::string> input{
      cl::Positional, cl::desc("<model.pt2, model.onnx, in.mlir, or - for MLIR on standard input>"), cl::cat(category)};
  cl::opt<std::string> tier{
      "tier",
      cl::desc("model: select schedules by the cost model; quick: measure at most 16 schedules of each "
               "kernel; full: measure at most 64, selected by a surrogate model (default: quick)"),
      cl::init("quick"), cl::value_desc("name"), cl::cat(category)};
  cl::opt<double> seconds{"seconds", cl::desc("time limit for the whole model (default: 90; with --tier=full: 900)"),
                          cl::init(0), cl::value_desc("number"), cl::cat(category)};
  cl::opt<int> trials{"trials",
                      cl::desc("largest number of schedules that are measured per kernel (default: depends on --tier)"),
                      cl::init(0), cl::value_desc("number"), cl::cat(category)};
  cl::opt<bool> deterministic{
      "deterministic",
      cl::desc("select only schedules with which results are bitwise equal to those of the default schedules"),
      cl::cat(category)};
  cl::opt<bool> again{"again", cl::desc("also measure kernels that have a record"), cl::cat(category)};
  cl::opt<double> replay{"replay",
                         cl::desc("measure this fraction of the recorded kernels again, with the recorded and the "
                                  "default schedule, and report how much the ratio has changed; 1 means all"),
                         cl::init(0), cl::value_desc("fraction"), cl::cat(category)};
  cl::opt<std::string> records{
      "records", cl::desc("folder of the records (default: TILEWRIGHT_RECORDS_DIR, else next to the cache)"),
      cl::value_desc("folder"), cl::cat(category)};
  cl::opt<std::string> cpu{"cpu", cl::desc("the CPU: native, or a name that TILEWRIGHT_CPU accepts (default: native)"),
                           cl::init("native"), cl::value_desc("name"), cl::cat(category)};
  cl::opt<std::string> target{"target", cl::desc("the target to tune for (default: cpu)"), cl::init("cpu"),
                              cl::value_desc("name"), cl::cat(category)};
  ThreadsFlag threads{category};
  cl::list<int64_t> sizes{
      "sizes",
      cl::desc("values of the symbolic sizes, in order, with which kernels are measured first (default: "
               "8, within their ranges); other size classes are measured afterwards"),
      cl::CommaSeparated, cl::value_desc("n,n..."), cl::cat(category)};
  TargetFlags own{category, InTune};
  cl::opt<std::string> report{"report",
                              cl::desc("write a report: a page (.html), the numbers (.json) or a chart (.png)"),
                              cl::value_desc("file.html"), cl::cat(category)};
  cl::opt<bool> list{"list", cl::desc("print the schedule spaces of the kernels, and measure nothing"),
                     cl::cat(category)};
  cl::opt<int> draw{"draw",
                    cl::desc("print this number of random schedules of each kernel, in the format of a schedule file"),
                    cl::init(0), cl::value_desc("number"), cl::cat(category)};
  cl::opt<std::string> explain{"explain",
                               cl::desc("list the records, or explain why the records whose key begins with KEY are "
                                        "used or not used on this machine"),
                               cl::ValueOptional, cl::value_desc("KEY"), cl::cat(category)};
  cl::opt<std::string> merge{
      "merge", cl::desc("copy records from a folder if they have more measurements than the existing records"),
      cl::value_desc("folder"), cl::cat(category)};
  cl::opt<std::string> exportTo{"export", cl::desc("copy the records to a folder, from which --merge reads them"),
                                cl::value_desc("folder"), cl::cat(category)};
  cl::opt<std::string> recordTables{
      "record-tables", cl::desc("measure every schedule of every kernel, and write tables of the times to a folder"),
      cl::value_desc("folder"), cl::cat(category)};
  cl::opt<int64_t> most{
      "most", cl::desc("with --record-tables: skip kernels that have more schedules than this number (default: 1000)"),
      cl::init(1000), cl::value_desc("number"), cl::cat(category)};
  cl::opt<std::string> replayTables{
      "replay-tables",
      cl::desc(
          "run the search with the times in recorded tables, and print how close its result is to the best schedule"),
      cl::value_desc("folder"), cl::cat(category)};
  cl::opt<double> noise{"noise", cl::desc("with --replay-tables: relative noise of a measured time (default: 0.01)"),
                        cl::init(0.01), cl::value_desc("number"), cl::cat(category)};
  cl::opt<double> faults{"faults",
                         cl::desc("with --replay-tables: probability that a schedule crashes, hangs or is killed"),
                         cl::init(0), cl::value_desc("number"), cl::cat(category)};
  cl::opt<int> runs{"runs", cl::desc("with --replay-tables: number of searches in each table (default: 10)"),
                    cl::init(10), cl::value_desc("number"), cl::cat(category)};
  cl::opt<int> seed{"seed", cl::desc("seed of --replay-tables and --draw (default: 0)"), cl::init(0),
                    cl::value_desc("number"), cl::cat(category)};
  cl::opt<bool> worker{"worker", cl::desc("run as a worker process of the tuner (internal)"), cl::ReallyHidden,
                       cl::cat(category)};
};

int failTune(const llvm::Twine &text) {
  llvm::errs() << "tilewright tune: " << text << "\n";
  return 1;
}
int failTune(llvm::Error error) { return failTune(llvm::toString(std::move(error))); }

/// Returns the reason why `sizes` are not values of the model's symbolic sizes; empty if they are.
std::string misfitOf(llvm::ArrayRef<int64_t> sizes, ModuleOp module) {
  auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
  if (!main)
    return "";
  const auto symbols = graph::symbolicSizesOf(main);
  if (sizes.size() > symbols.size())
    return "--sizes has " + std::to_string(sizes.size()) + " values, but the model has " +
           std::to_string(symbols.size()) + " symbolic sizes";
  for (auto [size, symbol] : llvm::zip(sizes, symbols))
    if (size < symbol.min || size > symbol.max)
      return "--sizes: " + std::to_string(size) + " is no value of " + symbol.name + ", which is " +
             std::to_string(symbol.min) + (symbol.max == INT64_MAX ? " or more" : " to " + std::to_string(symbol.max)) +
             " in the model";
  return "";
}

volatile std::sig_atomic_t interruptions = 0;

void onInterrupt(int) {
  // The first Ctrl-C ends the search. After the second Ctrl-C, SIGINT has its default action, so that the third Ctrl-C
  // ends the process.
  if (++interruptions > 1)
    std::signal(SIGINT, SIG_DFL);
}

/// Prints a line such as "12 tables, geometric means: tier 0 0.900, ...".
void printMeans(const std::vector<const ReplayedTable *> &rows) {
  auto mean = [&](double ReplayedTable::*score, size_t *counted = nullptr) {
    double logarithms = 0;
    size_t count = 0;
    for (const ReplayedTable *row : rows)
      if (row->*score > 0) {
        logarithms += std::log(row->*score);
        ++count;
      }
    if (counted)
      *counted = count;
    return count ? std::exp(logarithms / double(count)) : 0;
  };
  auto percent = [&](double ReplayedTable::*part) {
    double sum = 0;
    for (const ReplayedTable *row : rows)
      sum += row->*part;
    return rows.empty() ? 0 : 100 * sum / double(rows.size());
  };
  size_t transferred = 0;
  const double transfer = mean(&ReplayedTable::transfer, &transferred);
  auto &out = llvm::outs();
  out << numberText("%zu tables, geometric means: tier 0 %.3f, quick %.3f, full %.3f", rows.size(),
                    mean(&ReplayedTable::initial), mean(&ReplayedTable::quick), mean(&ReplayedTable::full));
  if (transferred)
    out << numberText(", transfer %.3f (%zu tables)", transfer, transferred);
  int lost = 0;
  for (const ReplayedTable *row : rows)
    lost += row->lost;
  out << numberText("; agreed %.1f%%, false wins %.2f%%, slower than the default %.2f%%, lost %d\n",
                    percent(&ReplayedTable::agreed), percent(&ReplayedTable::falseWins),
                    percent(&ReplayedTable::slower), lost);
}

int replay(const TuneFlags &flags) {
  ReplayOptions options;
  options.noise = flags.noise;
  options.faults = flags.faults;
  options.runs = flags.runs;
  options.seed = uint64_t(flags.seed);
  llvm::Expected<std::vector<ReplayedTable>> rows = replayTables(flags.replayTables, options);
  if (!rows)
    return failTune(rows.takeError());
  auto &out = llvm::outs();
  out << "tier 0, quick, full, transfer: best time / time of the selected schedule; outside: schedules that are not "
         "in the space; spread: median time / best time of all schedules; seed "
      << flags.seed << ", noise " << numberText("%g", options.noise) << ", faults " << numberText("%g", options.faults)
      << ", " << options.runs << " searches in each table\n";
  out << "schedules outside spread tier 0  quick (measured)   full (measured)  transfer agreed false slower lost  "
         "table\n";
  // Print the means of all tables, and the means of tables with many schedules and a large spread of times. The other
  // tables contain little information about the quality of the search.
  constexpr int64_t large = 200;
  constexpr double wide = 1.5;
  std::vector<const ReplayedTable *> all, hard;
  for (const ReplayedTable &row : *rows) {
    out << numberText("%9lld %7lld %6.2f %6.3f %6.3f (%4.1f) %10.3f (%4.1f)", (long long)row.points,
                      (long long)row.outside, row.spread, row.initial, row.quick, row.quickMeasurements, row.full,
                      row.fullMeasurements);
    if (row.transfer > 0)
      out << numberText("%10.3f", row.transfer);
    else
      out << "         -";
    out << numberText(" %5.0f%% %4.1f%% %5.1f%% %4d  ", 100 * row.agreed, 100 * row.falseWins, 100 * row.slower,
                      row.lost)
        << row.name << "\n";
    all.push_back(&row);
    if (row.points + row.outside >= large && row.spread >= wide)
      hard.push_back(&row);
  }
  out << numberText("with %lld schedules or more and a spread of %.1f or more: ", (long long)large, wide);
  printMeans(hard);
  printMeans(all);
  return 0;
}

void printReport(const TuneReport &report) {
  auto &out = llvm::outs();
  if (!report.sizes.empty())
    out << report.sizesText() << "\n";
  out << "  share  calls schedules measured  ratio [95%]             noise  kernel\n";
  for (const TunedKernel &row : report.kernels) {
    out << numberText("%6.1f%% %6lld %9lld %8lld", 100 * row.share, (long long)row.calls, (long long)row.points,
                      (long long)row.measurements);
    if (row.chosen != row.initial && !row.recorded)
      out << numberText("  %.3f [%.3f, %.3f]", row.ratio, row.low, row.high);
    else
      out << "  -                   ";
    out << numberText("  %5.1f%%  ", 100 * row.noise) << row.name << " (" << shortOperations(row.operations) << ")\n";
    out << "          "
        << (row.chosen != row.initial ? row.chosen + ": "
            : row.initial.empty()     ? ""
                                      : "default " + row.initial + ": ")
        << row.verdict << "\n";
    for (const auto &[schedule, reason] : row.failures)
      out << "          failed: " << schedule << ": " << reason << "\n";
  }
  if (report.untunedNanoseconds > 0)
    out << numberText("the whole model: %.3f of the untuned time [%.3f, %.3f], untuned %.3f ms; ", report.ratio,
                      report.low, report.high, report.untunedNanoseconds / 1e6);
  else
    out << "the whole model: ";
  out << report.verdict << "; " << numberText("%.1f", report.seconds) << " s\n";
  if (report.interrupted)
    out << "interrupted: the results of earlier measurements are stored\n";
}

int writeText(const std::string &path, llvm::StringRef text) {
  std::error_code code;
  llvm::raw_fd_ostream out(path, code);
  if (!code) {
    out << text;
    out.close();
    code = out.error();
    out.clear_error();
  }
  return code ? failTune("cannot write '" + path + "': " + code.message()) : 0;
}

/// Writes the report in the format that the suffix of `path` selects: JSON, HTML, or an image that the Python package
/// draws.
int writeReport(llvm::StringRef path, llvm::function_ref<std::string()> page, const llvm::json::Value &numbers) {
  std::string json = jsonText(numbers, 2) + "\n";
  if (path.ends_with(".json"))
    return writeText(path.str(), json);
  if (!path.ends_with(".png"))
    return writeText(path.str(), page());
  llvm::Expected<std::string> python = findPython();
  if (!python)
    return failTune("no chart is drawn: " + llvm::toString(python.takeError()));
  llvm::SmallString<128> file;
  if (std::error_code code = llvm::sys::fs::createTemporaryFile("tilewright-tuning", "json", file))
    return failTune("no chart is drawn: cannot create a temporary file: " + code.message());
  llvm::FileRemover remover(file);
  if (int failed = writeText(file.str().str(), json))
    return failed;
  std::string why;
  const int status = llvm::sys::ExecuteAndWait(*python, {*python, "-m", "tilewright.bench.tuning_chart", file, path},
                                               std::nullopt, {}, 0, 0, &why);
  if (status == 0)
    return 0;
  return failTune("no chart is drawn" + (why.empty() ? "" : ": " + why) + "; --report=FILE.html needs no Python");
}

/// Tunes a model for the target hls. The estimates of designs replace measurements.
int tuneDesigns(Session &session, ModuleOp module, const Options &options, const TuneOptions &how, TuneFlags &flags) {
  llvm::Expected<std::vector<DesignPoint>> points = tuneDesign(session, module, options, how);
  if (!points)
    return failTune(points.takeError());
  auto &out = llvm::outs();
  out << "  offered     DSP    BRAM    URAM    latency   interval  DSP x latency\n";
  const DesignPoint *fastest = nullptr;
  for (const DesignPoint &point : *points) {
    if (!point.refusal.empty()) {
      out << numberText("%9lld  ", (long long)point.offered) << point.refusal << "\n";
      continue;
    }
    const int64_t area = point.dsp * point.latency;
    out << numberText("%9lld %7lld %7lld %7lld %10lld %10lld %14lld%s\n", (long long)point.offered,
                      (long long)point.dsp, (long long)point.bram, (long long)point.uram, (long long)point.latency,
                      (long long)point.interval, (long long)area, point.best ? "  best" : "");
    if (!fastest || point.latency < fastest->latency)
      fastest = &point;
  }
  if (!fastest)
    return failTune("no design fits the budget");
  out << "the fastest design within the budget: --budget dsp=" << fastest->offered << ": " << fastest->latency
      << " cycles, " << fastest->dsp << " DSP, " << fastest->bram << " BRAM, " << fastest->uram
      << " URAM (estimated, not measured)\n";
  if (flags.report.empty())
    return 0;
  return writeReport(flags.report, [&] { return designPage(*points, flags.input); }, toJson(*points, flags.input));
}

int tune(TuneFlags &flags) {
  Options options;
  options.target = flags.target;
  options.cpu = flags.cpu;
  options.threads = flags.threads;
  if (llvm::Error wrong = flags.own.store(options))
    return failTune(std::move(wrong));
  options.records = flags.records.empty() ? defaultRecordsFolder() : flags.records.getValue();
  if (flags.explain.getNumOccurrences() || flags.merge.getNumOccurrences() || flags.exportTo.getNumOccurrences()) {
    if (options.records.empty())
      return failTune("no folder of records is set; pass --records, or set TILEWRIGHT_RECORDS_DIR");
    if (flags.explain.getNumOccurrences()) {
      llvm::Expected<std::string> text = explainRecords(options.records, flags.explain, options);
      if (!text)
        return failTune(text.takeError());
      llvm::outs() << *text;
      return 0;
    }
    const bool in = flags.merge.getNumOccurrences();
    const std::string from = in ? flags.merge.getValue() : options.records,
                      to = in ? options.records : flags.exportTo.getValue();
    std::vector<std::string> warnings;
    llvm::Expected<int64_t> copied = mergeRecords(from, to, warnings);
    if (!copied)
      return failTune(copied.takeError());
    for (const std::string &warning : warnings)
      llvm::errs() << "tilewright tune: skipped: " << warning << "\n";
    llvm::outs() << *copied << (*copied == 1 ? " record" : " records") << " copied to " << to << "\n";
    return 0;
  }
  if (flags.input.empty())
    return failTune("no model is given; `tilewright tune --help` lists the flags");
  TuneOptions how = tuneOptions();
  if (flags.tier == "model")
    how.tier = TuneTier::Model;
  else if (flags.tier == "full")
    how.tier = TuneTier::Full;
  else if (flags.tier != "quick")
    return failTune("--tier must be model, quick or full, not '" + flags.tier + "'");
  if (flags.seconds < 0 || flags.trials < 0)
    return failTune("--seconds and --trials must not be negative");
  if (flags.replay < 0 || flags.replay > 1)
    return failTune("--replay must be a fraction from 0 to 1");
  how.replay = flags.replay;
  how.seconds = flags.seconds;
  how.trials = flags.trials;
  how.deterministic = flags.deterministic;
  how.again = flags.again;
  how.sizes.assign(flags.sizes.begin(), flags.sizes.end());
  Session session;
  auto model = readModelFile(flags.input, session.context());
  if (!model)
    return failTune(model.takeError());
  if (std::string problem = misfitOf(how.sizes, *model->module); !problem.empty())
    return failTune(problem);
  if (flags.list) {
    llvm::Expected<std::string> text = listSpaces(session, *model->module, options);
    if (!text)
      return failTune(text.takeError());
    llvm::outs() << *text;
    return 0;
  }
  if (flags.draw > 0) {
    llvm::Expected<std::string> text =
        drawSchedules(session, *model->module, options, flags.draw, uint64_t(flags.seed), flags.deterministic);
    if (!text)
      return failTune(text.takeError());
    llvm::outs() << *text;
    return 0;
  }
  if (!flags.recordTables.empty()) {
    if (llvm::Error failed = recordTables(session, *model->module, options, how, flags.recordTables, flags.most))
      return failTune(std::move(failed));
    return 0;
  }
  if (flags.target == "hls")
    return tuneDesigns(session, *model->module, options, how, flags);
  llvm::Expected<TuneReport> report = tuneModel(session, *model->module, options, how);
  if (!report)
    return failTune(report.takeError());
  bool interrupted = false, problems = false;
  for (const TuneReport *part : report->each())
    printReport(*part);
  if (!flags.report.empty())
    if (int failed =
            writeReport(flags.report, [&] { return tunePage(*report, flags.input); }, toJson(*report, flags.input)))
      return failed;
  for (const TuneReport *part : report->each()) {
    for (const std::string &problem : part->problems)
      failTune("no record is kept: " + problem);
    interrupted |= part->interrupted;
    problems |= !part->problems.empty();
  }
  return interrupted ? 130 : problems ? 1 : 0;
}
} // namespace

TuneOptions tuneOptions() {
  TuneOptions how;
  how.worker = {llvm::sys::fs::getMainExecutable("tilewright", reinterpret_cast<void *>(&onInterrupt)), "tune",
                "--worker"};
  std::signal(SIGINT, onInterrupt);
  how.interrupted = [] { return interruptions > 0; };
  const bool terminal = llvm::sys::Process::StandardErrIsDisplayed();
  how.progress = [terminal](const std::string &line, size_t done, size_t all, double left) {
    if (terminal)
      llvm::errs() << numberText("[%zu/%zu, %.0f s left] ", done, all, left) << line << "\n";
  };
  return how;
}

llvm::Error tuneFirst(Session &session, ModuleOp module, const Options &options, llvm::StringRef tier) {
  TuneOptions how = tuneOptions();
  how.tier = tier == "full" ? TuneTier::Full : TuneTier::Quick;
  how.deterministic = options.deterministic;
  OwningOpRef<ModuleOp> copy = module.clone();
  llvm::Expected<TuneReport> report = tuneModel(session, *copy, options, how);
  if (!report)
    return llvm::handleErrors(report.takeError(), [](const NoTuneWorker &why) {
      llvm::errs() << "tilewright: warning: nothing is tuned, because no worker process can be started: "
                   << why.message() << "; the default schedules are used\n";
    });
  if (llvm::any_of(report->each(), [](const TuneReport *part) { return part->interrupted; }))
    return llvm::createStringError("interrupted; the measurements so far are stored as records");
  return llvm::Error::success();
}

/// Replaces a subcommand, such as `explain KEY`, by the equivalent flags. If a file has the name of a subcommand, the
/// argument is not replaced, because it is the path of a model.
static std::vector<std::string> withoutVerb(int argc, const char *const *argv) {
  std::vector<std::string> arguments(argv, argv + argc);
  if (argc < 2 || llvm::sys::fs::exists(arguments[1]))
    return arguments;
  const llvm::StringRef verb = arguments[1];
  const bool isReplay = verb == "replay";
  if (!isReplay && !llvm::is_contained({"explain", "merge", "import", "export"}, verb))
    return arguments;
  std::string flag = verb == "import" ? "--merge" : "--" + arguments[1];
  if (isReplay)
    flag += "=1";
  else if (argc > 2 && !llvm::StringRef(arguments[2]).starts_with("-")) {
    flag += "=" + arguments[2];
    arguments.erase(arguments.begin() + 2);
  } else if (verb != "explain") {
    flag += "="; // the folder is missing, which is reported as an error
  }
  arguments[1] = flag;
  return arguments;
}

int runTune(int argc, const char *const *argv) {
  cl::ResetCommandLineParser();
  const std::vector<std::string> arguments = withoutVerb(argc, argv);
  std::vector<const char *> flat;
  for (const std::string &argument : arguments)
    flat.push_back(argument.c_str());
  TuneFlags flags;
  cl::HideUnrelatedOptions(flags.category);
  if (!cl::ParseCommandLineOptions(
          int(flat.size()), flat.data(),
          "Searches schedules for the kernels of a model, and stores the best ones as records.\n", &llvm::errs()))
    return 2;
  if (std::string wrong = flags.threads.problem(); !wrong.empty())
    return failTune(wrong);
  if (flags.worker)
    return runTuneWorker();
  if (!flags.replayTables.empty())
    return replay(flags);
  return tune(flags);
}

} // namespace tilewright::driver
