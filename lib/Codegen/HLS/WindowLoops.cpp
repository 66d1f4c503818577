//===- WindowLoops.cpp - --tw-hls-window-loops: grouped convolutions as structured loops ------===//
//
// Before:
//   %0 = tw_tile.grouped_convolution {padding = [1, 1], strides = [2, 2], ...}
//          ins(%x, %w : tensor<1x8x8x4xf32>, tensor<3x3x1x4xf32>) outs(%empty : tensor<1x4x4x4xf32>)
// After:
//   %p = tensor.pad %x low[0, 1, 1, 0] high[0, 0, 0, 0] : tensor<1x9x9x4xf32>
//   %z = linalg.fill ins(0.0) outs(%empty)
//   %0 = linalg.generic {(n, y, x, c, i, j) -> p[n, 2 y + i, 2 x + j, c], w[i, j, 0, c], z[n, y, x, c]}
//          { multiply, add }
//
// A schedule can reorder, unroll and pipeline these loops (SelectSchedules.cpp). --tw-decompose-tile would instead emit
// a branch for every element of the window. If a group has several channels or filters, the operands are reshaped so
// that the group has a separate loop. The order of additions does not change. This pass does not change convolutions
// that compute a tile, or that have negative padding or symbolic sizes. --tw-decompose-tile decomposes these
// convolutions.
//
// Test: test/Codegen/HLS/window-loops.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_HLSWINDOWLOOPS
#include "tilewright/Passes.h.inc"
} // namespace tilewright

namespace tilewright::hls {
namespace {

class WindowLoops {
public:
  explicit WindowLoops(tile::GroupedConvolutionOp op)
      : op(op), b(op), loc(op.getLoc()), groups(op.getGroups()), input(typeOf(op.getInputs()[0])),
        weight(typeOf(op.getInputs()[1])), result(typeOf(op.getOutputs()[0])) {
    channels = weight.getDimSize(2);
    filters = result.getDimSize(3) / groups;
  }

  bool applies() {
    return op.getFirst().empty() && input.hasStaticShape() && result.hasStaticShape() &&
           llvm::all_of(op.getPadding(), [](int64_t amount) { return amount >= 0; });
  }

  void run() {
    // The parallel loops are over n, y, x, groups and filters. The reduction loops are over the window and the channels
    // of a group. If a group has only one filter or one channel, there is no loop over filters or channels,
    // respectively.
    const bool manyFilters = filters > 1, manyChannels = channels > 1;
    unsigned loops = 0;
    auto loop = [&] { return b.getAffineDimExpr(loops++); };
    AffineExpr n = loop(), y = loop(), x = loop(), g = loop(), f = manyFilters ? loop() : AffineExpr();
    const unsigned parallel = loops;
    AffineExpr i = loop(), j = loop(), c = manyChannels ? loop() : AffineExpr();
    SmallVector<AffineExpr> from{n, y * op.getStrides()[0] + i * op.getDilations()[0],
                                 x * op.getStrides()[1] + j * op.getDilations()[1], g};
    SmallVector<AffineExpr> tap{i, j, manyChannels ? c : b.getAffineConstantExpr(0), g}, to{n, y, x, g};
    if (manyChannels)
      from.push_back(c);
    if (manyFilters) {
      tap.push_back(f);
      to.push_back(f);
    }
    Value image = split(padded(), 3, channels), taps = split(op.getInputs()[1], 3, filters);
    Value out = split(op.getOutputs()[0], 3, filters);
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(result.getElementType()));
    Value filled = linalg::FillOp::create(b, loc, zero, out).getResult(0);
    SmallVector<utils::IteratorType> kinds(parallel, utils::IteratorType::parallel);
    kinds.append(loops - parallel, utils::IteratorType::reduction);
    MLIRContext *context = b.getContext();
    auto made = linalg::GenericOp::create(
        b, loc, TypeRange{filled.getType()}, ValueRange{image, taps}, ValueRange{filled},
        ArrayRef<AffineMap>{AffineMap::get(loops, 0, from, context), AffineMap::get(loops, 0, tap, context),
                            AffineMap::get(loops, 0, to, context)},
        kinds, [&](OpBuilder &in, Location at, ValueRange values) {
          Type wide = values[2].getType();
          const bool integers = wide.isInteger();
          auto widened = [&](Value value) -> Value {
            if (value.getType() == wide)
              return value;
            if (integers)
              return arith::ExtSIOp::create(in, at, wide, value);
            return arith::ExtFOp::create(in, at, wide, value);
          };
          auto combined = [&](auto ofIntegers, auto ofFloats, Value a, Value b) -> Value {
            if (integers)
              return decltype(ofIntegers)::create(in, at, a, b);
            return decltype(ofFloats)::create(in, at, a, b);
          };
          Value product = combined(arith::MulIOp(), arith::MulFOp(), widened(values[0]), widened(values[1]));
          linalg::YieldOp::create(in, at, combined(arith::AddIOp(), arith::AddFOp(), values[2], product));
        });
    if (Attribute name = op->getAttr(opAttrName))
      made->setAttr(opAttrName, name);
    Value whole = made.getResult(0);
    if (manyFilters)
      whole = tensor::CollapseShapeOp::create(b, loc, result, whole, reassociation(4, 3));
    op->getResult(0).replaceAllUsesWith(whole);
    op->erase();
  }

private:
  static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

