//===- CheckReference.cpp - compare every kernel with the reference target ------------------===//
//
// Kernels are formed before target-specific stages. The target and the reference are therefore compiled from the same
// kernels, which pass plain tensors to each other.
//
//   compiled for the target:                           compiled for the reference target, and for plain loops:
//   @main(%x) {                                        @main(%x, %given_a, %given_b) {
//     %a = call @kernel_0(%x)                            %a = call @kernel_0(%x)
//     %b = call @kernel_1(%a)                            %b = call @kernel_1(%given_a)
//     return %b, %a, %b }                                return %a, %b }
//
// The target runs first, and also returns the results of its kernels. These results are the inputs of the kernels in
// the other two programs (the reference and plain loops). Therefore, each kernel is compared on the inputs that it had
// on the target, and an error is reported for the kernel that caused it.
//
// Test: test/Python/test_check.py
//
//===----------------------------------------------------------------------===//
#include "lib/Driver/CheckReference.h"
#include "dialects/Tile/Sizes.h"
#include "dialects/Tile/Tile.h"
#include "lib/Driver/CompareKernels.h"
#include "lib/Driver/LowerStructured.h"
#include "lib/Plan/PlanFromIR.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tilewright/AttributeNames.h"
#include <new>
#include <numeric>

using namespace mlir;

namespace tilewright {
namespace {

/// A result of a kernel that is compared with the reference. Every call returns it as an additional output.
struct WatchedResult {
  std::string kernel; ///< name, ops and the user's lines
  unsigned call = 0;  ///< results of one call are judged together
  ElementKind kind;
  std::vector<plan::Expr> sizes;
  std::vector<plan::Expr> reductions; ///< the length of each of the kernel's reductions
};

struct FreeAligned {
  void operator()(void *memory) const { ::operator delete(memory, std::align_val_t(64)); }
};
using AlignedBuffer = std::unique_ptr<void, FreeAligned>;

AlignedBuffer allocateAligned(int64_t bytes) {
  return AlignedBuffer(::operator new(size_t(std::max<int64_t>(bytes, 64)), std::align_val_t(64), std::nothrow));
}

class CheckedProgram final : public Program {
public:
  std::shared_ptr<Program> watched, exact, plain; ///< if `plain` is null, results of `exact` are used instead
  std::vector<WatchedResult> results;
  unsigned inputs = 0, outputs = 0;
  std::string target, standard; ///< names for messages: the target, and what its results are compared with

  void repack() override { watched->repack(); }

