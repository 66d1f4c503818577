//===- LowerTransposedConvolutions.cpp - transposed convolutions ---------------===//
//
// Before (stride 2; also the gradient of a convolution's input):
//   %1 = tw.convolution %x, %w {transposed, tw.channels_last, stride = [2, 2], padding = [1, 1], ...}
//          : (tensor<1x4x4x8xf32>, tensor<3x3x8x16xf32>) -> tensor<1x8x8x16xf32>
// After, for 2-D channels-last convolutions of known sizes, without dilation and without negative padding, whose
// strides are 1 or 2, but not all 1 (a phase consists of all results whose indices have the same remainders modulo the
// strides; these results use the same taps, and are one convolution with stride 1):
//   %w00 = linalg.generic {%w[1, 1]} : tensor<1x1x8x16xf32>      %0 = linalg.conv_2d_nhwc_hwcf ins(%x, %w00)
//   ... %w01: taps [1, 2], [1, 0]; %w10: [2, 1], [0, 1]; %w11: [2, 2], [2, 0], [0, 2], [0, 0]
//   %r = linalg.generic {of phase (h % 2, w % 2), element (h / 2, w / 2)} : tensor<1x8x8x16xf32>
// Otherwise, `stride - 1` zeros are inserted between the elements of the input and the weight is flipped, for one
// convolution (LowerConvolutions.cpp).
//
// Test: test/Kernels/lower-transposed-convolutions.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Kernels/LowerConvolutions.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tilewright::structured {

/// Returns the indices of the loops around the body that is being built.
static SmallVector<Value> indicesOf(OpBuilder &b, Location at, unsigned rank) {
  SmallVector<Value> indices;
  for (unsigned dim = 0; dim < rank; ++dim)
    indices.push_back(linalg::IndexOp::create(b, at, dim));
  return indices;
}

Value spreadInput(Convolution &conv, graph::ConvolutionOp op, SmallVector<AffineExpr> &sizes,
                  ArrayRef<AffineExpr> weightSizes) {
  Lowering &l = conv.l;
  Value input = l.tensor(op.getInput());
  SmallVector<AffineExpr> spread(sizes), cut(sizes);
  SmallVector<OpFoldResult> offsets(sizes.size(), l.builder.getIndexAttr(0)), cutOffsets(offsets), highPadding(offsets);
  SmallVector<OpFoldResult> strides(sizes.size(), l.builder.getIndexAttr(1)), ones(strides);
  bool cuts = false, moves = false;
  for (unsigned i = 0; i < conv.spatial; ++i) {
    unsigned at = conv.firstSpatialDim() + i;
    int64_t kernel = cast<AffineConstantExpr>(weightSizes[(conv.channelsLast ? 0 : 2) + i]).getValue();
    int64_t low = conv.dilation[i] * (kernel - 1) - conv.padding[i];
    int64_t high = low + (op.getOutputPadding().empty() ? 0 : op.getOutputPadding()[i]);
    spread[at] = (sizes[at] - 1) * conv.stride[i] + 1 + std::max<int64_t>(low, 0) + std::max<int64_t>(high, 0);
    cut[at] = spread[at] + std::min<int64_t>(low, 0) + std::min<int64_t>(high, 0);
    offsets[at] = l.builder.getIndexAttr(std::max<int64_t>(low, 0));
    highPadding[at] = l.builder.getIndexAttr(std::max<int64_t>(high, 0));
    cutOffsets[at] = l.builder.getIndexAttr(std::max<int64_t>(-low, 0));
    strides[at] = l.builder.getIndexAttr(conv.stride[i]);
    cuts |= low < 0 || high < 0;
    moves |= low > 0 || high > 0 || conv.stride[i] > 1;
  }
  bool unspread = llvm::all_of(conv.stride, [](int64_t step) { return step == 1; });
  if (moves && unspread && !cuts) {
    input = padded(l, input, sizes, offsets, highPadding, spread, conv.zero(convolvedType(input).getElementType()),
                   /*byRows=*/conv.channelsLast);
  } else if (moves) {
    Value zeros = l.filled(spread, conv.zero(convolvedType(input).getElementType()));
    input = l.insertSlice(input, zeros, offsets, sizes, strides);
  }
  if (cuts)
    input = l.extractSlice(input, cutOffsets, cut, ones);
  sizes = cut;
  return input;
}

Value flippedWeight(Convolution &conv, Value graphValue) {
  Lowering &l = conv.l;
  Value weight = l.tensor(graphValue);
  SmallVector<AffineExpr> sizes = graph::sizesOf(convolvedType(graphValue));
  unsigned first = conv.channelsLast ? 0 : 2;
  if (llvm::all_of(ArrayRef(sizes).slice(first, conv.spatial), [&](AffineExpr size) { return size == l.constant(1); }))
    return weight;
  return l.elementwise(sizes, convolvedType(weight).getElementType(), {},
                       [&](OpBuilder &b, Location at, ValueRange, ValueRange) {
                         SmallVector<Value> indices = indicesOf(b, at, sizes.size());
                         for (unsigned i = first; i < first + conv.spatial; ++i)
                           indices[i] = arith::SubIOp::create(b, at, l.size(sizes[i] - 1), indices[i]);
                         return SmallVector<Value>{tensor::ExtractOp::create(b, at, weight, indices)};
                       });
}

