//===- Run.cpp - tilewright run model.pt2: compile a model and call it -----------------------===//
//
// If the model is a library (model.so), the command loads and calls it without compiling.
//
// Inputs are read from .npy files (--input NAME=FILE), and results are written to the folder --output. Without files,
// inputs are random numbers generated from --seed. Random floats are uniform in [-1, 1], and random booleans are 0 or
// 1. Random integers are also 0 or 1, because the model may use them as indices. For each result, the command prints
// the element type, the sizes, the sum of the elements and the sum of their magnitudes. --check also compares the
// results of each kernel with the target reference.
//
// Test: test/Tools/run.mlir, test/Python/test_exported.py
//
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "LibraryCall.h"
#include "ProfileTable.h"
#include "RunInputs.h"
#include "RunResults.h"
#include "TargetFlags.h"
#include "ThreadsFlag.h"
#include "dialects/Graph/Graph.h"
#include "lib/Interfaces/NumberText.h"
#include "tilewright/Compiler.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include <chrono>
#include <cstring>

using namespace mlir;
namespace cl = llvm::cl;

namespace tilewright::driver {
namespace {

/// The flags of `tilewright run`, registered while the command runs. Flags that LLVM's static constructors have
/// registered are removed first.
struct RunFlags {
  cl::OptionCategory category{"Flags of run"};
  cl::opt<std::string> input{cl::Positional,
                             cl::desc("<model.so, model.pt2, model.onnx, in.mlir, or - for MLIR on standard input>"),
                             cl::Required, cl::cat(category)};
  cl::list<std::string> inputs{"input", cl::desc("values of the input with this name (default: random)"),
                               cl::value_desc("NAME=FILE.npy"), cl::cat(category)};
  cl::opt<std::string> output{"output", cl::desc("write every result to this folder, as .npy"),
                              cl::value_desc("folder"), cl::cat(category)};
  cl::opt<std::string> target{"target", cl::desc("the target to compile for (default: cpu)"), cl::init("cpu"),
                              cl::value_desc("name"), cl::cat(category)};
  cl::opt<std::string> cpu{"cpu",
                           cl::desc("the CPU: native, or a name that TILEWRIGHT_CPU accepts (default: native). For a "
                                    "library: a CPU for which it has code (default: the best)"),
                           cl::init("native"), cl::value_desc("name"), cl::cat(category)};
  TargetFlags own{category, InRun};
  cl::opt<std::string> scheduleFile{
      "schedule-file", cl::desc("schedules of kernels, in a format of `tilewright compile --schedule-file`"),
      cl::value_desc("file"), cl::cat(category)};
  cl::alias schedule{"schedule", cl::desc("the same as --schedule-file"), cl::aliasopt(scheduleFile),
                     cl::cat(category)};
  ThreadsFlag threads{category, "threads to run on (default: all)"};
  cl::opt<int> seed{"seed", cl::desc("seed of the random inputs (default: 0)"), cl::init(0), cl::cat(category)};
  cl::list<int64_t> sizes{"sizes", cl::desc("values of the symbolic sizes, in order (default: 8, within their ranges)"),
                          cl::CommaSeparated, cl::value_desc("n,n..."), cl::cat(category)};
  cl::opt<int> repeat{"repeat",
                      cl::desc("call the model this many times, and print the median and the minimum of the times"),
                      cl::init(0), cl::value_desc("calls"), cl::cat(category)};
  cl::opt<bool> profile{
      "profile",
      cl::desc("print the time of each step per call; one more call before the measured calls is not counted"),
      cl::cat(category)};
  cl::opt<std::string> rounding{
      "rounding",
      cl::desc("rounding of intermediate results in a fused kernel: fused (no rounding), or eager "
               "(after each op, as in eager) (default: fused)"),
      cl::init("fused"), cl::value_desc("name"), cl::cat(category)};
  cl::list<std::string> expect{"expect", cl::desc("expected values of the result with this name or number"),
                               cl::value_desc("NAME=FILE.npy"), cl::cat(category)};
  cl::opt<double> tolerance{
      "tolerance",
      cl::desc(
          "largest allowed RMS difference from the expected values, relative to their RMS (default: 1e-5 for float32)"),
      cl::init(0), cl::value_desc("number"), cl::cat(category)};
  cl::opt<bool> check{"check", cl::desc("compare the results of every kernel with the target reference"),
                      cl::cat(category)};
};

int failRun(const llvm::Twine &text) {
  llvm::errs() << "tilewright run: " << text << "\n";
  return 1;
}

int failRun(llvm::Error error) { return failRun(llvm::toString(std::move(error))); }

/// Calls `once` `times` times, but at least once. If `times` (--repeat) is positive, prints the median and the minimum
/// of the times.
llvm::Error repeat(int times, llvm::function_ref<llvm::Error()> once) {
  std::vector<double> milliseconds;
  for (int call = 0; call < std::max(times, 1); ++call) {
    auto begin = std::chrono::steady_clock::now();
    if (llvm::Error failed = once())
      return failed;
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    milliseconds.push_back(took.count());
  }
  if (times > 0) {
    llvm::sort(milliseconds);
    llvm::outs() << times << " calls, median " << numberText("%.3f", milliseconds[times / 2]) << " ms, least "
                 << numberText("%.3f", milliseconds.front()) << " ms\n";
  }
  return llvm::Error::success();
}

/// Writes the results to files (--output), and compares them with the expected results (--expect).
int finish(llvm::ArrayRef<HostTensor> results, llvm::ArrayRef<std::string> names, RunFlags &flags) {
  if (!flags.output.empty())
    if (llvm::Error unwritten = writeResults(results, names, flags.output))
      return failRun(std::move(unwritten));
  std::vector<std::string> expected(flags.expect.begin(), flags.expect.end());
  if (llvm::Error differs = compareResults(results, names, expected, flags.tolerance))
    return failRun(std::move(differs));
  return 0;
}

int runOnce(const ModelFile &model, Session &session, RunFlags &flags) {
  ModuleOp module = *model.module;
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main)
    return failRun("the module has no function @main");
  auto inputs = makeInputs(model, main, std::vector<std::string>(flags.inputs.begin(), flags.inputs.end()),
                           std::vector<int64_t>(flags.sizes.begin(), flags.sizes.end()), uint64_t(flags.seed));
  if (!inputs)
    return failRun(inputs.takeError());
  std::vector<HostTensor> outputs;
  std::vector<std::string> names;
  std::vector<int64_t> into; // for each result, the input into whose memory the program writes it, or -1
  std::string noResult;      // the reason why a result could not be allocated; the error of a call is more precise
  for (auto [index, type] : llvm::enumerate(main.getResultTypes()))
    if (auto tensorType = dyn_cast<RankedTensorType>(type)) {
      llvm::Expected<HostTensor> tensor = tensorOf(tensorType, inputs->symbols);
      if (!tensor)
        noResult = llvm::toString(tensor.takeError());
      outputs.push_back(tensor ? std::move(*tensor) : HostTensor());
      auto name = main.getResultAttrOfType<StringAttr>(index, graph::nameAttrName);
      names.push_back(name ? name.str() : "");
      auto input = main.getResultAttrOfType<IntegerAttr>(index, graph::intoAttrName);
      into.push_back(input ? input.getInt() : -1);
    }
  std::vector<void *> outputPointers;
  for (HostTensor &tensor : outputs)
    outputPointers.push_back(noResult.empty() ? tensor.bytes.data() : nullptr);