  bool run(const void *const *given, void *const *wanted, const int64_t *symbols, const uint64_t *versions, int threads,
           RunError &error, CallersMemory *caller) override {
    std::vector<int32_t> all(outputs); // allocate all outputs, and release no input before the reference has run
    std::iota(all.begin(), all.end(), 0);
    if (caller && !caller->take(all, error))
      return false;
    std::vector<std::vector<int64_t>> sizes;
    std::vector<AlignedBuffer> memory;
    std::vector<void *> watchedOutputs(wanted, wanted + outputs), exactOutputs, plainOutputs;
    std::vector<const void *> judged(given, given + inputs);
    for (const WatchedResult &result : results) {
      std::vector<int64_t> shape;
      int64_t bytes = result.kind.bytes;
      for (const plan::Expr &size : result.sizes) {
        shape.push_back(plan::evaluate(size, symbols, error.text));
        if (!error.text.empty())
          return false;
        bytes *= shape.back();
      }
      for (std::vector<void *> *list : {&watchedOutputs, &exactOutputs, &plainOutputs}) {
        memory.push_back(allocateAligned(bytes));
        if (!memory.back()) {
          error = {RunError::Kind::OutOfMemory, "out of memory: check=reference keeps every kernel's results, and " +
                                                    std::to_string(bytes) + " more bytes cannot be allocated"};
          return false;
        }
        list->push_back(memory.back().get());
      }
      judged.push_back(watchedOutputs.back());
      sizes.push_back(std::move(shape));
    }
    if (!watched->run(given, watchedOutputs.data(), symbols, versions, threads, error, nullptr))
      return false;
    for (auto &[judge, into] : {std::pair{exact.get(), &exactOutputs}, std::pair{plain.get(), &plainOutputs}})
      if (judge && !results.empty() &&
          !judge->run(judged.data(), into->data(), symbols, nullptr, threads, error, nullptr)) {
        error.text = "the reference of check=reference: " + error.text;
        return false;
      }
    for (size_t i = 0; i < results.size(); ++i) {
      double largest = 0, length = 0;
      for (size_t j = 0; j < results.size(); ++j)
        if (results[j].call == results[i].call)
          largest = std::max(largest, rmsOf(results[j].kind, sizes[j], exactOutputs[j]));
      for (const plan::Expr &reduction : results[i].reductions)
        length += double(plan::evaluate(reduction, symbols, error.text));
      std::string wrong = compareResult({results[i].kind, sizes[i], watchedOutputs[outputs + i], exactOutputs[i],
                                         plain ? plainOutputs[i] : exactOutputs[i]},
                                        length, largest, target);
      if (wrong.empty())
        continue;
      error = (plain ? "check=reference: " : "") + results[i].kernel + " differs from " + standard + ": " + wrong;
      return false;
    }
    return true;
  }
};

std::string linesOf(Location loc) {
  llvm::SetVector<std::pair<StringRef, unsigned>> lines;
  loc->walk([&](Location inner) {
    if (auto file = dyn_cast<FileLineColLoc>(inner))
      lines.insert({file.getFilename().getValue(), file.getLine()});
    return WalkResult::advance();
  });
  std::string text;
  // Only the last four distinct lines, in the order in which the location contains them.
  for (auto [file, line] : lines.getArrayRef().take_back(4))
    text += ", " + file.str() + ":" + std::to_string(line);
  return text;
}

ElementKind kindOf(Type type) {
  ElementKind kind;
  llvm::raw_string_ostream(kind.name) << type;
  kind.bytes = std::max(1u, unsigned(llvm::divideCeil(type.getIntOrFloatBitWidth(), 8)));
  if (auto floats = dyn_cast<FloatType>(type))
    kind.floats = &floats.getFloatSemantics();
  return kind;
}

/// Returns the numbers of elements that the op's reductions combine, as expressions of the kernel's index arguments.
SmallVector<AffineExpr> reducedSizes(Operation *op) {
  SmallVector<AffineExpr> sizes;
  auto add = [&](Value value, int64_t dim) {
    if (AffineExpr size = tile::sizeOf(value, dim))
      sizes.push_back(size);
  };
  // Adds a size of a matrix operand of attention: dimension `dim` of B x H x rows x columns.
  auto addOperand = [&](auto attention, int64_t operand, int64_t dim) {
    std::optional<ArrayRef<int64_t>> permutations = attention.getPermutations();
    add(attention.getInputs()[operand], permutations ? (*permutations)[4 * operand + dim] : dim);
  };
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    SmallVector<unsigned> reduced;
    linalgOp.getReductionDims(reduced);
    AffineExpr product = getAffineConstantExpr(1, op->getContext());
    for (unsigned dim : reduced)
      for (OpOperand &operand : op->getOpOperands()) {
        std::optional<unsigned> position =
            linalgOp.getMatchingIndexingMap(&operand).getResultPosition(getAffineDimExpr(dim, op->getContext()));
        AffineExpr size = position ? tile::sizeOf(operand.get(), *position) : AffineExpr();
        if (!size)
          continue;
        product = product * size;
        break;
      }
    if (!reduced.empty())
      sizes.push_back(product);
  } else if (auto attention = dyn_cast<tile::AttentionOp>(op)) {
    addOperand(attention, 1, 2); // keys
    addOperand(attention, 1, 3); // columns of a head
  } else if (auto gradient = dyn_cast<tile::AttentionGradientOp>(op)) {
    addOperand(gradient, 0, 2); // rows of the query
    addOperand(gradient, 1, 2);
    addOperand(gradient, 1, 3);
    addOperand(gradient, 2, 3); // columns of the value
  } else if (auto scan = dyn_cast<tile::ScanOp>(op)) {
    add(scan.getInputs()[0], scan.getDim());
  } else if (auto scatter = dyn_cast<tile::ScatterOp>(op)) {
    AffineExpr product = getAffineConstantExpr(1, op->getContext()); // all updates may add to the same element
    for (AffineExpr size : tile::sizesOf(scatter.getInputs()[0]))
      product = product * size;
    sizes.push_back(product);
  }
  return sizes;
}

/// Returns descriptions of the kernels' results in @main, in order.
llvm::Expected<std::vector<WatchedResult>> describeResults(ModuleOp module, func::FuncOp main) {
  std::vector<WatchedResult> results;
  unsigned symbols = tile::indexArguments(main).size(), number = 0;
  auto expression = [&](AffineExpr expr) { return exprFrom(AffineMap::get(0, symbols, expr)); };
  for (auto call : main.getOps<func::CallOp>()) {
    auto kernel = module.lookupSymbol<func::FuncOp>(call.getCallee());
    SmallVector<AffineExpr> arguments;
    for (Value operand : call.getOperands())
      if (isa<IndexType>(operand.getType()))
        arguments.push_back(tile::exprOf(operand));
    SmallVector<AffineExpr> reductions;
    kernel.walk([&](Operation *op) { llvm::append_range(reductions, reducedSizes(op)); });
    auto ops = call->getAttrOfType<StringAttr>(opsAttrName);
    for (Value value : call.getResults()) {
      WatchedResult result;
      result.kernel =
          "kernel " + call.getCallee().str() + " (" + (ops ? ops.getValue().str() : "?") + linesOf(call.getLoc()) + ")";
      result.call = number;
      result.kind = kindOf(cast<RankedTensorType>(value.getType()).getElementType());
      for (int64_t dim = 0; dim < cast<RankedTensorType>(value.getType()).getRank(); ++dim) {
        AffineExpr size = tile::sizeOf(value, dim);
        if (!size)
          return llvm::createStringError("check=reference: a size of a result of " + result.kernel + " is not known");
        result.sizes.push_back(expression(size));
      }
      for (AffineExpr length : reductions)
        result.reductions.push_back(expression(length.replaceSymbols(arguments)));
      results.push_back(std::move(result));
    }
    ++number;
  }
  return results;
}

/// Makes @main also return every kernel's results; with `onlyThese`, return only these.
void returnKernelResults(func::FuncOp main, bool onlyThese) {
  Operation *terminator = main.getBody().front().getTerminator();
  SmallVector<Value> values;
  if (!onlyThese)
    values.append(terminator->operand_begin(), terminator->operand_end());
  for (auto call : main.getOps<func::CallOp>())
    llvm::append_range(values, call.getResults());
  terminator->setOperands(values);
  main.setFunctionType(FunctionType::get(main.getContext(), main.getArgumentTypes(), TypeRange(ValueRange(values))));
  main.removeResAttrsAttr();
}

/// Replaces operands of kernels that are results of other kernels by new arguments of @main.
LogicalResult giveKernelResults(func::FuncOp main) {
  unsigned symbols = tile::indexArguments(main).size();
  for (auto call : llvm::to_vector(main.getOps<func::CallOp>()))
    for (Value result : call.getResults()) {
      AffineMap sizes = AffineMap::get(0, symbols, tile::sizesOf(result), main.getContext());
      unsigned position = main.getNumArguments();
      if (failed(main.insertArgument(position, result.getType(), {}, call.getLoc())))
        return failure();
      main.setArgAttr(position, tile::sizesAttrName, AffineMapAttr::get(sizes));
      result.replaceUsesWithIf(main.getArgument(position),
                               [](OpOperand &use) { return !isa<func::ReturnOp>(use.getOwner()); });
    }
  return success();
}

/// Compiles a module, whose structured stage has run, to a program.
llvm::Expected<std::shared_ptr<Program>> finishProgram(ModuleOp module, Target &target, const Options &options) {
  if (llvm::Error failed = lowerStructured(module, target, options))
    return llvm::createStringError("check=reference, target " + target.name() + ": " +
                                   llvm::toString(std::move(failed)));
  llvm::Expected<std::string> artifact = target.emit(module, options);
  if (!artifact)
    return artifact.takeError();
  return target.load(*artifact, options);
}

} // namespace

