//===- EmulateTiles.cpp - AMX tiles as vectors ---------------------------------------===//
//
// Before:
//   %c = amx.tile_mulf %a, %b, %acc : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
// After:
//   memref.store %a, %b, %acc to buffers of the stack; scf.for %m { scf.for %pair {
//     acc[m] += a[m][2 pair] * b[pair][0, 2, 4, ...] + a[m][2 pair + 1] * b[pair][1, 3, 5, ...] } }
//
// A tile is a vector of rows. Every machine can so run the kernels of TileKernel.h; speed does not matter here.
// Products are summed in f32, even k before odd, as TDPBF16PS does, but denormals are kept (Intel SDM, TDPBF16PS).
//
// Test: test/Target/CPU/emulate-tiles.mlir
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Transforms/DialectConversion.h"
#include "tilewright/Passes.h"

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

/// Indices of row `row` of a tile in memory: `stride` elements from row to row, counted in the innermost dimension.
SmallVector<Value> rowPlace(OpBuilder &builder, Location loc, ValueRange indices, Value stride, int64_t row) {
  SmallVector<Value> place(indices);
  Value offset = arith::MulIOp::create(builder, loc, stride, constantIndex(builder, loc, row));
  place.back() = arith::AddIOp::create(builder, loc, place.back(), offset);
  return place;
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
                                 rowPlace(rewriter, op.getLoc(), adaptor.getIndices(), adaptor.getStride(), row));
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
          adaptor.getBase(), rowPlace(rewriter, op.getLoc(), adaptor.getIndices(), adaptor.getStride(), row));
    rewriter.eraseOp(op);
    return success();
  }
};

struct EmulateMultiply : OpConversionPattern<amx::TileMulFOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(amx::TileMulFOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    if (!op.getLhsTileType().getElementType().isBF16())
      return rewriter.notifyMatchFailure(op, "expected bf16 tiles");
    auto spill = [&](Value vector) -> Value {
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
        vector::StoreOp::create(rewriter, loc, vector::ExtractOp::create(rewriter, loc, vector, row).getResult(),
                                buffer, ValueRange{constantIndex(rewriter, loc, row), constantIndex(rewriter, loc, 0)});
      return buffer;
    };
    Value a = spill(adaptor.getLhs()), b = spill(adaptor.getRhs()), acc = spill(adaptor.getAcc());
    auto accType = cast<VectorType>(adaptor.getAcc().getType());
    int64_t rows = accType.getDimSize(0), columns = accType.getDimSize(1);
    int64_t pairs = op.getRhsTileType().getDimSize(0);
    VectorType f32Row = VectorType::get({columns}, rewriter.getF32Type());
    VectorType pairRow = VectorType::get({2 * columns}, rewriter.getBF16Type());
    Value zero = constantIndex(rewriter, loc, 0), one = constantIndex(rewriter, loc, 1);
    auto overRows = scf::ForOp::create(rewriter, loc, zero, constantIndex(rewriter, loc, rows), one);
    {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(overRows.getBody());
      Value row = overRows.getInductionVar();
      Value start = vector::LoadOp::create(rewriter, loc, f32Row, acc, ValueRange{row, zero});
      auto overPairs = scf::ForOp::create(rewriter, loc, zero, constantIndex(rewriter, loc, pairs), one, start);
      {
        OpBuilder::InsertionGuard inner(rewriter);
        rewriter.setInsertionPointToStart(overPairs.getBody());
        Value pair = overPairs.getInductionVar(), sum = overPairs.getRegionIterArg(0);
        Value both = vector::LoadOp::create(rewriter, loc, pairRow, b, ValueRange{pair, zero});
        auto split = vector::DeinterleaveOp::create(rewriter, loc, both);
        for (int64_t odd : {0, 1}) {
          Value k = arith::AddIOp::create(rewriter, loc,
                                          arith::MulIOp::create(rewriter, loc, pair, constantIndex(rewriter, loc, 2)),
                                          constantIndex(rewriter, loc, odd));
          Value left = memref::LoadOp::create(rewriter, loc, a, ValueRange{row, k});
          left = arith::ExtFOp::create(rewriter, loc, rewriter.getF32Type(), left);
          Value right = arith::ExtFOp::create(rewriter, loc, f32Row, split->getResult(odd));
          sum = vector::FMAOp::create(rewriter, loc, vector::BroadcastOp::create(rewriter, loc, f32Row, left), right,
                                      sum);
        }
        scf::YieldOp::create(rewriter, loc, sum);
      }
      vector::StoreOp::create(rewriter, loc, overPairs.getResult(0), acc, ValueRange{row, zero});
    }
    Value result = arith::ConstantOp::create(rewriter, loc, rewriter.getZeroAttr(accType));
    for (int64_t row = 0; row < rows; ++row)
      result = vector::InsertOp::create(
          rewriter, loc,
          vector::LoadOp::create(rewriter, loc, f32Row, acc, ValueRange{constantIndex(rewriter, loc, row), zero})
              .getResult(),
          result, row);
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct EmulateTiles : impl::EmulateTilesBase<EmulateTiles> {
  void runOnOperation() override {
    TypeConverter converter;
    converter.addConversion([](Type type) { return type; });
    converter.addConversion([](amx::TileType type) -> Type { return vectorOf(type); });
    ConversionTarget target(getContext());
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addIllegalDialect<amx::AMXDialect>();
    RewritePatternSet patterns(&getContext());
    patterns.add<EmulateZero, EmulateLoad, EmulateStore, EmulateMultiply>(converter, &getContext());
    scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns, target);
    if (failed(applyPartialConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
} // namespace cpu
} // namespace tilewright
