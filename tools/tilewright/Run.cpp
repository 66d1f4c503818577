//===- Run.cpp - tilewright run model.pt2: compile a graph and call it once ------------------===//
//
// Inputs come from .npy files, --input NAME=FILE each, and results go to the folder --output. Without files inputs are
// random and the same for the same --seed: floats uniform in [-1, 1], integers 0 or 1 (any index is in range then),
// booleans 0 or 1. Of every result its type, sizes and a checksum are printed: the sum of the elements and the
// sum of their magnitudes. --check runs every kernel through the reference, too.
//
// Test: test/Tools/run.mlir, test/Python/test_exported.py
//
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "RunInputs.h"
#include "dialects/Graph/Graph.h"
#include "tilewright/Compiler.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"

using namespace mlir;
namespace cl = llvm::cl;

namespace tilewright::driver {
namespace {

/// The flags live only while the command runs; those that LLVM's static constructors have registered are dropped.
struct RunFlags {
  cl::OptionCategory category{"Flags of run"};
  cl::opt<std::string> input{cl::Positional,
                             cl::desc("<model.pt2, model.onnx, in.mlir, or - for MLIR on standard input>"),
                             cl::Required, cl::cat(category)};
  cl::list<std::string> inputs{"input", cl::desc("an input of the model, by its name (default: all random)"),
                               cl::value_desc("NAME=FILE.npy"), cl::cat(category)};
  cl::opt<std::string> output{"output", cl::desc("write every result there, as .npy"), cl::value_desc("folder"),
                              cl::cat(category)};
  cl::opt<std::string> target{"target", cl::desc("the machine to compile for (default: cpu)"), cl::init("cpu"),
                              cl::value_desc("name"), cl::cat(category)};
  cl::opt<std::string> cpu{"cpu", cl::desc("the CPU: native, or a name as TILEWRIGHT_CPU takes (default: native)"),
                           cl::init("native"), cl::value_desc("name"), cl::cat(category)};
  cl::opt<int> threads{"threads", cl::desc("threads to run on (default: all)"), cl::init(0), cl::cat(category)};
  cl::opt<int> seed{"seed", cl::desc("of the random inputs (default: 0)"), cl::init(0), cl::cat(category)};
  cl::list<int64_t> sizes{"sizes", cl::desc("values of the symbolic sizes, in order (default: 8, within their ranges)"),
                          cl::CommaSeparated, cl::value_desc("n,n..."), cl::cat(category)};
  cl::opt<std::string> rounding{"rounding",
                                cl::desc("of narrow floats between fused ops: fused, or eager (default: fused)"),
                                cl::init("fused"), cl::value_desc("name"), cl::cat(category)};
  cl::opt<bool> check{"check", cl::desc("compare every kernel with the reference target"), cl::cat(category)};
};

int failRun(const llvm::Twine &text) {
  llvm::errs() << "tilewright run: " << text << "\n";
  return 1;
}

double numberAt(const HostTensor &tensor, int64_t index) {
  uint64_t bits = 0;
  memcpy(&bits, &tensor.bytes[index * tensor.width()], tensor.width());
  if (auto floats = dyn_cast<FloatType>(tensor.element))
    return llvm::APFloat(floats.getFloatSemantics(), llvm::APInt(tensor.width() * 8, bits)).convertToDouble();
  unsigned shift = 64 - 8 * tensor.width();
  return double(int64_t(bits << shift) >> shift);
}

void printResult(const HostTensor &tensor, size_t number, StringRef name) {
  double sum = 0, magnitude = 0;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    sum += numberAt(tensor, i);
    magnitude += std::fabs(numberAt(tensor, i));
  }
  llvm::outs() << "result " << number << (name.empty() ? "" : " (" + name.str() + ")") << ": " << tensor.element << "[";
  llvm::interleaveComma(tensor.sizes, llvm::outs());
  llvm::outs() << "] sum " << llvm::format("%.5g", sum) << " magnitude " << llvm::format("%.5g", magnitude) << "\n";
}

/// The file of a result: its name, with '_' for what a file's name may not have.
std::string fileOf(StringRef name, size_t number, llvm::StringSet<> &taken) {
  std::string file = name.empty() ? std::to_string(number) : name.str();
  for (char &c : file)
    if (!llvm::isAlnum(c) && c != '_' && c != '-' && c != '.')
      c = '_';
  if (file[0] == '.' || !taken.insert(file).second)
    file = "result" + std::to_string(number) + "-" + file;
  return file + ".npy";
}

int writeResults(const std::vector<HostTensor> &results, ArrayRef<std::string> names, StringRef folder) {
  llvm::StringSet<> taken;
  for (auto [number, tensor] : llvm::enumerate(results)) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, fileOf(names[number], number, taken));
    if (llvm::Error error = writeNpy(path, tensor))
      return failRun(llvm::toString(std::move(error)));
  }
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
    return failRun(llvm::toString(inputs.takeError()));
  std::vector<HostTensor> outputs;
  std::vector<std::string> names;
  for (auto [index, type] : llvm::enumerate(main.getResultTypes()))
    if (auto tensorType = dyn_cast<RankedTensorType>(type)) {
      llvm::Expected<HostTensor> tensor = tensorOf(tensorType, inputs->symbols);
      if (!tensor)
        return failRun(llvm::toString(tensor.takeError()));
      outputs.push_back(std::move(*tensor));
      auto name = main.getResultAttrOfType<StringAttr>(index, graph::nameAttrName);
      names.push_back(name ? name.str() : "");
    }
  std::vector<void *> outputPointers;
  for (HostTensor &tensor : outputs)
    outputPointers.push_back(tensor.bytes.data());

  Options options;
  options.target = flags.target;
  options.cpu = flags.cpu;
  options.threads = flags.threads;
  options.rounding = flags.rounding;
  options.check = flags.check ? "reference" : "";
  llvm::Expected<std::shared_ptr<Program>> program = session.compile(module, options);
  if (!program)
    return failRun(llvm::toString(program.takeError()));
  std::string error;
  if (!(*program)->run(inputs->pointers.data(), outputPointers.data(), inputs->symbols.data(), nullptr, flags.threads,
                       error, nullptr))
    return failRun(error);
  const CompileReport &report = (*program)->report;
  llvm::outs() << report.operations << " operations, " << report.kernels << " kernels, " << report.distinctKernels
               << " of them distinct\n";
  for (auto [number, tensor] : llvm::enumerate(outputs))
    printResult(tensor, number, names[number]);
  if (flags.check)
    llvm::outs() << "check: every kernel agrees with the reference\n";
  return flags.output.empty() ? 0 : writeResults(outputs, names, flags.output);
}

} // namespace

int runRun(int argc, const char *const *argv) {
  cl::ResetCommandLineParser();
  RunFlags flags;
  cl::HideUnrelatedOptions(flags.category);
  if (!cl::ParseCommandLineOptions(argc, argv, "Compiles a model and calls it on given or random inputs.\n",
                                   &llvm::errs()))
    return 2;
  if (!flags.output.empty()) {
    std::error_code problem = llvm::sys::fs::create_directories(flags.output);
    if (!problem && !llvm::sys::fs::is_directory(flags.output))
      problem = std::make_error_code(std::errc::not_a_directory);
    if (problem)
      return failRun("cannot make the folder '" + flags.output + "': " + problem.message());
  }
  Session session;
  auto model = readModelFile(flags.input, session.context());
  if (!model)
    return failRun(llvm::toString(model.takeError()));
  return runOnce(*model, session, flags);
}

} // namespace tilewright::driver
