//===- Run.cpp - tilewright run in.mlir: compile a graph and call it once --------------------===//
//
// Inputs are random and the same for the same --seed: floats uniform in [-1, 1], integers 0 or 1 (any index is in range
// then), booleans 0 or 1. Of every result its type, sizes and a checksum are printed: the sum of the elements and the
// sum of their magnitudes. --check runs every kernel through the reference, too.
//
// Test: test/Tools/run.mlir
//
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "dialects/Graph/Graph.h"
#include "tilewright/Compiler.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/SourceMgr.h"
#include <random>

using namespace mlir;
namespace cl = llvm::cl;

namespace tilewright::driver {
namespace {

/// The flags live only while the command runs; those that LLVM's static constructors have registered are dropped.
struct RunFlags {
  cl::OptionCategory category{"Flags of run"};
  cl::opt<std::string> input{cl::Positional, cl::desc("<in.mlir, or - for standard input>"), cl::Required,
                             cl::cat(category)};
  cl::opt<std::string> target{"target", cl::desc("the machine to compile for (default: cpu)"), cl::init("cpu"),
                              cl::value_desc("name"), cl::cat(category)};
  cl::opt<std::string> cpu{"cpu", cl::desc("the CPU: native, or a name as TILEWRIGHT_CPU takes (default: native)"),
                           cl::init("native"), cl::value_desc("name"), cl::cat(category)};
  cl::opt<int> threads{"threads", cl::desc("threads to run on (default: all)"), cl::init(0), cl::cat(category)};
  cl::opt<int> seed{"seed", cl::desc("of the random inputs (default: 0)"), cl::init(0), cl::cat(category)};
  cl::list<int64_t> sizes{"sizes", cl::desc("values of the symbolic sizes, in order (default: 8, within their ranges)"),
                          cl::CommaSeparated, cl::value_desc("n,n..."), cl::cat(category)};
  cl::opt<bool> check{"check", cl::desc("compare every kernel with the reference target"), cl::cat(category)};
};

int failRun(const llvm::Twine &text) {
  llvm::errs() << "tilewright run: " << text << "\n";
  return 1;
}

/// A dense tensor of the program.
struct HostTensor {
  Type element;
  std::vector<int64_t> sizes;
  std::vector<uint8_t> bytes;

  unsigned width() const { return std::max(1u, element.getIntOrFloatBitWidth() / 8); }
  int64_t count() const {
    int64_t total = 1;
    for (int64_t size : sizes)
      total *= size;
    return total;
  }
  double number(int64_t index) const {
    uint64_t bits = 0;
    memcpy(&bits, &bytes[index * width()], width());
    if (auto floats = dyn_cast<FloatType>(element))
      return llvm::APFloat(floats.getFloatSemantics(), llvm::APInt(width() * 8, bits)).convertToDouble();
    unsigned shift = 64 - 8 * width();
    return double(int64_t(bits << shift) >> shift);
  }
};

llvm::Expected<HostTensor> tensorOf(RankedTensorType type, ArrayRef<int64_t> symbols) {
  HostTensor tensor;
  tensor.element = type.getElementType();
  SmallVector<AffineExpr> sizes = graph::sizesOf(type);
  for (AffineExpr size : sizes) {
    SmallVector<AffineExpr> values;
    for (int64_t value : symbols)
      values.push_back(getAffineConstantExpr(value, type.getContext()));
    auto known = dyn_cast<AffineConstantExpr>(size.replaceSymbols(values));
    if (!known || known.getValue() < 0)
      return llvm::createStringError("a size does not follow from the symbolic sizes, or is negative; see --sizes");
    tensor.sizes.push_back(known.getValue());
  }
  tensor.bytes.resize(std::max<int64_t>(64, tensor.count() * tensor.width()));
  return tensor;
}

void fillRandom(HostTensor &tensor, std::mt19937_64 &random) {
  for (int64_t i = 0; i < tensor.count(); ++i) {
    uint64_t bits = random() >> 63;
    if (auto floats = dyn_cast<FloatType>(tensor.element)) {
      llvm::APFloat value(double(int64_t(random() >> 11)) / double(int64_t(1) << 52) - 1);
      bool lossy;
      value.convert(floats.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &lossy);
      bits = value.bitcastToAPInt().getZExtValue();
    }
    memcpy(&tensor.bytes[i * tensor.width()], &bits, tensor.width());
  }
}

llvm::Expected<std::vector<int64_t>> symbolValues(func::FuncOp main, ArrayRef<int64_t> given) {
  std::vector<int64_t> values;
  for (BlockArgument argument : main.getArguments()) {
    if (!isa<IndexType>(argument.getType()))
      continue;
    auto bound = [&](StringRef name, int64_t otherwise) {
      auto attribute = main.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), name);
      return attribute ? attribute.getInt() : otherwise;
    };
    int64_t low = bound(graph::symbolMinAttrName, 0), high = bound(graph::symbolMaxAttrName, INT64_MAX);
    values.push_back(values.size() < given.size() ? given[values.size()] : std::clamp<int64_t>(8, low, high));
  }
  if (given.size() > values.size())
    return llvm::createStringError("--sizes has %zu values; @main has %zu symbolic sizes", given.size(), values.size());
  return values;
}

