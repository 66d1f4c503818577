//===- ScatterPoolGradients.cpp - --tw-scatter-pool-gradients: gradients of channels-first pools ---===//
//
// Before:
//   %d = tw.max_pool_grad %g, %i {kernel = [3, 3], ...} : tensor<8x64x56x56xf32>, ... -> tensor<8x64x112x112xf32>
// After:
//   %z = tw.broadcast 0.0 : tensor<512x12544xf32>
//   %s = tw.scatter add %z[%i as 512x3136], %g as 512x3136 {dim = 1, tw.from_start}
//   %d = tw.reshape %s : tensor<8x64x112x112xf32>
//
// tw.max_pool_grad reads the windows that contain an element. Threads of a GPU can do this in any layout. The lanes of
// a CPU's vector can do it only in channels-last layout, where adjacent elements belong to the same windows. In
// channels-first layout, adjacent elements belong to different windows, so a CPU is faster if it adds each gradient at
// its index. The pass runs after --tw-propagate-layout, which sets the layout.
//
// Test: test/Kernels/scatter-pool-gradients.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_SCATTERPOOLGRADIENTS
#include "tilewright/Passes.h.inc"
namespace structured {
namespace {

/// Returns the sizes of `value` as planes. The first is the product of the batch and the channels, the second the
/// product of the `spatial` sizes.
SmallVector<AffineExpr> planesOf(Value value, size_t spatial) {
  SmallVector<AffineExpr> sizes = graph::sizesOf(cast<RankedTensorType>(value.getType()));
  AffineExpr one = getAffineConstantExpr(1, value.getContext()), count = one, length = one;
  for (AffineExpr size : ArrayRef(sizes).drop_back(spatial))
    count = count * size;
  for (AffineExpr size : ArrayRef(sizes).take_back(spatial))
    length = length * size;
  return {graph::canonicalSize(count), graph::canonicalSize(length)};
}

void scatterGradient(graph::MaxPoolGradOp op) {
  OpBuilder builder(op);
  const Location loc = op.getLoc();
  const size_t spatial = op.getKernel().size();
  const Type element = cast<RankedTensorType>(op.getType()).getElementType();
  auto planes = [&](Value value) -> Value {
    const Type own = cast<RankedTensorType>(value.getType()).getElementType();
    return graph::ReshapeOp::create(builder, loc, graph::tensorWithSizes(planesOf(value, spatial), own), value);
  };
  auto scalar = RankedTensorType::get({}, element);
  Value zero = graph::ConstantOp::create(builder, loc, scalar, cast<TypedAttr>(builder.getZeroAttr(scalar)));
  RankedTensorType type = graph::tensorWithSizes(planesOf(op.getResult(), spatial), element);
  Value zeros = graph::BroadcastOp::create(builder, loc, type, zero);
  auto sums = graph::ScatterOp::create(builder, loc, type, zeros, planes(op.getIndices()), planes(op.getGrad()),
                                       /*dim=*/1, graph::ScatterKind::Add);
  sums->setAttr(fromStartAttrName, builder.getUnitAttr());
  op.replaceAllUsesWith(graph::ReshapeOp::create(builder, loc, op.getType(), sums).getResult());
  op.erase();
}

struct ScatterPoolGradients : impl::ScatterPoolGradientsBase<ScatterPoolGradients> {
  void runOnOperation() final {
    if (failed(requireForm(getOperation(), IRForm::Graph, getArgument())))
      return signalPassFailure();
    SmallVector<graph::MaxPoolGradOp> gradients;
    getOperation().walk([&](graph::MaxPoolGradOp op) {
      if (!op->hasAttr(graph::channelsLastAttrName))
        gradients.push_back(op);
    });
    for (graph::MaxPoolGradOp op : gradients)
      scatterGradient(op);
  }
};

} // namespace
} // namespace structured
} // namespace tilewright
