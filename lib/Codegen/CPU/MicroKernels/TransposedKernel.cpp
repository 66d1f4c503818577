//===- TransposedKernel.cpp - products on tiles of a transposed A (k x rows) -------------===//
#include "lib/Codegen/CPU/MicroKernels/TransposedKernel.h"
#include "lib/Codegen/CPU/MicroKernels/PackPanels.h"
#include "lib/Codegen/CPU/MicroKernels/TileKernel.h"
#include "lib/Codegen/CPU/MicroKernels/TileSums.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tilewright::cpu {
namespace {

constexpr int64_t transposedStep = 32;   ///< number of elements along k of a tile
constexpr int64_t transposedBlock = 256; ///< number of elements along k that are transposed at a time
constexpr int64_t transposedRows = 256;  ///< maximum number of rows that are transposed at a time
/// Elements that are added to the row stride, because rows would otherwise share cache sets.
constexpr int64_t transposedRowPadding = 32;

class TransposedEmitter {
public:
  TransposedEmitter(OpBuilder &builder, Location loc, const BlockAccess &access, int64_t panel, int64_t mostRows)
      : builder(builder), loc(loc), access(access), panel(panel), depth(access.reductionSizes.back()),
        element(cast<MemRefType>(access.lhs.getType()).getElementType()) {
    const int64_t rows = llvm::alignTo(mostRows, 2 * tileRows);
    lhs = onStack(builder, loc, {rows, transposedBlock + transposedRowPadding}, element);
  }

  /// Computes `count` rows of C, starting at row `first`.
  void rows(Value first, OpFoldResult count) {
    clearSums(builder, loc, access, first, getValueOrCreateConstantIndexOp(builder, loc, count), panel);
    std::optional<int64_t> known = getConstantIntValue(depth);
    if (known && *known <= transposedBlock)
      return block(first, count, constant(0), depth);
    // If K is known, all blocks have about the same length.
    const int64_t each =
        known ? llvm::alignTo(llvm::divideCeil(*known, llvm::divideCeil(*known, transposedBlock)), transposedStep)
              : transposedBlock;
    loop(constant(0), depth, each, [&](Value from) {
      Value left = arith::SubIOp::create(builder, loc, depth, from);
      block(first, count, from,
            known && *known % each == 0 ? constant(each)
                                        : arith::MinSIOp::create(builder, loc, left, constant(each)).getResult());
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
    turn(first, getValueOrCreateConstantIndexOp(builder, loc, rows), from, count);
    AffineExpr d0 = builder.getAffineDimExpr(0);
    auto apply = [&](AffineExpr expr, Value value) {
      return getValueOrCreateConstantIndexOp(
          builder, loc,
          affine::makeComposedFoldedAffineApply(builder, loc, AffineMap::get(1, 0, expr), {OpFoldResult(value)}));
    };
    BlockAccess part(access);
    part.lhs = lhs;
    part.lhsRowDim = 0;
    part.lhsDepthDim = 1;
    part.lhsRowStep = 1;
    part.lhsAt = [](OpBuilder &, Value row, ValueRange k) { return SmallVector<Value>{row, k[0]}; };
    Value pairs = apply(d0.floorDiv(2), from);
    part.rhsAt = [&](OpBuilder &at, Value panel, ValueRange k) { return access.rhsAt(at, panel, {add(pairs, k[0])}); };
    part.outAt = [&](OpBuilder &at, Value row, Value column) { return access.outAt(at, add(first, row), column); };
    part.overPanels = [&](function_ref<void()> body) {
      access.overPanels([&] {
        part.panel = access.panel;
        part.firstColumn = access.firstColumn;
        body();
      });
    };
    part.reductionSizes = {apply(d0.ceilDiv(transposedStep) * transposedStep, count)};
    part.rowsDone = nullptr;
    addTiles(builder, loc, part, rows, panel);
  }

  /// Transposes the block of A with `rows` rows, starting at `first`, and `count` elements along k, starting at `from`.
  /// One iteration transposes 16 rows of 32 elements.
  void turn(Value first, Value rows, Value from, Value count) {
    std::optional<int64_t> knownRows = getConstantIntValue(rows), knownDepth = getConstantIntValue(depth);
    const bool whole = knownRows && *knownRows % tileRows == 0 && knownDepth && *knownDepth % transposedStep == 0;
    VectorType type = VectorType::get({tileRows}, element);
    VectorType bits = type.clone(builder.getI16Type()), pairType = type.clone(builder.getI32Type());
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    Value half = arith::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(pairType, builder.getI32IntegerAttr(element.getIntOrFloatBitWidth())));
    loop(constant(0), count, transposedStep, [&](Value k) {
      loop(constant(0), rows, tileRows, [&](Value row) {
        Value rowsLeft = arith::SubIOp::create(builder, loc, rows, row);
        Value depthLeft = arith::SubIOp::create(builder, loc, count, k);
        auto read = [&](int64_t number) -> Value {
          SmallVector<Value> at = access.lhsAt(builder, add(first, row), {add(from, add(k, constant(number)))});
          Value numbers;
          if (whole) {
            numbers = vector::LoadOp::create(builder, loc, type, access.lhs, at);
          } else {
            Value inside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sgt, depthLeft, constant(number));
            Value some = arith::SelectOp::create(builder, loc, inside, rowsLeft, constant(0));
            Value mask = vector::CreateMaskOp::create(builder, loc, type.clone(builder.getI1Type()), ValueRange{some});
            numbers = vector::MaskedLoadOp::create(builder, loc, type, access.lhs, at, mask, zero);
          }
          return arith::ExtUIOp::create(builder, loc, pairType, vector::BitCastOp::create(builder, loc, bits, numbers));
        };
        SmallVector<Value> square;
        for (int64_t pair = 0; pair < tileRows; ++pair) {
          Value low = read(2 * pair), high = read(2 * pair + 1);
          high = arith::ShLIOp::create(builder, loc, high, half);
          square.push_back(arith::OrIOp::create(builder, loc, low, high));
        }
        transposeSquare(builder, loc, square);
        for (auto [number, transposed] : llvm::enumerate(square)) {
          Value stored =
              vector::BitCastOp::create(builder, loc, VectorType::get({transposedStep}, element), transposed);
          vector::StoreOp::create(builder, loc, stored, lhs, ValueRange{add(row, constant(number)), k});
        }
      });
    });
  }

  OpBuilder &builder;
  Location loc;
  const BlockAccess &access;
  int64_t panel;
  Value depth;
  Type element;
  Value lhs;
};
} // namespace

bool isTransposed(const BlockAccess &access) {
  return access.hasOneRun() && !access.lhsDepthContiguous() && access.lhsRowStep == 1 &&
         staticStride(access.lhs, access.lhsRowDim) == 1 &&
         cast<MemRefType>(access.lhs.getType()).getElementTypeBitWidth() == 16;
}

void emitTransposedPanels(OpBuilder &builder, Location loc, const BlockAccess &access, OpFoldResult rows,
                          int64_t panel) {
  overRowBlocks(builder, loc, rows, transposedRows, [&](Value first, OpFoldResult count, int64_t most) {
    TransposedEmitter(builder, loc, access, panel, most).rows(first, count);
  });
}

} // namespace tilewright::cpu
