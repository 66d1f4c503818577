//===- OnnxFolding.cpp - nodes that are evaluated when the model is compiled ----------===//
//
// Exported models compute shapes with nodes such as Shape, Gather, Concat and Reshape. This file evaluates such nodes.
// Its integers are expressions over the symbolic sizes, so that shapes with symbolic sizes are exact. Its floats are
// numbers that are rounded to their type after every node. Nodes that this file does not support, or whose results have
// too many elements, are imported as tw ops.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Builder/SizeExpression.h"
#include "lib/Import/ONNX/OnnxSizes.h"
#include "lib/Import/ONNX/OnnxTable.h"
#include <cmath>

namespace tilewright {
namespace {

using Known = KnownElements;
using Folded = std::optional<Known>;

int64_t countOf(ArrayRef<int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    if (__builtin_mul_overflow(count, size, &count) || count > mostKnown)
      return mostKnown + 1;
  return count;
}

/// Returns, for each element of a tensor of sizes `to`, the index of the corresponding element of an operand of sizes
/// `from` that is broadcast to `to`.
SmallVector<size_t> broadcastOffsets(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  SmallVector<size_t> offsets;
  int64_t count = countOf(to);
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, offset = 0, stride = 1;
    for (int64_t dim = int64_t(to.size()) - 1; dim >= 0; --dim) {
      int64_t at = rest % to[dim], mine = dim - int64_t(to.size() - from.size());
      rest /= to[dim];
      if (mine < 0)
        continue;
      offset += (from[mine] == 1 ? 0 : at) * stride;
      stride *= from[mine];
    }
    offsets.push_back(offset);
  }
  return offsets;
}

/// Returns the elements of `from` at the indices `offsets`, as a tensor of sizes `sizes`.
Known picked(const Known &from, ArrayRef<size_t> offsets, ArrayRef<int64_t> sizes) {
  Known result{from.element, SmallVector<int64_t>(sizes), {}, {}};
  for (size_t offset : offsets)
    from.isFloat() ? result.numbers.push_back(from.numbers[offset]) : result.integers.push_back(from.integers[offset]);
  return result;
}

std::optional<SmallVector<int64_t>> broadcastSizes(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  if (a.size() < b.size())
    std::swap(a, b);
  SmallVector<int64_t> sizes(a);
  for (size_t i = 0, offset = a.size() - b.size(); i < b.size(); ++i) {
    int64_t &slot = sizes[offset + i];
    if (slot == 1)
      slot = b[i];
    else if (b[i] != 1 && b[i] != slot)
      return std::nullopt;
  }
  return countOf(sizes) <= mostKnown ? std::optional(sizes) : std::nullopt;
}

/// Applies `integers` or `numbers` to each pair of elements of the broadcast operands. Returns nullopt if there is no
/// function for the type of the operands, if the function returns null for a pair, or if the sizes or types of the
/// operands do not fit each other.
Folded combine(const Known &a, const Known &b, Type element,
               llvm::function_ref<AffineExpr(AffineExpr, AffineExpr)> integers,
               llvm::function_ref<double(double, double)> numbers) {
  auto sizes = broadcastSizes(a.sizes, b.sizes);
  if (!sizes || a.element != b.element)
    return std::nullopt;
  Known result{element, *sizes, {}, {}};
  SmallVector<size_t> left = broadcastOffsets(a.sizes, *sizes), right = broadcastOffsets(b.sizes, *sizes);
  MLIRContext *context = element.getContext();
  for (auto [i, j] : llvm::zip_equal(left, right)) {
    if (a.isFloat()) {
      double value = numbers ? numbers(a.numbers[i], b.numbers[j]) : 0;
      if (!numbers)
        return std::nullopt;
      if (auto floats = dyn_cast<FloatType>(element))
        result.numbers.push_back(roundedTo(value, floats));
      else
        result.integers.push_back(getAffineConstantExpr(value != 0, context));
      continue;
    }
    AffineExpr value = integers ? integers(a.integers[i], b.integers[j]) : AffineExpr();
    if (!value)
      return std::nullopt;
    result.integers.push_back(graph::canonicalSize(value));
  }
  return result;
}

/// Returns a function that applies `f` to two constants, and returns null for other expressions.
template <typename F> auto constantsOnly(F f) {
  return [f](AffineExpr a, AffineExpr b) -> AffineExpr {
    auto x = knownSize(a), y = knownSize(b);
    if (!x || !y)
      return {};
    std::optional<int64_t> value = f(*x, *y);
    return value ? getAffineConstantExpr(*value, a.getContext()) : AffineExpr();
  };
}

Folded arithmetic(OnnxNode &n, const Known &a, const Known &b) {
  llvm::StringRef op = n.node.op;
  Type element = a.element, i1 = n.i1();
  // Fold only arithmetic on types that do not wrap around in practice. Shapes have such types.
  bool plain = a.isFloat() || element.isInteger(64) || element.isInteger(1) || element.isInteger(32);
  if (!plain)
    return std::nullopt;
  using I = std::optional<int64_t>;
  if (op == "Add" || op == "Sum")
    return combine(a, b, element, [](AffineExpr x, AffineExpr y) { return x + y; }, std::plus<double>());
  if (op == "Sub")
    return combine(a, b, element, [](AffineExpr x, AffineExpr y) { return x - y; }, std::minus<double>());
  if (op == "Mul")
    return combine(a, b, element, [](AffineExpr x, AffineExpr y) { return x * y; }, std::multiplies<double>());
  if (op == "Div")
    return combine(
        a, b, element,
        [&](AffineExpr x, AffineExpr y) -> AffineExpr {
          auto divisor = knownSize(y);
          if (!divisor || *divisor == 0 || *divisor == -1)
            return {};
          if (auto dividend = knownSize(x))
            return getAffineConstantExpr(*dividend / *divisor, x.getContext());
          // ONNX rounds the quotient towards zero, which is the floor if it is not negative.
          return *divisor > 0 && rangeOf(x, n.importer.symbols).first >= 0 ? x.floorDiv(*divisor) : AffineExpr();
        },
        std::divides<double>());
  if (op == "Mod" && !n.integer("fmod", 0))
    return combine(a, b, element, constantsOnly([](int64_t x, int64_t y) -> I {
                     return y == 0 || y == -1 ? std::nullopt : I(((x % y) + y) % y);
                   }),
                   nullptr);
  if (op == "Max" || op == "Min") {
    bool max = op == "Max";
    return combine(a, b, element,
                   constantsOnly([max](int64_t x, int64_t y) -> I { return max ? std::max(x, y) : std::min(x, y); }),
                   [max](double x, double y) {
                     return std::isnan(x) || std::isnan(y) ? NAN : max ? std::max(x, y) : std::min(x, y);
                   });
  }
  if (op == "Pow")
    return combine(a, b, element, nullptr, [](double x, double y) { return std::pow(x, y); });
  if (op == "And" || op == "Or") {
    bool both = op == "And";
    return combine(a, b, i1, constantsOnly([both](int64_t x, int64_t y) -> I { return both ? x && y : x || y; }),
                   nullptr);
  }
  if (op == "Equal")
    return combine(
        a, b, i1,
        [&](AffineExpr x, AffineExpr y) -> AffineExpr {
          auto [low, high] = rangeOf(canonicalSize(x - y), n.importer.symbols);
          if (low == 0 && high == 0)
            return getAffineConstantExpr(1, x.getContext());
          return low > 0 || high < 0 ? getAffineConstantExpr(0, x.getContext()) : AffineExpr();
        },
        [](double x, double y) { return x == y; });
  using Compare = bool (*)(double, double);
  Compare compare = op == "Less"             ? Compare([](double x, double y) { return x < y; })
                    : op == "LessOrEqual"    ? Compare([](double x, double y) { return x <= y; })
                    : op == "Greater"        ? Compare([](double x, double y) { return x > y; })
                    : op == "GreaterOrEqual" ? Compare([](double x, double y) { return x >= y; })
                                             : nullptr;
  if (compare)
    return combine(a, b, i1, constantsOnly([op](int64_t x, int64_t y) -> I {
                     return op == "Less" ? x < y : op == "LessOrEqual" ? x <= y : op == "Greater" ? x > y : x >= y;
                   }),
                   compare);
  return std::nullopt;
}

Folded unary(OnnxNode &n, const Known &x) {
  llvm::StringRef op = n.node.op;
  Known result{x.element, x.sizes, {}, {}};
  double (*f)(double) = op == "Neg"          ? +[](double v) { return -v; }
                        : op == "Abs"        ? +[](double v) { return std::fabs(v); }
                        : op == "Sqrt"       ? +[](double v) { return std::sqrt(v); }
                        : op == "Floor"      ? +[](double v) { return std::floor(v); }
                        : op == "Ceil"       ? +[](double v) { return std::ceil(v); }
                        : op == "Reciprocal" ? +[](double v) { return 1 / v; }
                        : op == "Exp"        ? +[](double v) { return std::exp(v); }
                        : op == "Log"        ? +[](double v) { return std::log(v); }
                                             : nullptr;
  if (x.isFloat()) {
    if (!f)
      return std::nullopt;
    for (double number : x.numbers)
      result.numbers.push_back(roundedTo(f(number), cast<FloatType>(x.element)));
    return result;
  }
  for (AffineExpr integer : x.integers) {
    auto constant = knownSize(integer);
    if (op == "Neg" && !x.element.isUnsignedInteger())
      result.integers.push_back(graph::canonicalSize(-integer));
    else if (op == "Not" && constant)
      result.integers.push_back(n.constantSize(*constant == 0));
    else if (op == "Abs" && constant && *constant > INT64_MIN)
      result.integers.push_back(n.constantSize(std::abs(*constant)));
    else
      return std::nullopt;
  }
  return result;
}

Folded converted(const Known &x, Type element) {
  Known result{element, x.sizes, {}, {}};
  MLIRContext *context = element.getContext();
  bool wide = element.isInteger(64) || element.isInteger(32);
  if (!isa<FloatType>(element) && !wide && !element.isInteger(1))
    return std::nullopt;
  if (isFloat8(element))
    return std::nullopt;
  for (size_t i = 0; i < x.count(); ++i) {
    if (x.isFloat()) {
      double number = x.numbers[i];
      if (auto floats = dyn_cast<FloatType>(element))
        result.numbers.push_back(roundedTo(number, floats));
      else if (element.isInteger(1))
        result.integers.push_back(getAffineConstantExpr(number != 0, context));
      else if (number > -2147483648.0 && number < 2147483648.0)
        result.integers.push_back(getAffineConstantExpr(int64_t(number), context));
      else
        return std::nullopt;
      continue;
    }
    auto constant = knownSize(x.integers[i]);
    if (auto floats = dyn_cast<FloatType>(element)) {
      if (!constant)
        return std::nullopt;
      result.numbers.push_back(roundedTo(double(*constant), floats));
    } else if (element.isInteger(1)) {
      if (!constant)
        return std::nullopt;
      result.integers.push_back(getAffineConstantExpr(*constant != 0, context));
    } else {
      if (constant && element.isInteger(32) && *constant != int32_t(*constant))
        return std::nullopt;
      result.integers.push_back(x.integers[i]);
    }
  }
  return result;
}

Known ofShape(OnnxNode &n, ArrayRef<AffineExpr> sizes) {
  return {n.i64(), {int64_t(sizes.size())}, std::vector<AffineExpr>(sizes.begin(), sizes.end()), {}};
}

/// Returns the slices of `x` at the indices `kept` along dimension `dim`.
Folded alongDim(const Known &x, int64_t dim, ArrayRef<int64_t> kept) {
  SmallVector<int64_t> sizes = x.sizes;
  int64_t inner = 1, outer = 1, size = x.sizes[dim];
  for (size_t i = 0; i < x.sizes.size(); ++i)
    (int64_t(i) < dim ? outer : inner) *= int64_t(i) == dim ? 1 : x.sizes[i];
  sizes[dim] = kept.size();
  if (countOf(sizes) > mostKnown)
    return std::nullopt;
  SmallVector<size_t> offsets;
  for (int64_t i = 0; i < outer; ++i)
    for (int64_t at : kept) {
      at = at < 0 ? at + size : at;
      if (at < 0 || at >= size)
        return std::nullopt;
      for (int64_t k = 0; k < inner; ++k)
        offsets.push_back((i * size + at) * inner + k);
    }
  return picked(x, offsets, sizes);
}

Folded gathered(OnnxNode &n, const Known &x, const Known &indices) {
  auto at = indices.constants();
  int64_t dim = n.axis(n.integer("axis", 0), x.sizes.size());
  if (!at || n.failed() || x.sizes.empty())
    return std::nullopt;
  Folded result = alongDim(x, dim, *at);
  if (!result)
    return std::nullopt;
  result->sizes.erase(result->sizes.begin() + dim);
  result->sizes.insert(result->sizes.begin() + dim, indices.sizes.begin(), indices.sizes.end());
  return result;
}

Folded transposed(OnnxNode &n, const Known &x) {
  const size_t rank = x.sizes.size();
  SmallVector<int64_t> order = n.integers("perm"), sizes, strides(rank, 1);
  if (!n.attribute("perm")) {
    order = allDims(rank);
    std::reverse(order.begin(), order.end());
  }
  SmallVector<int64_t> sorted(order);
  llvm::sort(sorted);
  if (n.failed() || !llvm::equal(sorted, allDims(rank)))
    return std::nullopt;
  for (size_t dim = rank; dim-- > 1;)
    strides[dim - 1] = strides[dim] * x.sizes[dim];
  for (int64_t dim : order)
    sizes.push_back(x.sizes[dim]);
  SmallVector<size_t> offsets;
  for (int64_t i = 0, count = countOf(sizes); i < count; ++i) {
    int64_t rest = i, offset = 0;
    for (size_t dim = rank; dim-- > 0; rest /= sizes[dim])
      offset += rest % sizes[dim] * strides[order[dim]];
    offsets.push_back(offset);
  }
  return picked(x, offsets, sizes);
}

Folded joined(OnnxNode &n) {
  SmallVector<const Known *> parts;
  for (unsigned i = 0; i < n.inputCount(); ++i)
    parts.push_back(n.known(i));
  if (parts.empty() || parts[0]->sizes.empty())
    return std::nullopt;
  int64_t dim = n.axis(n.integer("axis"), parts[0]->sizes.size());
  Known result{parts[0]->element, parts[0]->sizes, {}, {}};
  if (n.failed())
    return std::nullopt;
  result.sizes[dim] = 0;
  int64_t outer = 1;
  for (int64_t i = 0; i < dim; ++i)
    outer *= result.sizes[i];
  for (const Known *part : parts) {
    SmallVector<int64_t> like = part->sizes;
    if (like.size() != result.sizes.size() || part->element != result.element)
      return std::nullopt;
    result.sizes[dim] += like[dim];
    like[dim] = result.sizes[dim];
    if (like != result.sizes)
      return std::nullopt;
  }
  if (countOf(result.sizes) > mostKnown)
    return std::nullopt;
  for (int64_t i = 0; i < outer; ++i)
    for (const Known *part : parts) {
      size_t run = part->count() / std::max<int64_t>(outer, 1);
      for (size_t k = i * run; k < (i + 1) * run; ++k)
        part->isFloat() ? result.numbers.push_back(part->numbers[k]) : result.integers.push_back(part->integers[k]);
    }
  return result;
}

Folded sliced(OnnxNode &n, Known x) {
  SmallVector<AffineExpr> sizes;
  for (int64_t size : x.sizes)
    sizes.push_back(n.constantSize(size));
  auto slices = readSlices(n, sizes);
  if (!slices)
    return std::nullopt;
  for (auto &[dim, part] : *slices) {
    auto first = knownSize(part.first), count = knownSize(part.count);
    if (!first || !count)
      return std::nullopt;
    SmallVector<int64_t> kept;
    for (int64_t i = 0; i < *count; ++i)
      kept.push_back(*first + i * part.step);
    Folded next = alongDim(x, dim, kept);
    if (!next)
      return std::nullopt;
    x = std::move(*next);
  }
  return x;
}

/// Returns the elements of `x` with the sizes of the result of a Reshape, Unsqueeze or Squeeze node.
Folded reshaped(OnnxNode &n, const Known &x) {
  llvm::StringRef op = n.node.op;
  SmallVector<AffineExpr> sizes;
  for (int64_t size : x.sizes)
    sizes.push_back(n.constantSize(size));
  if (op == "Reshape") {
    sizes = reshapedSizes(n, sizes, n.sizesFrom(1, "shape"), n.integer("allowzero", 0));
  } else if (op == "Unsqueeze" || op == "Squeeze") {
    auto axes = n.axes(1, 13);
    bool more = op == "Unsqueeze";
    if (n.failed() || (more && !axes))
      return std::nullopt;
    SmallVector<int64_t> dims;
    if (axes)
      for (int64_t axis : *axes)
        dims.push_back(n.axis(axis, sizes.size() + (more ? axes->size() : 0)));
    else
      for (auto [i, size] : llvm::enumerate(x.sizes))
        if (size == 1)
          dims.push_back(i);
    llvm::sort(dims);
    if (n.failed() || std::adjacent_find(dims.begin(), dims.end()) != dims.end())
      return std::nullopt;
    if (more)
      for (int64_t dim : dims)
        sizes.insert(sizes.begin() + dim, n.constantSize(1));
    else
      for (int64_t dim : llvm::reverse(dims)) {
        if (dim >= int64_t(sizes.size()) || x.sizes[dim] != 1)
          return std::nullopt;
        sizes.erase(sizes.begin() + dim);
      }
  }
  if (n.failed())
    return std::nullopt;
  Known result = x;
  result.sizes.clear();
  for (AffineExpr size : sizes) {
    auto constant = knownSize(size);
    if (!constant)
      return std::nullopt;
    result.sizes.push_back(*constant);
  }
  return countOf(result.sizes) == int64_t(x.count()) ? Folded(result) : std::nullopt;
}

Folded reduced(OnnxNode &n, const Known &x) {
  llvm::StringRef op = n.node.op;
  auto axes = n.axes(1, op == "ReduceSum" ? 13 : 18);
  if (n.failed() || x.isFloat() || x.sizes.size() > 1 || (axes && axes->size() > 1) || x.integers.empty() ||
      n.integer("noop_with_empty_axes", 0))
    return std::nullopt;
  AffineExpr result = x.integers[0];
  for (AffineExpr next : ArrayRef(x.integers).drop_front()) {
    auto a = knownSize(result), b = knownSize(next);
    if (op == "ReduceProd")
      result = result * next;
    else if (op == "ReduceSum")
      result = result + next;
    else if (a && b)
      result = n.constantSize(op == "ReduceMax" ? std::max(*a, *b) : std::min(*a, *b));
    else
      return std::nullopt;
  }
  SmallVector<int64_t> sizes(n.integer("keepdims", 1) ? x.sizes.size() : 0, 1);
  return Known{x.element, sizes, {graph::canonicalSize(result)}, {}};
}

Folded ranged(OnnxNode &n, const Known &start, const Known &limit, const Known &delta) {
  auto first = start.constants(), last = limit.constants(), step = delta.constants();
  if (!first || !last || !step || first->size() != 1 || last->size() != 1 || step->size() != 1 || (*step)[0] == 0)
    return std::nullopt;
  Known result{start.element, {}, {}, {}};
  int64_t most = 4096;
  for (int64_t at = (*first)[0]; (*step)[0] > 0 ? at < (*last)[0] : at > (*last)[0]; at += (*step)[0]) {
    if (--most < 0)
      return std::nullopt;
    result.integers.push_back(n.constantSize(at));
  }
  result.sizes.push_back(result.integers.size());
  return result;
}

Folded filled(OnnxNode &n, const Known &shape) {
  auto sizes = shape.constants();
  if (!sizes || llvm::any_of(*sizes, [](int64_t size) { return size < 0; }) || countOf(*sizes) > 4096)
    return std::nullopt;
  OnnxValue filler;
  if (const onnx::Attribute *value = n.attribute("value"))
    filler.tensor = &value->tensor;
  else
    filler.known = Known{n.f32(), {1}, {}, {0.0}};
  const Known *one = n.graph.known(filler);
  if (!one || one->count() != 1)
    return std::nullopt;
  return picked(*one, SmallVector<size_t>(countOf(*sizes), 0), *sizes);
}

Folded where(const Known &condition, const Known &yes, const Known &no) {
  auto chosen = condition.constants();
  if (!chosen || yes.element != no.element)
    return std::nullopt;
  auto both = broadcastSizes(yes.sizes, no.sizes);
  auto sizes = both ? broadcastSizes(condition.sizes, *both) : std::nullopt;
  if (!sizes)
    return std::nullopt;
  Known result{yes.element, *sizes, {}, {}};
  SmallVector<size_t> c = broadcastOffsets(condition.sizes, *sizes), y = broadcastOffsets(yes.sizes, *sizes),
                      z = broadcastOffsets(no.sizes, *sizes);
  for (size_t i = 0; i < c.size(); ++i) {
    const Known &from = (*chosen)[c[i]] ? yes : no;
    size_t offset = (*chosen)[c[i]] ? y[i] : z[i];
    from.isFloat() ? result.numbers.push_back(from.numbers[offset]) : result.integers.push_back(from.integers[offset]);
  }
  return result;
}

/// Folds a Constant node, whose value is in one of several attributes.
bool foldConstant(OnnxNode &n) {
  if (const onnx::Attribute *value = n.attribute("value")) {
    if (value->kind == onnx::Attribute::Kind::Tensor) {
      n.constantResult = &value->tensor;
      return true;
    }
  }
  Known result;
  if (n.attribute("value_int"))
    result = {n.i64(), {}, {n.constantSize(n.integer("value_int"))}, {}};
  else if (n.attribute("value_float"))
    result = {n.f32(), {}, {}, {n.number("value_float")}};
  else if (n.attribute("value_floats")) {
    SmallVector<double> numbers = n.numbers("value_floats");
    result = {n.f32(), {int64_t(numbers.size())}, {}, {numbers.begin(), numbers.end()}};
  } else if (n.attribute("value_ints")) {
    result = {n.i64(), {}, {}, {}};
    for (int64_t value : n.integers("value_ints"))
      result.integers.push_back(n.constantSize(value));
    result.sizes.push_back(result.integers.size());
  } else {
    n.refuse("its value is not numbers of a dense tensor");
    return false;
  }
  n.knownResults.push_back(result);
  return !n.failed();
}

bool foldShape(OnnxNode &n) {
  RankedTensorType type = n.typeIn(0);
  if (n.failed())
    return false;
  if (n.node.op == "Size") {
    n.knownResults.push_back(Known{n.i64(), {}, {elementCount(type)}, {}});
    return true;
  }
  SmallVector<AffineExpr> sizes = sizesOf(type);
  int64_t rank = sizes.size();
  auto clamped = [&](int64_t value) { return std::clamp<int64_t>(value < 0 ? value + rank : value, 0, rank); };
  int64_t start = clamped(n.integer("start", 0)), end = clamped(n.integer("end", rank));
  n.knownResults.push_back(ofShape(n, ArrayRef(sizes).slice(start, std::max<int64_t>(0, end - start))));
  return !n.failed();
}

Folded fold(OnnxNode &n) {
  llvm::StringRef op = n.node.op;
  SmallVector<const Known *> inputs;
  for (unsigned i = 0; i < n.inputCount(); ++i) {
    inputs.push_back(n.known(i));
    if (n.given(i) && !inputs.back())
      return std::nullopt;
  }
  if (inputs.empty() || !inputs[0])
    return std::nullopt;
  const Known &x = *inputs[0];
  bool two = inputs.size() == 2 && inputs[1], three = inputs.size() == 3 && inputs[1] && inputs[2];
  if (op == "Identity")
    return x;
  if (op == "Cast")
    return converted(x, n.elementNamed("to"));
  if (op == "CastLike" && two)
    return converted(x, inputs[1]->element);
  if (op == "Gather" && two)
    return gathered(n, x, *inputs[1]);
  if (op == "Concat" && llvm::all_of(inputs, [](const Known *known) { return known != nullptr; }))
    return joined(n);
  if (op == "Slice" || op == "Transpose")
    return op == "Slice" ? sliced(n, x) : transposed(n, x);
  if (op == "Reshape" || op == "Squeeze" || op == "Unsqueeze")
    return reshaped(n, x);
  if (op == "ReduceProd" || op == "ReduceSum" || op == "ReduceMax" || op == "ReduceMin")
    return reduced(n, x);
  if (op == "Range" && three)
    return ranged(n, x, *inputs[1], *inputs[2]);
  if (op == "ConstantOfShape")
    return filled(n, x);
  if (op == "Where" && three)
    return where(x, *inputs[1], *inputs[2]);
  if (op == "Expand" && two) {
    auto wanted = inputs[1]->constants();
    auto sizes = wanted ? broadcastSizes(x.sizes, *wanted) : std::nullopt;
    return sizes ? Folded(picked(x, broadcastOffsets(x.sizes, *sizes), *sizes)) : std::nullopt;
  }
  return two ? arithmetic(n, x, *inputs[1]) : inputs.size() == 1 ? unary(n, x) : std::nullopt;
}

} // namespace

bool isFoldedOnly(llvm::StringRef op) { return op == "Constant" || op == "Shape" || op == "Size"; }

bool foldOnnx(OnnxNode &n) {
  if (!n.node.domain.empty() || n.node.outputs.size() != 1)
    return false;
  if (n.node.op == "Constant")
    return foldConstant(n);
  if (n.node.op == "Shape" || n.node.op == "Size")
    return foldShape(n);
  Folded result = fold(n);
  if (result && !n.failed())
    n.knownResults.push_back(std::move(result));
  else
    n.reason.clear(); // the node is imported as tw ops next; if this fails, too, its reason is reported
  return !n.knownResults.empty();
}

} // namespace tilewright
