//===- Compile.cpp - tilewright compile model.pt2 --emit=<stage> --------------------===//
//
// This command reads a model (.pt2, ONNX or MLIR), lowers it to the end of a stage and prints the IR. `--emit=asm`
// prints the code that the target generates: assembly, PTX (cuda, alias `--emit=ptx`) or C++ (hls, alias `--emit=cpp`).
// `--emit=ll` prints LLVM IR. `--emit=shared`, `static` and `obj` write a library, its C header and its manifest. For
// the target hls, the command writes a design into the folder that -o names. `--start-at=<stage>` continues from the
// output of `--emit=<stage>`. If standard error is a terminal, the command reports each completed step.
//
// Without --emit, the suffix of -o selects the kind of output (OutputKind.h).
//
// Tests: test/Tools/output-suffix.test, test/Tools/compile.mlir, test/Tools/start-at.mlir,
// test/Tools/compile-library.mlir
//
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "Design.h"
#include "ModelFile.h"
#include "OutputKind.h"
#include "Progress.h"
#include "TargetFlags.h"
#include "ThreadsFlag.h"
#include "Tune.h"
#include "tilewright/Compiler.h"
#include "tilewright/FixedPoint.h"
#include "tilewright/HostCode.h"
#include "tilewright/Library.h"
#include "tilewright/Pipelines.h"
#include "tilewright/StripPaths.h"
#include "tilewright/Target.h"

#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
namespace cl = llvm::cl;

