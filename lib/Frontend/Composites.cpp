//===- Composites.cpp - ops that torch takes apart, as plain exports have them ------------===//
//
// torch.compile and tilewright.export decompose these before they reach us; files of torch.export.save alone do not.
// Most are an op of the table with its arguments in other places:
//
//   conv2d(x, w, b, stride, padding, dilation, groups)
//   convolution(x, w, b, stride, padding, dilation, transposed = false, output_padding = [0], groups)
//
// They are no part of importTable(): what is there is kept whole by the decompositions.
//
// Test: test/Python/test_plain_exports.py
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Node.h"

namespace tilewright {
namespace {

/// The op `target` of the table, which gives `types`, on `args`.
Results importAs(Node &n, llvm::StringRef target, const ArgList &args, ArrayRef<RankedTensorType> types) {
  Node other(n.importer, target, args, {}, types, n.loc);
  Results results = importTable().find(target)->second(other);
  return other.failed() ? n.refuse(other.reason) : results;
}

Results importAs(Node &n, llvm::StringRef target, const ArgList &args) { return importAs(n, target, args, n.type()); }

Arg argument(Node &n, unsigned index, llvm::StringRef name, Arg otherwise = {}) {
  const Arg *arg = n.find(index, name);
  return arg ? *arg : otherwise;
}

Arg listOf(ArrayRef<int64_t> values) {
  ArgList list;
  for (int64_t value : values)
    list.push_back(value);
  return list;
}

/// conv<N>d(input, weight, bias, stride, padding, dilation, groups)
Results convolution(Node &n) {
  return importAs(n, "aten.convolution.default",
                  {argument(n, 0, "input"), argument(n, 1, "weight"), argument(n, 2, "bias"),
                   argument(n, 3, "stride", listOf(1)), argument(n, 4, "padding", listOf(0)),
                   argument(n, 5, "dilation", listOf(1)), false, listOf(0), argument(n, 6, "groups", int64_t(1))});
}

/// The same with padding "valid" or "same": of an even window torch pads one more behind, which tw.convolution cannot.
Results convolutionPadded(Node &n) {
  Value weight = n.tensor(1, "weight");
  std::string how = n.text(4, "padding", "valid");
  SmallVector<int64_t> dilation = n.has(5, "dilation") ? n.integers(5, "dilation") : SmallVector<int64_t>{1};
  if (!n.demand(n.rankOf(weight) > 2, "a weight without spatial dimensions") ||
      !n.demand(how == "valid" || how == "same", "the padding '" + how + "' is neither same nor valid"))
    return n.refused();
  dilation.resize(n.rankOf(weight) - 2, dilation.empty() ? 1 : dilation.front());
  SmallVector<int64_t> padding(dilation.size(), 0);
  for (size_t i = 0; i < padding.size() && how == "same"; ++i) {
    auto window = ::mlir::dyn_cast<AffineConstantExpr>(n.sizesIn(weight)[i + 2]);
    int64_t all;
    if (!window || __builtin_mul_overflow(window.getValue() - 1, dilation[i], &all) || all < 0 || all % 2 != 0)
      return n.refuse("padding 'same' of an even window; pad the input with torch.nn.functional.pad");
    padding[i] = all / 2;
  }
  return importAs(n, "aten.convolution.default",
                  {argument(n, 0, "input"), argument(n, 1, "weight"), argument(n, 2, "bias"),
                   argument(n, 3, "stride", listOf(1)), listOf(padding), listOf(dilation), false, listOf(0),
                   argument(n, 6, "groups", int64_t(1))});
}

/// conv_transpose<N>d(input, weight, bias, stride, padding, output_padding, groups, dilation)
Results convolutionTransposed(Node &n) {
  return importAs(n, "aten.convolution.default",
                  {argument(n, 0, "input"), argument(n, 1, "weight"), argument(n, 2, "bias"),
                   argument(n, 3, "stride", listOf(1)), argument(n, 4, "padding", listOf(0)),
                   argument(n, 7, "dilation", listOf(1)), true, argument(n, 5, "output_padding", listOf(0)),
                   argument(n, 6, "groups", int64_t(1))});
}

/// batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled)
Results batchNorm(Node &n) {
  if (n.flag(5, "training"))
    return n.refuse("batch norm in training writes its running statistics, and a compiled model keeps no state between "
                    "calls: call model.eval() before it is exported");
  return importAs(n, "aten._native_batch_norm_legit_no_training.default",
                  {argument(n, 0, "input"), argument(n, 1, "weight"), argument(n, 2, "bias"),
                   argument(n, 3, "running_mean"), argument(n, 4, "running_var"), argument(n, 6, "momentum"),
                   argument(n, 7, "eps")});
}

/// group_norm(input, num_groups, weight, bias, eps); sizes follow from the input.
Results groupNorm(Node &n) {
  RankedTensorType none;
  return importAs(n, "aten.native_group_norm.default",
                  {argument(n, 0, "input"), argument(n, 2, "weight"), argument(n, 3, "bias"), Arg(), Arg(), Arg(),
                   argument(n, 1, "num_groups"), argument(n, 4, "eps", 1e-5)},
                  {n.type(), none, none});
}

/// max_pool<N>d(self, kernel_size, stride, padding, dilation, ceil_mode)
template <int64_t spatial> Results maxPool(Node &n) {
  return importAs(n, spatial == 2 ? "aten.max_pool2d_with_indices.default" : "aten.max_pool3d_with_indices.default",
                  {argument(n, 0, "self"), argument(n, 1, "kernel_size"), argument(n, 2, "stride", ArgList()),
                   argument(n, 3, "padding", listOf(0)), argument(n, 4, "dilation", listOf(1)),
                   argument(n, 5, "ceil_mode", false)});
}

template <int64_t spatial> Results adaptiveAvgPool(Node &n) {
  return importAs(n, spatial == 2 ? "aten._adaptive_avg_pool2d.default" : "aten._adaptive_avg_pool3d.default",
                  {argument(n, 0, "self"), argument(n, 1, "output_size")});
}

/// dropout(input, p, train)
Results dropout(Node &n) {
  Value x = n.tensor(0, "input");
  if (!n.flag(2, "train"))
    return x;
  return importAs(n, "aten.native_dropout.default", {argument(n, 0, "input"), argument(n, 1, "p"), true});
}

/// to(...) and type_as: whatever they are told, the result's type says what became of it.
Results toResult(Node &n) {
  Value x = n.tensor(0, "self");
  return n.failed() ? n.refused() : n.convert(x, n.element());
}

Results expandAs(Node &n) {
  Value x = n.tensor(0, "self");
  return n.failed() ? n.refused() : n.broadcast(x, sizesOf(n.type()));
}

Results reshaped(Node &n) {
  Value x = n.tensor(0, "self");
  return n.failed() ? n.refused() : n.reshape(x, n.type());
}

/// matmul of numpy: vectors become matrices, leading dimensions broadcast.
Results matmul(Node &n) {
  Value a = n.tensor(0, "self"), b = n.tensor(1, "other");
  if (!n.demand(n.rankOf(a) > 0 && n.rankOf(b) > 0, "a product of 0-d tensors"))
    return n.refused();
  if (n.rankOf(a) == 1)
    a = n.unsqueeze(a, 0);
  if (n.rankOf(b) == 1)
    b = n.unsqueeze(b, 1);
  SmallVector<AffineExpr> rows = n.sizesIn(a), columns = n.sizesIn(b);
  AffineExpr depth = rows.pop_back_val(), m = rows.pop_back_val(), k = columns.pop_back_val();
  columns.pop_back();
  auto product = [](ArrayRef<AffineExpr> sizes, AffineExpr one) {
    for (AffineExpr size : sizes)
      one = one * size;
    return canonicalSize(one);
  };
  if (columns.empty()) // one matrix: all leading dimensions are rows
    return n.reshape(n.matmul(n.reshape(a, {product(rows, m), depth}), b), n.type());
  SmallVector<AffineExpr> lead = sizesOf(n.type());
  const size_t rank = std::max(rows.size(), columns.size());
  if (!n.demand(lead.size() >= rank, "the result has too few dimensions"))
    return n.refused();
  lead.resize(rank);
  auto batched = [&](Value value, AffineExpr first, AffineExpr second) {
    SmallVector<AffineExpr> sizes(lead);
    sizes.append({first, second});
    return n.reshape(n.broadcast(value, sizes), {product(lead, n.constantSize(1)), first, second});
  };
  return n.reshape(n.matmul(batched(a, m, depth), batched(b, depth, k)), n.type());
}

/// diff(self, n, dim, prepend, append): of neighbours, once.
Results difference(Node &n) {
  Value x = n.tensor(0, "self"), before = n.optionalTensor(3, "prepend"), behind = n.optionalTensor(4, "append");
  if (n.failed())
    return n.refused();
  int64_t dim = n.dim(2, "dim", n.rankOf(x), -1);
  if (n.integer(1, "n", 1) != 1 || n.element().isInteger(1))
    return n.refuse("differences of differences and of booleans are not supported; write them with slices");
  SmallVector<Value> parts;
  for (Value part : {before, x, behind})
    if (part && n.demand(n.rankOf(part) == n.type().getRank() && n.rankOf(part) > 0, "its parts have other ranks"))
      parts.push_back(n.cast(part, n.element()));
  if (n.failed())
    return n.refused();
  Value whole = parts.size() == 1 ? parts.front() : n.concat(parts, dim);
  AffineExpr kept = sizesOf(n.type())[dim];
  return n.op<SubOp>(
      {n.sliceDim(whole, dim, n.constantSize(1), kept), n.sliceDim(whole, dim, n.constantSize(0), kept)});
}

/// pad(self, pad, mode, value)
Results pad(Node &n) {
  if (std::string mode = n.text(2, "mode", "constant"); mode != "constant")
    return n.refuse("the mode '" + mode + "' is taken apart by tilewright.export alone");
  return importAs(
      n, "aten.constant_pad_nd.default",
      {argument(n, 0, "self"), argument(n, 1, "pad"), n.has(3, "value") ? argument(n, 3, "value") : Arg(int64_t(0))});
}

} // namespace

const Table &compositeTable() {
  static const Table table = [] {
    Table t;
    for (llvm::StringRef op : {"conv1d", "conv2d", "conv3d"}) {
      t[("aten." + op + ".default").str()] = convolution;
      t[("aten." + op + ".padding").str()] = convolutionPadded;
    }
    for (llvm::StringRef op : {"conv_transpose1d.default", "conv_transpose2d.input", "conv_transpose3d.input"})
      t[("aten." + op).str()] = convolutionTransposed;
    t["aten.batch_norm.default"] = batchNorm;
    t["aten.group_norm.default"] = groupNorm;
    t["aten.max_pool2d.default"] = maxPool<2>;
    t["aten.max_pool3d.default"] = maxPool<3>;
    t["aten.adaptive_avg_pool2d.default"] = adaptiveAvgPool<2>;
    t["aten.adaptive_avg_pool3d.default"] = adaptiveAvgPool<3>;
    t["aten.dropout.default"] = dropout;
    for (llvm::StringRef op : {"to.dtype", "to.dtype_layout", "to.device", "to.other", "type_as.default"})
      t[("aten." + op).str()] = toResult;
    t["aten.expand_as.default"] = expandAs;
    for (llvm::StringRef op : {"view_as.default", "reshape_as.default", "ravel.default"})
      t[("aten." + op).str()] = reshaped;
    t["aten.matmul.default"] = matmul;
    t["aten.diff.default"] = difference;
    t["aten.pad.default"] = pad;
    return t;
  }();
  return table;
}

} // namespace tilewright
