//===- SplitReshapes.cpp - --tw-split-reshapes: expand_shape with several symbolic sizes --//
//
// Before:
//   %1 = memref.expand_shape %0 [[0, 1]] output_shape [%a, %b] : memref<?xf32> into memref<?x?xf32>
// After:
//   %base, %offset, %size, %stride = memref.extract_strided_metadata %0
//   %1 = memref.reinterpret_cast %base to offset: [0], sizes: [%a, %b], strides: [%b, 1]
//
// In LLVM 22.1, MLIR's pass expand-strided-metadata crashes if a group of the reshape has more than one symbolic size.
// After the rewrite, the sizes are operands of the op, so expand-strided-metadata need not infer a size.
//
// Test: test/Codegen/Common/split-reshapes.mlir
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "tilewright/Passes.h"

namespace tilewright {
#define GEN_PASS_DEF_SPLITRESHAPES
#include "tilewright/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace tilewright::vector_stage {
namespace {

bool hasManySymbols(memref::ExpandShapeOp op) {
  return llvm::any_of(op.getReassociationIndices(), [&](const ReassociationIndices &group) {
    return llvm::count_if(group, [&](int64_t dim) { return op.getResultType().isDynamicDim(dim); }) > 1;
  });
}

void splitReshape(memref::ExpandShapeOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  auto metadata = memref::ExtractStridedMetadataOp::create(b, loc, op.getSrc());
  SmallVector<OpFoldResult> sizes = op.getMixedOutputShape();
  SmallVector<OpFoldResult> strides(sizes.size());
  auto [known, offset] = op.getResultType().getStridesAndOffset();
  AffineExpr s0, s1;
  bindSymbols(b.getContext(), s0, s1);
  for (auto [i, group] : llvm::enumerate(op.getReassociationIndices())) {
    OpFoldResult stride = metadata.getConstifiedMixedStrides()[i];
    for (int64_t dim : llvm::reverse(group)) {
      strides[dim] = ShapedType::isDynamic(known[dim]) ? stride : OpFoldResult(b.getIndexAttr(known[dim]));
      stride = affine::makeComposedFoldedAffineApply(b, loc, s0 * s1, {stride, sizes[dim]});
    }
  }
  OpFoldResult start =
      ShapedType::isDynamic(offset) ? metadata.getConstifiedMixedOffset() : OpFoldResult(b.getIndexAttr(offset));
  Value cast =
      memref::ReinterpretCastOp::create(b, loc, op.getResultType(), metadata.getBaseBuffer(), start, sizes, strides);
  op.replaceAllUsesWith(cast);
  op.erase();
}

struct SplitReshapes : impl::SplitReshapesBase<SplitReshapes> {
  void runOnOperation() override {
    SmallVector<memref::ExpandShapeOp> ops;
    getOperation()->walk([&](memref::ExpandShapeOp op) {
      if (hasManySymbols(op))
        ops.push_back(op);
    });
    llvm::for_each(ops, splitReshape);
  }
};

} // namespace
} // namespace tilewright::vector_stage
