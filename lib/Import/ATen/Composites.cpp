//===- Composites.cpp - operators that occur only in plain exports ------------------------===//
//
// torch.compile and tilewright.export decompose these operators before the import. Only files of torch.export.save
// contain them ("plain exports"). Most of them are imported as another operator of the table, with the arguments in
// another order:
//
//   conv2d(x, w, b, stride, padding, dilation, groups)
//   convolution(x, w, b, stride, padding, dilation, transposed = false, output_padding = [0], groups)
//
// The rows of these operators in the table have OperatorKind::Composite, because operators with OperatorKind::Import
// are not decomposed.
//
// Test: test/Python/test_plain_exports.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Composites.h"
#include "lib/Import/ATen/Einsum.h"
#include "lib/Import/ATen/Indexing.h"
#include "lib/Import/ATen/Table.h"

namespace tilewright {
Results importAs(Node &n, llvm::StringRef target, const ArgList &args, ArrayRef<RankedTensorType> types) {
  const std::vector<std::pair<std::string, Arg>> noKeywords; // the node refers to it
  Node other(n.importer, target, args, noKeywords, types, n.loc);
  Results results = findImported(target)->import(other);
  return other.failed() ? n.refuse(other.reason) : results;
}

Results importAs(Node &n, llvm::StringRef target, const ArgList &args) { return importAs(n, target, args, n.type()); }

Arg argumentOf(Node &n, unsigned index, llvm::StringRef name, Arg otherwise) {
  const Arg *arg = n.find(index, name);
  return arg ? *arg : otherwise;
}

Arg listOf(ArrayRef<int64_t> values) {
  ArgList list;
  for (int64_t value : values)
    list.push_back(value);
  return list;
}

namespace {

/// Imports conv<N>d(input, weight, bias, stride, padding, dilation, groups).
Results plainConvolution(Node &n) {
  return importAs(n, "aten.convolution.default",
                  {argumentOf(n, 0, "input"), argumentOf(n, 1, "weight"), argumentOf(n, 2, "bias"),
                   argumentOf(n, 3, "stride", listOf(1)), argumentOf(n, 4, "padding", listOf(0)),
                   argumentOf(n, 5, "dilation", listOf(1)), false, listOf(0), argumentOf(n, 6, "groups", int64_t(1))});
}

/// Imports embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
/// include_last_offset, padding_idx). A negative padding index counts from the end of the table. Without the
/// argument, no index is skipped.
Results plainEmbeddingBag(Node &n) {
  int64_t padding = -1;
  if (n.has(8, "padding_idx")) {
    padding = n.integer(8, "padding_idx");
    Value weight = n.tensor(0, "weight");
    if (!n.demand(n.rankOf(weight) == 2, "its table is not of rank 2"))
      return n.refused();
    auto rows = ::mlir::dyn_cast<AffineConstantExpr>(n.sizesIn(weight)[0]);
    if (padding < 0 && rows)
      padding += rows.getValue();
    if (!n.demand(padding >= 0, rows ? "the padding index is out of range"
                                     : "a negative padding index of a table with a symbolic number of rows"))
      return n.refused();
  }
  return importAs(n, "aten._embedding_bag.default",
                  {argumentOf(n, 0, "weight"), argumentOf(n, 1, "indices"), argumentOf(n, 2, "offsets"),
                   argumentOf(n, 3, "scale_grad_by_freq", false), argumentOf(n, 4, "mode", int64_t(0)),
                   argumentOf(n, 5, "sparse", false), argumentOf(n, 6, "per_sample_weights"),
                   argumentOf(n, 7, "include_last_offset", false), padding},
                  {n.type(0), n.type(1), n.type(2), n.type(3)});
}

/// Imports conv<N>d with the padding "valid" or "same". If (kernel size - 1) * dilation is odd and the padding is
/// "same", torch pads one more element at the end than at the beginning, which tw.convolution does not support.
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
                  {argumentOf(n, 0, "input"), argumentOf(n, 1, "weight"), argumentOf(n, 2, "bias"),
                   argumentOf(n, 3, "stride", listOf(1)), listOf(padding), listOf(dilation), false, listOf(0),
                   argumentOf(n, 6, "groups", int64_t(1))});
}

/// Imports conv_transpose<N>d(input, weight, bias, stride, padding, output_padding, groups, dilation).
Results convolutionTransposed(Node &n) {
  return importAs(n, "aten.convolution.default",
                  {argumentOf(n, 0, "input"), argumentOf(n, 1, "weight"), argumentOf(n, 2, "bias"),
                   argumentOf(n, 3, "stride", listOf(1)), argumentOf(n, 4, "padding", listOf(0)),
                   argumentOf(n, 7, "dilation", listOf(1)), true, argumentOf(n, 5, "output_padding", listOf(0)),
                   argumentOf(n, 6, "groups", int64_t(1))});
}

