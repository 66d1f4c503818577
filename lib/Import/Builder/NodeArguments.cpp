//===- NodeArguments.cpp - read the arguments of a node ------------------------===//
#include "lib/Import/Builder/Node.h"

namespace tilewright {

static llvm::StringRef kindOf(const Arg &arg) {
  static constexpr llvm::StringLiteral kinds[] = {"None",  "bool",   "int",          "float", "name",
                                                  "dtype", "tensor", "symbolic int", "list"};
  return kinds[arg.index()];
}

const Arg *Node::find(unsigned index, llvm::StringRef name) const {
  if (index < args.size())
    return &args[index];
  for (const auto &[key, arg] : kwargs)
    if (key == name)
      return &arg;
  return nullptr;
}

bool Node::has(unsigned index, llvm::StringRef name) const {
  const Arg *arg = find(index, name);
  return arg && !std::holds_alternative<std::monostate>(*arg);
}

bool Node::isTensor(unsigned index, llvm::StringRef name) const {
  const Arg *arg = find(index, name);
  return arg && std::holds_alternative<ValueRef>(*arg);
}

bool Node::isNumber(unsigned index, llvm::StringRef name) const {
  const Arg *arg = find(index, name);
  return arg && (std::holds_alternative<bool>(*arg) || std::holds_alternative<int64_t>(*arg) ||
                 std::holds_alternative<double>(*arg) || std::holds_alternative<SymbolicInt>(*arg));
}

/// Returns a 0-d constant for nodes that were refused; the ops that use it are erased.
Value Node::harmless() {
  auto type = RankedTensorType::get({}, f32());
  return ConstantOp::create(builder, loc, type, cast<TypedAttr>(DenseElementsAttr::get(type, 0.0f)));
}

static Value lookUp(Node &n, const Arg *arg, const llvm::Twine &what) {
  if (!arg || !std::holds_alternative<ValueRef>(*arg)) {
    n.refuse("argument " + what + " is " + (arg ? kindOf(*arg) : "missing") + " where a tensor is needed");
    return {};
  }
  Value value = n.importer.valueOf(std::get<ValueRef>(*arg));
  if (!value)
    n.refuse("argument " + what + " refers to a result that its node does not have");
  return value;
}

Value Node::tensor(unsigned index, llvm::StringRef name) {
  Value value = lookUp(*this, find(index, name), name);
  return value ? value : harmless();
}

Value Node::optionalTensor(unsigned index, llvm::StringRef name) {
  return has(index, name) ? tensor(index, name) : Value();
}

SmallVector<Value> Node::optionalTensors(unsigned index, llvm::StringRef name) {
  SmallVector<Value> values;
  const Arg *arg = find(index, name);
  if (!arg || !std::holds_alternative<ArgList>(*arg)) {
    refuse(llvm::Twine("argument ") + name + " is " + (arg ? kindOf(*arg) : "missing") +
           " where a list of tensors is needed");
    return values;
  }
  for (const Arg &item : std::get<ArgList>(*arg)) {
    if (std::holds_alternative<std::monostate>(item)) {
      values.push_back({});
      continue;
    }
    Value value = lookUp(*this, &item, name);
    values.push_back(value ? value : harmless());
  }
  return values;
}

SmallVector<Value> Node::tensors(unsigned index, llvm::StringRef name) {
  SmallVector<Value> values = optionalTensors(index, name);
  if (llvm::is_contained(values, Value()))
    refuse(llvm::Twine("argument ") + name + " contains None");
  return values;
}

AffineExpr Node::size(unsigned index, llvm::StringRef name) {
  const Arg *arg = find(index, name);
  if (arg)
    if (auto *value = std::get_if<int64_t>(arg))
      return constantSize(*value);
  if (arg)
    if (auto *value = std::get_if<SymbolicInt>(arg)) {
      auto expr = importer.size(Size(value->expression));
      if (expr)
        return *expr;
      refuse(llvm::Twine("argument ") + name + ": " + llvm::toString(expr.takeError()));
      return constantSize(0);
    }
  refuse(llvm::Twine("argument ") + name + " is " + (arg ? kindOf(*arg) : "missing") + " where an integer is needed");
  return constantSize(0);
}

static std::optional<AffineExpr> sizeOf(Node &n, const Arg &item, llvm::StringRef name) {
  if (auto *value = std::get_if<int64_t>(&item))
    return n.constantSize(*value);
  if (auto *value = std::get_if<SymbolicInt>(&item)) {
    auto expr = n.importer.size(Size(value->expression));
    if (expr)
      return *expr;
    n.refuse(llvm::Twine("argument ") + name + ": " + llvm::toString(expr.takeError()));
    return std::nullopt;
  }
  n.refuse(llvm::Twine("argument ") + name + " contains " + kindOf(item) + " where an integer is needed");
  return std::nullopt;
}

SmallVector<AffineExpr> Node::sizes(unsigned index, llvm::StringRef name) {
  SmallVector<AffineExpr> result;
  if (!has(index, name))
    return result;
  const Arg *arg = find(index, name);
  if (auto *list = std::get_if<ArgList>(arg)) {
    for (const Arg &item : *list)
      if (auto expr = sizeOf(*this, item, name))
        result.push_back(*expr);
  } else if (auto expr = sizeOf(*this, *arg, name)) {
    result.push_back(*expr);
  }
  return result;
}

SmallVector<int64_t> Node::integers(unsigned index, llvm::StringRef name) {
  SmallVector<int64_t> result;
  for (AffineExpr expr : sizes(index, name)) {
    auto constant = dyn_cast<AffineConstantExpr>(expr);
    if (!constant)
      refuse(llvm::Twine("argument ") + name + " is symbolic where a constant is needed");
    result.push_back(constant ? constant.getValue() : 1);
  }
  return result;
}

SmallVector<bool> Node::flags(unsigned index, llvm::StringRef name) {
  SmallVector<bool> result;
  const Arg *arg = find(index, name);
  if (auto *list = arg ? std::get_if<ArgList>(arg) : nullptr)
    for (const Arg &item : *list)
      result.push_back(std::holds_alternative<bool>(item) && std::get<bool>(item));
  return result;
}

int64_t Node::integer(unsigned index, llvm::StringRef name, std::optional<int64_t> otherwise) {
  if (!has(index, name) && otherwise)
    return *otherwise;
  if (const Arg *arg = find(index, name))
    if (auto *value = std::get_if<bool>(arg))
      return *value;
  auto constant = dyn_cast<AffineConstantExpr>(size(index, name));
  if (!constant)
    refuse(llvm::Twine("argument ") + name + " is symbolic where a constant is needed");
  return constant ? constant.getValue() : 0;
}

double Node::number(unsigned index, llvm::StringRef name, std::optional<double> otherwise) {
  if (!has(index, name) && otherwise)
    return *otherwise;
  const Arg *arg = find(index, name);
  if (arg) {
    if (auto *value = std::get_if<double>(arg))
      return *value;
    if (auto *value = std::get_if<int64_t>(arg))
      return double(*value);
    if (auto *value = std::get_if<bool>(arg))
      return *value;
  }
  refuse(llvm::Twine("argument ") + name + " is " + (arg ? kindOf(*arg) : "missing") + " where a number is needed");
  return 0;
}

bool Node::flag(unsigned index, llvm::StringRef name, bool otherwise) {
  if (!has(index, name))
    return otherwise;
  return integer(index, name) != 0;
}

std::string Node::text(unsigned index, llvm::StringRef name, llvm::StringRef otherwise) {
  const Arg *arg = find(index, name);
  if (arg)
    if (auto *value = std::get_if<std::string>(arg))
      return *value;
  return otherwise.str();
}

int64_t Node::wrapDim(int64_t dim, int64_t rank) {
  int64_t range = std::max<int64_t>(rank, 1);
  if (dim < -range || dim >= range) {
    refuse("dimension " + llvm::Twine(dim) + " is out of range for rank " + llvm::Twine(rank));
    return 0;
  }
  return dim < 0 ? dim + range : dim;
}

int64_t Node::dim(unsigned index, llvm::StringRef name, int64_t rank, std::optional<int64_t> otherwise) {
  return wrapDim(integer(index, name, otherwise), rank);
}

SmallVector<int64_t> Node::dims(unsigned index, llvm::StringRef name, int64_t rank) {
  SmallVector<int64_t> result;
  for (int64_t dim : integers(index, name))
    result.push_back(wrapDim(dim, rank));
  if (rank == 0)
    return {};
  llvm::sort(result);
  return result.empty() ? allDims(rank) : result;
}

Value Node::operand(unsigned index, llvm::StringRef name, Type element) {
  const Arg *arg = find(index, name);
  if (arg) {
    if (auto *value = std::get_if<bool>(arg))
      return scalarInt(*value, element);
    if (auto *value = std::get_if<int64_t>(arg))
      return scalarInt(*value, element);
    if (auto *value = std::get_if<double>(arg))
      return scalar(*value, element);
    if (std::holds_alternative<SymbolicInt>(*arg))
      return indexScalar(size(index, name), element);
  }
  return cast(tensor(index, name), element);
}

//===----------------------------------------------------------------------===//
// Promotion
//===----------------------------------------------------------------------===//

namespace {
/// Returns torch's category of a type for promotion: 0 for booleans, 1 for integers, 2 for floats.
int categoryOf(Type type) { return isa<FloatType>(type) ? 2 : type.isInteger(1) ? 0 : 1; }

/// Returns the type that torch.promote_types returns.
Type promotePair(Type a, Type b) {
  if (!a || a == b)
    return b;
  if (!b)
    return a;
  int ca = categoryOf(a), cb = categoryOf(b);
  if (ca != cb)
    return ca > cb ? a : b;
  unsigned wa = a.getIntOrFloatBitWidth(), wb = b.getIntOrFloatBitWidth();
  MLIRContext *context = a.getContext();
  if (ca == 2)
    return wa != wb ? (wa > wb ? a : b) : Type(Float32Type::get(context)); // f16 with bf16
  if (a.isUnsignedInteger() == b.isUnsignedInteger())
    return wa >= wb ? a : b;
  Type narrow = a.isUnsignedInteger() ? a : b, other = a.isUnsignedInteger() ? b : a;
  if (other.getIntOrFloatBitWidth() > narrow.getIntOrFloatBitWidth())
    return other;
  return IntegerType::get(context, std::min(64u, narrow.getIntOrFloatBitWidth() * 2));
}
} // namespace

Type Node::promoted(ArrayRef<std::pair<unsigned, llvm::StringRef>> operands) {
  Type byDims, byZeroDims, byNumbers;
  for (auto [index, name] : operands) {
    const Arg *arg = find(index, name);
    if (!arg)
      continue;
    if (std::holds_alternative<ValueRef>(*arg)) {
      Value value = tensor(index, name);
      Type &slot = rankOf(value) ? byDims : byZeroDims;
      slot = promotePair(slot, elementOf(value));
    } else if (std::holds_alternative<bool>(*arg)) {
      byNumbers = promotePair(byNumbers, i1());
    } else if (std::holds_alternative<double>(*arg)) {
      byNumbers = promotePair(byNumbers, f32());
    } else {
      byNumbers = promotePair(byNumbers, i64());
    }
  }
  Type result = byDims;
  for (Type next : {byZeroDims, byNumbers})
    if (next && (!result || categoryOf(next) > categoryOf(result)))
      result = next;
  return result ? result : f32();
}

static bool isExact(double value, Type element) {
  llvm::APFloat number(value);
  bool inexact = false;
  number.convert(cast<FloatType>(element).getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return !inexact || std::isnan(value);
}

bool Node::isWide(Value value) {
  auto made = value.getDefiningOp<CastOp>();
  return made && made->hasAttr(implicitAttrName) && rankOf(value) == 0 && elementOf(value).isF32() &&
         elementOf(made->getOperand(0)).isF64();
}

Type Node::computeType(Type result, ArrayRef<std::pair<unsigned, llvm::StringRef>> operands, Numbers numbers) const {
  bool isNumber = result.isF32() && type() && type().getRank() == 0;
  if (!isNumber && (numbers == Numbers::Rounded || !isa<Float16Type, BFloat16Type>(result)))
    return result;
  for (auto [index, name] : operands) {
    const Arg *arg = find(index, name);
    if (!arg)
      continue;
    if (auto *value = std::get_if<double>(arg)) {
      if (!isNumber && index && !isExact(*value, result))
        return f32();
    } else if (auto *value = std::get_if<int64_t>(arg)) {
      if (!isNumber && index && !isExact(double(*value), result))
        return f32();
    } else if (auto *ref = std::get_if<ValueRef>(arg)) {
      Value value = importer.valueOf(*ref);
      if (!value)
        continue;
      if (isNumber && isWide(value))
        return f64();
      Type element = elementOf(value);
      if (!isNumber && index && element != result && isa<FloatType>(element) && element.getIntOrFloatBitWidth() > 16)
        return f32();
    }
  }
  return result;
}

} // namespace tilewright
