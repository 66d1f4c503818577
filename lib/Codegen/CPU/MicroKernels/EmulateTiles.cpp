//===- EmulateTiles.cpp - lowers AMX tiles to vectors --------------------------------===//
//
// Before:
//   %c = amx.tile_mulf %a, %b, %acc : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
// After:
//   vector.store %a, %b, %acc to buffers on the stack; scf.for %m { scf.for %pair {
//     acc[m] += a[m][2 pair] * b[pair][0, 2, 4, ...] + a[m][2 pair + 1] * b[pair][1, 3, 5, ...] } }
//
// A tile becomes a vector of the same shape. With this lowering, every machine can run the kernels of TileKernel.h. The
// generated code is not optimized for speed. Products are summed in f32. In each step, the product of the even k is
// added before the product of the odd k. Unlike TDPBF16PS (Intel SDM), the lowering does not flush denormals to zero.
// Bytes (amx.tile_muli) are extended to i32, and a step multiplies four elements along k.
//
// Test: test/Codegen/CPU/MicroKernels/emulate-tiles.mlir
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Transforms/DialectConversion.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_EMULATETILES
#include "tilewright/Passes.h.inc"
namespace cpu {
namespace {

VectorType vectorOf(amx::TileType type) { return VectorType::get(type.getShape(), type.getElementType()); }

Value constantIndex(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

/// Returns the indices of row `row` of a tile in memory. Rows have a stride of `stride` elements.
SmallVector<Value> rowIndices(OpBuilder &builder, Location loc, ValueRange indices, Value stride, int64_t row) {
  SmallVector<Value> shifted(indices);
  Value offset = arith::MulIOp::create(builder, loc, stride, constantIndex(builder, loc, row));
  shifted.back() = arith::AddIOp::create(builder, loc, shifted.back(), offset);
  return shifted;
}

struct EmulateZero : OpConversionPattern<amx::TileZeroOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(amx::TileZeroOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, rewriter.getZeroAttr(vectorOf(op.getTileType())));
    return success();
  }
};

struct EmulateLoad : OpConversionPattern<amx::TileLoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(amx::TileLoadOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!op.getStride())
      return rewriter.notifyMatchFailure(op, "expected an explicit stride");
    VectorType type = vectorOf(op.getTileType());
    VectorType rowType = VectorType::get({type.getDimSize(1)}, type.getElementType());
    Value tile = arith::ConstantOp::create(rewriter, op.getLoc(), rewriter.getZeroAttr(type));
    for (int64_t row = 0; row < type.getDimSize(0); ++row) {
      Value loaded =
          vector::LoadOp::create(rewriter, op.getLoc(), rowType, adaptor.getBase(),
                                 rowIndices(rewriter, op.getLoc(), adaptor.getIndices(), adaptor.getStride(), row));
      tile = vector::InsertOp::create(rewriter, op.getLoc(), loaded, tile, row);
    }
    rewriter.replaceOp(op, tile);
    return success();
  }
};

struct EmulateStore : OpConversionPattern<amx::TileStoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(amx::TileStoreOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!op.getStride())
      return rewriter.notifyMatchFailure(op, "expected an explicit stride");
    for (int64_t row = 0; row < op.getTileType().getDimSize(0); ++row)
      vector::StoreOp::create(
          rewriter, op.getLoc(), vector::ExtractOp::create(rewriter, op.getLoc(), adaptor.getVal(), row).getResult(),
          adaptor.getBase(), rowIndices(rewriter, op.getLoc(), adaptor.getIndices(), adaptor.getStride(), row));
    rewriter.eraseOp(op);
    return success();
  }
};

/// Buffers on the stack for the rows of the operands. spill() stores the rows of a vector in a buffer, and whole()
/// loads all rows of a buffer as one vector.
struct SpilledTiles {
  SpilledTiles(Operation *op, ConversionPatternRewriter &rewriter) : op(op), rewriter(rewriter), loc(op->getLoc()) {}

  Value spill(Value vector) {
    auto type = cast<VectorType>(vector.getType());
    Value buffer;
    {
      OpBuilder::InsertionGuard guard(rewriter);
      auto function = op->getParentOfType<func::FuncOp>();
      rewriter.setInsertionPointToStart(&function.getBody().front());
      buffer = memref::AllocaOp::create(rewriter, loc, MemRefType::get(type.getShape(), type.getElementType()),
                                        rewriter.getI64IntegerAttr(64));
    }
    for (int64_t row = 0; row < type.getDimSize(0); ++row)
      vector::StoreOp::create(rewriter, loc, vector::ExtractOp::create(rewriter, loc, vector, row).getResult(), buffer,
                              ValueRange{constantIndex(rewriter, loc, row), constantIndex(rewriter, loc, 0)});
    return buffer;
  }
  Value whole(Value buffer, VectorType type) {
    VectorType rowType = VectorType::get({type.getDimSize(1)}, type.getElementType());
    Value result = arith::ConstantOp::create(rewriter, loc, rewriter.getZeroAttr(type));
    for (int64_t row = 0; row < type.getDimSize(0); ++row)
      result = vector::InsertOp::create(
          rewriter, loc,
          vector::LoadOp::create(rewriter, loc, rowType, buffer,
                                 ValueRange{constantIndex(rewriter, loc, row), constantIndex(rewriter, loc, 0)})
              .getResult(),
          result, row);
    return result;
  }

