//===- Session.cpp - compile a graph stage by stage to a program -----------------------===//
#include "dialects/Graph/Decisions.h"
#include "dialects/Graph/Graph.h"
#include "lib/Driver/CaughtThreads.h"
#include "lib/Driver/CheckReference.h"
#include "lib/Driver/CompileCache.h"
#include "lib/Driver/GraphIR.h"
#include "lib/Driver/RunPasses.h"
#include "lib/Interfaces/ForkMutex.h"
#include "lib/Plan/PlanFromIR.h"
#include "lib/Verify/StageIR.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/BudgetError.h"
#include "tilewright/Compiler.h"
#include "tilewright/Passes.h"
#include "tilewright/Pipelines.h"
#include "tilewright/SourceLine.h"
#include "tilewright/StageContract.h"
#include "tilewright/Target.h"
#include "tilewright/Tuner.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <map>

using namespace mlir;

namespace tilewright {

struct Session::State {
  State() : context(registry(), MLIRContext::Threading::DISABLED) {
    // The only notes of errors are those that name another op. By default, MLIR adds a note with the IR of the op.
    context.printOpOnDiagnostic(false);
    context.setThreadPool(threads);
    context.loadAllAvailableDialects();
  }

  static const DialectRegistry &registry() {
    static DialectRegistry *registry = [] {
      auto *made = new DialectRegistry;
      tilewright::registerAllDialects(*made);
      return made;
    }();
    return *registry;
  }

  CaughtThreads threads;
  MLIRContext context;
  bool crashed = false;
  const uint64_t generation = runtime::forkGeneration();
};

Session::Session() : state(std::make_unique<State>()) {}
Session::~Session() {
  if (state->crashed)
    (void)state.release(); // leaked, because threads that have not crashed may still use it
}
MLIRContext &Session::context() { return state->context; }
bool Session::isOfThisProcess() const { return state->generation == runtime::forkGeneration(); }

/// Returns an error in a forked child process, where a pass would wait for threads that exist only in the parent.
static llvm::Error requireThisProcess(const Session &session) {
  if (session.isOfThisProcess())
    return llvm::Error::success();
  return llvm::createStringError("this session was made before the process was forked, and its threads stayed in "
                                 "the parent; make a new session in the child");
}

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// Collects the errors of a stage, which are returned to the caller and not printed. Warnings are appended to
/// `warnings`.
class StageErrors {
public:
  StageErrors(MLIRContext &context, std::vector<std::string> &warnings)
      : handler(&context, [&](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Warning)
            warnings.push_back(diagnostic.str());
          if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
            return;
          llvm::raw_string_ostream stream(text);
          stream << (text.empty() ? "" : "\n") << sourceLineBefore(diagnostic.getLocation()) << diagnostic;
          for (Diagnostic &note : diagnostic.getNotes())
            stream << "\n" << sourceLineBefore(note.getLocation()) << "note: " << note;
          if (std::optional<int64_t> dsp = neededDspOf(diagnostic))
            neededDsp = dsp;
        }) {}

  /// Returns the errors of `stage` as one error.
  llvm::Error take(StringRef stage) {
    std::string all = ("stage " + stage + ": " + (text.empty() ? "failed without a message" : text)).str();
    if (!neededDsp)
      return llvm::createStringError(all);
    auto error = std::make_unique<BudgetError>(std::move(all));
    error->neededDsp = neededDsp;
    return llvm::Error(std::move(error));
  }

private:
  std::string text;
  std::optional<int64_t> neededDsp; ///< see BudgetError
  ScopedDiagnosticHandler handler;
};

struct Stage {
  StringRef name;
  llvm::unique_function<void(OpPassManager &)> build;
};

/// Returns the stages to run, which are those after `options.startAt`, or all stages if it is empty.
std::vector<Stage> stagesOf(Target &target, const Options &options) {
  std::vector<Stage> stages;
  stages.push_back({"graph", [&](OpPassManager &pm) {
                      if (!options.sizesHold)
                        pm.addNestedPass<func::FuncOp>(createGuardSizes());
                      target.buildGraph(pm, options);
                      buildGraphStage(pm, target.keyWorkers(options));
                    }});
  stages.push_back({"structured", [&](OpPassManager &pm) {
                      buildStructuredStage(pm, options.rounding == "eager", target.kernelLimits(options));
                    }});
  stages.push_back({"tiled", [&](OpPassManager &pm) { target.buildTiled(pm, options); }});
  stages.push_back({"vector", [&](OpPassManager &pm) { target.buildVector(pm, options); }});
  stages.push_back({"target", [&](OpPassManager &pm) { target.buildLowering(pm, options); }});
  auto done = llvm::find_if(stages, [&](const Stage &stage) { return stage.name == options.startAt; });
  if (done != stages.end())
    stages.erase(stages.begin(), done + 1);
  return stages;
}

