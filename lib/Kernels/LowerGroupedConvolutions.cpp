//===- LowerGroupedConvolutions.cpp - grouped convolutions of two dimensions ------===//
//
// Before (channels-last, as --tw-propagate-layout leaves it):
//   %1 = tw.convolution %x, %w {tw.channels_last, groups = 8, padding = [1, 1], ...}
//          : (tensor<1x6x6x8xf32>, tensor<3x3x1x8xf32>) -> tensor<1x6x6x8xf32>
// After:
//   %1 = tw_tile.grouped_convolution {padding = [1, 1], ...} ins(%x, %w) outs(tensor.empty)
//
// The input is not padded, because taps outside of it are skipped. The weight is kernel x channels of a group x
// filters, in the accumulator's type. A transposed convolution with stride 1 (the gradient of the input of a
// convolution with stride 1) is a convolution with a flipped weight, in which the channels and filters of each group
// are transposed. With another stride, each phase of the transposed convolution is a convolution of this form. If
// phases are not supported, zeros are inserted between the elements of the input (LowerTransposedConvolutions.cpp).
//
// Test: test/Kernels/lower-grouped-convolutions.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Tile.h"
#include "lib/Kernels/LowerConvolutions.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tilewright/AttributeNames.h"

using namespace mlir;

namespace tilewright::structured {

bool Convolution::inGroups(graph::ConvolutionOp op) {
  auto known = [](AffineExpr size) { return isa<AffineConstantExpr>(size); };
  SmallVector<AffineExpr> weight = graph::sizesOf(convolvedType(op.getWeight()));
  SmallVector<AffineExpr> input = graph::sizesOf(convolvedType(op.getInput()));
  return channelsLast && groups > 1 && spatial == 2 && isa<FloatType>(convolvedType(op.getInput()).getElementType()) &&
         llvm::all_of(weight, known) && known(input[channelDim()]) && !llvm::is_contained(weight, l.constant(0));
}

Value Convolution::groupedConvolution(Value input, Value weight, ArrayRef<AffineExpr> sizes, ArrayRef<int64_t> steps,
                                      ArrayRef<int64_t> gaps, ArrayRef<int64_t> before, Type accumulator) {
  Value init = l.empty(sizes, accumulator);
  auto made = tile::GroupedConvolutionOp::create(l.builder, l.loc, TypeRange{init.getType()}, ValueRange{input, weight},
                                                 ValueRange(), ValueRange{init}, steps, gaps, before);
  made->setAttr(opAttrName, l.builder.getStringAttr(l.name));
  return made->getResult(0);
}

Value groupedWeight(Convolution &conv, Value graphValue, Type accumulator) {
  Lowering &l = conv.l;
  SmallVector<AffineExpr> sizes = graph::sizesOf(convolvedType(graphValue));
  if (convolvedType(graphValue).getElementType() == accumulator)
    return l.tensor(graphValue);
  return l.copied(sizes, accumulator, l.read(graphValue, l.identity(sizes.size())));
}

Value transposedGroups(Convolution &conv, Value graphValue, ArrayRef<AffineExpr> kernel, Type accumulator,
                       TapIndex indexOf) {
  Lowering &l = conv.l;
  // The weight is kernel x (groups * channels) x filters, with the channels and filters of the transposed convolution.
  SmallVector<AffineExpr> from = graph::sizesOf(convolvedType(graphValue));
  Value weight = l.tensor(graphValue);
  int64_t channels = cast<AffineConstantExpr>(from[2]).getValue() / conv.groups;
  int64_t filters = cast<AffineConstantExpr>(from[3]).getValue();
  SmallVector<AffineExpr> sizes{kernel[0], kernel[1], l.constant(channels), l.constant(conv.groups * filters)};
  return l.elementwise(sizes, accumulator, {}, [&](OpBuilder &b, Location at, ValueRange, ValueRange) {
    auto index = [&](unsigned dim) { return linalg::IndexOp::create(b, at, dim).getResult(); };
    auto number = [&](int64_t value) { return arith::ConstantIndexOp::create(b, at, value).getResult(); };
    SmallVector<Value> indices;
    for (unsigned i = 0; i < 2; ++i)
      indices.push_back(indexOf(b, at, i, index(i)));
    Value group = arith::DivUIOp::create(b, at, index(3), number(filters));
    Value first = arith::MulIOp::create(b, at, group, number(channels));
    indices.push_back(arith::AddIOp::create(b, at, first, index(2)));
    indices.push_back(arith::RemUIOp::create(b, at, index(3), number(filters)));
    Value element = tensor::ExtractOp::create(b, at, weight, indices);
    if (element.getType() != accumulator)
      element = arith::ExtFOp::create(b, at, accumulator, element, contractFlag(b));
    return SmallVector<Value>{element};
  });
}

Value inGroupsTransposed(Convolution &conv, graph::ConvolutionOp op, Type accumulator) {
  Lowering &l = conv.l;
  SmallVector<AffineExpr> weight = graph::sizesOf(convolvedType(op.getWeight())),
                          sizes = graph::sizesOf(convolvedType(op.getResult())),
                          inputSizes = graph::sizesOf(convolvedType(op.getInput()));
  SmallVector<AffineExpr> kernel(weight.begin(), weight.begin() + 2);
  Value transposed = transposedGroups(
      conv, op.getWeight(), kernel, accumulator, [&](OpBuilder &b, Location at, unsigned dim, Value tap) -> Value {
        int64_t last = cast<AffineConstantExpr>(kernel[dim]).getValue() - 1;
        return arith::SubIOp::create(b, at, arith::ConstantIndexOp::create(b, at, last), tap);
      });
  SmallVector<int64_t> ones{1, 1}, before{0, 0};
  Value input;
  if (llvm::all_of(conv.stride, [](int64_t step) { return step == 1; })) {
    for (unsigned i = 0; i < 2; ++i)
      before[i] = conv.dilation[i] * (cast<AffineConstantExpr>(kernel[i]).getValue() - 1) - conv.padding[i];
    input = l.tensor(op.getInput());
  } else {
    input = spreadInput(conv, op, inputSizes, weight);
  }
  return conv.groupedConvolution(input, transposed, sizes, ones, conv.dilation, before, accumulator);
}

} // namespace tilewright::structured