  Operation *op;
  ConversionPatternRewriter &rewriter;
  Location loc;
};

/// Emits acc[m][n] += a[m][k] * b[k / group][group * n + k % group] for all m, n and k. For each n, the elements of
/// `group` consecutive k are adjacent in a row of b.
template <typename OpT> struct EmulateMultiply : OpConversionPattern<OpT> {
  using OpConversionPattern<OpT>::OpConversionPattern;
  LogicalResult matchAndRewrite(OpT op, typename OpT::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    constexpr bool bytes = std::is_same_v<OpT, amx::TileMulIOp>;
    Location loc = op.getLoc();
    Type element = op.getLhsTileType().getElementType();
    if (!bytes && !element.isBF16() && !element.isF16())
      return rewriter.notifyMatchFailure(op, "expected bf16 or f16 tiles");
    bool zextLhs = false, zextRhs = false;
    if constexpr (bytes) {
      zextLhs = op.getIsZextLhs();
      zextRhs = op.getIsZextRhs();
    }
    auto widened = [&](Type type, Value value, bool zext) -> Value {
      if (!bytes)
        return arith::ExtFOp::create(rewriter, loc, type, value);
      return zext ? arith::ExtUIOp::create(rewriter, loc, type, value).getResult()
                  : arith::ExtSIOp::create(rewriter, loc, type, value).getResult();
    };
    SpilledTiles tiles(op, rewriter);
    Value a = tiles.spill(adaptor.getLhs()), b = tiles.spill(adaptor.getRhs()), acc = tiles.spill(adaptor.getAcc());
    auto accType = cast<VectorType>(adaptor.getAcc().getType());
    constexpr int64_t group = bytes ? 4 : 2;
    int64_t rows = accType.getDimSize(0), columns = accType.getDimSize(1), steps = op.getRhsTileType().getDimSize(0);
    VectorType sumRow = VectorType::get({columns}, accType.getElementType());
    VectorType groupRow = VectorType::get({group * columns}, element);
    Value zero = constantIndex(rewriter, loc, 0), one = constantIndex(rewriter, loc, 1);
    auto overRows = scf::ForOp::create(rewriter, loc, zero, constantIndex(rewriter, loc, rows), one);
    {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(overRows.getBody());
      Value row = overRows.getInductionVar();
      Value start = vector::LoadOp::create(rewriter, loc, sumRow, acc, ValueRange{row, zero});
      auto overSteps = scf::ForOp::create(rewriter, loc, zero, constantIndex(rewriter, loc, steps), one, start);
      {
        OpBuilder::InsertionGuard inner(rewriter);
        rewriter.setInsertionPointToStart(overSteps.getBody());
        Value step = overSteps.getInductionVar(), sum = overSteps.getRegionIterArg(0);
        Value together = vector::LoadOp::create(rewriter, loc, groupRow, b, ValueRange{step, zero});
        auto halves = vector::DeinterleaveOp::create(rewriter, loc, together);
        SmallVector<Value> parts(halves->getResults());
        if (bytes) { // even k: 0 and 2; odd k: 1 and 3
          auto even = vector::DeinterleaveOp::create(rewriter, loc, parts[0]);
          auto odd = vector::DeinterleaveOp::create(rewriter, loc, parts[1]);
          parts = {even->getResult(0), odd->getResult(0), even->getResult(1), odd->getResult(1)};
        }
        for (int64_t g = 0; g < group; ++g) {
          Value k = arith::AddIOp::create(
              rewriter, loc, arith::MulIOp::create(rewriter, loc, step, constantIndex(rewriter, loc, group)),
              constantIndex(rewriter, loc, g));
          Value left = memref::LoadOp::create(rewriter, loc, a, ValueRange{row, k});
          left = vector::BroadcastOp::create(rewriter, loc, sumRow, widened(sumRow.getElementType(), left, zextLhs));
          Value right = widened(sumRow, parts[g], zextRhs);
          if (bytes)
            sum = arith::AddIOp::create(rewriter, loc, sum, arith::MulIOp::create(rewriter, loc, left, right));
          else
            sum = vector::FMAOp::create(rewriter, loc, left, right, sum);
        }
        scf::YieldOp::create(rewriter, loc, sum);
      }
      vector::StoreOp::create(rewriter, loc, overSteps.getResult(0), acc, ValueRange{row, zero});
    }
    rewriter.replaceOp(op, tiles.whole(acc, accType));
    return success();
  }
};

struct EmulateTiles : impl::EmulateTilesBase<EmulateTiles> {
  void runOnOperation() override {
    if (failed(requireForm(getOperation(), IRForm::Buffers, getArgument())))
      return signalPassFailure();
    TypeConverter converter;
    converter.addConversion([](Type type) { return type; });
    converter.addConversion([](amx::TileType type) -> Type { return vectorOf(type); });
    ConversionTarget target(getContext());
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addIllegalDialect<amx::AMXDialect>();
    RewritePatternSet patterns(&getContext());
    patterns.add<EmulateZero, EmulateLoad, EmulateStore, EmulateMultiply<amx::TileMulFOp>,
                 EmulateMultiply<amx::TileMulIOp>>(converter, &getContext());
    scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns, target);
    if (failed(applyPartialConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
} // namespace cpu
} // namespace tilewright
