//===- PlaceScratch.cpp - assigns temporaries to the thread's scratch memory -----===//
//
// Before:
//   func @kernel_0(..., %begin, %end) { scf.for ... { %t = memref.alloc() : memref<64x48xf32> ... } }
// After:
//   func @kernel_0(..., %begin, %end, %scratch: memref<?xi8>) attributes {tw.scratch = affine_map<() -> (12288)>} {
//     scf.for ... { %t = memref.view %scratch[%c0][] : memref<?xi8> to memref<64x48xf32> ... } }
//
// Each allocation gets a separate offset that is aligned to 64 bytes. If a size is not constant, it must have an upper
// bound, which is a constant (as in a partial tile) or an expression of the kernel's index arguments. Other sizes are
// errors.
//
// Test: test/Codegen/Common/place-scratch.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Sizes.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_PLACESCRATCH
#include "tilewright/Passes.h.inc"
namespace vector_stage {
namespace {

/// Returns an upper bound of `size` as an expression of the function's index arguments, or null if there is none.
AffineExpr boundOf(Value size) {
  if (AffineExpr exact = tile::exprOf(size))
    return exact;
  FailureOr<int64_t> bound = ValueBoundsConstraintSet::computeConstantBound(
      presburger::BoundType::UB, ValueBoundsConstraintSet::Variable(size), /*stopCondition=*/nullptr,
      /*closedUB=*/true);
  if (succeeded(bound))
    return getAffineConstantExpr(*bound, size.getContext());
  // Each operand of min(a, b) is an upper bound of the result. This does not hold for other ops, such as max.
  if (auto min = size.getDefiningOp<affine::AffineMinOp>())
    for (AffineExpr result : min.getMap().getResults()) {
      SmallVector<AffineExpr> dims, symbols;
      bool known = true;
      for (auto [index, operand] : llvm::enumerate(min.getOperands())) {
        AffineExpr expr = tile::exprOf(operand);
        bool used = index < min.getMap().getNumDims() ? result.isFunctionOfDim(index)
                                                      : result.isFunctionOfSymbol(index - min.getMap().getNumDims());
        known &= !used || expr;
        if (!expr)
          expr = getAffineConstantExpr(0, size.getContext());
        (index < min.getMap().getNumDims() ? dims : symbols).push_back(expr);
      }
      if (known)
        return result.replaceDimsAndSymbols(dims, symbols);
    }
  return {};
}

struct PlaceScratch : impl::PlaceScratchBase<PlaceScratch> {
  void runOnOperation() override {
    if (failed(requireForm(getOperation(), IRForm::Buffers, getArgument())))
      return signalPassFailure();
    func::FuncOp kernel = getOperation();
    if (!kernel->hasAttr(kernelAttrName) || kernel->hasAttr(scratchAttrName))
      return;
    OpBuilder builder(kernel.getContext());
    Location loc = kernel.getLoc();
    SmallVector<Value> symbols = tile::indexArguments(kernel);
    if (symbols.size() < 2) {
      kernel.emitError("--tw-place-scratch expects kernels whose last arguments are the begin and end of a grid range "
                       "(type index); run --tw-flatten-grid first");
      return signalPassFailure();
    }
    // The last two index arguments, begin and end, are not sizes.
    symbols.resize(symbols.size() - 2);
    if (failed(kernel.insertArgument(kernel.getNumArguments(),
                                     MemRefType::get({ShapedType::kDynamic}, builder.getI8Type()), {}, loc)))
      return signalPassFailure();
    Value scratch = kernel.getArguments().back();
    // `checks` is true if the kernel reports failed checks in its status (LowerIndexChecks.cpp), which is at the start
    // of the scratch memory.
    bool checks = false;
    SetVector<Attribute> messages;
    kernel.walk([&](Operation *op) {
      checks |= isa<tile::PlaceOp, tile::DivisorOp, tile::RequireOp, tile::ReportOp>(op);
      if (auto require = dyn_cast<tile::RequireOp>(op))
        messages.insert(require.getMessageAttr());
    });
    if (checks)
      kernel->setAttr(checksAttrName, builder.getUnitAttr());
    if (!messages.empty())
      kernel->setAttr(messagesAttrName, builder.getArrayAttr(messages.getArrayRef()));
    AffineExpr offset = builder.getAffineConstantExpr(checks ? 64 : 0);
    SmallVector<memref::AllocOp> allocs;
    kernel.walk([&](memref::AllocOp alloc) { allocs.push_back(alloc); });
    for (memref::AllocOp alloc : allocs) {
      MemRefType type = alloc.getType();
      int64_t elementBytes = std::max<int64_t>(1, llvm::divideCeil(type.getElementTypeBitWidth(), 8));
      AffineExpr bytes = builder.getAffineConstantExpr(elementBytes);
      auto dynamic = alloc.getDynamicSizes().begin();
      for (int64_t size : type.getShape()) {
        AffineExpr bound = ShapedType::isDynamic(size) ? boundOf(*dynamic++) : builder.getAffineConstantExpr(size);
        if (!bound) {
          alloc.emitOpError("its size follows neither from a tile nor from the kernel's index arguments");
          return signalPassFailure();
        }
        bytes = bytes * bound;
      }
      builder.setInsertionPoint(alloc);
      Value at = getValueOrCreateConstantIndexOp(builder, loc, tile::materialize(builder, loc, offset, symbols));
      auto view = memref::ViewOp::create(builder, alloc.getLoc(), type, scratch, at, alloc.getDynamicSizes());
      for (Operation *user : llvm::make_early_inc_range(alloc->getUsers()))
        if (isa<memref::DeallocOp>(user))
          user->erase();
      alloc.replaceAllUsesWith(view.getResult());
      alloc.erase();
      offset = offset + bytes.ceilDiv(64) * 64;
    }
    kernel->setAttr(scratchAttrName, AffineMapAttr::get(AffineMap::get(0, symbols.size(), offset)));
  }
};
} // namespace
} // namespace vector_stage
} // namespace tilewright