llvm::Error runStage(ModuleOp module, const Target &target, Stage &stage, std::vector<std::string> &warnings) {
  MLIRContext &context = *module.getContext();
  StageErrors errors(context, warnings);
  PassManager pm(&context, ModuleOp::getOperationName());
  pm.enableVerifier(verifiesStages());
  stage.build(pm);
  verifyAfter(pm, target, stage.name);
  enterStage(stage.name);
  if (succeeded(pm.run(module)))
    return llvm::Error::success();
  return errors.take(stage.name);
}

/// Returns the folder for the dumps of the next graph: `directory` for the first graph that this process dumps there,
/// then graph-1, graph-2, ... in it.
std::string nextDumpFolder(const std::string &directory) {
  if (directory.empty())
    return "";
  static auto *graphs = new runtime::ForkSafe<std::map<std::string, int>>;
  int number = (*graphs->lock())[directory]++;
  return number == 0 ? directory : directory + "/graph-" + std::to_string(number);
}

llvm::Error dump(ModuleOp module, StringRef directory, size_t number, StringRef stage) {
  if (directory.empty())
    return llvm::Error::success();
  if (std::error_code code = llvm::sys::fs::create_directories(directory))
    return llvm::createStringError(code, "cannot make the dump directory '%s'", directory.str().c_str());
  SmallString<128> path(directory);
  llvm::sys::path::append(path, std::to_string(number) + "-" + stage + ".mlir");
  std::error_code code;
  llvm::raw_fd_ostream out(path, code);
  if (code)
    return llvm::createStringError(code, "cannot write '%s'", path.c_str());
  module->print(out, OpPrintingFlags().elideLargeElementsAttrs(64));
  return llvm::Error::success();
}

/// Moves the decisions of passes from the module to the report.
void collectDecisions(ModuleOp module, CompileReport &report) {
  for (DictionaryAttr entry : graph::takeDecisions(module)) {
    auto text = [&](StringRef name) { return entry.getAs<StringAttr>(name).str(); };
    report.decisions.push_back(
        {text("kind"), entry.getAs<BoolAttr>("done").getValue(), text("subject"), text("reason"), text("where")});
  }
}
} // namespace

/// Returns the target of `options`, and validates and completes the options.
static llvm::Expected<Target *> chooseTarget(Options &options) {
  std::string error;
  Target *target = findTarget(options.target, error);
  if (!target)
    return llvm::createStringError("%s", error.c_str());
  if (options.rounding != "fused" && options.rounding != "eager")
    return llvm::createStringError("rounding is 'fused' or 'eager', not '%s'", options.rounding.c_str());
  if (!options.check.empty() && options.check != "reference")
    return llvm::createStringError("check is 'reference' or empty, not '%s'", options.check.c_str());
  if (!options.check.empty())
    options.cache = false; // a checked program consists of three programs, which the cache cannot store
  if (llvm::Error failed = configure(*target, options))
    return std::move(failed);
  if (llvm::Error failed = completeTuneOptions(options))
    return std::move(failed);
  return target;
}

/// Returns an error unless the module contains a graph or, with `options.startAt`, the result of that stage.
static llvm::Error requireModel(ModuleOp module, const Options &options) {
  if (!options.startAt.empty())
    return checkStageIR(module, options.startAt);
  return checkGraph(module);
}

llvm::Error Session::lowerTo(ModuleOp module, StringRef stage, const Options &options,
                             llvm::function_ref<void(StringRef stage)> after) {
  if (llvm::Error failed = requireThisProcess(*this))
    return failed;
  return caught<llvm::Error>(state->crashed, [&] { return lowerHere(module, stage, options, after); });
}

llvm::Expected<std::shared_ptr<Program>> Session::compile(ModuleOp module, const Options &options) {
  if (llvm::Error failed = requireThisProcess(*this))
    return std::move(failed);
  return caught<llvm::Expected<std::shared_ptr<Program>>>(state->crashed, [&] { return compileHere(module, options); });
}