/// Compiles a program that compares the kernels of `target` with those of `exact` and, if `plain` is not null, with
/// those of `plain`. `exact` and `plain` compile their kernels with the options `ofExact`.
static llvm::Expected<std::shared_ptr<Program>> compileWith(ModuleOp module, Target &target, const Options &options,
                                                            Target &exact, Target *plain, const Options &ofExact) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  auto program = std::make_shared<CheckedProgram>();
  program->target = target.name().str();
  program->standard = plain ? "the reference" : "the kernel with the default schedule";
  program->outputs = main.getNumResults();
  program->inputs = llvm::count_if(main.getArgumentTypes(), [](Type type) { return isa<RankedTensorType>(type); });
  llvm::Expected<std::vector<WatchedResult>> results = describeResults(module, main);
  if (!results)
    return results.takeError();
  program->results = std::move(*results);

  OwningOpRef<ModuleOp> judge = module.clone();
  auto judgeMain = judge->lookupSymbol<func::FuncOp>("main");
  returnKernelResults(judgeMain, /*onlyThese=*/true);
  if (failed(giveKernelResults(judgeMain)))
    return llvm::createStringError("check=reference: @main cannot take its kernels' results as arguments");
  OwningOpRef<ModuleOp> plainJudge = judge->clone();
  returnKernelResults(main, /*onlyThese=*/false);

  std::shared_ptr<Program> *into[] = {&program->watched, &program->exact, &program->plain};
  ModuleOp modules[] = {module, *judge, *plainJudge};
  Target *targets[] = {&target, &exact, plain};
  const Options *with[] = {&options, &ofExact, &ofExact};
  for (auto [destination, part, of, given] : llvm::zip_equal(into, modules, targets, with)) {
    if (!of)
      continue;
    llvm::Expected<std::shared_ptr<Program>> made = finishProgram(part, *of, *given);
    if (!made)
      return made.takeError();
    *destination = std::move(*made);
  }
  return program;
}

llvm::Expected<std::shared_ptr<Program>> compileChecked(ModuleOp module, Target &target, const Options &options) {
  std::unique_ptr<Target> reference = createReferenceTarget(), plain = createPlainTarget();
  return compileWith(module, target, options, *reference, plain.get(), options);
}

llvm::Expected<std::shared_ptr<Program>> compileCompared(ModuleOp module, Target &target, const Options &options,
                                                         const Options &defaults) {
  return compileWith(module, target, options, target, /*plain=*/nullptr, defaults);
}

} // namespace tilewright
