//===- LowerPooling.cpp - pooling to windowed generics -----------------------===//
//
// Before:
//   %r, %i = tw.max_pool %x {kernel = [3], stride = [2], padding = [1], dilation = [1]} : tensor<1x4x8xf32> ...
// After (the operand %window has the window's size; its elements are not read):
//   %p = tensor.pad %x low[0, 0, 1] high[0, 0, 0] with -inf     // no window reads the padding at the end
//   %r = linalg.generic {(d0, d1, d2, d3) -> (d0, d1, d2 * 2 + d3), (d0, d1, d2, d3) -> (d3), ... -> (d0, d1, d2),
//          ["parallel", "parallel", "parallel", "reduction"]} ins(%p, %window) outs(%lowest) {maximumf}
//
// The indices of max_pool are computed only if they are used. If windows differ in the number of elements, avg_pool
// divides by a tensor of counts.
//
// The gradient of max_pool is an elementwise op over the pool's input. For each element, it reads the windows that
// contain the element. Along each dimension, there are at most ceil(kernel / stride) such windows, the last of which
// begins at (p + padding) / stride:
//
//   tw.max_pool_grad %g, %i     ->  sum over the windows w of element p of: %i[w] == p ? %g[w] : 0
//
// Test: test/Kernels/lower-pooling.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Kernels/LowerRows.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tilewright::structured {
namespace {

/// The sizes and loops of one pooling op. The first loops are the dimensions of the result, and the last loops are the
/// dimensions of the window.
struct Pooling {
  Lowering &l;
  SmallVector<AffineExpr> inputSizes, outSizes;
  ArrayRef<int64_t> kernel, stride, padding;
  SmallVector<int64_t> dilation;
  /// For each spatial dimension, the size of the part of the kernel that can overlap the image. This part is smaller
  /// than the kernel if a model averages a whole image with a larger kernel.
  SmallVector<int64_t> window;
  unsigned firstSpatial;

  Pooling(Lowering &l, Operation *op, ArrayRef<int64_t> kernel, ArrayRef<int64_t> stride, ArrayRef<int64_t> padding,
          ArrayRef<int64_t> dilation)
      : l(l), inputSizes(graph::sizesOf(cast<RankedTensorType>(op->getOperand(0).getType()))),
        outSizes(graph::sizesOf(cast<RankedTensorType>(op->getResult(0).getType()))), kernel(kernel),
        stride(stride.empty() ? kernel : stride), padding(padding), dilation(dilation) {
    if (this->dilation.empty())
      this->dilation.assign(kernel.size(), 1);
    firstSpatial = op->hasAttr(graph::channelsLastAttrName) ? outSizes.size() - kernel.size() - 1
                                                            : outSizes.size() - kernel.size();
    for (auto [i, size] : llvm::enumerate(kernel)) {
      auto image = dyn_cast<AffineConstantExpr>(inputSizes[firstSpatial + i]);
      // The distance of the last pixel from the start of the first window.
      int64_t last = image ? image.getValue() - 1 + padding[i] : -1;
      window.push_back(last < 0 ? size : std::min(size, last / this->dilation[i] + 1));
    }
  }

  unsigned rank() const { return outSizes.size(); }
  AffineExpr windowLoop(unsigned i) { return l.dim(rank() + i); }
  AffineMap outMap() {
    return AffineMap::getMultiDimIdentityMap(rank() + kernel.size(), l.context()).getMajorSubMap(rank());
  }
  SmallVector<utils::IteratorType> iterators() {
    SmallVector<utils::IteratorType> types(rank(), utils::IteratorType::parallel);
    types.append(kernel.size(), utils::IteratorType::reduction);
    return types;
  }

