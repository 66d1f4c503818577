//===- Compile.cpp - tilewright compile model.pt2 --emit=<stage> --------------------===//
//
// Reads a program of torch.export, or a module whose @main speaks `tw`, lowers it to the end of a stage and prints it;
// `--emit=asm` prints the target's own language.
//
// Test: test/Tools/compile.mlir
//
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "ModelFile.h"
#include "tilewright/Compiler.h"
#include "tilewright/Pipelines.h"
#include "tilewright/Target.h"

#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
namespace cl = llvm::cl;

namespace tilewright::driver {
namespace {

/// The flags live only while the command runs; those that LLVM's static constructors have registered are dropped.
struct CompileFlags {
  cl::OptionCategory category{"Flags of compile"};
  cl::opt<std::string> input{cl::Positional, cl::desc("<model.pt2, in.mlir, or - for MLIR on standard input>"),
                             cl::Required, cl::cat(category)};
  cl::opt<std::string> emit{"emit", cl::desc("the last stage to run, or asm (default: target)"), cl::init("target"),
                            cl::value_desc("stage"), cl::cat(category)};
  cl::opt<std::string> target{"target", cl::desc("the machine to compile for (default: cpu)"), cl::init("cpu"),
                              cl::value_desc("name"), cl::cat(category)};
  cl::opt<std::string> cpu{"cpu", cl::desc("the CPU: native, or a name as TILEWRIGHT_CPU takes (default: native)"),
                           cl::init("native"), cl::value_desc("name"), cl::cat(category)};
  cl::opt<std::string> rounding{"rounding", cl::desc("between fused ops: fused (none) or eager (as eager rounds)"),
                                cl::init("fused"), cl::value_desc("mode"), cl::cat(category)};
  cl::opt<std::string> scheduleFile{"schedule-file", cl::desc("JSON: a kernel's name or ops -> {\"tiles\": [...]}"),
                                    cl::value_desc("file"), cl::cat(category)};
  cl::opt<int> threads{"threads", cl::desc("threads to plan for (default: all)"), cl::init(0), cl::cat(category)};
  cl::opt<std::string> output{"o", cl::desc("where to write (default: standard output)"), cl::init("-"),
                              cl::value_desc("file"), cl::cat(category)};
  cl::opt<bool> locations{"locations", cl::desc("print the user's file and line of every op"), cl::cat(category)};
  cl::opt<bool> wholeConstants{"whole-constants", cl::desc("print large constants in full"), cl::cat(category)};
};

int fail(const llvm::Twine &text) {
  llvm::errs() << "tilewright compile: " << text << "\n";
  return 1;
}

/// What --emit takes.
std::vector<std::string> names(llvm::ArrayRef<llvm::StringLiteral> stages) {
  std::vector<std::string> all(stages.begin(), stages.end());
  all.push_back("asm");
  return all;
}

} // namespace

int runCompile(int argc, const char *const *argv) {
  cl::ResetCommandLineParser();
  CompileFlags flags;
  cl::HideUnrelatedOptions(flags.category);
  if (!cl::ParseCommandLineOptions(argc, argv, "Lowers a model to a stage of the compiler.\n", &llvm::errs()))
    return 2;

  // What can be wrong with the flags is said before the file is read.
  bool wantsAssembly = flags.emit == "asm";
  if (!wantsAssembly && !llvm::is_contained(stageNames(), llvm::StringRef(flags.emit)))
    return fail("unknown stage '" + flags.emit + "'" + suggestName(flags.emit, names(stageNames())) +
                "; --emit takes " + llvm::join(names(stageNames()), ", "));
  std::string problem;
  Target *target = findTarget(flags.target, problem);
  if (!target)
    return fail(problem);

  Session session;
  auto model = readModelFile(flags.input, session.context());
  if (!model)
    return fail(llvm::toString(model.takeError()));
  ModuleOp module = *model->module;

  Options options;
  options.target = flags.target;
  options.cpu = flags.cpu;
  options.threads = flags.threads;
  options.rounding = flags.rounding;
  options.scheduleFile = flags.scheduleFile;
  if (llvm::Error error =
          session.lowerTo(module, wantsAssembly ? std::string("target") : flags.emit.getValue(), options))
    return fail(llvm::toString(std::move(error)));

  auto out = openOutputFile(flags.output, &problem);
  if (!out)
    return fail(problem);
  if (wantsAssembly) {
    // lowerTo completed a copy of the options; print wants them complete, too.
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