/// Imports max_pool<N>d(self, kernel_size, stride, padding, dilation, ceil_mode).
template <int64_t spatial> Results plainMaxPool(Node &n) {
  return importAs(n, spatial == 2 ? "aten.max_pool2d_with_indices.default" : "aten.max_pool3d_with_indices.default",
                  {argumentOf(n, 0, "self"), argumentOf(n, 1, "kernel_size"), argumentOf(n, 2, "stride", ArgList()),
                   argumentOf(n, 3, "padding", listOf(0)), argumentOf(n, 4, "dilation", listOf(1)),
                   argumentOf(n, 5, "ceil_mode", false)});
}

/// Imports max_pool1d and max_pool1d_with_indices as a pool over images of height 1.
Results maxPoolOfLines(Node &n) {
  Value x = n.tensor(0, "self");
  auto number = [&](unsigned index, llvm::StringRef name, int64_t otherwise) {
    SmallVector<int64_t> values = n.integers(index, name);
    return values.empty() ? otherwise : values.front();
  };
  int64_t kernel = number(1, "kernel_size", 1), stride = number(2, "stride", kernel), padding = number(3, "padding", 0),
          dilation = number(4, "dilation", 1);
  const int64_t rank = n.rankOf(x);
  if (!n.demand((rank == 2 || rank == 3) && n.type().getRank() == rank, "its input must have rank 2 or 3"))
    return n.refused();
  SmallVector<AffineExpr> sizes = sizesOf(n.type());
  if (rank == 2)
    sizes.insert(sizes.begin(), n.constantSize(1));
  sizes.insert(sizes.begin() + 2, n.constantSize(1));
  Value image = n.unsqueeze(rank == 2 ? n.unsqueeze(x, 0) : x, 2);
  Builder &b = n.builder;
  RankedTensorType type = tensorWithSizes(sizes, n.element());
  auto pooled = MaxPoolOp::create(n.builder, n.loc, TypeRange{type, tensorWithSizes(sizes, n.i64())}, image,
                                  b.getDenseI64ArrayAttr({1, kernel}), b.getDenseI64ArrayAttr({1, stride}),
                                  b.getDenseI64ArrayAttr({0, padding}), b.getDenseI64ArrayAttr({1, dilation}));
  SmallVector<Value> results{n.reshape(pooled.getResult(), n.type())};
  if (n.resultCount() > 1)
    results.push_back(n.type(1) ? n.reshape(pooled.getIndices(), n.type(1)) : Value());
  return results;
}

template <int64_t spatial> Results plainAdaptiveAvgPool(Node &n) {
  return importAs(n, spatial == 2 ? "aten._adaptive_avg_pool2d.default" : "aten._adaptive_avg_pool3d.default",
                  {argumentOf(n, 0, "self"), argumentOf(n, 1, "output_size")});
}

/// Imports dropout(input, p, train).
Results plainDropout(Node &n) {
  Value x = n.tensor(0, "input");
  if (!n.flag(2, "train"))
    return x;
  return importAs(n, "aten.native_dropout.default", {argumentOf(n, 0, "input"), argumentOf(n, 1, "p"), true});
}

/// Imports `to` and type_as. The dtype is that of the result's type, so the other arguments are ignored.
Results toResult(Node &n) {
  Value x = n.tensor(0, "self");
  return n.failed() ? n.refused() : n.convert(x, n.element());
}

/// Imports matmul(self, other) by NumPy's rule: vectors become matrices, and leading dimensions are broadcast.
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
  if (columns.empty()) // `b` is one matrix, so all leading dimensions of `a` are rows
    return n.reshape(n.matmul(n.reshape(a, {canonicalSize(n.product(rows) * m), depth}), b), n.type());
  SmallVector<AffineExpr> lead = sizesOf(n.type());
  const size_t rank = std::max(rows.size(), columns.size());
  if (!n.demand(lead.size() >= rank, "the result has too few dimensions"))
    return n.refused();
  lead.resize(rank);
  auto batched = [&](Value value, AffineExpr first, AffineExpr second) {
    SmallVector<AffineExpr> sizes(lead);
    sizes.append({first, second});
    return n.reshape(n.broadcast(value, sizes), {n.product(lead), first, second});
  };
  return n.reshape(n.matmul(batched(a, m, depth), batched(b, depth, k)), n.type());
}

