//===- SplitKernel.cpp - products of f16 on AMX tiles of bf16 ----------------------===//
#include "lib/Codegen/CPU/MicroKernels/SplitKernel.h"
#include "lib/Codegen/CPU/MicroKernels/TileKernel.h"
#include "lib/Codegen/CPU/MicroKernels/TileSums.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tilewright::cpu {
namespace {

constexpr int64_t splitStep = 32;   ///< number of elements along k of a tile
constexpr int64_t splitBlock = 192; ///< number of elements along k that are split at a time
constexpr int64_t splitRows = 256;  ///< maximum number of rows of A that are split at a time
/// Elements that are added to A's row stride, because rows would otherwise share cache sets.
constexpr int64_t splitRowPadding = 32;

class SplitEmitter {
public:
  SplitEmitter(OpBuilder &builder, Location loc, const BlockAccess &access, int64_t panel, int64_t mostRows)
      : builder(builder), loc(loc), access(access), panel(panel), depth(access.reductionSizes.back()) {
    const int64_t rows = llvm::alignTo(mostRows, 2 * tileRows);
    lhs = onStack(builder, loc, {rows, 2 * splitBlock + splitRowPadding}, builder.getBF16Type());
    rhs = onStack(builder, loc, {splitBlock, 2 * panel}, builder.getBF16Type());
  }

