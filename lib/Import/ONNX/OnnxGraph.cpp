//===- OnnxGraph.cpp - constant values, and values in the module --------------------===//
#include "lib/Import/ONNX/OnnxGraph.h"
#include "lib/Import/Builder/Node.h"
#include "lib/Import/ONNX/OnnxNarrow.h"

namespace tilewright {

using namespace mlir;

std::optional<ScalarType> scalarTypeOf(onnx::ElementType type) {
  return isNarrow(type) ? std::nullopt : scalarTypeFromName(onnx::elementTypeName(type));
}

Type elementTypeOf(onnx::ElementType type, MLIRContext *context) {
  auto scalar = scalarTypeOf(type);
  return scalar ? elementTypeOf(*scalar, context) : Type();
}

double roundedTo(double number, FloatType type) {
  llvm::APFloat value(number);
  bool inexact;
  value.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return value.convertToDouble();
}

std::optional<SmallVector<int64_t>> KnownElements::constants() const {
  SmallVector<int64_t> list;
  if (isFloat())
    return std::nullopt;
  for (AffineExpr integer : integers) {
    auto constant = dyn_cast<AffineConstantExpr>(integer);
    if (!constant)
      return std::nullopt;
    list.push_back(constant.getValue());
  }
  return list;
}

const KnownElements *OnnxGraph::known(OnnxValue &value) {
  if (value.known)
    return &*value.known;
  if (!value.tensor || value.tensor->count() > mostKnown)
    return nullptr;
  Type element = elementTypeOf(value.tensor->type, &importer.context);
  if (!element)
    return nullptr;
  KnownElements known;
  known.element = element;
  known.sizes.assign(value.tensor->sizes.begin(), value.tensor->sizes.end());
  unsigned width = onnx::elementBits(value.tensor->type) / 8;
  for (int64_t i = 0, count = value.tensor->count(); i < count; ++i) {
    uint64_t bits = 0;
    memcpy(&bits, value.tensor->bytes.data() + i * width, width);
    if (auto floats = dyn_cast<FloatType>(element)) {
      llvm::APFloat number(floats.getFloatSemantics(), llvm::APInt(width * 8, bits));
      bool inexact;
      number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
      known.numbers.push_back(number.convertToDouble());
    } else {
      unsigned shift = 64 - 8 * width;
      int64_t integer = element.isUnsignedInteger() ? int64_t(bits) : int64_t(bits << shift) >> shift;
      known.integers.push_back(getAffineConstantExpr(element.isInteger(1) ? bits != 0 : integer, &importer.context));
    }
  }
  value.known = std::move(known);
  return &*value.known;
}

llvm::Expected<Value> OnnxGraph::addInput(llvm::StringRef name, const TensorMeta &meta) {
  auto built = builder.addInput(name, meta, {}, /*isStatic=*/false);
  if (!built)
    return built.takeError();
  weights.push_back(nullptr);
  return importer.valueOf(built->value);
}

llvm::Expected<Value> OnnxGraph::addParameter(llvm::StringRef name, Type element, ArrayRef<int64_t> sizes,
                                              const void *elements) {
  TensorMeta meta{*scalarTypeOf(element), {sizes.begin(), sizes.end()}};
  auto built = builder.addInput(name, meta, {}, /*isStatic=*/true);
  if (!built)
    return built.takeError();
  static const char nothing = 0; // empty tensors have the address of this byte
  weights.push_back(elements ? elements : &nothing);
  return importer.valueOf(built->value);
}

static uint64_t bitsOf(const KnownElements &known, size_t i) {
  auto floats = dyn_cast<FloatType>(known.element);
  if (!floats)
    return uint64_t(cast<AffineConstantExpr>(known.integers[i]).getValue());
  llvm::APFloat number(known.numbers[i]);
  bool inexact;
  number.convert(floats.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return number.bitcastToAPInt().getZExtValue();
}

llvm::Expected<Value> OnnxGraph::materialize(OnnxValue &value, llvm::StringRef name) {
  if (value.value)
    return value.value;
  OpBuilder &b = importer.builder;
  Location loc = NameLoc::get(b.getStringAttr(name));
  if (value.tensor && isNarrow(value.tensor->type)) {
    value.narrow = value.tensor->type;
    copies.push_back(narrowBytes(*value.tensor));
    auto parameter = addParameter(name, elementTypeOf(storageOf(value.narrow), &importer.context), value.tensor->sizes,
                                  copies.back().empty() ? nullptr : copies.back().data());
    if (parameter)
      value.value = *parameter;
    return parameter;
  }
  if (value.tensor && value.tensor->count() != 1) {
    Type element = elementTypeOf(value.tensor->type, &importer.context);
    if (!element)
      return llvm::createStringError("'" + name + "' has elements of " + onnx::elementTypeName(value.tensor->type) +
                                     ", which are not supported");
    auto parameter = addParameter(name, element, value.tensor->sizes, value.tensor->bytes.data());
    if (parameter)
      value.value = *parameter;
    return parameter;
  }
  const KnownElements *elements = known(value);
  if (!elements)
    return llvm::createStringError(value.tensor
                                       ? "'" + name.str() + "' has elements of " +
                                             onnx::elementTypeName(value.tensor->type) + ", which are not supported"
                                       : "'" + name.str() + "' is not the result of an earlier node");
  auto single = [&](size_t i) -> Value {
    auto type = RankedTensorType::get({}, elements->element);
    if (!elements->isFloat() && !isa<AffineConstantExpr>(elements->integers[i])) {
      auto map = AffineMap::get(0, importer.symbols.size(), graph::canonicalSize(elements->integers[i]));
      Value index =
          graph::FromIndexOp::create(b, loc, RankedTensorType::get({}, b.getI64Type()), AffineMapAttr::get(map));
      return elements->element.isInteger(64)
                 ? index
                 : graph::CastOp::create(b, loc, TypeRange{type}, ValueRange{index}).getResult();
    }
    unsigned width = elements->element.getIntOrFloatBitWidth();
    llvm::APInt bits = llvm::APInt(64, bitsOf(*elements, i)).trunc(width);
    Attribute attribute;
    if (auto floats = dyn_cast<FloatType>(elements->element))
      attribute = FloatAttr::get(floats, llvm::APFloat(floats.getFloatSemantics(), bits));
    else
      attribute = IntegerAttr::get(elements->element, bits);
    return graph::ConstantOp::create(b, loc, type, cast<TypedAttr>(DenseElementsAttr::get(type, attribute)));
  };
  auto reshaped = [&](Value from, ArrayRef<int64_t> sizes) -> Value {
    auto type = RankedTensorType::get(sizes, elements->element);
    return type == from.getType() ? from : graph::ReshapeOp::create(b, loc, type, from).getResult();
  };
  bool symbolic = !elements->isFloat() && !elements->constants();
  if (elements->count() == 1) {
    value.value = reshaped(single(0), elements->sizes);
  } else if (symbolic) {
    SmallVector<Value> parts;
    for (size_t i = 0; i < elements->count(); ++i)
      parts.push_back(reshaped(single(i), {1}));
    auto type = RankedTensorType::get({int64_t(parts.size())}, elements->element);
    value.value =
        reshaped(graph::ConcatOp::create(b, loc, type, ValueRange(parts), b.getI64IntegerAttr(0)), elements->sizes);
  } else {
    unsigned width = scalarTypeBits(*scalarTypeOf(elements->element)) / 8;
    std::vector<uint8_t> bytes(elements->count() * width);
    for (size_t i = 0; i < elements->count(); ++i) {
      uint64_t bits = bitsOf(*elements, i);
      memcpy(&bytes[i * width], &bits, width);
    }
    copies.push_back(std::move(bytes));
    const void *data = copies.back().empty() ? nullptr : copies.back().data();
    auto parameter = addParameter("constant" + std::to_string(constants++), elements->element, elements->sizes, data);
    if (!parameter)
      return parameter;
    value.value = *parameter;
  }
  return value.value;
}

} // namespace tilewright