namespace {

/// One dimension of one phase, which consists of the results `residue + step * i`.
struct PhaseDim {
  int64_t residue, step;
  int64_t firstTap = 0, taps = 0; ///< taps firstTap + step * j; 0: the phase has no taps
  int64_t low = 0;                ///< zeros in front of the input; if negative, elements that are left out
  AffineExpr count = {};          ///< number of results
};

PhaseDim phaseDim(int64_t residue, int64_t step, int64_t padding, int64_t kernel, AffineExpr out) {
  PhaseDim dim{residue, step};
  dim.firstTap = (residue + padding) % step;
  dim.taps = std::max<int64_t>(0, llvm::divideCeil(kernel - dim.firstTap, step));
  dim.low = dim.taps - 1 - (residue + padding - dim.firstTap) / step;
  dim.count = (out - residue + (step - 1)).floorDiv(step);
  return dim;
}

class PhaseEmitter {
public:
  PhaseEmitter(Convolution &conv, graph::ConvolutionOp op)
      : l(conv.l), conv(conv), op(op), input(l.tensor(op.getInput())), weight(l.tensor(op.getWeight())),
        sizes(graph::sizesOf(convolvedType(op.getResult()))), inputSizes(graph::sizesOf(convolvedType(op.getInput()))),
        weightSizes(graph::sizesOf(convolvedType(op.getWeight()))),
        accumulator(accumulatorType(convolvedType(op.getResult()).getElementType())) {}

  Value run() {
    for (int64_t row = 0; row < conv.stride[0]; ++row)
      for (int64_t column = 0; column < conv.stride[1]; ++column) {
        Phase phase{dimAt(0, row), dimAt(1, column), Value()};
        if (phase.rows.taps > 0 && phase.columns.taps > 0)
          phase.results = convolved(phase.rows, phase.columns);
        phases.push_back(phase);
      }
    return interleaved();
  }

private:
  struct Phase {
    PhaseDim rows, columns;
    Value results; ///< null: zeros
  };

  PhaseDim dimAt(unsigned i, int64_t residue) {
    int64_t kernel = cast<AffineConstantExpr>(weightSizes[i]).getValue();
    return phaseDim(residue, conv.stride[i], conv.padding[i], kernel, sizes[1 + i]);
  }

  Value convolved(const PhaseDim &rows, const PhaseDim &columns) {
    SmallVector<AffineExpr> out{sizes[0], rows.count, columns.count, sizes[3]};
    SmallVector<int64_t> ones{1, 1};
    if (conv.groups > 1)
      return conv.groupedConvolution(input, groupedTapsOf(rows, columns), out, ones, ones, {rows.low, columns.low},
                                     accumulator);
    return conv.planeConvolution(window(rows, columns), tapsOf(rows, columns), out, ones, ones, accumulator);
  }

  /// Returns the part of the input that the phase's taps read.
  Value window(const PhaseDim &rows, const PhaseDim &columns) {
    SmallVector<AffineExpr> out{inputSizes[0], rows.count + (rows.taps - 1), columns.count + (columns.taps - 1),
                                inputSizes[3]};
    if (rows.low == 0 && columns.low == 0 && out == inputSizes)
      return input;
    const PhaseDim *dims[] = {&rows, &columns};
    Type element = convolvedType(input).getElementType();
    Value nothing = arith::ConstantOp::create(l.builder, l.loc, conv.zero(element));
    Value extents[] = {l.size(inputSizes[1]), l.size(inputSizes[2])};
    return l.elementwise(out, element, {}, [&](OpBuilder &b, Location at, ValueRange, ValueRange) {
      SmallVector<Value> indices = indicesOf(b, at, 4);
      SmallVector<std::pair<unsigned, Value>> bounds;
      for (unsigned i = 0; i < 2; ++i) {
        Value low = arith::ConstantIndexOp::create(b, at, dims[i]->low);
        indices[1 + i] = arith::SubIOp::create(b, at, indices[1 + i], low);
        bounds.push_back({1 + i, extents[i]});
      }
      return SmallVector<Value>{extractInside(b, at, input, indices, bounds, nothing)};
    });
  }

  /// Returns the index in the weight of the phase's tap `tap` along dimension `dim`. Taps are in reversed order.
  static Value indexOfTap(OpBuilder &b, Location at, const PhaseDim &dim, Value tap) {
    int64_t last = dim.firstTap + dim.step * (dim.taps - 1);
    Value back = arith::MulIOp::create(b, at, tap, arith::ConstantIndexOp::create(b, at, dim.step));
    return arith::SubIOp::create(b, at, arith::ConstantIndexOp::create(b, at, last), back);
  }

