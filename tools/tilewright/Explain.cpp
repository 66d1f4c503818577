//===- Explain.cpp - tilewright explain model.pt2: how a model was compiled --------------===//
//
// This command prints a report about a compilation as text. --html FILE writes the report as HTML, and --json FILE as
// JSON. --measure also calls the model and reports the times of its steps.
//
// Tests: test/Tools/explain.mlir, test/Python/test_explain_html.py
//
//===----------------------------------------------------------------------===//
#include "tilewright/Explain.h"
#include "Commands.h"
#include "ModelFile.h"
#include "RunInputs.h"
#include "ThreadsFlag.h"
#include "tilewright/Target.h"

#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ToolOutputFile.h"
#include <algorithm>

using namespace mlir;
namespace cl = llvm::cl;

namespace tilewright::driver {
namespace {

/// The flags of `tilewright explain`, registered while the command runs. Flags that LLVM's static constructors have
/// registered are removed first.
struct ExplainFlags {
  cl::OptionCategory category{"Flags of explain"};
  cl::opt<std::string> input{
      cl::Positional, cl::desc("<model.pt2, model.onnx, in.mlir, - for MLIR on standard input, or a record.json>"),
      cl::Required, cl::cat(category)};
  cl::opt<std::string> html{"html", cl::desc("write the report as an HTML page"), cl::value_desc("file"),
                            cl::cat(category)};
  cl::opt<std::string> json{
      "json", cl::desc("write the record of the compilation as JSON, for other programs and for --against"),
      cl::value_desc("file"), cl::cat(category)};
  cl::opt<std::string> against{"against", cl::desc("with --html: also show the differences from this earlier record"),
                               cl::value_desc("record.json"), cl::cat(category)};
  cl::opt<bool> measure{"measure", cl::desc("call the model, and measure the time of each kernel"), cl::cat(category)};
  cl::opt<int> calls{"calls", cl::desc("with --measure: number of timed calls (default: 20)"), cl::init(20),
                     cl::value_desc("n"), cl::cat(category)};
  cl::list<std::string> inputs{"input",
                               cl::desc("with --measure: values of the input with this name (default: random)"),
                               cl::value_desc("NAME=FILE.npy"), cl::cat(category)};
  cl::list<int64_t> sizes{"sizes", cl::desc("values of the symbolic sizes, in order (default: 8, within their ranges)"),
                          cl::CommaSeparated, cl::value_desc("n,n..."), cl::cat(category)};
  cl::opt<std::string> startAt{"start-at",
                               cl::desc("continue after this stage: the input is the output of compile --emit=<stage>"),
                               cl::value_desc("stage"), cl::cat(category)};
  cl::opt<std::string> target{"target", cl::desc("the target to compile for (default: cpu)"), cl::init("cpu"),
                              cl::value_desc("name"), cl::cat(category)};
  cl::opt<std::string> cpu{"cpu", cl::desc("the CPU: native, or a name that TILEWRIGHT_CPU accepts (default: native)"),
                           cl::init("native"), cl::value_desc("name"), cl::cat(category)};
  cl::opt<std::string> rounding{"rounding",
                                cl::desc("rounding of intermediate results in a fused kernel: fused (no rounding), or "
                                         "eager (after each op, as in eager)"),
                                cl::init("fused"), cl::value_desc("mode"), cl::cat(category)};
  cl::opt<std::string> scheduleFile{
      "schedule-file", cl::desc("schedules of kernels as JSON: {\"<name or ops of a kernel>\": {\"tiles\": [...]}}"),
      cl::value_desc("file"), cl::cat(category)};
  cl::alias schedule{"schedule", cl::desc("the same as --schedule-file"), cl::aliasopt(scheduleFile),
                     cl::cat(category)};
  ThreadsFlag threads{category};
};

int failExplain(const llvm::Twine &text) {
  llvm::errs() << "tilewright explain: " << text << "\n";
  return 1;
}

/// Compiles a copy of `model`, calls it once to pack its parameters, and then calls it `flags.calls` times. Returns
/// each step's median time of these calls.
llvm::Expected<ExplainMeasurement> measure(const ModelFile &model, Session &session, const Options &options,
                                           ExplainFlags &flags, std::vector<int64_t> &symbols) {
  OwningOpRef<ModuleOp> copy = model.module.get().clone();
  auto main = copy->lookupSymbol<func::FuncOp>("main");
  if (!main)
    return llvm::createStringError("the module has no function @main, which --measure calls");
  auto inputs = makeInputs(model, main, std::vector<std::string>(flags.inputs.begin(), flags.inputs.end()),
                           std::vector<int64_t>(flags.sizes.begin(), flags.sizes.end()), /*seed=*/0);
  if (!inputs)
    return inputs.takeError();
  std::vector<HostTensor> outputs;
  for (Type type : main.getResultTypes())
    if (auto tensorType = dyn_cast<RankedTensorType>(type)) {
      llvm::Expected<HostTensor> tensor = tensorOf(tensorType, inputs->symbols);
      if (!tensor)
        return tensor.takeError();
      outputs.push_back(std::move(*tensor));
    }
  std::vector<void *> pointers;
  for (HostTensor &tensor : outputs)
    pointers.push_back(tensor.bytes.data());
  auto program = session.compile(*copy, options);
  if (!program)
    return program.takeError();
  symbols = inputs->symbols;
  ExplainMeasurement measured;
  std::vector<std::vector<int64_t>> times; // for each step, its time in each call
  for (int call = 0; call <= flags.calls; ++call) {
    (*program)->profile(call > 0); // resets the times
    RunError error;
    if (!(*program)->run(inputs->pointers.data(), pointers.data(), symbols.data(), nullptr, flags.threads, error,
                         nullptr))
      return llvm::createStringError(error.text);
    measured.steps = (*program)->times(symbols.data());
    times.resize(measured.steps.size());
    for (auto [step, taken] : llvm::zip_equal(measured.steps, times))
      taken.push_back(step.nanoseconds);
  }
  for (auto [step, taken] : llvm::zip_equal(measured.steps, times)) {
    auto middle = taken.begin() + taken.size() / 2;
    std::nth_element(taken.begin(), middle, taken.end());
    step.nanoseconds = *middle;
  }
  measured.calls = 1;
  measured.threads = flags.threads > 0 ? flags.threads : llvm::cantFail(describeHost("")).threads;
  measured.peaks = measureHostPeaks(measured.threads);
  return measured;
}

/// Returns the text of the file; "-" is standard input.
llvm::Expected<std::string> readText(llvm::StringRef path) {
  std::string problem;
  auto buffer = openInputFile(path, &problem);
  if (!buffer)
    return llvm::createStringError(problem);
  if (buffer->getBuffer().empty())
    return llvm::createStringError("'" + path + "' is empty; expected the output of `tilewright explain --json`");
  return buffer->getBuffer().str();
}

/// Writes `text` to the file at `path`; "-" is standard output.
llvm::Error write(llvm::StringRef path, llvm::StringRef text) {
  std::string problem;
  auto out = openOutputFile(path, &problem);
  if (!out)
    return llvm::createStringError(problem);
  out->os() << text;
  out->keep();
  return llvm::Error::success();
}

/// Compiles the model that the flags select, and returns the record of the compilation as JSON.
llvm::Expected<std::string> explain(ExplainFlags &flags) {
  Session session;
  auto model = readModelFile(flags.input, session.context());
  if (!model)
    return model.takeError();
  Options options;
  options.target = flags.target;
  options.cpu = flags.cpu;
  options.threads = flags.threads;
  options.rounding = flags.rounding;
  options.scheduleFile = flags.scheduleFile;
  options.startAt = flags.startAt;
  ExplainOptions explain;
  explain.model = flags.input;
  explain.source = model->exported || model->onnx ? "" : flags.input.getValue();
  explain.symbols.assign(flags.sizes.begin(), flags.sizes.end());
  if (flags.measure) {
    auto measured = measure(*model, session, options, flags, explain.symbols);
    if (!measured)
      return measured.takeError();
    explain.measured = std::move(*measured);
  }
  return explainCompile(session, *model->module, options, explain);
}

/// Writes the record as JSON or HTML, or prints it as text, as the flags request.
llvm::Error show(llvm::StringRef record, llvm::StringRef against, ExplainFlags &flags) {
  if (!flags.json.empty())
    if (llvm::Error failed = write(flags.json, record))
      return failed;
  if (!flags.html.empty()) {
    llvm::Expected<std::string> page = explainPage({record.str()}, against);
    if (!page)
      return page.takeError();
    if (llvm::Error failed = write(flags.html, *page))
      return failed;
  }
  if (!flags.html.empty() || !flags.json.empty())
    return llvm::Error::success();
  llvm::Expected<std::string> text = explainText(record);
  if (!text)
    return text.takeError();
  llvm::outs() << *text;
  return llvm::Error::success();
}

} // namespace

int runExplain(int argc, const char *const *argv) {
  cl::ResetCommandLineParser();
  ExplainFlags flags;
  cl::HideUnrelatedOptions(flags.category);
  if (!cl::ParseCommandLineOptions(argc, argv, "Reports how a model was compiled.\n", &llvm::errs()))
    return 2;
  // Check the flags before compiling the model, because compiling may take long.
  if (std::string wrong = flags.threads.problem(); !wrong.empty())
    return failExplain(wrong);
  std::string against, problem;
  if (!flags.against.empty()) {
    if (flags.html.empty())
      return failExplain("--against adds a comparison to the HTML page; add --html FILE");
    llvm::Expected<std::string> text = readText(flags.against);
    if (!text)
      return failExplain(llvm::toString(text.takeError()));
    against = std::move(*text);
  }
  if (flags.measure && (flags.calls < 1 || !flags.startAt.empty()))
    return failExplain(
        flags.calls < 1
            ? "--calls must be at least 1"
            : "--measure calls the whole model, which is not available with --start-at; remove one of them");
  if (!findTarget(flags.target, problem))
    return failExplain(problem);

  // If the input is a record (.json), show it instead of compiling a model.
  llvm::Expected<std::string> record =
      llvm::sys::path::extension(flags.input) == ".json" ? readText(flags.input) : explain(flags);
  if (!record)
    return failExplain(llvm::toString(record.takeError()));
  if (llvm::Error failed = show(*record, against, flags))
    return failExplain(llvm::toString(std::move(failed)));
  return 0;
}

} // namespace tilewright::driver
