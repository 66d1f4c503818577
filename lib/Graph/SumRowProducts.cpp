//===- SumRowProducts.cpp - --tw-sum-row-products: products with one column as row sums ---===//
//
// Before:
//   %1 = tw.matmul %a, %x : (tensor<512x768xf32>, tensor<768x1xf32>) -> tensor<512x1xf32>
// After:
//   %0 = tw.permute %x {permutation = [1, 0]} : tensor<768x1xf32> -> tensor<1x768xf32>
//   %p = tw.mul %a, %0 : (tensor<512x768xf32>, tensor<1x768xf32>) -> tensor<512x768xf32>
//   %1 = tw.reduce sum %p {dims = [1], keepdim} : tensor<512x768xf32> -> tensor<512x1xf32>
//
// The time of a matrix-vector product is limited by reading the matrix. The micro-kernels of the CPU compute a panel of
// columns, of which only one would be used. A row sum reads the matrix once, in whole vectors. The rows of the matrix
// must be contiguous. The pass changes only products of f32 or f64 whose matrix has more than one row. For 16-bit
// floats, the instructions that multiply and add pairs of elements are faster than a row sum.
//
// Test: test/Graph/sum-row-products.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Values.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_SUMROWPRODUCTS
#include "tilewright/Passes.h.inc"
namespace graph {
namespace {

/// Returns true if the last dimension of `matrix` is also the last dimension of the tensor that is permuted to
/// `matrix`, so that the elements of a row are adjacent in memory.
bool hasContiguousRows(Value matrix) {
  int64_t column = tensorOf(matrix).getRank() - 1;
  while (auto permute = matrix.getDefiningOp<PermuteOp>()) {
    column = permute.getPermutation()[column];
    matrix = permute.getInput();
  }
  return column == tensorOf(matrix).getRank() - 1;
}

bool isRowSum(MatmulOp op) {
  auto isOne = [](AffineExpr size) { return size == getAffineConstantExpr(1, size.getContext()); };
  const Type element = tensorOf(op.getLhs()).getElementType();
  if ((!element.isF32() && !element.isF64()) || tensorOf(op).getElementType() != element)
    return false;
  const SmallVector<AffineExpr> lhs = sizesOf(tensorOf(op.getLhs())), rhs = sizesOf(tensorOf(op.getRhs()));
  return isOne(rhs.back()) && !isOne(lhs[lhs.size() - 2]) && hasContiguousRows(op.getLhs());
}

void sumRowProducts(MatmulOp op) {
  OpBuilder builder(op);
  const Location loc = op.getLoc();
  RankedTensorType lhs = tensorOf(op.getLhs()), rhs = tensorOf(op.getRhs());
  const int64_t rank = lhs.getRank();
  SmallVector<int64_t> swapped = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(swapped[rank - 1], swapped[rank - 2]);
  SmallVector<AffineExpr> sizes = sizesOf(rhs);
  std::swap(sizes[rank - 1], sizes[rank - 2]);
  Value row = PermuteOp::create(builder, loc, tensorWithSizes(sizes, rhs.getElementType()), op.getRhs(),
                                builder.getDenseI64ArrayAttr(swapped));
  Value products = MulOp::create(builder, loc, lhs, op.getLhs(), row);
  Value sums =
      ReduceOp::create(builder, loc, op.getType(), products, ReduceKindAttr::get(builder.getContext(), ReduceKind::Sum),
                       builder.getDenseI64ArrayAttr({rank - 1}), builder.getUnitAttr());
  op.replaceAllUsesWith(sums);
  op.erase();
}

} // namespace
} // namespace graph

namespace {
struct SumRowProducts : impl::SumRowProductsBase<SumRowProducts> {
  void runOnOperation() final {
    if (failed(requireForm(getOperation(), IRForm::Graph, getArgument())))
      return signalPassFailure();
    SmallVector<graph::MatmulOp> found;
    getOperation().walk([&](graph::MatmulOp op) {
      if (graph::isRowSum(op))
        found.push_back(op);
    });
    llvm::for_each(found, graph::sumRowProducts);
  }
};
} // namespace
} // namespace tilewright
