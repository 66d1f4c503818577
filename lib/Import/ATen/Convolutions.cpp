//===- Convolutions.cpp - convolution and its gradients --------------------------------===//
//
// convolution_backward becomes one op for each requested gradient:
//
//   input   tw.convolution of the result's gradient by the same weight, with `transposed` inverted; output_padding adds
//           the rows that the forward stride skipped
//   weight  tw.convolution_weight_grad (for a transposed convolution, its operands are exchanged)
//   bias    tw.reduce sum over all dimensions except the channels
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Table.h"
#include "lib/Import/Builder/Node.h"

namespace tilewright {
namespace {

struct WindowArguments {
  SmallVector<int64_t> stride, padding, dilation, outputPadding;
  bool transposed = false;
  int64_t groups = 1;
};

WindowArguments readWindow(Node &n, unsigned first, int64_t spatial) {
  WindowArguments w;
  if (!n.demand(spatial >= 1 && spatial <= 3, llvm::Twine(spatial) + " spatial dimensions; 1 to 3 are supported"))
    return w;
  auto perDim = [&](unsigned index, llvm::StringRef name) {
    SmallVector<int64_t> values = n.integers(index, name);
    if (values.size() == 1)
      values.resize(spatial, values[0]);
    if (int64_t(values.size()) != spatial)
      n.refuse(llvm::Twine(name) + " has " + llvm::Twine(values.size()) + " entries for " + llvm::Twine(spatial) +
               " spatial dimensions");
    return values;
  };
  w.stride = perDim(first, "stride");
  w.padding = perDim(first + 1, "padding");
  w.dilation = perDim(first + 2, "dilation");
  w.transposed = n.flag(first + 3, "transposed");
  w.outputPadding = perDim(first + 4, "output_padding");
  w.groups = n.integer(first + 5, "groups");
  return w;
}

/// Refuses a convolution whose kernel size is symbolic, because loops over the window need constant sizes.
void checkKernel(Node &n, Value weight) {
  for (AffineExpr size : ArrayRef(n.sizesIn(weight)).drop_front(2))
    if (!::mlir::isa<AffineConstantExpr>(size))
      n.refuse("a kernel of symbolic size is not supported");
}

Value convolve(Node &n, RankedTensorType type, Value input, Value weight, const WindowArguments &w) {
  Builder &b = n.builder;
  return ConvolutionOp::create(n.builder, n.loc, type, input, weight, b.getDenseI64ArrayAttr(w.stride),
                               b.getDenseI64ArrayAttr(w.padding), b.getDenseI64ArrayAttr(w.dilation),
                               w.transposed ? b.getUnitAttr() : UnitAttr(), b.getDenseI64ArrayAttr(w.outputPadding),
                               b.getI64IntegerAttr(w.groups));
}

/// Imports convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups).
Results convolution(Node &n) {
  Value input = n.tensor(0, "input"), weight = n.tensor(1, "weight"), bias = n.optionalTensor(2, "bias");
  int64_t spatial = n.rankOf(weight) - 2;
  WindowArguments w = readWindow(n, 3, spatial);
  if (n.failed())
    return n.refused();
  checkKernel(n, weight);
  if (n.failed())
    return n.refused();
  bool batched = n.rankOf(input) == spatial + 2;
  SmallVector<AffineExpr> sizes = sizesOf(n.type());
  // If the input has no channels, torch returns a tensor without channels, even if the weight has output channels.
  if (llvm::is_contained(sizes, n.constantSize(0)))
    return n.zeros();
  if (!batched) {
    input = n.unsqueeze(input, 0);
    sizes.insert(sizes.begin(), n.constantSize(1));
  }
  if (!w.transposed)
    w.outputPadding.assign(spatial, 0);
  Value result = convolve(n, tensorWithSizes(sizes, n.element()), input, weight, w);
  if (bias)
    result = n.op<AddOp>({result, n.alongDim(bias, 0, spatial + 1)});
  return n.reshape(result, n.type());
}

/// Imports convolution_backward(grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed,
/// output_padding, groups, output_mask).
Results convolutionBackward(Node &n) {
  Value grad = n.tensor(0, "grad_output"), input = n.tensor(1, "input"), weight = n.tensor(2, "weight");
  int64_t spatial = n.rankOf(weight) - 2;
  WindowArguments w = readWindow(n, 4, spatial);
  SmallVector<bool> wanted = n.flags(10, "output_mask");
  if (n.failed() || wanted.size() != 3)
    return n.refuse("output_mask needs three entries");
  checkKernel(n, weight);
  if (n.failed())
    return n.refused();
  if (!n.demand(n.rankOf(grad) == spatial + 2 && n.rankOf(input) == spatial + 2, "gradient and input need a batch"))
    return n.refused();
  Value gradInput, gradWeight, gradBias;
  if (wanted[0]) {
    WindowArguments back = w;
    back.transposed = !w.transposed;
    back.outputPadding.assign(spatial, 0);
    SmallVector<AffineExpr> sizes = n.sizesIn(input);
    for (int64_t i = 0; i < spatial && !w.transposed; ++i) {
      AffineExpr reached = (n.sizesIn(grad)[i + 2] - 1) * w.stride[i] + n.constantSize(1) +
                           (n.sizesIn(weight)[i + 2] - 1) * w.dilation[i] - n.constantSize(2 * w.padding[i]);
      AffineExpr missing = canonicalSize(n.sizesIn(input)[i + 2] - reached);
      // If the number of missing rows is symbolic, pad by the maximum number of rows that the stride can skip. The
      // slice below removes the rows that are not needed.
      auto constant = ::mlir::dyn_cast<AffineConstantExpr>(missing);
      back.outputPadding[i] = constant ? constant.getValue() : w.stride[i] - 1;
      sizes[i + 2] = constant ? sizes[i + 2] : canonicalSize(reached + (w.stride[i] - 1));
    }
    // An output padding of at least one stride adds windows without contributions of input elements. The slice below
    // removes them.
    for (int64_t i = 0; i < spatial && w.transposed; ++i)
      sizes[i + 2] = canonicalSize(sizes[i + 2] + w.outputPadding[i] / w.stride[i]);
    gradInput = convolve(n, tensorWithSizes(sizes, n.elementOf(input)), grad, weight, back);
    SmallVector<AffineExpr> zeros(sizes.size(), n.constantSize(0));
    gradInput = n.slice(gradInput, zeros, SmallVector<int64_t>(sizes.size(), 1), n.sizesIn(input));
  }
  if (wanted[1]) {
    Builder &b = n.builder;
    gradWeight = ConvolutionWeightGradOp::create(n.builder, n.loc, n.typeOf(weight), w.transposed ? grad : input,
                                                 w.transposed ? input : grad, b.getDenseI64ArrayAttr(w.stride),
                                                 b.getDenseI64ArrayAttr(w.padding), b.getDenseI64ArrayAttr(w.dilation),
                                                 b.getI64IntegerAttr(w.groups));
  }
  if (wanted[2]) {
    SmallVector<int64_t> dims{0};
    for (int64_t i = 0; i < spatial; ++i)
      dims.push_back(i + 2);
    Value wide = n.cast(grad, n.accumulator(n.elementOf(grad)));
    gradBias = n.cast(n.reduce(ReduceKind::Sum, wide, dims, false), n.elementOf(grad));
  }
  return {gradInput, gradWeight, gradBias};
}

} // namespace

void registerConvolutions(Table &t) {
  t["aten.convolution.default"] = convolution;
  t["aten.convolution_backward.default"] = convolutionBackward;
}

} // namespace tilewright
