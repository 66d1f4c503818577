//===- IndexWidth.cpp - number of bits of the indices of a kernel ---------------------------===//
//
//   %i = linalg.index 1 ; %j = arith.muli %i, %c2 ; %k = arith.subi %j, %c3     (loop 1 has 112 iterations)
//     ->  %k is in [-3, 219], so 32 bits suffice
//
// A GPU needs several instructions to multiply or divide 64-bit integers.
//
// Test: test/Codegen/NVPTX/lower-to-threads.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/NVPTX/IndexWidth.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tilewright::cuda {
namespace {

/// Indices must be below this limit. The threads of the last block compute indices after the last element; they exceed
/// it by less than 1 << 20.
constexpr int64_t most = (int64_t(1) << 31) - (1 << 20);

struct Range {
  int64_t least, greatest;
};

std::optional<Range> within(int64_t least, int64_t greatest) {
  return least <= -most || greatest >= most ? std::nullopt : std::optional(Range{least, greatest});
}

/// The ranges of the indices that loop bodies compute; std::nullopt if a range is unknown or exceeds 32 bits.
class IndexRanges {
public:
  std::optional<Range> of(Value value) {
    if (auto found = known.find(value); found != known.end())
      return found->second;
    std::optional<Range> range = compute(value);
    known[value] = range;
    return range;
  }

private:
  /// The factors of a multiplication have at most 32 bits, so their product does not overflow int64_t.
  std::optional<Range> compute(Value value) {
    if (std::optional<int64_t> number = getConstantIntValue(value))
      return within(*number, *number);
    Operation *op = value.getDefiningOp();
    if (auto index = dyn_cast_or_null<linalg::IndexOp>(op)) {
      const int64_t extent = cast<linalg::LinalgOp>(op->getParentOp()).getStaticLoopRanges()[index.getDim()];
      return ShapedType::isDynamic(extent) ? std::nullopt : within(0, std::max<int64_t>(extent, 1) - 1);
    }
    if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::DivUIOp, arith::RemUIOp, arith::SelectOp>(
            op))
      return std::nullopt;
    std::optional<Range> a = of(op->getOperand(op->getNumOperands() - 2)),
                         b = of(op->getOperand(op->getNumOperands() - 1));
    if (!a || !b)
      return std::nullopt;
    if (isa<arith::AddIOp>(op))
      return within(a->least + b->least, a->greatest + b->greatest);
    if (isa<arith::SubIOp>(op))
      return within(a->least - b->greatest, a->greatest - b->least);
    if (isa<arith::SelectOp>(op))
      return within(std::min(a->least, b->least), std::max(a->greatest, b->greatest));
    if (isa<arith::MulIOp>(op)) {
      auto [least, greatest] =
          std::minmax({a->least * b->least, a->least * b->greatest, a->greatest * b->least, a->greatest * b->greatest});
      return within(least, greatest);
    }
    if (a->least < 0 || b->least < 1)
      return std::nullopt;
    return isa<arith::DivUIOp>(op) ? within(a->least / b->greatest, a->greatest / b->least)
                                   : within(0, std::min(a->greatest, b->greatest - 1));
  }

  llvm::DenseMap<Value, std::optional<Range>> known;
};

} // namespace

bool fitsInt32(func::FuncOp kernel) {
  auto fitsAll = [](ArrayRef<int64_t> sizes) {
    int64_t product = 1;
    for (int64_t size : sizes) {
      if (ShapedType::isDynamic(size) || size >= most)
        return false;
      // Treat a size of zero as one, because loops over the other dimensions still have their trip counts.
      product *= std::max<int64_t>(size, 1);
      if (product >= most)
        return false;
    }
    return true;
  };
  auto fitsType = [&](Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    return !shaped || isa<VectorType>(type) || (shaped.hasRank() && fitsAll(shaped.getShape()));
  };
  auto fitsMap = [&](AffineMap map) {
    bool fits = true;
    map.walkExprs([&](AffineExpr expr) {
      auto number = dyn_cast<AffineConstantExpr>(expr);
      fits &= !number || std::abs(number.getValue()) < most;
    });
    return fits;
  };
  bool fits = llvm::all_of(kernel.getArgumentTypes(), fitsType);
  IndexRanges ranges;
  kernel.walk([&](Operation *op) {
    fits &= !isa<tile::PlaceOp, tile::ScatterOp>(op) && llvm::all_of(op->getResultTypes(), fitsType);
    if (auto apply = dyn_cast<affine::AffineApplyOp>(op))
      fits &= fitsMap(apply.getAffineMap());
    else if (auto number = dyn_cast<arith::ConstantIndexOp>(op))
      fits &= std::abs(number.value()) < most;
    else if (isa<arith::ArithDialect>(op->getDialect()) && !isa<arith::ConstantOp>(op))
      fits &= llvm::all_of(op->getResults(),
                           [&](Value result) { return !isa<IndexType>(result.getType()) || ranges.of(result); });
    if (auto structured = dyn_cast<linalg::LinalgOp>(op))
      fits &= llvm::all_of(structured.getIndexingMapsArray(), fitsMap) &&
              llvm::all_of(structured.getStaticLoopRanges(), [&](int64_t range) { return fitsAll(range); });
  });
  return fits;
}

} // namespace tilewright::cuda
