//===- LineLoops.h - loops around vectors along the results of a parallel op ------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_VECTORIZE_LINELOOPS_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_VECTORIZE_LINELOOPS_H

#include "lib/Codegen/CPU/Vectorize/BodyEmitter.h"
#include "lib/Codegen/CPU/Vectorize/LoopNest.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace tilewright::vector_stage {

/// Base class for emitters that replace an op without reductions by loops. overAlong() emits loop `along` in vectors of
/// `lanes` elements. overOthers() emits the other loops, except one for which the derived class emits code.
class LineLoops : LoopNest {
protected:
  using LoopNest::builder, LoopNest::loc, LoopNest::constant;
  using Value = mlir::Value;
  using OpFoldResult = mlir::OpFoldResult;

  LineLoops(mlir::linalg::LinalgOp op, unsigned along, int64_t lanes)
      : LoopNest(op), op(op), along(along), lanes(lanes),
        body(op, VectorLoop{static_cast<int64_t>(along), false, lanes}) {
    for (mlir::Range range : op.createLoopRanges(builder, loc))
      sizes.push_back(range.size);
    zero = constant(0);
  }

  Value valueOf(OpFoldResult size) { return mlir::getValueOrCreateConstantIndexOp(builder, loc, size); }
  OpFoldResult apply(mlir::AffineExpr expr, OpFoldResult dim) {
    return mlir::affine::makeComposedFoldedAffineApply(builder, loc, mlir::AffineMap::get(1, 0, expr), {dim});
  }
  Value plus(Value a, int64_t b) {
    return b == 0 ? a : mlir::arith::AddIOp::create(builder, loc, a, constant(b)).getResult();
  }
  Value firstLanes(Value count) {
    return mlir::vector::CreateMaskOp::create(builder, loc, body.vectorOf(builder.getI1Type()), count);
  }

  /// Emits inside(iv) for iv = from, from + step, ... below `to`.
  void loop(Value from, OpFoldResult to, int64_t step, llvm::function_ref<void(Value)> inside) {
    if (mlir::isConstantIntValue(to, 0))
      return;
    if (step == 1 && mlir::isConstantIntValue(to, 1))
      return inside(from);
    LoopNest::loop(from, valueOf(to), constant(step), inside);
  }

  /// Emits all loops except `along` and `other`, with `inside` in the innermost.
  void overOthers(unsigned other, llvm::function_ref<void()> inside, unsigned depth = 0) {
    if (depth == op.getNumLoops())
      return inside();
    if (depth == along || depth == other)
      return overOthers(other, inside, depth + 1);
    loop(zero, sizes[depth], 1, [&](Value iv) {
      body.ivs[depth] = iv;
      overOthers(other, inside, depth + 1);
    });
  }

  /// Emits `inside` for each vector along loop `along`: first for full vectors, then for a masked tail. `count` is the
  /// number of elements of the vector, or 0 if it is unknown at compile time.
  void overAlong(llvm::function_ref<void(Value first, int64_t count, Value mask)> inside) {
    mlir::AffineExpr d0 = builder.getAffineDimExpr(0);
    OpFoldResult size = sizes[along], whole = apply(d0 - d0 % lanes, size), rest = apply(d0 % lanes, size);
    loop(zero, whole, lanes, [&](Value iv) { inside(iv, lanes, Value()); });
    std::optional<int64_t> left = mlir::getConstantIntValue(rest);
    if (left && *left == 0)
      return;
    auto masked = [&] { inside(valueOf(whole), left.value_or(0), firstLanes(valueOf(rest))); };
    if (left)
      return masked();
    Value some = mlir::arith::CmpIOp::create(builder, loc, mlir::arith::CmpIPredicate::sgt, valueOf(rest), zero);
    auto branch = mlir::scf::IfOp::create(builder, loc, mlir::TypeRange(), some, /*withElse=*/false);
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    masked();
  }

  mlir::linalg::LinalgOp op;
  const unsigned along;
  const int64_t lanes;
  BodyEmitter body;
  llvm::SmallVector<OpFoldResult> sizes;
  Value zero;
};

} // namespace tilewright::vector_stage

#endif