namespace tilewright::driver {
namespace {

/// The flags of `tilewright compile`, registered while the command runs. Flags that LLVM's static constructors have
/// registered are removed first.
struct CompileFlags {
  cl::OptionCategory category{"Flags of compile"};
  cl::opt<std::string> input{cl::Positional,
                             cl::desc("<model.pt2, model.onnx, in.mlir, or - for MLIR on standard input>"),
                             cl::Required, cl::cat(category)};
  cl::list<std::string> dynamic{
      "dynamic",
      cl::desc(
          "range of a symbolic size, for example x:0=2..512 for dimension 0 of the input x, ids:0,mask:0=1..512 for a "
          "size that inputs share, or batch=1..8 with the name of the size in the model. x:0=4 compiles only for the "
          "size 4. In ONNX models, static sizes become symbolic; in other models, the size must already be symbolic"),
      cl::value_desc("input:dim=least..most"), cl::cat(category)};
  cl::opt<std::string> emit{
      "emit",
      cl::desc(
          "kind of output: the IR after a stage, asm (also ptx for cuda and cpp for hls), ll (LLVM IR), or a library: "
          "shared, static, obj (default: selected by the suffix of -o; without a suffix: target, or a design for hls)"),
      cl::value_desc("stage"), cl::cat(category)};
  cl::alias stopAt{"stop-at", cl::desc("the same as --emit"), cl::aliasopt(emit), cl::cat(category)};
  cl::opt<std::string> startAt{
      "start-at",
      cl::desc(
          "continue after this stage: the input is the output of --emit=<stage> --whole-constants, possibly edited"),
      cl::value_desc("stage"), cl::cat(category)};
  cl::opt<std::string> target{"target", cl::desc("the target to compile for (default: cpu)"), cl::init("cpu"),
                              cl::value_desc("name"), cl::cat(category)};
  cl::opt<std::string> cpu{
      "cpu",
      cl::desc("the CPU: native, or a name that TILEWRIGHT_CPU accepts (default: native). A library can contain code "
               "for several CPUs, separated by commas, and runs the best code for its machine"),
      cl::init("native"), cl::value_desc("name"), cl::cat(category)};
  TargetFlags own{category, InCompile};
  cl::list<std::string> fixed{
      "fixed",
      cl::desc(
          "with --target=hls: convert floats to fixed point, as ap_fixed<W, I, Q, O>: W,I or W,I,AP_RND,AP_SAT (the "
          "default modes). A name selects an input, a layer, a weight or a result: --fixed 16,6 --fixed fc1=8,3"),
      cl::value_desc("[name=]W,I[,Q,O]"), cl::cat(category)};
  cl::opt<std::string> rounding{"rounding",
                                cl::desc("rounding of intermediate results in a fused kernel: fused (no rounding), or "
                                         "eager (after each op, as in eager)"),
                                cl::init("fused"), cl::value_desc("mode"), cl::cat(category)};
  cl::opt<std::string> scheduleFile{"schedule-file",
                                    cl::desc("schedules of kernels: JSON, {\"<name or ops of a kernel>\": {\"tiles\": "
                                             "[...]}}, or a transform-dialect script (.mlir)"),
                                    cl::value_desc("file"), cl::cat(category)};
  cl::alias schedule{"schedule", cl::desc("the same as --schedule-file"), cl::aliasopt(scheduleFile),
                     cl::cat(category)};
  cl::opt<std::string> tune{
      "tune",
      cl::desc("records: use the tuned schedules of kernels with a record; strict: a kernel with a search space and no "
               "record is an error; off: use no records; quick, full: tune the model first (default: records)"),
      cl::init("records"), cl::value_desc("mode"), cl::cat(category)};
  cl::opt<std::string> records{
      "records", cl::desc("folder of the tuning records (default: TILEWRIGHT_RECORDS_DIR, else next to the cache)"),
      cl::value_desc("folder"), cl::cat(category)};
  cl::opt<bool> deterministic{
      "deterministic",
      cl::desc("use only tuned schedules with which results are bitwise equal to those of the default schedules"),
      cl::cat(category)};
  ThreadsFlag threads{category};
  cl::opt<std::string> output{"o",
                              cl::desc("output file (default: standard output). For a library: its file or its folder; "
                                       "the header and the manifest are written to the same folder"),
                              cl::init("-"), cl::value_desc("file"), cl::cat(category)};
  cl::opt<std::string> weights{
      "weights",
      cl::desc("storage of a library's weights: embedded, or external in a file (default: embedded). "
               "With --target=hls: embedded as ROMs, or external as ports (default: by size)"),
      cl::init("embedded"), cl::value_desc("place"), cl::cat(category)};
  cl::opt<bool> locations{"locations", cl::desc("print the file and line in the model of every op"), cl::cat(category)};
  cl::opt<bool> stripPaths{
      "strip-paths",
      cl::desc("omit the folders of the model's source files in libraries, error messages and all other output"),
      cl::cat(category)};
  cl::opt<bool> wholeConstants{"whole-constants", cl::desc("print all elements of large constants"), cl::cat(category)};
};

int fail(const llvm::Twine &text) {
  llvm::errs() << "tilewright compile: " << text << "\n";
  return 1;
}

/// Returns the common path of a library's files, without a suffix. If `output`, the value of -o, is a folder, the files
/// are written into this folder and have the name of `input`. If `output` is "-", they are written into the current
/// folder. Otherwise the files are next to the file `output`.
std::string libraryPath(llvm::StringRef output, llvm::StringRef input, LibraryOptions::Kind kind) {
  namespace path = llvm::sys::path;
  llvm::SmallString<128> result(output);
  if (output == "-" || isFolder(output)) {
    result = output == "-" ? "" : output;
    path::append(result, input == "-" ? "model" : path::stem(input));
  } else if (path::extension(output) == suffixOf(kind)) {
    path::replace_extension(result, "");
  }
  return result.str().str();
}

} // namespace

int runCompile(int argc, const char *const *argv) {
  cl::ResetCommandLineParser();
  CompileFlags flags;
  cl::HideUnrelatedOptions(flags.category);
  if (!cl::ParseCommandLineOptions(argc, argv, "Compiles a model to a library, a stage of IR, assembly or a design.\n",
                                   &llvm::errs()))
    return 2;

  // Check the flags before reading the model, because reading may take long.
  if (std::string wrong = flags.threads.problem(); !wrong.empty())
    return fail(wrong);
  std::string problem;
  Target *target = findTarget(flags.target, problem);
  if (!target)
    return fail(problem);
  llvm::Expected<OutputKind> chosen = chooseOutput(flags.emit, flags.output, flags.target, target->makesFiles());
  if (!chosen)
    return fail(llvm::toString(chosen.takeError()));
  const std::optional<LibraryOptions::Kind> kind = chosen->library;
  if (flags.weights != "embedded" && flags.weights != "external")
    return fail("--weights must be embedded or external, not '" + flags.weights + "'");
  if (!kind && llvm::StringRef(flags.cpu).contains(','))
    return fail("--cpu=" + flags.cpu +
                " names several CPUs, which only libraries support (--emit=shared, static or obj)");
  std::vector<DynamicSize> dynamic;
  for (const std::string &text : flags.dynamic) {
    llvm::Expected<DynamicSize> size = parseDynamicSize(text);
    if (!size)
      return fail("--dynamic: " + llvm::toString(size.takeError()));
    dynamic.push_back(std::move(*size));
  }
  Options options;
  options.target = flags.target;
  if (llvm::Error error = flags.own.store(options))
    return fail(llvm::toString(std::move(error)));
  if (flags.own.isGiven("rtl") && flags.emit.getNumOccurrences())
    return fail(
        "--rtl writes files into the folder of a design, but --emit writes one text; remove one of these flags");
  if (!flags.fixed.empty()) {
    if (!target->makesFiles())
      return fail("--fixed requires --target=hls; target '" + flags.target + "' cannot convert a model to fixed point");
    if (flags.weights.getNumOccurrences())
      return fail(
          "--fixed always embeds weights as ROMs, because its range analysis reads their elements; remove --weights");
    if (!flags.startAt.empty())
      return fail("--fixed converts the graph of a model, which --start-at skips; remove --start-at");
  }
  const bool wantsFiles = chosen->isFolder;
  if (wantsFiles)
    if (llvm::Error error = checkDesignFolder(flags.output))
      return fail(llvm::toString(std::move(error)));

  Session session;
  const Progress progress;
  auto tell = [&](llvm::StringRef done) { progress.done(done); };
  auto model = readModelFile(flags.input, session.context(), dynamic);
  if (!model)
    return fail(llvm::toString(model.takeError()));
  tell("read");
  ModuleOp module = *model->module;
  if (flags.stripPaths)
    stripPaths(module);

  ModelFile floats; // a copy of the model before the conversion to fixed point; empty without --fixed
  if (!flags.fixed.empty()) {
    floats.module = OwningOpRef<ModuleOp>(cast<ModuleOp>(module->clone()));
    attachWeights(*model);
    if (llvm::Error error = makeFixedPoint(module, llvm::join(flags.fixed, " ")))
      return fail(llvm::toString(std::move(error)));
    floats.exported = std::move(model->exported);
    floats.onnx = std::move(model->onnx);
    tell("fixed point");
  }

  options.cpu = flags.cpu;
  options.threads = flags.threads;
  options.rounding = flags.rounding;
  options.scheduleFile = flags.scheduleFile;
  options.startAt = flags.startAt;
  if (target->makesFiles() && flags.weights.getNumOccurrences())
    options.own.set("weights", flags.weights);
  options.tune = flags.tune;
  options.records = flags.records;
  options.deterministic = flags.deterministic;
  if (flags.tune == "quick" || flags.tune == "full") {
    if (llvm::Error error = tuneFirst(session, module, options, flags.tune))
      return fail(llvm::toString(std::move(error)));
    options.tune = "records";
  }
  if (wantsFiles) {
    if (llvm::Error error = writeDesign(session, *model, floats, *target, options, flags.output))
      return fail(llvm::toString(std::move(error)));
    return 0;
  }
  if (kind) {
    LibraryOptions library;
    library.kind = *kind;
    library.path = libraryPath(flags.output, flags.input, *kind);
    library.externalWeights = flags.weights == "external";
    library.weights = model->weights();
    library.progress = tell;
    if (llvm::Error error = writeLibrary(session, module, options, library))
      return fail(llvm::toString(std::move(error)));
    if (llvm::Error error = progress.summary(library.path + suffixOf(*kind).str()))
      return fail(llvm::toString(std::move(error)));
    return 0;
  }
  if (target->makesFiles() && (chosen->isAssembly() || chosen->emit == "target"))
    attachWeights(*model);
  if (llvm::Error error =
          session.lowerTo(module, chosen->isStage ? chosen->emit : std::string("target"), options, tell))
    return fail(llvm::toString(std::move(error)));

  auto out = openOutputFile(flags.output, &problem);
  if (!out)
    return fail(problem);
  if (chosen->isLLVM()) {
    llvm::Expected<std::string> text = printLLVM(module);
    if (!text)
      return fail(llvm::toString(text.takeError()));
    out->os() << *text;
  } else if (chosen->isAssembly()) {
    // print() needs complete options, but lowerTo() completed only a copy of `options`.
    if (llvm::Error error = target->configure(options))
      return fail(llvm::toString(std::move(error)));
    llvm::Expected<std::string> text = target->print(module, options);
    if (!text)
      return fail(llvm::toString(text.takeError()));
    out->os() << *text;
  } else {
    OpPrintingFlags printing;
    if (!flags.wholeConstants)
      printing.elideLargeElementsAttrs(64);
    if (flags.locations)
      printing.enableDebugInfo(true, /*prettyForm=*/true);
    module.print(out->os(), printing);
    out->os() << "\n";
  }
  out->keep();
  return 0;
}

} // namespace tilewright::driver
