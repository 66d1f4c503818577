//===- OnnxNode.cpp - read inputs and attributes, and emit common ops -----------------===//
#include "lib/Import/ONNX/OnnxNode.h"
#include "lib/Import/ATen/Table.h"
#include "lib/Import/ONNX/OnnxNarrow.h"

namespace tilewright {

OnnxValue *OnnxNode::slot(unsigned index) {
  OnnxValue *value = given(index) ? scope.find(node.inputs[index]) : nullptr;
  if (!value)
    refuse(given(index) ? "its input '" + node.inputs[index] + "' is not the result of an earlier node"
                        : "its input " + std::to_string(index) + " is missing");
  return value;
}

onnx::ElementType OnnxNode::narrowOf(unsigned index) {
  OnnxValue *value = given(index) ? scope.find(node.inputs[index]) : nullptr;
  if (value && value->tensor && isNarrow(value->tensor->type))
    return value->tensor->type;
  return value ? value->narrow : onnx::ElementType::Undefined;
}

Value OnnxNode::in(unsigned index) {
  if (onnx::ElementType narrow = narrowOf(index); narrow != onnx::ElementType::Undefined)
    refuse("its input '" + node.inputs[index] + "' is of " + onnx::elementTypeName(narrow) +
           ", which only Cast, QuantizeLinear and DequantizeLinear support");
  return anyIn(index);
}

Value OnnxNode::numbersOf(unsigned index) {
  Value value = anyIn(index);
  onnx::ElementType narrow = narrowOf(index);
  return narrow == onnx::ElementType::Undefined || failed() ? value : narrowToNumbers(*this, value, narrow);
}

Value OnnxNode::anyIn(unsigned index) {
  if (OnnxValue *value = slot(index)) {
    auto written = graph.materialize(*value, node.inputs[index]);
    if (written)
      return *written;
    refuse(llvm::toString(written.takeError()));
  }
  return scalar(0, f32());
}

SmallVector<Value> OnnxNode::allIn(unsigned first) {
  SmallVector<Value> values;
  for (unsigned index = first; index < inputCount(); ++index)
    values.push_back(in(index));
  if (values.empty()) {
    refuse("it has no inputs");
    values.push_back(scalar(0, f32()));
  }
  return values;
}

const KnownElements *OnnxNode::known(unsigned index) {
  OnnxValue *value = given(index) ? scope.find(node.inputs[index]) : nullptr;
  return value ? graph.known(*value) : nullptr;
}

RankedTensorType OnnxNode::typeIn(unsigned index) {
  OnnxValue *value = slot(index);
  if (!value)
    return {};
  if (value->value)
    return typeOf(value->value);
  if (value->tensor) {
    Type element = elementTypeOf(value->tensor->type, &importer.context);
    if (element)
      return RankedTensorType::get(value->tensor->sizes, element);
    refuse("'" + node.inputs[index] + "' has elements of " + onnx::elementTypeName(value->tensor->type) +
           ", which are not supported");
    return {};
  }
  if (value->known)
    return RankedTensorType::get(value->known->sizes, value->known->element);
  refuse("the type of '" + node.inputs[index] + "' is not known");
  return {};
}

static std::string mustBeKnown(const OnnxNode &n, unsigned index, llvm::StringRef what) {
  return "its " + what.str() + " ('" + n.node.inputs[index] +
         "') must be known when the model is compiled: make it an initializer";
}

SmallVector<AffineExpr> OnnxNode::sizesFrom(unsigned index, llvm::StringRef what) {
  const KnownElements *elements = known(index);
  if (!given(index))
    refuse("its " + what + " are missing");
  else if (!elements || elements->isFloat())
    refuse(mustBeKnown(*this, index, what));
  if (failed())
    return {};
  return SmallVector<AffineExpr>(elements->integers.begin(), elements->integers.end());
}

SmallVector<int64_t> OnnxNode::integersIn(unsigned index, llvm::StringRef what) {
  SmallVector<int64_t> values;
  for (AffineExpr size : sizesFrom(index, what)) {
    auto constant = dyn_cast<AffineConstantExpr>(size);
    if (!constant) {
      refuse("its " + what + " follow from symbolic sizes, which is not supported");
      return {};
    }
    values.push_back(constant.getValue());
  }
  return values;
}

SmallVector<double> OnnxNode::numbersIn(unsigned index, llvm::StringRef what) {
  const KnownElements *elements = known(index);
  if (elements && elements->isFloat())
    return SmallVector<double>(elements->numbers.begin(), elements->numbers.end());
  refuse(given(index) ? mustBeKnown(*this, index, what) : "its " + what.str() + " are missing");
  return {};
}

std::optional<SmallVector<int64_t>> OnnxNode::axes(unsigned index, int64_t since, llvm::StringRef name) {
  if (version < since)
    return attribute(name) ? std::optional(integers(name)) : std::nullopt;
  return given(index) ? std::optional(integersIn(index, name)) : std::nullopt;
}

int64_t OnnxNode::integer(llvm::StringRef name, std::optional<int64_t> otherwise) {
  const onnx::Attribute *found = attribute(name);
  if (found && found->kind == onnx::Attribute::Kind::Int)
    return found->integer;
  if (found || !otherwise)
    refuse(found ? "the attribute " + name + " is not an integer" : "the attribute " + name + " is missing");
  return otherwise.value_or(0);
}

double OnnxNode::number(llvm::StringRef name, std::optional<double> otherwise) {
  const onnx::Attribute *found = attribute(name);
  if (found && found->kind == onnx::Attribute::Kind::Float)
    return found->number;
  if (found || !otherwise)
    refuse(found ? "the attribute " + name + " is not a number" : "the attribute " + name + " is missing");
  return otherwise.value_or(0);
}

std::string OnnxNode::text(llvm::StringRef name, llvm::StringRef otherwise) {
  const onnx::Attribute *found = attribute(name);
  if (found && found->kind != onnx::Attribute::Kind::String)
    refuse("the attribute " + name + " is not a string");
  return found ? found->text : otherwise.str();
}

SmallVector<int64_t> OnnxNode::integers(llvm::StringRef name) {
  const onnx::Attribute *found = attribute(name);
  if (found && found->kind != onnx::Attribute::Kind::Ints)
    refuse("the attribute " + name + " is not a list of integers");
  return found ? SmallVector<int64_t>(found->integers.begin(), found->integers.end()) : SmallVector<int64_t>();
}

SmallVector<double> OnnxNode::numbers(llvm::StringRef name) {
  const onnx::Attribute *found = attribute(name);
  return found ? SmallVector<double>(found->numbers.begin(), found->numbers.end()) : SmallVector<double>();
}

SmallVector<std::string> OnnxNode::texts(llvm::StringRef name) {
  const onnx::Attribute *found = attribute(name);
  return found ? SmallVector<std::string>(found->texts.begin(), found->texts.end()) : SmallVector<std::string>();
}

Type OnnxNode::elementNamed(llvm::StringRef name, std::optional<onnx::ElementType> otherwise) {
  auto type = onnx::ElementType(
      integer(name, otherwise ? std::optional<int64_t>(int64_t(*otherwise)) : std::optional<int64_t>()));
  Type element = elementTypeOf(type, &importer.context);
  if (!element)
    refuse("elements of " + onnx::elementTypeName(type) + " are not supported");
  return element ? element : f32();
}

int64_t OnnxNode::axis(int64_t value, int64_t rank) {
  if (demand(value >= -rank && value < std::max<int64_t>(rank, 1),
             "the axis " + llvm::Twine(value) + " is out of range for a tensor of rank " + llvm::Twine(rank)))
    return value < 0 ? value + rank : value;
  return 0;
}

SmallVector<Value> OnnxNode::callAll(llvm::StringRef target, const ArgList &args, ArrayRef<RankedTensorType> types) {
  SmallVector<Value> harmless;
  for (RankedTensorType type : types)
    harmless.push_back(
        type ? Value(UnrealizedConversionCastOp::create(builder, loc, TypeRange{type}, ValueRange{}).getResult(0))
             : Value());
  if (failed())
    return harmless;
  const Operator *row = findImported(target);
  if (!row) {
    refuse("internal error: " + target + " is not in the table of imported ops");
    return harmless;
  }
  std::vector<std::pair<std::string, Arg>> none;
  Node inner(importer, target, args, none, types, loc);
  Results results = row->import(inner);
  if (inner.failed())
    refuse(inner.reason);
  for (auto [i, type] : llvm::enumerate(types))
    if (!failed() && type && (i >= results.values.size() || !results.values[i] || results.values[i].getType() != type))
      refuse("internal error: result " + llvm::Twine(i) + " of " + target + " is not " + tensorName(type));
  if (failed())
    return harmless;
  return SmallVector<Value>(results.values.begin(), results.values.end());
}

Value OnnxNode::pad(Value value, ArrayRef<int64_t> low, ArrayRef<int64_t> high, Attribute filler) {
  const size_t rank = rankOf(value);
  if (!demand(low.size() == rank && high.size() == rank, "the number of pads is not the number of dimensions"))
    return value;
  if (llvm::all_of(low, [](int64_t p) { return p == 0; }) && llvm::all_of(high, [](int64_t p) { return p == 0; }))
    return value;
  return Node::pad(value, low, high, filler);
}

Value OnnxNode::take(Value value, Value indices, int64_t dim) {
  SmallVector<AffineExpr> sizes = sizesIn(value), at = sizesIn(indices);
  if (!demand(dim < int64_t(sizes.size()), "a tensor of rank 0 has no rows"))
    return value;
  if (!elementOf(indices).isInteger(32) && !elementOf(indices).isInteger(64))
    indices = cast(indices, i64());
  sizes.erase(sizes.begin() + dim);
  sizes.insert(sizes.begin() + dim, at.begin(), at.end());
  return TakeOp::create(builder, loc, tensorWithSizes(sizes, elementOf(value)), value, ValueRange{indices}, dim);
}

Value OnnxNode::meanOf(Value value, ArrayRef<int64_t> dims, bool keepdim) {
  Type element = elementOf(value), compute = accumulator(element);
  Value sum = reduce(ReduceKind::Sum, cast(value, compute), dims, keepdim);
  return cast(op<DivOp>({sum, countAlong(value, dims, compute)}), element);
}

Value OnnxNode::vector(ArrayRef<int64_t> values, Type element) {
  OnnxValue *constant = graph.make();
  KnownElements known{element, {int64_t(values.size())}, {}, {}};
  for (int64_t value : values)
    isa<FloatType>(element) ? known.numbers.push_back(double(value)) : known.integers.push_back(constantSize(value));
  constant->known = std::move(known);
  auto written = graph.materialize(*constant, target);
  if (written)
    return *written;
  refuse(llvm::toString(written.takeError()));
  return scalar(0, element);
}

Value OnnxNode::vector(ArrayRef<double> values, Type element) {
  OnnxValue *constant = graph.make();
  constant->known = KnownElements{element, {int64_t(values.size())}, {}, {values.begin(), values.end()}};
  auto written = graph.materialize(*constant, target);
  if (written)
    return *written;
  refuse(llvm::toString(written.takeError()));
  return scalar(0, element);
}

int64_t OnnxNode::staticSize(Value value, int64_t dim) {
  if (!demand(dim < rankOf(value), "there is no such dimension"))
    return 1;
  auto constant = dyn_cast<AffineConstantExpr>(sizesIn(value)[dim]);
  if (!constant)
    refuse("the size of dimension " + llvm::Twine(dim) + " is symbolic where a constant is needed");
  return constant ? constant.getValue() : 1;
}

} // namespace tilewright
