//===- TileSums.cpp - helpers for kernels that accumulate in C over K-blocks ----------===//
#include "lib/Codegen/CPU/MicroKernels/TileSums.h"
#include "lib/Codegen/CPU/MicroKernels/TileKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tilewright::cpu {

void overSums(OpBuilder &builder, Location loc, const BlockAccess &access, Value first, Value count, int64_t panel,
              function_ref<Value(Value, Value)> of) {
  auto constant = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(builder, loc, value); };
  access.overPanels([&] {
    auto loop = scf::ForOp::create(builder, loc, constant(0), count, constant(1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    VectorType type = VectorType::get({tileColumns}, builder.getF32Type());
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    for (int64_t v = 0; v < panel; v += tileColumns) {
      Value column = arith::AddIOp::create(builder, loc, access.firstColumn, constant(v));
      Value row = arith::AddIOp::create(builder, loc, first, loop.getInductionVar());
      SmallVector<Value> at = access.outAt(builder, row, column);
      Value mask =
          vector::CreateMaskOp::create(builder, loc, VectorType::get({tileColumns}, builder.getI1Type()),
                                       ValueRange{arith::SubIOp::create(builder, loc, access.columns, column)});
      Value sum = vector::MaskedLoadOp::create(builder, loc, type, access.out, at, mask, zero);
      vector::MaskedStoreOp::create(builder, loc, access.out, at, mask, of(sum, zero));
    }
  });
}

void clearSums(OpBuilder &builder, Location loc, const BlockAccess &access, Value first, Value count, int64_t panel) {
  overSums(builder, loc, access, first, count, panel, [](Value, Value zero) { return zero; });
}

void overRowBlocks(OpBuilder &builder, Location loc, OpFoldResult rows, int64_t most,
                   function_ref<void(Value, OpFoldResult, int64_t)> body) {
  int64_t here = mostRows(rows);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  if (here > 0 && here <= most)
    return body(zero, rows, here);
  Value all = getValueOrCreateConstantIndexOp(builder, loc, rows);
  Value step = arith::ConstantIndexOp::create(builder, loc, most);
  auto loop = scf::ForOp::create(builder, loc, zero, all, step);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value first = loop.getInductionVar();
  Value left = arith::SubIOp::create(builder, loc, all, first);
  body(first, arith::MinSIOp::create(builder, loc, left, step).getResult(), most);
}

} // namespace tilewright::cpu
