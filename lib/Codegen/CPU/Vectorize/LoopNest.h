//===- LoopNest.h - loops over the elements of buffers ----------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_VECTORIZE_LOOPNEST_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_VECTORIZE_LOOPNEST_H

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright::vector_stage {

/// Base class for emitters that replace an op by loops.
class LoopNest {
protected:
  using Value = mlir::Value;
  using Body = llvm::function_ref<void(llvm::SmallVector<Value>)>;

  explicit LoopNest(mlir::Operation *op) : builder(op), loc(op->getLoc()) {}

  static mlir::MemRefType typeOf(Value value) { return mlir::cast<mlir::MemRefType>(value.getType()); }
  Value constant(int64_t value) { return mlir::arith::ConstantIndexOp::create(builder, loc, value); }
  Value size(Value value, int64_t dim) {
    return getValueOrCreateConstantIndexOp(builder, loc, mlir::memref::getMixedSize(builder, loc, value, dim));
  }
  Value evaluate(mlir::AffineExpr expr, llvm::ArrayRef<Value> dims, llvm::ArrayRef<Value> symbols) {
    return mlir::affine::expandAffineExpr(builder, loc, expr, dims, symbols);
  }

  void loop(Value from, Value to, Value step, llvm::function_ref<void(Value)> body) {
    auto made = mlir::scf::ForOp::create(builder, loc, from, to, step);
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(made.getBody());
    body(made.getInductionVar());
  }

  void nest(llvm::ArrayRef<Value> extents, Body body, llvm::SmallVector<Value> ivs = {}) {
    if (ivs.size() == extents.size())
      return body(ivs);
    loop(constant(0), extents[ivs.size()], constant(1), [&](Value iv) {
      llvm::SmallVector<Value> inner(ivs);
      inner.push_back(iv);
      nest(extents, body, inner);
    });
  }

  mlir::OpBuilder builder;
  mlir::Location loc;
};

} // namespace tilewright::vector_stage

#endif