/// Imports diff(self, n, dim, prepend, append), the differences of adjacent elements. `n` must be 1.
Results difference(Node &n) {
  Value x = n.tensor(0, "self"), before = n.optionalTensor(3, "prepend"), after = n.optionalTensor(4, "append");
  if (n.failed())
    return n.refused();
  int64_t dim = n.dim(2, "dim", n.rankOf(x), -1);
  if (n.integer(1, "n", 1) != 1 || n.element().isInteger(1))
    return n.refuse("differences of differences and of booleans are not supported; write them with slices");
  SmallVector<Value> parts;
  for (Value part : {before, x, after})
    if (part && n.demand(n.rankOf(part) == n.type().getRank() && n.rankOf(part) > 0, "its parts have other ranks"))
      parts.push_back(n.cast(part, n.element()));
  if (n.failed())
    return n.refused();
  Value whole = parts.size() == 1 ? parts.front() : n.concat(parts, dim);
  AffineExpr kept = sizesOf(n.type())[dim];
  return n.op<SubOp>(
      {n.sliceDim(whole, dim, n.constantSize(1), kept), n.sliceDim(whole, dim, n.constantSize(0), kept)});
}

/// Imports einsum(equation, tensors).
Results einsumNode(Node &n) {
  std::string equation = n.text(0, "equation");
  SmallVector<Value> operands = n.tensors(1, "tensors");
  if (n.failed())
    return n.refused();
  for (Value &operand : operands)
    operand = n.cast(operand, n.element());
  return einsum(n, equation, operands);
}

/// Imports bilinear(input1, input2, weight, bias): result[..., o] is the sum over i and j of input1[..., i]
/// weight[o, i, j] input2[..., j], plus bias[o].
Results bilinear(Node &n) {
  Type compute = n.accumulator(n.element());
  Value first = n.cast(n.tensor(0, "input1"), compute), second = n.cast(n.tensor(1, "input2"), compute);
  Value weight = n.cast(n.tensor(2, "weight"), compute), bias = n.optionalTensor(3, "bias");
  if (!n.demand(isa<FloatType>(compute), "elements that are not floats"))
    return n.refused();
  Results sums = einsum(n, "...i,oij,...j->...o", {first, weight, second});
  if (n.failed())
    return n.refused();
  Value result = sums.values.front();
  return n.cast(bias ? n.op<AddOp>({result, n.cast(bias, compute)}) : result, n.element());
}

} // namespace

void registerComposites(Table &t) {
  for (llvm::StringRef op : {"conv1d", "conv2d", "conv3d"}) {
    t[("aten." + op + ".default").str()] = plainConvolution;
    t[("aten." + op + ".padding").str()] = convolutionPadded;
  }
  for (llvm::StringRef op : {"conv_transpose1d.default", "conv_transpose2d.input", "conv_transpose3d.input"})
    t[("aten." + op).str()] = convolutionTransposed;
  t["aten.embedding_bag.default"] = t["aten.embedding_bag.padding_idx"] = plainEmbeddingBag;
  t["aten.max_pool1d.default"] = t["aten.max_pool1d_with_indices.default"] = maxPoolOfLines;
  t["aten.max_pool2d.default"] = plainMaxPool<2>;
  t["aten.max_pool3d.default"] = plainMaxPool<3>;
  t["aten.adaptive_avg_pool2d.default"] = plainAdaptiveAvgPool<2>;
  t["aten.adaptive_avg_pool3d.default"] = plainAdaptiveAvgPool<3>;
  // The aliasing differs from the schemas: those of dropout, type_as and einsum declare new tensors, and those of `to`
  // declare views.
  t.add("aten.dropout.default", Aliasing::Inference, plainDropout);
  t.add("aten.feature_dropout.default", Aliasing::Inference);
  t.add("aten.alpha_dropout.default", Aliasing::Inference);
  for (llvm::StringRef op : {"to.dtype", "to.dtype_layout", "to.device", "to.other", "type_as.default"})
    t.add(("aten." + op).str(), Aliasing::Conversion, toResult);
  t["aten.matmul.default"] = matmul;
  t["aten.diff.default"] = difference;
  t["aten.bilinear.default"] = bilinear;
  t.add("aten.einsum.default", Aliasing::Unclear, einsumNode); // with one operand, the result may be a view
  t.add("aten.detach_.default", Aliasing::Alias, [](Node &n) { return Results(n.tensor(0, "self")); });
}

} // namespace tilewright
