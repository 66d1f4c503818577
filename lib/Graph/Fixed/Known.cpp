//===- Known.cpp - tensors whose elements are known at compile time -----------------===//
#include "lib/Graph/Fixed/Known.h"
#include "dialects/Graph/Graph.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;

namespace tilewright::fixed {
namespace {

using graph::BroadcastOp, graph::CastOp, graph::PermuteOp, graph::ReshapeOp;

/// Increments `indices` to the next element in row-major order.
void step(SmallVector<int64_t> &indices, ArrayRef<int64_t> shape) {
  for (int64_t dim = shape.size() - 1; dim >= 0 && ++indices[dim] == shape[dim]; --dim)
    indices[dim] = 0;
}

/// Returns the element of `known` at `indices`, which index a shape to which `known` broadcasts.
double elementAt(const Known &known, ArrayRef<int64_t> indices) {
  const size_t missing = indices.size() - known.shape.size();
  int64_t at = 0;
  for (auto [dim, size] : llvm::enumerate(known.shape))
    at = at * size + (size == 1 ? 0 : indices[missing + dim]);
  return known.elements[at];
}

double compute(Operation *op, ArrayRef<double> in, bool &fits) {
  return TypeSwitch<Operation *, double>(op)
      .Case<graph::AddOp>([&](auto) { return in[0] + in[1]; })
      .Case<graph::SubOp>([&](auto) { return in[0] - in[1]; })
      .Case<graph::MulOp>([&](auto) { return in[0] * in[1]; })
      .Case<graph::DivOp>([&](auto) { return in[0] / in[1]; })
      .Case<graph::PowOp>([&](auto) { return std::pow(in[0], in[1]); })
      .Case<graph::MaximumOp>([&](auto) { return std::max(in[0], in[1]); })
      .Case<graph::MinimumOp>([&](auto) { return std::min(in[0], in[1]); })
      .Case<graph::SqrtOp>([&](auto) { return std::sqrt(in[0]); })
      .Case<graph::RsqrtOp>([&](auto) { return 1 / std::sqrt(in[0]); })
      .Case<graph::ReciprocalOp>([&](auto) { return 1 / in[0]; })
      .Case<graph::NegOp>([&](auto) { return -in[0]; })
      .Case<graph::AbsOp>([&](auto) { return std::fabs(in[0]); })
      .Case<graph::ExpOp>([&](auto) { return std::exp(in[0]); })
      .Case<CastOp, BroadcastOp>([&](auto) { return in[0]; })
      .Default([&](auto) {
        fits = false;
        return 0.0;
      });
}

} // namespace

std::shared_ptr<Known> knownOf(ElementsAttr value, StringRef name) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!type || !dense || !type.hasStaticShape())
    return nullptr;
  auto known = std::make_shared<Known>();
  known->shape = SmallVector<int64_t>(type.getShape());
  known->name = name.str();
  known->elements.reserve(type.getNumElements());
  if (isa<FloatType>(type.getElementType())) {
    for (const APFloat &element : dense.getValues<APFloat>())
      known->elements.push_back(element.convertToDouble());
    return known;
  }
  if (!isa<IntegerType>(type.getElementType()))
    return nullptr;
  for (const APInt &element : dense.getValues<APInt>())
    known->elements.push_back(type.getElementType().isInteger(1) ? double(element.getZExtValue())
                                                                 : element.signedRoundToDouble());
  return known;
}

std::shared_ptr<Known> evaluate(Operation *op, ArrayRef<std::shared_ptr<Known>> operands) {
  if (op->getNumResults() != 1 || operands.empty() || llvm::is_contained(operands, nullptr))
    return nullptr;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || !type.hasStaticShape() || !isa<FloatType>(type.getElementType()))
    return nullptr;
  auto result = std::make_shared<Known>();
  result->shape = SmallVector<int64_t>(type.getShape());
  for (const auto &operand : operands)
    if (result->name.empty())
      result->name = operand->name;
  if (isa<ReshapeOp>(op)) {
    result->elements = operands[0]->elements;
    return result;
  }
  SmallVector<int64_t> indices(type.getRank(), 0), from(type.getRank(), 0);
  result->elements.reserve(type.getNumElements());
  SmallVector<double> in(operands.size());
  bool fits = true;
  for (int64_t i = 0; i < type.getNumElements() && fits; ++i, step(indices, type.getShape())) {
    if (auto permute = dyn_cast<PermuteOp>(op)) {
      for (auto [to, dim] : llvm::enumerate(permute.getPermutation()))
        from[dim] = indices[to];
      result->elements.push_back(elementAt(*operands[0], from));
      continue;
    }
    for (auto [number, operand] : llvm::enumerate(operands))
      in[number] = elementAt(*operand, indices);
    result->elements.push_back(compute(op, in, fits));
  }
  return fits ? result : nullptr;
}

const Known *firstWithoutNumber(Operation *op, ArrayRef<std::shared_ptr<Known>> operands) {
  const bool isBound = isa<graph::MaximumOp, graph::MinimumOp>(op);
  auto hasNoNumber = [&](double x) { return std::isnan(x) || (!isBound && std::isinf(x)); };
  for (const std::shared_ptr<Known> &known : operands)
    if (known && llvm::any_of(known->elements, hasNoNumber))
      return known.get();
  return nullptr;
}

} // namespace tilewright::fixed