void printResult(const HostTensor &tensor, size_t number) {
  double sum = 0, magnitude = 0;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    sum += tensor.number(i);
    magnitude += std::fabs(tensor.number(i));
  }
  llvm::outs() << "result " << number << ": " << tensor.element << "[";
  llvm::interleaveComma(tensor.sizes, llvm::outs());
  llvm::outs() << "] sum " << llvm::format("%.5g", sum) << " magnitude " << llvm::format("%.5g", magnitude) << "\n";
}

int runOnce(ModuleOp module, Session &session, RunFlags &flags) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main)
    return failRun("the module has no function @main");
  llvm::Expected<std::vector<int64_t>> symbols =
      symbolValues(main, std::vector<int64_t>(flags.sizes.begin(), flags.sizes.end()));
  if (!symbols)
    return failRun(llvm::toString(symbols.takeError()));
  std::mt19937_64 random{uint64_t(flags.seed)};
  std::vector<HostTensor> inputs, outputs;
  for (auto [types, list] : {std::pair{main.getArgumentTypes(), &inputs}, std::pair{main.getResultTypes(), &outputs}})
    for (Type type : types)
      if (auto tensorType = dyn_cast<RankedTensorType>(type)) {
        llvm::Expected<HostTensor> tensor = tensorOf(tensorType, *symbols);
        if (!tensor)
          return failRun(llvm::toString(tensor.takeError()));
        list->push_back(std::move(*tensor));
      }
  std::vector<const void *> inputPointers;
  std::vector<void *> outputPointers;
  for (HostTensor &tensor : inputs) {
    fillRandom(tensor, random);
    inputPointers.push_back(tensor.bytes.data());
  }
  for (HostTensor &tensor : outputs)
    outputPointers.push_back(tensor.bytes.data());

  Options options;
  options.target = flags.target;
  options.cpu = flags.cpu;
  options.threads = flags.threads;
  options.check = flags.check ? "reference" : "";
  llvm::Expected<std::shared_ptr<Program>> program = session.compile(module, options);
  if (!program)
    return failRun(llvm::toString(program.takeError()));
  std::string error;
  if (!(*program)->run(inputPointers.data(), outputPointers.data(), symbols->data(), nullptr, flags.threads, error,
                       nullptr))
    return failRun(error);
  const CompileReport &report = (*program)->report;
  llvm::outs() << report.operations << " operations, " << report.kernels << " kernels, " << report.distinctKernels
               << " of them distinct\n";
  for (auto [number, tensor] : llvm::enumerate(outputs))
    printResult(tensor, number);
  if (flags.check)
    llvm::outs() << "check: every kernel agrees with the reference\n";
  return 0;
}

} // namespace

int runRun(int argc, const char *const *argv) {
  cl::ResetCommandLineParser();
  RunFlags flags;
  cl::HideUnrelatedOptions(flags.category);
  if (!cl::ParseCommandLineOptions(argc, argv, "Compiles an MLIR file and calls it on random inputs.\n", &llvm::errs()))
    return 2;
  std::string problem;
  auto buffer = openInputFile(flags.input, &problem);
  if (!buffer)
    return failRun(problem);
  Session session;
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  OwningOpRef<ModuleOp> module;
  {
    SourceMgrDiagnosticHandler diagnostics(sources, &session.context());
    module = parseSourceFile<ModuleOp>(sources, &session.context());
  }
  if (!module)
    return failRun("'" + flags.input + "' is not MLIR that Tilewright reads; the lines above say where");
  return runOnce(*module, session, flags);
}

} // namespace tilewright::driver
