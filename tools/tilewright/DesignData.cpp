//===- DesignData.cpp - inputs and results for the test bench of a design ------------------===//
//
// data/input_N.bin and data/output_N.bin contain the elements as in memory, except that an element smaller than a byte
// takes a whole byte. data/output_N.bound contains the bound of the root mean square (RMS) error. By the numbers rule,
// the bound of floats is twice the error of the target plain against the target reference, or three times this error
// for fewer than 1000 elements. The target plain runs the loops of the model in the model's dtypes, so that the bound
// does not depend on the machine that writes it. The error counts as at least eps times R, the largest RMS of all
// results. The bound is at most sqrt(eps) times R, so that a wrong result of the target plain cannot produce a bound
// that every result satisfies. The bound of integers that depend on floats is three times the error, and allows at
// least a difference of 1 in one element. The bound is 0 for other integers.
//
//===----------------------------------------------------------------------===//
#include "Design.h"
#include "FixedReference.h"
#include "RunInputs.h"
#include "lib/Interfaces/NumberText.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Parser/Parser.h"
#include "tilewright/FixedPoint.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <random>

using namespace mlir;

namespace tilewright::driver {
namespace {

/// Returns true if result `number` of `main` depends on floats. An integer or boolean that depends on floats may differ
/// from the reference, because rounding may change the result of a comparison or cast.
bool followsFromFloats(mlir::func::FuncOp main, size_t number) {
  SmallVector<Value> left{main.getBody().front().getTerminator()->getOperand(unsigned(number))};
  llvm::SmallPtrSet<mlir::Operation *, 16> seen;
  while (!left.empty()) {
    Value value = left.pop_back_val();
    if (isa<FloatType>(mlir::getElementTypeOrSelf(value.getType())))
      return true;
    if (mlir::Operation *op = value.getDefiningOp(); op && seen.insert(op).second)
      left.append(op->operand_begin(), op->operand_end());
  }
  return false;
}

/// Fills a tensor of integers of more than one bit with random values from -100 to 99. One value in eight is from the
/// whole range of the type, so that sums and products also overflow.
void fillIntegers(HostTensor &tensor, std::mt19937_64 &random) {
  if (!tensor.element.isInteger() || tensor.element.isInteger(1))
    return;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const uint64_t bits = random();
    const int64_t value = bits % 8 ? int64_t(bits / 8 % 200) - 100 : int64_t(random());
    tensor.setBits(i, uint64_t(value));
  }
}

llvm::Expected<Results> runOn(llvm::StringRef target, ModuleOp module, const RunInputs &inputs) {
  Results results;
  for (Type type : module.lookupSymbol<func::FuncOp>("main").getResultTypes()) {
    llvm::Expected<HostTensor> tensor = tensorOf(cast<RankedTensorType>(type), inputs.symbols);
    if (!tensor)
      return tensor.takeError();
    results.push_back(std::move(*tensor));
  }
  std::vector<void *> pointers;
  for (HostTensor &result : results)
    pointers.push_back(result.bytes.data());
  // Compile a copy of the module in the context of a separate session. Printing and parsing copies it to this context.
  Session session;
  OwningOpRef<ModuleOp> own;
  std::string text;
  llvm::raw_string_ostream(text) << module;
  own = parseSourceString<ModuleOp>(text, &session.context());
  if (!own)
    return llvm::createStringError(
        "the printed IR of the model cannot be parsed, so that no data for the test bench can be computed");
  Options options;
  options.target = target.str();
  llvm::Expected<std::shared_ptr<Program>> program = session.compile(*own, options);
  if (!program)
    return program.takeError();
  RunError error;
  if (!(*program)->run(inputs.pointers.data(), pointers.data(), inputs.symbols.data(), nullptr, 0, error, nullptr))
    return llvm::createStringError(error.text);
  return results;
}

/// Returns the root mean square of the finite values among at(0), ..., at(count - 1).
double rms(int64_t count, llvm::function_ref<double(int64_t)> at) {
  double squares = 0;
  int64_t finite = 0;
  for (int64_t i = 0; i < count; ++i)
    if (double value = at(i); std::isfinite(value)) {
      squares += value * value;
      ++finite;
    }
  return finite ? std::sqrt(squares / double(finite)) : 0;
}

std::string bytesOf(const void *data, int64_t count) {
  return std::string(static_cast<const char *>(data), size_t(count));
}

} // namespace