  Value pad(Value tensor, TypedAttr value) {
    SmallVector<OpFoldResult> low(rank(), l.builder.getIndexAttr(0)), high(low);
    SmallVector<AffineExpr> sizes(inputSizes);
    for (unsigned i = 0; i < kernel.size(); ++i) {
      unsigned at = firstSpatial + i;
      // Compute the end of the last window. In ceil mode, it may be after the end of the padding. Without ceil mode, it
      // is before the end of the padding if the stride does not divide the remaining size. The window begins before the
      // end of the image, so if the sizes are unknown, its end is at most the size of a window after the end of the
      // image.
      int64_t reach = (window[i] - 1) * dilation[i];
      AffineExpr end = (outSizes[at] - 1) * stride[i] + reach + 1;
      auto beyond = dyn_cast<AffineConstantExpr>(graph::canonicalSize(end - inputSizes[at] - padding[i]));
      int64_t after = beyond ? std::max<int64_t>(beyond.getValue(), 0) : reach;
      low[at] = l.builder.getIndexAttr(padding[i]);
      high[at] = l.builder.getIndexAttr(after);
      sizes[at] = inputSizes[at] + padding[i] + after;
    }
    return padded(l, tensor, inputSizes, low, high, sizes, value);
  }

  Read windows(Value paddedInput, Type elementType) {
    SmallVector<AffineExpr> where;
    for (unsigned i = 0; i < rank(); ++i) {
      bool inWindow = i >= firstSpatial && i < firstSpatial + kernel.size();
      unsigned k = i - firstSpatial;
      where.push_back(inWindow ? l.dim(i) * stride[k] + windowLoop(k) * dilation[k] : l.dim(i));
    }
    return {paddedInput, l.map(rank() + kernel.size(), where), TypedAttr(), elementType};
  }
  /// Returns the operand whose shape determines the sizes of the window loops.
  Read shape() {
    SmallVector<AffineExpr> sizes, dims;
    for (unsigned i = 0; i < kernel.size(); ++i) {
      sizes.push_back(l.constant(window[i]));
      dims.push_back(windowLoop(i));
    }
    return Lowering::of(l.empty(sizes, l.builder.getF32Type()), l.map(rank() + kernel.size(), dims));
  }
};

/// Checks that kernels, strides and dilations are at least 1, that paddings are not negative, and that all of them fit
/// into 32 bits.
LogicalResult checkWindows(Operation *op, ArrayRef<int64_t> kernel, ArrayRef<int64_t> stride, ArrayRef<int64_t> padding,
                           ArrayRef<int64_t> dilation) {
  auto check = [&](StringRef what, ArrayRef<int64_t> values, int64_t least) -> LogicalResult {
    for (int64_t value : values)
      if (value < least || value > std::numeric_limits<int32_t>::max())
        return op->emitOpError() << what << " is " << value << "; it should be at least " << least
                                 << " and fit into 32 bits";
    return success();
  };
  return success(succeeded(check("kernel", kernel, 1)) && succeeded(check("stride", stride, 1)) &&
                 succeeded(check("padding", padding, 0)) && succeeded(check("dilation", dilation, 1)));
}

LogicalResult lowerMaxPool(Lowering &l, graph::MaxPoolOp op) {
  if (failed(checkWindows(op, op.getKernel(), op.getStride(), op.getPadding(), op.getDilation())))
    return failure();
  Pooling pool(l, op, op.getKernel(), op.getStride(), op.getPadding(), op.getDilation());
  Type element = cast<RankedTensorType>(op.getInput().getType()).getElementType(), storage = storageType(element);
  bool isUnsigned = element.isUnsignedInteger();
  Type compute = accumulatorType(element);
  Value input = pool.pad(l.tensor(op.getInput()), neutralElement(tile::Combiner::Maximum, storage, isUnsigned));
  SmallVector<Read> inputs{pool.windows(input, element), pool.shape()};
  Value lowest = l.filled(pool.outSizes, neutralElement(tile::Combiner::Maximum, compute, isUnsigned));
  if (op.getIndices().use_empty()) {
    Value result =
        l.generic(inputs, lowest, pool.outMap(), pool.iterators(),
                  [&](OpBuilder &b, Location at, ValueRange in, ValueRange out) {
                    return SmallVector<Value>{combineScalar(b, at, tile::Combiner::Maximum, out[0], in[0], isUnsigned)};
                  })
            .getResult(0);
    l.set(op.getResult(), l.rounded(result, pool.outSizes, element));
    return success();
  }
  Value none = l.filled(pool.outSizes, l.builder.getI64IntegerAttr(std::numeric_limits<int64_t>::max()));
  auto body = [&](OpBuilder &b, Location at, ValueRange in, ValueRange out) {
    Value flat, inside = intConstant(b, at, b.getI1Type(), 1);
    for (unsigned i = 0; i < pool.kernel.size(); ++i) {
      auto scaled = [&](unsigned loop, int64_t factor) {
        Value index = linalg::IndexOp::create(b, at, loop);
        return arith::MulIOp::create(b, at, index, arith::ConstantIndexOp::create(b, at, factor)).getResult();
      };
      Value where = arith::AddIOp::create(b, at, scaled(pool.firstSpatial + i, pool.stride[i]),
                                          scaled(pool.rank() + i, pool.dilation[i]));
      where = arith::SubIOp::create(b, at, where, arith::ConstantIndexOp::create(b, at, pool.padding[i]));
      Value size = l.size(pool.inputSizes[pool.firstSpatial + i]);
      // The comparison is unsigned: negative indices are very large unsigned numbers.
      Value fits = arith::CmpIOp::create(b, at, arith::CmpIPredicate::ult, where, size);
      inside = arith::AndIOp::create(b, at, inside, fits);
      flat = i ? arith::AddIOp::create(b, at, arith::MulIOp::create(b, at, flat, size), where).getResult() : where;
    }
    Value index = arith::IndexCastOp::create(b, at, b.getI64Type(), flat);
    SmallVector<Value> kept = keepExtreme(b, at, /*isMax=*/true, isUnsigned, in[0], index, out[0], out[1],
                                          /*lastNaN=*/true);
    return SmallVector<Value>{arith::SelectOp::create(b, at, inside, kept[0], out[0]),
                              arith::SelectOp::create(b, at, inside, kept[1], out[1])};
  };
  auto generic = l.generic(inputs, {lowest, none}, {pool.outMap(), pool.outMap()}, pool.iterators(), body);
  l.set(op.getResult(), l.rounded(generic.getResult(0), pool.outSizes, element));
  l.set(op.getIndices(), generic.getResult(1));
  return success();
}

/// Returns the number of windows of a pool that can contain an element, along one dimension.
int64_t windowsOfElement(int64_t kernel, int64_t stride, int64_t dilation) {
  return llvm::divideCeil((kernel - 1) * dilation + 1, stride);
}

LogicalResult lowerMaxPoolGrad(Lowering &l, graph::MaxPoolGradOp op) {
  if (failed(checkWindows(op, op.getKernel(), op.getStride(), op.getPadding(), op.getDilation())))
    return failure();
  const unsigned d = op.getKernel().size();
  RankedTensorType type = cast<RankedTensorType>(op.getType());
  const SmallVector<AffineExpr> sizes = graph::sizesOf(type),
                                counts = graph::sizesOf(cast<RankedTensorType>(op.getGrad().getType()));
  const unsigned firstSpatial = sizes.size() - d - op->hasAttr(graph::channelsLastAttrName);
  Value grad = l.tensor(op.getGrad()), indices = l.tensor(op.getIndices());
  Type element = type.getElementType(), compute = computeType(element);
  SmallVector<Value> extents, counted;
  for (unsigned i = 0; i < d; ++i) {
    extents.push_back(l.size(sizes[firstSpatial + i]));
    counted.push_back(l.size(counts[firstSpatial + i]));
  }
  l.set(op, l.elementwise(sizes, storageType(element), {}, [&](OpBuilder &b, Location at, ValueRange, ValueRange) {
    auto number = [&](int64_t value) { return arith::ConstantIndexOp::create(b, at, value).getResult(); };
    SmallVector<Value> where, last;
    for (unsigned i = 0; i < sizes.size(); ++i)
      where.push_back(linalg::IndexOp::create(b, at, i));
    Value flat;
    for (unsigned i = 0; i < d; ++i) {
      Value index = where[firstSpatial + i];
      flat =
          i ? arith::AddIOp::create(b, at, arith::MulIOp::create(b, at, flat, extents[i]), index).getResult() : index;
      Value moved = arith::AddIOp::create(b, at, index, number(op.getPadding()[i]));
      last.push_back(arith::DivUIOp::create(b, at, moved, number(op.getStride()[i])));
    }
    flat = arith::IndexCastOp::create(b, at, b.getI64Type(), flat);
    Value zero = floatConstant(b, at, compute, 0), sum = zero;
    std::function<void(unsigned, Value)> visit = [&](unsigned i, Value inside) {
      if (i == d) {
        Value maximum = tensor::ExtractOp::create(b, at, indices, where);
        Value here = arith::CmpIOp::create(b, at, arith::CmpIPredicate::eq, maximum, flat);
        Value taken = load(b, at, tensor::ExtractOp::create(b, at, grad, where), element);
        here = arith::AndIOp::create(b, at, inside, here);
        taken = arith::SelectOp::create(b, at, here, taken, zero);
        sum = arith::AddFOp::create(b, at, sum, taken, contractFlag(b));
        return;
      }
      // The windows are visited in order, so the sum has the same order as a loop over the windows.
      for (int64_t before = windowsOfElement(op.getKernel()[i], op.getStride()[i], op.getDilation()[i]) - 1;
           before >= 0; --before) {
        // The comparison is unsigned: a negative index of a window is a very large unsigned number.
        Value window = arith::SubIOp::create(b, at, last[i], number(before));
        Value fits = arith::CmpIOp::create(b, at, arith::CmpIPredicate::ult, window, counted[i]);
        where[firstSpatial + i] = arith::SelectOp::create(b, at, fits, window, number(0));
        visit(i + 1, inside ? arith::AndIOp::create(b, at, inside, fits).getResult() : fits);
      }
    };
    visit(0, Value());
    return SmallVector<Value>{store(b, at, sum, element)};
  }));
  return success();
}

/// Returns a tensor with the divisor of each window's sum, which is the number of the window's elements in the image
/// (if `countsPadding`, in the padded image). The tensor has the spatial dimensions of the result and the element type
/// `f` of the sums.
Value windowCounts(Pooling &pool, bool countsPadding, Type f) {
  Lowering &l = pool.l;
  SmallVector<AffineExpr> plane(ArrayRef(pool.outSizes).slice(pool.firstSpatial, pool.kernel.size()));
  return l.elementwise(plane, f, {}, [&](OpBuilder &b, Location at, ValueRange, ValueRange) {
    Value count;
    for (unsigned i = 0; i < pool.kernel.size(); ++i) {
      auto c = [&](int64_t value) { return arith::ConstantIndexOp::create(b, at, value).getResult(); };
      Value size = l.size(pool.inputSizes[pool.firstSpatial + i]);
      Value start = arith::MulIOp::create(b, at, linalg::IndexOp::create(b, at, i), c(pool.stride[i]));
      start = arith::SubIOp::create(b, at, start, c(pool.padding[i]));
      Value end = arith::AddIOp::create(b, at, start, c(pool.kernel[i]));
      Value limit = countsPadding ? arith::AddIOp::create(b, at, size, c(pool.padding[i])).getResult() : size;
      end = arith::MinSIOp::create(b, at, end, limit);
      if (!countsPadding)
        start = arith::MaxSIOp::create(b, at, start, c(0));
      Value extent = arith::SubIOp::create(b, at, end, start);
      count = i ? arith::MulIOp::create(b, at, count, extent).getResult() : extent;
    }
    Value number = arith::IndexCastOp::create(b, at, b.getI64Type(), count);
    if (f.isInteger(64))
      return SmallVector<Value>{number};
    return SmallVector<Value>{arith::SIToFPOp::create(b, at, f, number)};
  });
}

LogicalResult lowerAvgPool(Lowering &l, graph::AvgPoolOp op) {
  if (failed(checkWindows(op, op.getKernel(), op.getStride(), op.getPadding(), {})))
    return failure();
  if (op.getDivisor() && *op.getDivisor() == 0)
    return op.emitOpError("divisor is 0");
  Pooling pool(l, op, op.getKernel(), op.getStride(), op.getPadding(), {});
  Type given = cast<RankedTensorType>(op.getInput().getType()).getElementType();
  Type element = cast<RankedTensorType>(op.getType()).getElementType(), f = accumulatorType(element);
  // If the divisor is 1, sums of integers are computed in the type of the result, which may have more bits than the
  // input.
  const bool sums = isa<IntegerType>(element) && op.getDivisor() == 1;
  Value input = pool.pad(l.tensor(op.getInput()), neutralElement(tile::Combiner::Sum, storageType(given), false));
  Value zero = l.filled(pool.outSizes, neutralElement(tile::Combiner::Sum, f, false));
  Value sum = l.generic({pool.windows(input, given), pool.shape()}, zero, pool.outMap(), pool.iterators(),
                        [&](OpBuilder &b, Location at, ValueRange in, ValueRange out) {
                          Value x = in[0];
                          if (sums && x.getType() != f)
                            x = arith::ExtSIOp::create(b, at, f, x);
                          return SmallVector<Value>{combineScalar(b, at, tile::Combiner::Sum, out[0], x, false)};
                        })
                  .getResult(0);
  if (sums) {
    l.set(op, sum);
    return success();
  }
  // Windows have different counts if a window can reach beyond the border of the counted elements.
  std::optional<int64_t> divisor;
  if (op.getDivisor())
    divisor = *op.getDivisor();
  bool same = true;
  int64_t full = 1;
  for (unsigned i = 0; i < pool.kernel.size(); ++i) {
    unsigned at = pool.firstSpatial + i;
    full *= pool.kernel[i];
    AffineExpr beyond =
        (pool.outSizes[at] - 1) * pool.stride[i] + pool.kernel[i] - 2 * pool.padding[i] - pool.inputSizes[at];
    auto known = dyn_cast<AffineConstantExpr>(beyond);
    same &= known && known.getValue() <= 0 && (op.getCountIncludePad() || pool.padding[i] == 0);
  }
  if (!divisor && same)
    divisor = full;
  SmallVector<Read> inputs{Lowering::of(sum, l.identity(pool.rank()))};
  if (!divisor) {
    SmallVector<AffineExpr> plane;
    for (unsigned i = 0; i < pool.kernel.size(); ++i)
      plane.push_back(l.dim(pool.firstSpatial + i));
    inputs.push_back(Lowering::of(windowCounts(pool, op.getCountIncludePad(), f), l.map(pool.rank(), plane)));
  }
  l.set(op, l.elementwise(pool.outSizes, storageType(element), inputs,
                          [&](OpBuilder &b, Location at, ValueRange in, ValueRange) {
                            if (!isa<FloatType>(element)) {
                              // Masked-off lanes after the end of the plane may have the count 0. They must not divide
                              // by this count.
                              Value count = divisor ? intConstant(b, at, f, *divisor)
                                                    : arith::MaxSIOp::create(b, at, in[1], intConstant(b, at, f, 1));
                              return SmallVector<Value>{arith::DivSIOp::create(b, at, in[0], count)};
                            }
                            Value count = divisor ? floatConstant(b, at, f, *divisor) : in[1];
                            Value mean = arith::DivFOp::create(b, at, in[0], count, contractFlag(b));
                            return SmallVector<Value>{store(b, at, mean, element)};
                          }));
  return success();
}

} // namespace

LogicalResult lowerPooling(Lowering &l, Operation *op) {
  if (auto max = dyn_cast<graph::MaxPoolOp>(op))
    return lowerMaxPool(l, max);
  if (auto gradient = dyn_cast<graph::MaxPoolGradOp>(op))
    return lowerMaxPoolGrad(l, gradient);
  return lowerAvgPool(l, cast<graph::AvgPoolOp>(op));
}

} // namespace tilewright::structured
