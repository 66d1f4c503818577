//===- FixedReference.cpp - compare a fixed-point design with its float model --------------===//
//
// FixedReference computes the float model in double precision for the input values of the fixed-point design.
// Therefore, except for errors of double precision, the only causes of differences are rounding and overflow in fixed
// point.
//
// Test: test/Tools/hls-fixed.test
//
//===----------------------------------------------------------------------===//
#include "FixedReference.h"
#include "dialects/Graph/Graph.h"
#include "tilewright/FixedPoint.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>
#include <random>

using namespace mlir;

namespace tilewright::driver {
namespace {

double doubleAt(const char *bytes, FloatType type) {
  uint64_t bits = 0;
  memcpy(&bits, bytes, type.getWidth() / 8);
  return llvm::APFloat(type.getFloatSemantics(), llvm::APInt(type.getWidth(), bits)).convertToDouble();
}

/// Rounds `value` to the float type `type`.
double roundedTo(FloatType type, double value) {
  llvm::APFloat number(value);
  bool lossy;
  number.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &lossy);
  return number.convertToDouble();
}

Type inDoubles(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !isa<FloatType>(tensor.getElementType()))
    return type;
  return graph::withElementType(tensor, Float64Type::get(type.getContext()));
}

/// Changes all float types in `main` to f64.
void useDoubles(func::FuncOp main) {
  for (BlockArgument argument : main.getArguments())
    argument.setType(inDoubles(argument.getType()));
  main.walk([&](Operation *op) {
    if (op == main)
      return;
    for (OpResult result : op->getResults())
      result.setType(inDoubles(result.getType()));
    auto constant = dyn_cast<graph::ConstantOp>(op);
    auto value = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
    if (!value || !isa<FloatType>(value.getElementType()))
      return;
    constant.setValueAttr(cast<DenseFPElementsAttr>(value).mapValues(
        Float64Type::get(op->getContext()), [](const llvm::APFloat &element) {
          llvm::APFloat wide = element;
          bool lossy;
          wide.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lossy);
          return wide.bitcastToAPInt();
        }));
  });
  main.setType(FunctionType::get(main.getContext(), main.front().getArgumentTypes(),
                                 main.front().getTerminator()->getOperandTypes()));
}

} // namespace

FixedReference::FixedReference(ModuleOp fixed, const ModelFile &floats)
    : floats(floats), inputs(pointsOf(fixed, "inputs")), outputs(pointsOf(fixed, "outputs")) {}

std::vector<std::optional<FixedReference::Point>> FixedReference::pointsOf(ModuleOp fixed, llvm::StringRef key) {
  std::vector<std::optional<Point>> points;
  for (Attribute format : fixed->getAttrOfType<DictionaryAttr>(fixedAttrName).getAs<ArrayAttr>(key)) {
    Point point;
    int integer = 0;
    llvm::StringRef text = cast<StringAttr>(format).getValue();
    auto [width, rest] = text.split(',');
    if (text.empty() || width.getAsInteger(10, point.width) || rest.split(',').first.getAsInteger(10, integer)) {
      points.push_back(std::nullopt);
      continue;
    }
    point.fraction = point.width - integer;
    points.push_back(point);
  }
  return points;
}

void FixedReference::fill(std::vector<HostTensor> &tensors) const {
  std::mt19937_64 random{1};
  func::FuncOp main = ModuleOp(floats.module.get()).lookupSymbol<func::FuncOp>("main");
  SmallVector<FloatType> types; // the element types of the inputs that are not weights; null for integers
  size_t number = 0;
  for (Type type : main.getArgumentTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      if (!floats.weight(number++))
        types.push_back(dyn_cast<FloatType>(tensor.getElementType()));
  for (auto [tensor, point, type] : llvm::zip_equal(tensors, inputs, types))
    for (int64_t i = 0; point && i < tensor.count(); ++i) {
      const double value = double(int64_t(random() >> 11)) / double(int64_t(1) << 52) - 1;
      const double limit = std::ldexp(1.0, point->width - 1);
      auto nearest = [&](double real) {
        return std::clamp(std::nearbyint(std::ldexp(real, point->fraction)), -limit, limit - 1);
      };
      // If the float type has less precision than the fixed-point format, it rounds the value again.
      const double held = roundedTo(type, std::ldexp(nearest(value), -point->fraction));
      tensor.setBits(i, uint64_t(int64_t(nearest(held))));
    }
}

llvm::Expected<std::vector<FixedError>> FixedReference::compare(const std::vector<HostTensor> &tensors,
                                                                const Results &results, RunGraph run) const {
  OwningOpRef<ModuleOp> graph(cast<ModuleOp>(floats.module.get()->clone()));
  auto main = graph->lookupSymbol<func::FuncOp>("main");
  std::vector<std::vector<double>> doubles;
  RunInputs given;
  size_t number = 0, next = 0;
  for (Type type : main.getArgumentTypes()) {
    auto tensor = cast<RankedTensorType>(type);
    auto element = dyn_cast<FloatType>(tensor.getElementType());
    const auto *weight = static_cast<const char *>(floats.weight(number++));
    const std::optional<Point> point = weight ? std::nullopt : inputs[next];
    const HostTensor *input = weight ? nullptr : &tensors[next++];
    if (!element) {
      given.pointers.push_back(weight ? static_cast<const void *>(weight) : input->bytes.data());
      continue;
    }
    std::vector<double> &values = doubles.emplace_back(std::max<int64_t>(1, tensor.getNumElements()));
    for (int64_t i = 0; i < tensor.getNumElements(); ++i)
      values[i] = weight ? doubleAt(weight + i * element.getWidth() / 8, element)
                         : std::ldexp(double(input->integerAt(i)), -point->fraction);
    given.pointers.push_back(values.data());
  }
  useDoubles(main);
  llvm::Expected<Results> expected = run(*graph, given);
  if (!expected)
    return expected.takeError();
  std::vector<FixedError> errors;
  for (auto [result, real, point] : llvm::zip_equal(results, *expected, outputs)) {
    if (!point)
      continue;
    FixedError error;
    for (int64_t i = 0; i < result.count(); ++i) {
      double exact;
      memcpy(&exact, &real.bytes[i * sizeof(double)], sizeof(double));
      const double off = std::ldexp(double(result.integerAt(i)), -point->fraction) - exact;
      error.rms += off * off;
      error.largest = std::max(error.largest, std::fabs(off));
    }
    error.rms = std::sqrt(error.rms / double(std::max<int64_t>(1, result.count())));
    errors.push_back(error);
  }
  return errors;
}

} // namespace tilewright::driver
