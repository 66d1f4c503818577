//===- MakeContiguous.cpp - makes tensors between kernels dense -----------------===//
//
// Before:  %s = tensor.extract_slice %x[...] ; %r = tensor.collapse_shape %s ; return %s
// After:   %s = linalg.generic {yield} ins(tensor.extract_slice %x) outs(tensor.empty) ; ...
//
// If a kernel reads a slice, the slice is a view inside of this kernel. A slice needs separate memory if it is
// returned, reshaped, sliced again or cast to static sizes. It also needs separate memory if its last dimension has a
// stride and its consumer is neither a linalg.generic nor a tensor.insert_slice, because products and windows read
// vectors along this dimension.
//
// Test: test/Kernels/make-contiguous.mlir
//
// --tw-record-sizes:
// Before:  func @main(%n: index, %x: tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>)
// After:   func @main(%n: index, %x: tensor<?x8xf32, ...> {tw.sizes = affine_map<()[s0] -> (s0, 8)>})
//
// Later passes create tensor types without encodings, but need the sizes of the arguments as expressions of the
// symbolic sizes.
//
// Test: test/Kernels/make-contiguous.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Graph.h"
#include "dialects/Tile/CopyReason.h"
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

/// Returns why a slice with this consumer needs separate memory, or an empty string if it does not. `gaps` is true if
/// the elements of the slice's last dimension are not adjacent.
StringRef reasonToCopy(Operation *consumer, bool gaps) {
  if (isa<func::ReturnOp>(consumer))
    return "a result of the call is a slice, and each result has separate memory";
  if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(consumer))
    return "a slice is reshaped, and a reshape needs all elements in row-major order";
  if (isa<tensor::CastOp, tensor::ExtractSliceOp>(consumer))
    return "a slice is sliced again or gets static sizes, which needs separate memory";
  if (gaps && isa<DestinationStyleOpInterface>(consumer) && !isa<linalg::GenericOp, tensor::InsertSliceOp>(consumer))
    return "a product or window reads vectors along the last dimension, in which the slice has a stride";
  return "";
}

struct MakeContiguous : impl::MakeContiguousBase<MakeContiguous> {
  void runOnOperation() override {
    SmallVector<std::pair<tensor::ExtractSliceOp, StringRef>> slices;
    getOperation().walk([&](tensor::ExtractSliceOp slice) {
      ArrayRef<int64_t> steps = slice.getStaticStrides();
      const bool gaps = !steps.empty() && steps.back() != 1;
      for (Operation *consumer : slice->getUsers())
        if (StringRef reason = reasonToCopy(consumer, gaps); !reason.empty()) {
          slices.push_back({slice, reason});
          break;
        }
    });
    for (auto [slice, reason] : slices) {
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
          builder, tile::withCopyReason(slice.getLoc(), reason), TypeRange{slice.getType()}, ValueRange{slice},
          ValueRange{empty}, ArrayRef<AffineMap>{identity, identity}, loops,
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