  Options options;
  options.target = flags.target;
  options.cpu = flags.cpu;
  if (llvm::Error wrong = flags.own.store(options))
    return failRun(std::move(wrong));
  options.scheduleFile = flags.scheduleFile;
  options.threads = flags.threads;
  options.rounding = flags.rounding;
  options.check = flags.check ? "reference" : "";
  llvm::Expected<std::shared_ptr<Program>> program = session.compile(module, options);
  if (!program)
    return failRun(program.takeError());
  for (const std::string &warning : (*program)->report.warnings)
    llvm::errs() << "tilewright run: warning: " << warning << "\n";
  auto call = [&] {
    RunError error;
    bool ok = (*program)->run(inputs->pointers.data(), outputPointers.data(), inputs->symbols.data(), nullptr,
                              flags.threads, error, nullptr);
    if (!noResult.empty() && (ok || error.kind != RunError::Kind::SizesDoNotFit))
      return llvm::createStringError(noResult);
    return ok ? llvm::Error::success() : llvm::createStringError(error.text);
  };
  if (flags.profile) {
    if (llvm::Error failed = call()) // packs the parameters
      return failRun(std::move(failed));
    (*program)->profile(true);
  }
  if (llvm::Error failed = repeat(flags.repeat, call))
    return failRun(std::move(failed));
  for (auto [input, output] : llvm::zip_equal(into, outputs))
    if (input >= 0)
      std::memcpy(output.bytes.data(), inputs->pointers[size_t(input)], output.bytes.size());
  const CompileReport &report = (*program)->report;
  llvm::outs() << report.operations << " operations, " << report.kernels << " kernels, " << report.distinctKernels
               << " of them distinct\n";
  printResults(outputs, names);
  if (flags.profile) {
    std::vector<ProfiledStep> steps;
    for (const KernelTime &time : (*program)->times(inputs->symbols.data()))
      steps.push_back({time.operations, double(time.nanoseconds) * 1e-6});
    if (steps.empty())
      return failRun("--profile: target '" + flags.target + "' does not measure the times of steps");
    printProfile(std::move(steps), std::max<int>(flags.repeat, 1), llvm::outs());
  }
  if (flags.check)
    llvm::outs() << "check: every kernel agrees with the reference\n";
  return finish(outputs, names, flags);
}

int runLibrary(RunFlags &flags) {
  llvm::SmallVector<cl::Option *> ofCompiling{&flags.target, &flags.rounding, &flags.check};
  llvm::append_range(ofCompiling, flags.own.all());
  for (cl::Option *flag : ofCompiling)
    if (flag->getNumOccurrences())
      return failRun("--" + flag->ArgStr + " is an option of compilation, but '" + flags.input +
                     "' is a library, which is already compiled; remove it");
  LibraryInputs inputs;
  inputs.files.assign(flags.inputs.begin(), flags.inputs.end());
  inputs.sizes.assign(flags.sizes.begin(), flags.sizes.end());
  inputs.seed = uint64_t(flags.seed);
  auto call =
      LibraryCall::prepare(flags.input, inputs, flags.threads, flags.cpu == "native" ? "" : flags.cpu.getValue());
  if (!call)
    return failRun(call.takeError());
  if (flags.profile) {
    llvm::Error failed = (*call)->run();
    if (!failed)
      failed = (*call)->profile();
    if (failed)
      return failRun(std::move(failed));
  }
  if (llvm::Error failed = repeat(flags.repeat, [&] { return (*call)->run(); }))
    return failRun(std::move(failed));
  printResults((*call)->outputs(), (*call)->names());
  if (flags.profile)
    printProfile((*call)->steps(), std::max<int>(flags.repeat, 1), llvm::outs());
  return finish((*call)->outputs(), (*call)->names(), flags);
}

} // namespace