  /// Returns the phase's taps of the weight, like tapsOf(), for a grouped convolution.
  Value groupedTapsOf(const PhaseDim &rows, const PhaseDim &columns) {
    AffineExpr kernel[] = {l.constant(rows.taps), l.constant(columns.taps)};
    return transposedGroups(conv, op.getWeight(), kernel, accumulator,
                            [&](OpBuilder &b, Location at, unsigned dim, Value tap) {
                              return indexOfTap(b, at, dim == 0 ? rows : columns, tap);
                            });
  }

  /// Returns the phase's taps of the weight.
  Value tapsOf(const PhaseDim &rows, const PhaseDim &columns) {
    SmallVector<AffineExpr> out{l.constant(rows.taps), l.constant(columns.taps), weightSizes[2], weightSizes[3]};
    if (out == weightSizes && rows.taps == 1 && columns.taps == 1)
      return weight;
    const PhaseDim *dims[] = {&rows, &columns};
    return l.elementwise(out, convolvedType(weight).getElementType(), {},
                         [&](OpBuilder &b, Location at, ValueRange, ValueRange) {
                           SmallVector<Value> indices = indicesOf(b, at, 4);
                           for (unsigned i = 0; i < 2; ++i)
                             indices[i] = indexOfTap(b, at, *dims[i], indices[i]);
                           return SmallVector<Value>{tensor::ExtractOp::create(b, at, weight, indices)};
                         });
  }

  Value interleaved() {
    Value nothing = arith::ConstantOp::create(l.builder, l.loc, conv.zero(accumulator));
    return l.elementwise(sizes, accumulator, {}, [&](OpBuilder &b, Location at, ValueRange, ValueRange) {
      auto number = [&](int64_t value) { return arith::ConstantIndexOp::create(b, at, value).getResult(); };
      SmallVector<Value> indices = indicesOf(b, at, 4), quotients, residues;
      for (unsigned i = 0; i < 2; ++i) {
        quotients.push_back(arith::DivUIOp::create(b, at, indices[1 + i], number(conv.stride[i])));
        residues.push_back(arith::RemUIOp::create(b, at, indices[1 + i], number(conv.stride[i])));
      }
      Value result = nothing;
      for (const Phase &phase : phases) {
        if (!phase.results)
          continue;
        Value here = arith::ConstantOp::create(b, at, b.getBoolAttr(true));
        const PhaseDim *dims[] = {&phase.rows, &phase.columns};
        for (unsigned i = 0; i < 2; ++i) {
          Value matches = arith::CmpIOp::create(b, at, arith::CmpIPredicate::eq, residues[i], number(dims[i]->residue));
          here = arith::AndIOp::create(b, at, here, matches);
        }
        SmallVector<Value> from(indices);
        for (unsigned i = 0; i < 2; ++i)
          from[1 + i] = arith::SelectOp::create(b, at, here, quotients[i], number(0));
        Value read = tensor::ExtractOp::create(b, at, phase.results, from);
        result = arith::SelectOp::create(b, at, here, read, result);
      }
      return SmallVector<Value>{result};
    });
  }

  Lowering &l;
  Convolution &conv;
  graph::ConvolutionOp op;
  Value input, weight;
  SmallVector<AffineExpr> sizes, inputSizes, weightSizes;
  Type accumulator;
  SmallVector<Phase> phases;
};

} // namespace

Value transposedInPhases(Convolution &conv, graph::ConvolutionOp op) {
  auto known = [](AffineExpr size) { return isa<AffineConstantExpr>(size); };
  SmallVector<AffineExpr> weight = graph::sizesOf(convolvedType(op.getWeight()));
  SmallVector<AffineExpr> out = graph::sizesOf(convolvedType(op.getResult()));
  if (!op.getTransposed() || (!conv.inPlane() && !conv.inGroups(op)) || !known(weight[0]) || !known(weight[1]) ||
      llvm::any_of(conv.dilation, [](int64_t gap) { return gap != 1; }) ||
      llvm::any_of(conv.stride, [](int64_t step) { return step > 2; }) ||
      llvm::all_of(conv.stride, [](int64_t step) { return step == 1; }) ||
      llvm::any_of(conv.padding, [](int64_t amount) { return amount < 0; }))
    return {};
  // Every phase must have results, because each element of the result also reads, and then discards, element 0 of all
  // other phases.
  for (unsigned i = 0; i < 2; ++i) {
    auto size = dyn_cast<AffineConstantExpr>(out[1 + i]);
    if (!size || size.getValue() < conv.stride[i])
      return {};
  }
  return PhaseEmitter(conv, op).run();
}

} // namespace tilewright::structured
