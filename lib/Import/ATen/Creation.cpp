//===- Creation.cpp - ops that create tensors -----------------------------------------------===//
#include "lib/Import/ATen/Indexing.h"
#include "lib/Import/ATen/Table.h"

namespace tilewright {
namespace {

/// Returns the elements start + i * step. As in torch, they are computed in i64 if start and step are integers, or if
/// the result has integers, and otherwise in f64.
Results range(Node &n, unsigned startIndex, int stepIndex) {
  bool isFloat = isa<FloatType>(n.element());
  auto isInteger = [&](int index, llvm::StringRef name) {
    const Arg *arg = index < 0 ? nullptr : n.find(index, name);
    return !arg || !std::holds_alternative<double>(*arg);
  };
  bool byIntegers = isInteger(startIndex, "start") && isInteger(stepIndex, "step");
  Type compute = byIntegers || !isFloat ? n.i64() : n.f64();
  bool hasStart = startIndex != ~0u && n.has(startIndex, "start"), hasStep = stepIndex >= 0 && n.has(stepIndex, "step");
  Value start = hasStart ? n.operand(startIndex, "start", compute) : Value();
  Value step = hasStep ? n.operand(stepIndex, "step", compute) : Value();
  if (n.failed())
    return n.refused();
  Value result = n.iota(sizesOf(n.type()), 0, compute);
  if (step && !(n.isNumber(stepIndex, "step") && !std::holds_alternative<SymbolicInt>(*n.find(stepIndex, "step")) &&
                n.number(stepIndex, "step") == 1.0))
    result = n.op<MulOp>({result, step});
  bool fromZero = !start || (!std::holds_alternative<SymbolicInt>(*n.find(startIndex, "start")) &&
                             n.number(startIndex, "start") == 0.0);
  if (!fromZero)
    result = n.op<AddOp>({result, start});
  return n.cast(result, n.element());
}
Results arange(Node &n) { return range(n, ~0u, -1); }
Results arangeFrom(Node &n) { return range(n, 0, -1); }
Results arangeStep(Node &n) { return range(n, 0, 2); }
/// Imports prims.iota(length, *, start, step, dtype).
Results primsIota(Node &n) { return range(n, 1, 2); }

/// Returns an end of a linspace in f64. If the end is a tensor, or if the result has integers, the end is first
/// converted to the result's type.
Value endOfLinspace(Node &n, unsigned index, llvm::StringRef name) {
  if (n.isNumber(index, name) && isa<FloatType>(n.element()))
    return n.scalar(n.number(index, name), n.f64());
  if (n.isNumber(index, name))
    return n.scalar(std::trunc(n.number(index, name)), n.f64());
  Value value = n.tensor(index, name);
  if (n.failed())
    return n.scalar(0, n.f64());
  return n.cast(n.convert(n.reshape(value, ArrayRef<AffineExpr>{}), n.element()), n.f64());
}

/// Imports linspace(start, end, steps). As in torch, the first half is computed from `start`, and the second from
/// `end`. Integers are computed in f64 and truncated.
Results linspace(Node &n) {
  Value start = endOfLinspace(n, 0, "start"), end = endOfLinspace(n, 1, "end");
  int64_t steps = n.integer(2, "steps");
  if (n.failed())
    return n.refused();
  Type t = n.f64();
  Value i = n.iota(sizesOf(n.type()), 0, t);
  if (steps <= 1) // a single element is `start`
    return n.convert(n.op<AddOp>({i, start}), n.element());
  Value step = n.op<DivOp>(n.op<SubOp>({end, start}), double(steps - 1));
  Value up = n.op<AddOp>({n.op<MulOp>({i, step}), start});
  Value down = n.op<AddOp>({n.op<MulOp>({n.op<AddOp>(i, -double(steps - 1)), step}), end});
  const int64_t half = steps / 2;
  return n.convert(n.where(n.compare<LtOp>(i, n.scalar(double(half), t)), up, down), n.element());
}

Results constantFull(Node &n, double value) { return n.full(n.scalar(value, n.element()), n.type()); }
Results zeros(Node &n) { return constantFull(n, 0); }
Results ones(Node &n) { return constantFull(n, 1); }

/// Imports full(size, value) and full_like(self, value).
Results full(Node &n) {
  Value value = n.operand(1, "fill_value", n.element());
  if (n.failed())
    return n.refused();
  return n.full(value, n.type());
}
/// Imports new_full(self, size, value).
Results newFull(Node &n) {
  Value value = n.operand(2, "fill_value", n.element());
  if (n.failed())
    return n.refused();
  return n.full(value, n.type());
}
/// Imports fill(self, value).
Results fill(Node &n) {
  Value value = n.operand(1, "value", n.element());
  if (n.failed())
    return n.refused();
  return n.full(value, n.type());
}
Results scalarTensor(Node &n) {
  Value value = n.operand(0, "s", n.element());
  if (n.failed())
    return n.refused();
  return value;
}

/// Imports tril and triu. In the last two dimensions, keeps the elements for which OpT(column - row, diagonal) is true,
/// and sets the others to 0.
template <typename OpT> Results triangle(Node &n) {
  Value x = n.tensor(0, "self");
  Value diagonal = n.has(1, "diagonal") ? n.operand(1, "diagonal", n.i64()) : n.scalarInt(0, n.i64());
  if (n.failed())
    return n.refused();
  SmallVector<AffineExpr> sizes = n.sizesIn(x);
  if (sizes.size() < 2)
    return n.refuse("a tensor of rank 2 or more is needed");
  Value row = n.iota({sizes[sizes.size() - 2], n.constantSize(1)}, 0, n.i64()),
        column = n.iota({sizes.back()}, 0, n.i64());
  Value keep = n.compare<OpT>(column, n.op<AddOp>({row, diagonal}));
  return n.where(keep, x, n.scalarInt(0, n.element()));
}

/// Imports tril_indices and triu_indices(row, col, offset): a constant with the row and column indices of all elements
/// of a matrix with column <= row + offset (with `lower`), or with column >= row + offset.
template <bool lower> Results triangleIndices(Node &n) {
  int64_t rows = n.integer(0, "row"), columns = n.integer(1, "col"), offset = n.integer(2, "offset", 0);
  constexpr int64_t most = 1 << 16;
  if (!n.demand(rows >= 0 && columns >= 0 && (columns == 0 || rows <= most / columns),
                "a matrix of more than " + llvm::Twine(most) + " elements; use torch.tril or torch.triu"))
    return n.refused();
  SmallVector<int64_t> indices, indicesOfColumns;
  for (int64_t i = 0; i < rows * columns; ++i) {
    int64_t row = i / columns, column = i % columns;
    if (lower ? column - row <= offset : column - row >= offset) {
      indices.push_back(row);
      indicesOfColumns.push_back(column);
    }
  }
  if (indices.empty())
    return n.broadcast(n.scalarInt(0, n.element()), {n.constantSize(2), n.constantSize(0)});
  const int64_t count = indices.size();
  llvm::append_range(indices, indicesOfColumns);
  return n.cast(constantIndices(n, indices, {2, count}), n.element());
}

Results eye(Node &n) {
  SmallVector<AffineExpr> sizes = sizesOf(n.type());
  if (!n.demand(sizes.size() == 2, "a matrix is needed"))
    return n.refused();
  Value row = n.iota({sizes[0], n.constantSize(1)}, 0, n.i64()), column = n.iota({sizes[1]}, 0, n.i64());
  return n.cast(n.compare<EqOp>(row, column), n.element());
}

} // namespace

void registerCreation(Table &t) {
  t["aten.arange.default"] = arange;
  t["aten.arange.start"] = arangeFrom;
  t["aten.arange.start_step"] = arangeStep;
  t["prims.iota.default"] = primsIota;
  for (llvm::StringRef overload : {"default", "Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor"})
    t[("aten.linspace." + overload).str()] = linspace;
  for (llvm::StringRef op :
       {"zeros", "zeros_like", "new_zeros", "empty_like", "new_empty", "new_empty_strided", "empty_strided",
        "empty_permuted", "_efficientzerotensor", "_new_zeros_with_same_feature_meta"})
    t[("aten." + op + ".default").str()] = zeros;
  t["aten.empty.memory_format"] = zeros;
  for (llvm::StringRef op : {"ones", "ones_like", "new_ones"})
    t[("aten." + op + ".default").str()] = ones;
  t["aten.full.default"] = full;
  t["aten.full_like.default"] = full;
  t["aten.new_full.default"] = newFull;
  t["aten.fill.Scalar"] = fill;
  t["aten.fill.Tensor"] = fill;
  t["aten.zero.default"] = zeros;
  t["aten.scalar_tensor.default"] = scalarTensor;
  t["prims.scalar_tensor.default"] = scalarTensor;
  t["aten.tril.default"] = triangle<LeOp>;
  t["aten.triu.default"] = triangle<GeOp>;
  t["aten.tril_indices.default"] = triangleIndices<true>;
  t["aten.triu_indices.default"] = triangleIndices<false>;
  t["aten.eye.default"] = eye;
  t["aten.eye.m"] = eye;
}

} // namespace tilewright