int runRun(int argc, const char *const *argv) {
  cl::ResetCommandLineParser();
  RunFlags flags;
  cl::HideUnrelatedOptions(flags.category);
  if (!cl::ParseCommandLineOptions(argc, argv, "Compiles a model and calls it on given or random inputs.\n",
                                   &llvm::errs()))
    return 2;
  if (std::string wrong = flags.threads.problem(); !wrong.empty())
    return failRun(wrong);
  if (flags.repeat < 0 || (flags.repeat == 0 && flags.repeat.getNumOccurrences()))
    return failRun("--repeat=" + llvm::Twine(flags.repeat) + ": the number of calls must be positive");
  if (!flags.output.empty()) {
    std::error_code problem = llvm::sys::fs::create_directories(flags.output);
    if (!problem && !llvm::sys::fs::is_directory(flags.output))
      problem = std::make_error_code(std::errc::not_a_directory);
    if (problem)
      return failRun("cannot create the folder '" + flags.output + "': " + problem.message());
  }
  if (llvm::sys::path::extension(flags.input) == ".so")
    return runLibrary(flags);
  Session session;
  auto model = readModelFile(flags.input, session.context());
  if (!model)
    return failRun(model.takeError());
  return runOnce(*model, session, flags);
}

} // namespace tilewright::driver