llvm::Error Session::lowerHere(ModuleOp module, StringRef stage, const Options &given,
                               llvm::function_ref<void(StringRef stage)> after) {
  Options options = given;
  llvm::Expected<Target *> target = chooseTarget(options);
  if (!target)
    return target.takeError();
  if (!llvm::is_contained(stageNames(), stage)) {
    std::vector<std::string> known(stageNames().begin(), stageNames().end());
    return llvm::createStringError("unknown stage '" + stage + "'" + suggestName(stage, known) +
                                   "; known stages: " + llvm::join(known, ", "));
  }
  if (llvm::Error failed = requireModel(module, options))
    return failed;
  if (stage == options.startAt)
    return llvm::Error::success();
  if (llvm::is_contained(stageNames(), options.startAt) &&
      llvm::find(stageNames(), stage) < llvm::find(stageNames(), options.startAt))
    return llvm::createStringError("stage '" + stage + "' precedes '" + options.startAt +
                                   "', at whose end this IR was saved");
  for (Stage &step : stagesOf(**target, options)) {
    std::vector<std::string> warnings;
    llvm::Error failed = runStage(module, **target, step, warnings);
    for (const std::string &warning : warnings)
      llvm::errs() << "tilewright: warning: " << warning << "\n";
    if (failed)
      return failed;
    if (after)
      after(step.name);
    if (step.name == stage)
      break;
  }
  return llvm::Error::success();
}

llvm::Expected<std::shared_ptr<Program>> Session::compileHere(ModuleOp module, const Options &given) {
  Options options = given;
  llvm::Expected<Target *> chosen = chooseTarget(options);
  if (!chosen)
    return chosen.takeError();
  Target *target = *chosen;
  if (!options.startAt.empty())
    return llvm::createStringError(
        "a program can be compiled only from its graph: startAt is supported only by lowerTo and for libraries");
  if (llvm::Error failed = requireModel(module, options))
    return std::move(failed);
  CompileReport report;
  module.lookupSymbol<func::FuncOp>("main").walk(
      [&](Operation *op) { report.operations += op->getName().getDialectNamespace() == "tw"; });
  CompileCache cache(module, options, *target);
  if (auto kept = cache.load(*target, options); !kept || *kept)
    return kept;
  std::string dumpFolder = nextDumpFolder(options.dumpDirectory);
  if (llvm::Error failed = dump(module, dumpFolder, 0, "imported"))
    return std::move(failed);
  report.stageMilliseconds.push_back({"key", cache.keyMilliseconds});
  size_t number = 0;
  for (Stage &stage : stagesOf(*target, options)) {
    auto start = Clock::now();
    if (llvm::Error failed = runStage(module, *target, stage, report.warnings))
      return std::move(failed);
    report.stageMilliseconds.push_back({stage.name.str(), since(start)});
    collectDecisions(module, report);
    if (llvm::Error failed = dump(module, dumpFolder, ++number, stage.name))
      return std::move(failed);
    if (stage.name == "structured") {
      for (auto function : module.getOps<func::FuncOp>())
        report.distinctKernels += function->hasAttr(kernelAttrName);
      module.lookupSymbol<func::FuncOp>("main").walk([&](func::CallOp) { ++report.kernels; });
      if (!options.check.empty()) {
        llvm::Expected<std::shared_ptr<Program>> program = compileChecked(module, *target, options);
        if (program)
          (*program)->report = std::move(report);
        return program;
      }
    }
  }
  report.stepLines = stepLines(module);
  releaseCompilerMemory(); // release MLIR's memory before LLVM allocates memory
  enterStage("codegen");
  auto start = Clock::now();
  llvm::Expected<std::string> artifact = target->emit(module, options);
  if (!artifact)
    return artifact.takeError();
  report.stageMilliseconds.push_back({"codegen", since(start)});
  start = Clock::now();
  llvm::Expected<std::shared_ptr<Program>> program = target->load(*artifact, options);
  if (!program)
    return program.takeError();
  const double inside = takeLoading(**program, report);
  report.stageMilliseconds.push_back({"load", since(start) - inside});
  start = Clock::now();
  cache.store(report, *artifact);
  report.stageMilliseconds.push_back({"store", since(start)});
  (*program)->report = std::move(report);
  return program;
}

} // namespace tilewright
