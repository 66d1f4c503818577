//===- PackWindows.cpp - gathers the windows of a line -------------------------------===//
#include "lib/Codegen/CPU/MicroKernels/PackWindows.h"
#include "lib/Codegen/CPU/MicroKernels/TileKernel.h"
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

/// Stores a gathered window as whole vectors. A vector combines parts of several lines of the window. A part that does
/// not fill the vector is read into its lanes by a masked load, so that no memory outside of the window is accessed.
class WindowPacker {
public:
  WindowPacker(OpBuilder &builder, Location loc, const WindowLine &line, Value first, Value packed)
      : builder(builder), loc(loc), line(line), first(first), packed(packed),
        element(cast<MemRefType>(packed.getType()).getElementType()),
        lanes(tileRowBytes * 8 / element.getIntOrFloatBitWidth()), type(VectorType::get({lanes}, element)) {}

  void run(OpFoldResult count) {
    // Several windows are gathered together, because the masks are the same for all of them.
    constexpr int64_t together = 4;
    Value all = getValueOrCreateConstantIndexOp(builder, loc, count);
    Value whole = apply(builder.getAffineDimExpr(0).floorDiv(together) * together, {all});
    windows(constant(0), whole, together);
    if (getConstantIntValue(whole) != getConstantIntValue(count) || !getConstantIntValue(count))
      windows(whole, all, 1);
  }

private:
  Value constant(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  Value apply(AffineExpr expr, ArrayRef<Value> dims) {
    return getValueOrCreateConstantIndexOp(builder, loc,
                                           affine::makeComposedFoldedAffineApply(builder, loc,
                                                                                 AffineMap::get(dims.size(), 0, expr),
                                                                                 getAsOpFoldResult(dims)));
  }

  Value maskOf(int64_t from, int64_t to) {
    SmallVector<bool> bits(lanes, false);
    std::fill(bits.begin() + from, bits.begin() + to, true);
    VectorType masks = VectorType::get({lanes}, builder.getI1Type());
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(masks, ArrayRef<bool>(bits)));
  }

  /// Gathers the windows from `from` to `to`, `together` at a time.
  void windows(Value from, Value to, int64_t together) {
    auto loop = scf::ForOp::create(builder, loc, from, to, constant(together));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    AffineExpr d0 = builder.getAffineDimExpr(0), d1 = builder.getAffineDimExpr(1);
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    for (int64_t at = 0; at < line.depth; at += lanes) {
      SmallVector<Value> vectors(together, zero);
      for (int64_t number = 0; number < line.height; ++number) {
        // `begin` is the index of the line's first element in the window.
        const int64_t begin = number * line.lineElements;
        const int64_t low = std::max(begin - at, int64_t(0)), high = std::min(begin + line.lineElements - at, lanes);
        if (low >= high)
          continue;
        Value inLine = apply(d0 + number * line.lineStep, {line.line});
        for (int64_t i = 0; i < together; ++i) {
          Value element = apply((d0 + d1 + i) * line.pixelStep + (at - begin), {first, loop.getInductionVar()});
          Value indices[] = {line.batch, inLine, element};
          vectors[i] = low == 0 && high == lanes
                           ? vector::LoadOp::create(builder, loc, type, line.image, indices).getResult()
                           : vector::MaskedLoadOp::create(builder, loc, type, line.image, indices, maskOf(low, high),
                                                          vectors[i]);
        }
      }
      for (int64_t i = 0; i < together; ++i)
        vector::StoreOp::create(builder, loc, vectors[i], packed,
                                ValueRange{apply(d0 + i, {loop.getInductionVar()}), constant(at)});
    }
  }

  OpBuilder &builder;
  Location loc;
  const WindowLine &line;
  Value first, packed;
  Type element;
  int64_t lanes;
  VectorType type;
};
} // namespace

void packWindows(OpBuilder &builder, Location loc, const WindowLine &line, Value first, OpFoldResult count,
                 Value packed) {
  WindowPacker(builder, loc, line, first, packed).run(count);
}

} // namespace tilewright::cpu
