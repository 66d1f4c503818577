//===- NarrowSoftmax.cpp - --tw-narrow-softmax: log-softmax of gathered elements ===//
//
// Before (a cross-entropy):
//   %1 = tw.softmax %x {dim = 1, log} : tensor<512x32000xf32> -> tensor<512x32000xf32>
//   %2 = tw.gather %1[%t] {dim = 1} : (tensor<512x32000xf32>, tensor<512x1xi64>) -> tensor<512x1xf32>
// After:
//   %m = tw.reduce max %x {dims = [1], keepdim} : tensor<512x1xf32>
//   %d = tw.sub %x, %m     %e = tw.exp %d     %s = tw.reduce sum %e {dims = [1], keepdim}     %l = tw.log %s
//   %g = tw.gather %x[%t] {dim = 1}
//   %2 = tw.sub (tw.sub %g, %m), %l : tensor<512x1xf32>
//
// If all consumers of a log-softmax are gathers along its dimension that read few elements of each row, the rows of the
// log-softmax need not be stored. The gathered elements of the input, and a maximum and a sum over each row, suffice.
//
// Test: test/Graph/narrow-softmax.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Values.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_NARROWSOFTMAX
#include "tilewright/Passes.h.inc"
namespace graph {
namespace {

/// Returns the gathers that read `softmax` if it has no other users and they read few of its elements; otherwise none.
SmallVector<GatherOp> onlyGathers(SoftmaxOp softmax) {
  SmallVector<GatherOp> gathers;
  SmallVector<AffineExpr> sizes = sizesOf(tensorOf(softmax));
  const int64_t dim = softmax.getDim();
  for (Operation *user : softmax->getUsers()) {
    auto gather = dyn_cast<GatherOp>(user);
    if (!gather || int64_t(gather.getDim()) != dim || gather.getInput() != softmax.getResult())
      return {};
    SmallVector<AffineExpr> read = sizesOf(tensorOf(gather.getIndex()));
    // A gather must have the same rows as the softmax, and read a constant number of elements of each row. If the
    // length of the rows is constant, this number must be at most an eighth of it.
    auto of = dyn_cast<AffineConstantExpr>(read[dim]), all = dyn_cast<AffineConstantExpr>(sizes[dim]);
    if (!of || (all && of.getValue() * 8 > all.getValue()))
      return {};
    read[dim] = sizes[dim];
    if (read != sizes)
      return {};
    gathers.push_back(gather);
  }
  return gathers;
}

class Narrower {
public:
  explicit Narrower(SoftmaxOp softmax) : softmax(softmax), builder(softmax), loc(softmax.getLoc()) {}

  void run(ArrayRef<GatherOp> gathers) {
    Value input = softmax.getInput();
    Type element = tensorOf(input).getElementType(), result = tensorOf(softmax).getElementType();
    Type wide = element.isF64() ? element : builder.getF32Type();
    Value largest = cast(reduced(ReduceKind::Max, input), wide);
    Value shifted = binary<SubOp>(cast(input, wide), largest);
    Value powers = ExpOp::create(builder, loc, shifted.getType(), shifted);
    Value sum = reduced(ReduceKind::Sum, powers);
    Value logSum = LogOp::create(builder, loc, sum.getType(), sum);
    for (GatherOp gather : gathers) {
      builder.setInsertionPoint(gather);
      loc = gather.getLoc();
      RankedTensorType type = withElementType(tensorOf(gather), element);
      auto read = GatherOp::create(builder, loc, type, input, gather.getIndex(), gather.getDim());
      read->setDiscardableAttrs(gather->getDiscardableAttrDictionary());
      Value value = binary<SubOp>(binary<SubOp>(cast(read, wide), largest), logSum);
      gather.replaceAllUsesWith(cast(value, result));
      gather.erase();
    }
    softmax.erase();
  }

private:
  Value cast(Value value, Type element) {
    RankedTensorType type = tensorOf(value);
    if (type.getElementType() == element)
      return value;
    return CastOp::create(builder, loc, withElementType(type, element), value);
  }

  Value reduced(ReduceKind kind, Value value) {
    SmallVector<AffineExpr> sizes = sizesOf(tensorOf(value));
    sizes[softmax.getDim()] = builder.getAffineConstantExpr(1);
    auto type = tensorWithSizes(sizes, tensorOf(value).getElementType());
    return ReduceOp::create(builder, loc, type, value, ReduceKindAttr::get(builder.getContext(), kind),
                            builder.getDenseI64ArrayAttr({int64_t(softmax.getDim())}), builder.getUnitAttr());
  }

  /// Emits `a op b`, with `b` broadcast to the shape of `a`.
  template <typename Op> Value binary(Value a, Value b) { return Op::create(builder, loc, a.getType(), a, b); }

  SoftmaxOp softmax;
  OpBuilder builder;
  Location loc;
};

} // namespace
} // namespace graph

namespace {
struct NarrowSoftmax : impl::NarrowSoftmaxBase<NarrowSoftmax> {
  void runOnOperation() final {
    if (failed(requireForm(getOperation(), IRForm::Graph, getArgument())))
      return signalPassFailure();
    SmallVector<graph::SoftmaxOp> found;
    getOperation().walk([&](graph::SoftmaxOp op) {
      if (op.getLog())
        found.push_back(op);
    });
    for (graph::SoftmaxOp op : found)
      if (SmallVector<graph::GatherOp> gathers = graph::onlyGathers(op); !gathers.empty())
        graph::Narrower(op).run(gathers);
  }
};
} // namespace
} // namespace tilewright
