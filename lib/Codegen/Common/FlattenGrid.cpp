//===- FlattenGrid.cpp - replaces the parallel loop over tiles by a loop over a range -===//
//
// Before:
//   func @kernel_0(..., %out) { scf.forall (%i, %j) = (0, 0) to (M, N) step (64, 48) { ... } }
// After:
//   func @kernel_0(..., %out, %begin: index, %end: index) attributes {tw.grid = affine_map<()[s0] -> (...)>} {
//     scf.for %t = %begin to %end { %i, %j = delinearize %t; ... } }
//
// The grid is the number of tiles, as an affine map of the kernel's index arguments. The last loop of the forall varies
// fastest. A kernel without a forall has a grid of 1, and its body does not use `begin` and `end`.
//
// Test: test/Codegen/Common/flatten-grid.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Sizes.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_FLATTENGRID
#include "tilewright/Passes.h.inc"
namespace vector_stage {
namespace {

struct FlattenGrid : impl::FlattenGridBase<FlattenGrid> {
  void runOnOperation() override {
    if (failed(requireForm(getOperation(), IRForm::Buffers, getArgument())))
      return signalPassFailure();
    func::FuncOp kernel = getOperation();
    if (!kernel->hasAttr(kernelAttrName) || kernel->hasAttr(gridAttrName))
      return;
    Location loc = kernel.getLoc();
    Block &body = kernel.getBody().front();
    SmallVector<Value> symbols = tile::indexArguments(kernel);
    auto foralls = llvm::to_vector(body.getOps<scf::ForallOp>());
    OpBuilder builder(kernel.getContext());
    AffineExpr grid = builder.getAffineConstantExpr(1);
    SmallVector<AffineExpr> counts;
    if (foralls.size() == 1) {
      scf::ForallOp forall = foralls.front();
      for (auto [lower, upper, step] :
           llvm::zip_equal(forall.getMixedLowerBound(), forall.getMixedUpperBound(), forall.getMixedStep())) {
        AffineExpr from = tile::exprOf(lower, &getContext()), to = tile::exprOf(upper, &getContext()),
                   by = tile::exprOf(step, &getContext());
        if (!from || !to || !by) {
          forall.emitOpError("its bounds are not expressions of the kernel's sizes");
          return signalPassFailure();
        }
        counts.push_back((to - from).ceilDiv(by));
        grid = grid * counts.back();
      }
    } else if (foralls.size() > 1) {
      kernel.emitOpError("expected at most one scf.forall");
      return signalPassFailure();
    }
    unsigned position = kernel.getNumArguments();
    for (unsigned i = 0; i < 2; ++i)
      if (failed(kernel.insertArgument(position + i, builder.getIndexType(), {}, loc)))
        return signalPassFailure();
    Value begin = kernel.getArgument(position), end = kernel.getArgument(position + 1);
    kernel->setAttr(gridAttrName, AffineMapAttr::get(AffineMap::get(0, symbols.size(), grid)));
    if (foralls.empty())
      return;
    scf::ForallOp forall = foralls.front();
    builder.setInsertionPoint(forall);
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    SmallVector<Value> sizes;
    for (AffineExpr count : counts)
      sizes.push_back(getValueOrCreateConstantIndexOp(builder, loc, tile::materialize(builder, loc, count, symbols)));
    auto loop = scf::ForOp::create(builder, forall.getLoc(), begin, end, one);
    builder.setInsertionPointToStart(loop.getBody());
    Value rest = loop.getInductionVar();
    SmallVector<Value> ivs(counts.size());
    for (int64_t dim = counts.size() - 1; dim >= 0; --dim) {
      Value index = dim == 0 ? rest : arith::RemUIOp::create(builder, loc, rest, sizes[dim]).getResult();
      if (dim > 0)
        rest = arith::DivUIOp::create(builder, loc, rest, sizes[dim]);
      Value step = getValueOrCreateConstantIndexOp(builder, loc, forall.getMixedStep()[dim]);
      ivs[dim] = arith::MulIOp::create(builder, loc, index, step);
      OpFoldResult lower = forall.getMixedLowerBound()[dim];
      if (getConstantIntValue(lower) != 0)
        ivs[dim] = arith::AddIOp::create(builder, loc, ivs[dim], getValueOrCreateConstantIndexOp(builder, loc, lower));
    }
    forall.getTerminator()->erase();
    Block *inner = forall.getBody();
    for (auto [argument, iv] : llvm::zip_equal(inner->getArguments(), ivs))
      argument.replaceAllUsesWith(iv);
    loop.getBody()->getOperations().splice(Block::iterator(loop.getBody()->getTerminator()), inner->getOperations());
    forall.erase();
  }
};
} // namespace
} // namespace vector_stage
} // namespace tilewright