llvm::Expected<DesignData> makeDesignData(const ModelFile &model, ModuleOp module, const ModelFile &floats,
                                          llvm::ArrayRef<int64_t> embedded, llvm::ArrayRef<Attribute> arranged) {
  if (llvm::Error failed = floats.module ? widenIntegers(module) : llvm::Error::success())
    return std::move(failed);
  auto main = module.lookupSymbol<func::FuncOp>("main");
  llvm::Expected<RunInputs> inputs = makeInputs(model, main, {}, {}, /*seed=*/0);
  if (!inputs)
    return inputs.takeError();
  std::mt19937_64 random{1};
  for (HostTensor &tensor : inputs->tensors)
    fillIntegers(tensor, random);
  std::optional<FixedReference> fixed;
  if (floats.module) {
    fixed.emplace(module, floats);
    fixed->fill(inputs->tensors);
  }
  llvm::Expected<Results> expected = runOn("reference", module, *inputs);
  if (!expected)
    return expected.takeError();
  // The results of a fixed-point design are integers, which are equal on all targets.
  llvm::Expected<Results> others = runOn(fixed ? "cpu" : "plain", module, *inputs);
  if (!others)
    return others.takeError();

  DesignData made;
  std::vector<DesignFile> &files = made.files;
  if (fixed) {
    llvm::Expected<std::vector<FixedError>> errors =
        fixed->compare(inputs->tensors, *expected,
                       [](ModuleOp graph, const RunInputs &given) { return runOn("reference", graph, given); });
    if (!errors)
      return errors.takeError();
    made.errors = std::move(*errors);
    for (auto [one, other] : llvm::zip(*expected, *others))
      if (one.bytes != other.bytes)
        return llvm::createStringError("the targets 'reference' and 'cpu' compute different results for a fixed-point "
                                       "design; this is a bug of Tilewright");
  }
  auto name = [](llvm::StringRef kind, size_t number, llvm::StringRef suffix) {
    return ("data/" + kind + "_" + llvm::Twine(number) + suffix).str();
  };
  size_t number = 0, port = 0;
  for (Type type : main.getArgumentTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type)) {
      if (llvm::is_contained(embedded, int64_t(number))) {
        ++number;
        continue;
      }
      const void *elements = inputs->pointers[number];
      const int64_t width = std::max(1u, tensor.getElementTypeBitWidth() / 8);
      auto input =
          llvm::find_if(inputs->tensors, [&](const HostTensor &each) { return each.bytes.data() == elements; });
      files.push_back({name("input", port++, ".bin"), input == inputs->tensors.end()
                                                          ? bytesOf(elements, tensor.getNumElements() * width)
                                                          : input->fileBytes()});
      ++number;
    }
  for (Attribute attribute : arranged) {
    auto value = cast<DenseElementsAttr>(attribute);
    std::string bytes(value.getRawData().begin(), value.getRawData().end());
    const int64_t copies = value.isSplat() ? value.getNumElements() : 1;
    std::string all;
    for (int64_t copy = 0; copy < copies; ++copy)
      all += bytes;
    files.push_back({name("input", port++, ".bin"), std::move(all)});
  }
  double largest = 0;
  for (const HostTensor &result : *expected)
    largest = std::max(largest, rms(result.count(), [&](int64_t i) { return result.numberAt(i); }));
  for (auto [index, result] : llvm::enumerate(*expected)) {
    files.push_back({name("output", index, ".bin"), result.fileBytes()});
    double bound = 0;
    auto errorOf = [&](const HostTensor &other) {
      return rms(result.count(), [&](int64_t i) { return result.numberAt(i) - other.numberAt(i); });
    };
    if (auto type = dyn_cast<FloatType>(result.element)) {
      const double eps = std::ldexp(1.0, 1 - int(type.getFPMantissaWidth())), error = errorOf((*others)[index]);
      bound = (result.count() < 1000 ? 3 : 2) * std::max(error, eps * largest);
      bound = std::min(bound, std::sqrt(eps) * largest);
    } else if (followsFromFloats(main, index)) {
      bound = std::max(3 * errorOf((*others)[index]), 1 / std::sqrt(double(std::max<int64_t>(1, result.count()))));
    }
    std::string text;
    llvm::raw_string_ostream(text) << numberText("%.9g\n", bound);
    files.push_back({name("output", index, ".bound"), text});
  }
  return made;
}

} // namespace tilewright::driver
