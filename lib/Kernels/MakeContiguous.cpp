//===- MakeContiguous.cpp - makes tensors between kernels dense -----------------===//
//
// Before:  %s = tensor.extract_slice %x[...] ; %r = tensor.collapse_shape %s ; return %s
// After:   %s = linalg.copy ins(tensor.extract_slice %x) outs(tensor.empty) ; ...
//
// If a kernel reads a slice, the slice is a view inside of this kernel. A slice needs separate memory if it is reshaped
// or returned. It also needs separate memory if its last dimension has a stride and its consumer is not elementwise,
// because products and windows read vectors along this dimension. This file also implements --tw-record-sizes, which
// copies the sizes of arguments from the encodings of their types to argument attributes.
//
// Test: test/Kernels/make-contiguous.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Graph.h"
#include "dialects/Tile/Sizes.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_MAKECONTIGUOUS
#define GEN_PASS_DEF_RECORDSIZES
#include "tilewright/Passes.h.inc"
namespace structured {
namespace {

struct MakeContiguous : impl::MakeContiguousBase<MakeContiguous> {
  void runOnOperation() override {
    SmallVector<tensor::ExtractSliceOp> slices;
    getOperation().walk([&](tensor::ExtractSliceOp slice) {
      ArrayRef<int64_t> steps = slice.getStaticStrides();
      const bool gaps = !steps.empty() && steps.back() != 1;
      if (llvm::any_of(slice->getUsers(), [&](Operation *user) {
            return isa<func::ReturnOp, tensor::CastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp,
                       tensor::ExtractSliceOp>(user) ||
                   (gaps && isa<DestinationStyleOpInterface>(user) &&
                    !isa<linalg::GenericOp, tensor::InsertSliceOp>(user));
          }))
        slices.push_back(slice);
    });
    for (tensor::ExtractSliceOp slice : slices) {
      OpBuilder builder(&getContext());
      builder.setInsertionPointAfter(slice);
      SmallVector<Value> dynamic;
      llvm::SmallBitVector dropped = slice.getDroppedDims();
      for (auto [dim, size] : llvm::enumerate(slice.getMixedSizes()))
        if (auto value = dyn_cast<Value>(size); value && !dropped.test(dim))
          dynamic.push_back(value);
      Value empty = tensor::EmptyOp::create(builder, slice.getLoc(), slice.getType(), dynamic);
      AffineMap identity = builder.getMultiDimIdentityMap(slice.getType().getRank());
      SmallVector<utils::IteratorType> loops(slice.getType().getRank(), utils::IteratorType::parallel);
      auto copy = linalg::GenericOp::create(
          builder, slice.getLoc(), TypeRange{slice.getType()}, ValueRange{slice}, ValueRange{empty},
          ArrayRef<AffineMap>{identity, identity}, loops,
          [](OpBuilder &b, Location loc, ValueRange arguments) { linalg::YieldOp::create(b, loc, arguments[0]); });
      copy->setAttr(opAttrName, builder.getStringAttr("slice"));
      slice.getResult().replaceAllUsesExcept(copy.getResult(0), copy);
    }
  }
};

struct RecordSizes : impl::RecordSizesBase<RecordSizes> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    unsigned symbols = tile::indexArguments(function).size();
    for (BlockArgument argument : function.getArguments())
      if (auto type = dyn_cast<RankedTensorType>(argument.getType()))
        function.setArgAttr(argument.getArgNumber(), tile::sizesAttrName,
                            AffineMapAttr::get(AffineMap::get(0, symbols, graph::sizesOf(type), &getContext())));
  }
};
} // namespace
} // namespace structured
} // namespace tilewright