  /// Returns the reassociation that splits dimension `last` of `rank` into two dimensions.
  static SmallVector<ReassociationIndices> reassociation(int64_t rank, int64_t last) {
    SmallVector<ReassociationIndices> all;
    for (int64_t dim = 0; dim < rank; ++dim)
      all.push_back(dim == last ? ReassociationIndices{dim, dim + 1} : ReassociationIndices{dim});
    return all;
  }

  /// Splits `dim`, which is the last dimension, into groups of `inner` elements. Returns the value unchanged if `inner`
  /// is 1.
  Value split(Value value, int64_t dim, int64_t inner) {
    if (inner == 1)
      return value;
    RankedTensorType type = typeOf(value);
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] /= inner;
    shape.push_back(inner);
    return tensor::ExpandShapeOp::create(b, loc, RankedTensorType::get(shape, type.getElementType()), value,
                                         reassociation(type.getRank(), dim));
  }

  /// Returns the input, padded with zeros where windows extend beyond its edges.
  Value padded() {
    Value image = op.getInputs()[0];
    SmallVector<int64_t> shape(input.getShape());
    SmallVector<OpFoldResult> low(4, b.getIndexAttr(0)), high(low);
    for (int64_t dim = 0; dim < 2; ++dim) {
      const int64_t before = op.getPadding()[dim];
      const int64_t reached = (result.getDimSize(1 + dim) - 1) * op.getStrides()[dim] +
                              (weight.getDimSize(dim) - 1) * op.getDilations()[dim] + 1;
      const int64_t after = std::max<int64_t>(0, reached - before - input.getDimSize(1 + dim));
      low[1 + dim] = b.getIndexAttr(before);
      high[1 + dim] = b.getIndexAttr(after);
      shape[1 + dim] += before + after;
    }
    if (shape == input.getShape())
      return image;
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(input.getElementType()));
    return tensor::PadOp::create(b, loc, RankedTensorType::get(shape, input.getElementType()), image, low, high, zero);
  }

  tile::GroupedConvolutionOp op;
  OpBuilder b;
  Location loc;
  int64_t groups, channels = 1, filters = 1;
  RankedTensorType input, weight, result;
};

struct HlsWindowLoops : impl::HlsWindowLoopsBase<HlsWindowLoops> {
  using HlsWindowLoopsBase::HlsWindowLoopsBase;

  void runOnOperation() override {
    if (failed(requireForm(getOperation(), IRForm::Tensors, getArgument())))
      return signalPassFailure();
    SmallVector<tile::GroupedConvolutionOp> ops;
    getOperation()->walk([&](tile::GroupedConvolutionOp op) { ops.push_back(op); });
    for (tile::GroupedConvolutionOp op : ops)
      if (WindowLoops loops(op); loops.applies())
        loops.run();
  }
};

} // namespace
} // namespace tilewright::hls