  /// Computes `count` rows of C, starting at row `first`.
  void rows(Value first, OpFoldResult count) {
    Value all = getValueOrCreateConstantIndexOp(builder, loc, count);
    clearSums(builder, loc, access, first, all, panel);
    std::optional<int64_t> known = getConstantIntValue(depth);
    if (known && *known <= splitBlock)
      block(first, count, constant(0), depth);
    else
      loop(constant(0), depth, splitBlock, [&](Value from) {
        Value left = arith::SubIOp::create(builder, loc, depth, from);
        block(first, count, from,
              known && *known % splitBlock == 0
                  ? constant(splitBlock)
                  : arith::MinSIOp::create(builder, loc, left, constant(splitBlock)).getResult());
      });
    overSums(builder, loc, access, first, all, panel, [&](Value sum, Value zero) -> Value {
      Value least = arith::ConstantOp::create(
          builder, loc, DenseElementsAttr::get(cast<VectorType>(sum.getType()), APFloat(0x1p-60f)));
      Value size = math::AbsFOp::create(builder, loc, sum);
      Value nothing = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, size, least);
      return arith::SelectOp::create(builder, loc, nothing, zero, sum);
    });
  }

private:
  Value constant(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  Value add(Value a, Value b) { return arith::AddIOp::create(builder, loc, a, b); }

  void loop(Value from, Value to, int64_t step, function_ref<void(Value)> body) {
    auto made = scf::ForOp::create(builder, loc, from, to, constant(step));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(made.getBody());
    body(made.getInductionVar());
  }

  /// Computes C += A B for the part [from, from + count) of k.
  void block(Value first, OpFoldResult rows, Value from, Value count) {
    splitLhs(first, getValueOrCreateConstantIndexOp(builder, loc, rows), from, count);
    Value steps = getValueOrCreateConstantIndexOp(
        builder, loc,
        affine::makeComposedFoldedAffineApply(
            builder, loc, AffineMap::get(1, 0, builder.getAffineDimExpr(0).ceilDiv(splitStep)), {OpFoldResult(count)}));
    access.overPanels([&] {
      splitRhs(from, steps);
      BlockAccess parts;
      parts.lhs = lhs;
      parts.rhs = rhs;
      parts.out = access.out;
      parts.lhsAt = [](OpBuilder &, Value row, ValueRange k) { return SmallVector<Value>{row, k[0]}; };
      parts.rhsAt = [this](OpBuilder &, Value, ValueRange k) { return SmallVector<Value>{k[0], constant(0)}; };
      parts.outAt = [&](OpBuilder &at, Value row, Value column) { return access.outAt(at, add(first, row), column); };
      parts.reductionSizes = {arith::MulIOp::create(builder, loc, steps, constant(2 * splitStep))};
      parts.overPanels = [](function_ref<void()> body) { body(); };
      parts.panel = constant(0);
      parts.panels = constant(1);
      parts.firstColumn = access.firstColumn;
      parts.columns = access.columns;
      parts.wholePanels = access.wholePanels;
      parts.outRowDim = access.outRowDim;
      parts.tileRows = access.tileRows;
      addSplitTiles(builder, loc, parts, rows, panel);
    });
  }

  void splitLhs(Value first, Value rows, Value from, Value count) {
    std::optional<int64_t> known = getConstantIntValue(depth);
    loop(constant(0), rows, 1, [&](Value row) {
      loop(constant(0), count, splitStep, [&](Value k) {
        Value left = arith::SubIOp::create(builder, loc, count, k);
        VectorType type = VectorType::get({splitStep}, builder.getF16Type());
        Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type)), numbers;
        SmallVector<Value> at = access.lhsAt(builder, add(first, row), {add(from, k)});
        if (!access.lhsDepthContiguous()) {
          numbers = gathered(add(first, row), add(from, k), left, zero);
        } else if (known && *known % splitStep == 0) {
          numbers = vector::LoadOp::create(builder, loc, type, access.lhs, at);
        } else {
          Value mask = vector::CreateMaskOp::create(builder, loc, VectorType::get({splitStep}, builder.getI1Type()),
                                                    ValueRange{left});
          numbers = vector::MaskedLoadOp::create(builder, loc, type, access.lhs, at, mask, zero);
        }
        auto [high, low] = partsOf(numbers);
        Value position = arith::MulIOp::create(builder, loc, k, constant(2));
        vector::StoreOp::create(builder, loc, high, lhs, ValueRange{row, position});
        vector::StoreOp::create(builder, loc, low, lhs, ValueRange{row, add(position, constant(splitStep))});
      });
    });
  }

  /// Loads up to `splitStep` elements of A's `row`, starting at `k`, one by one, because A is not contiguous along k.
  /// If only `left` elements remain, the other lanes are zero.
  Value gathered(Value row, Value k, Value left, Value zero) {
    Value end = arith::MinSIOp::create(builder, loc, left, constant(splitStep));
    auto made = scf::ForOp::create(builder, loc, constant(0), end, constant(1), zero);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(made.getBody());
    Value i = made.getInductionVar();
    Value number = memref::LoadOp::create(builder, loc, access.lhs, access.lhsAt(builder, row, {add(k, i)}));
    Value next = vector::InsertOp::create(builder, loc, number, made.getRegionIterArg(0), OpFoldResult(i));
    scf::YieldOp::create(builder, loc, next);
    return made.getResult(0);
  }

  /// Splits `steps` tiles of the current panel, starting at k `from`, and prefetches the next block of B (nextBlock())
  /// into the L2 cache.
  void splitRhs(Value from, Value steps) {
    Value pairs = arith::ShRUIOp::create(builder, loc, from, constant(1));
    VectorType type = VectorType::get({splitStep}, builder.getF16Type());
    NextBlock next = nextBlock(builder, loc, access, splitBlock / 2);
    loop(constant(0), steps, 1, [&](Value step) {
      Value group = arith::MulIOp::create(builder, loc, step, constant(tileRows));
      Value to = arith::MulIOp::create(builder, loc, step, constant(2 * tileRows));
      loop(constant(0), constant(tileRows), 1, [&](Value pair) {
        Value position = add(pairs, add(group, pair));
        SmallVector<Value> at = access.rhsAt(builder, access.panel, {position});
        SmallVector<Value> ahead = access.rhsAt(builder, next.panel, {add(position, next.steps)});
        Value column = at.back(), row = add(to, pair), lowRow = add(row, constant(tileRows));
        for (int64_t j = 0; j < 2 * panel; j += splitStep) {
          at.back() = j == 0 ? column : add(column, constant(j));
          auto [high, low] = partsOf(vector::LoadOp::create(builder, loc, type, access.rhs, at));
          ahead.back() = at.back();
          memref::PrefetchOp::create(builder, loc, access.rhs, ahead, /*isWrite=*/false, /*localityHint=*/2,
                                     /*isDataCache=*/true);
          vector::StoreOp::create(builder, loc, high, rhs, ValueRange{row, constant(j)});
          vector::StoreOp::create(builder, loc, low, rhs, ValueRange{lowRow, constant(j)});
        }
      });
    });
  }

  /// Returns the high and low parts of f16 numbers as bf16 vectors.
  std::pair<Value, Value> partsOf(Value numbers) {
    auto of = cast<VectorType>(numbers.getType());
    VectorType floats = of.clone(builder.getF32Type()), bits = of.clone(builder.getI32Type());
    auto splat = [&](VectorType type, Attribute value) -> Value {
      return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, value));
    };
    auto narrow = [&](Value number) -> Value {
      return arith::TruncFOp::create(builder, loc, of.clone(builder.getBF16Type()), number);
    };
    Value x = arith::ExtFOp::create(builder, loc, floats, numbers);
    Value kept = arith::AndIOp::create(builder, loc, vector::BitCastOp::create(builder, loc, bits, x),
                                       splat(bits, builder.getI32IntegerAttr(static_cast<int32_t>(0xffff0000u))));
    Value high = vector::BitCastOp::create(builder, loc, floats, kept);
    Value rest = arith::SubFOp::create(builder, loc, x, high);
    // The predicate is also true if `rest` is NaN, which is the case for an infinite x.
    Value none = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UEQ, rest,
                                       arith::ConstantOp::create(builder, loc, builder.getZeroAttr(floats)));
    Value little = arith::MulFOp::create(builder, loc, x, splat(floats, builder.getF32FloatAttr(0x1p-100f)));
    return {narrow(high), narrow(arith::SelectOp::create(builder, loc, none, little, rest))};
  }

  OpBuilder &builder;
  Location loc;
  const BlockAccess &access;
  int64_t panel;
  Value depth, lhs, rhs;
};
} // namespace

void emitSplitPanels(OpBuilder &builder, Location loc, const BlockAccess &access, OpFoldResult rows, int64_t panel) {
  overRowBlocks(builder, loc, rows, splitRows, [&](Value first, OpFoldResult count, int64_t most) {
    SplitEmitter(builder, loc, access, panel, most).rows(first, count);
  });
}

} // namespace tilewright::cpu
