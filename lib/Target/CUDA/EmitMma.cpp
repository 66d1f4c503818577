//===- EmitMma.cpp - the schedule `mma`: products on tensor cores by mma.sync --------------===//
//
// A block computes a tile of C. Tiles of A and B go through a ring of `stages` slots in shared memory, by cp.async
// where the operand's rows begin at multiples of 16 bytes, else element by element:
//
//   load tiles 0 ... stages - 2
//   for k tiles: wait for the oldest ; barrier ; load tile + stages - 1 into the slot that all have left ;
//                for each 16 k: ldmatrix A and B, mma.m16n8k16
//   each pair of sums goes through what the kernel computes from C (Elements.h), and is stored
//
// How a tile lies in its slot: TileCode.h. Beyond the edges of A and B there are zeros, beyond those of C nothing is
// stored.
//
// Tests: test/Target/CUDA/product.mlir, test/Python/test_cuda.py
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Sizes.h"
#include "lib/Target/CUDA/Product.h"
#include "lib/Target/CUDA/TileCode.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tilewright::cuda {
namespace {

class MmaEmitter : TileCode {
public:
  MmaEmitter(ThreadKernel &kernel, Product product)
      : TileCode(kernel, getElementTypeOrSelf(product.lhs()->get().getType())), product(std::move(product)) {}

  LogicalResult run() {
    placeTile();
    Operand a = describe(product.lhs(), product.m, schedule.m, rowOrigin);
    Operand b = describe(product.rhs(), product.n, schedule.n, columnOrigin);
    int64_t slotBytes = a.bytes() + b.bytes();
    Value shared = kernel.allocateShared(slotBytes * schedule.stages);
    b.slotOffset = a.bytes();
    Value depth = extent(product.k);
    Value tiles = divideUp(depth, schedule.k);
    auto slot = [&](Value tile) {
      Value number = arith::RemUIOp::create(builder, loc, tile, index(schedule.stages));
      return address(shared, elements.multiply(number, index(slotBytes)));
    };
    auto load = [&](Value tile) {
      // Behind the last tile there is nothing to load, but a group to count.
      Value there = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, tile, tiles);
      when(there, [&] {
        Value to = slot(tile);
        loadTile(a, tile, to);
        loadTile(b, tile, to);
      });
      NVVM::CpAsyncCommitGroupOp::create(builder, loc);
    };
    for (int64_t stage = 0; stage + 1 < schedule.stages; ++stage)
      load(index(stage));
    Value zero = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0));
    SmallVector<Value> sums(size_t(tilesM() * tilesN() * 4), zero);
    auto loop = scf::ForOp::create(builder, loc, index(0), tiles, index(1), sums);
    elements.inScope([&] {
      builder.setInsertionPointToStart(loop.getBody());
      Value tile = loop.getInductionVar();
      NVVM::CpAsyncWaitGroupOp::create(builder, loc, int32_t(schedule.stages - 2));
      NVVM::Barrier0Op::create(builder, loc);
      load(elements.add(tile, index(schedule.stages - 1)));
      SmallVector<Value> next(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
      Value from = slot(tile);
      for (int64_t step = 0; step < schedule.k / 16; ++step)
        multiplyTiles(a, b, from, step, next);
      scf::YieldOp::create(builder, loc, next);
    });
    NVVM::CpAsyncWaitGroupOp::create(builder, loc, 0);
    writeTile(SmallVector<Value>(loop.getResults()));
    return success();
  }

private:
  /// A or B: where it lies in memory, and its tile in a slot.
  struct Operand : SharedTile {
    Value tensor, pointer;
    Value origin;                             ///< of the tile in m or n
    Value rowExtent, columnExtent, rowStride; ///< of the whole
    Value base;                               ///< of this batch
    bool aligned;                             ///< every row begins at a multiple of 16 bytes
  };

  int64_t tilesM() const { return schedule.m / schedule.warpsM / 16; }
  int64_t tilesN() const { return schedule.n / schedule.warpsN / 8; }
  Value extent(unsigned loop) { return elements.loopExtent(product.op, loop); }

  /// Which tile is this block's, and which part of it this warp's.
  void placeTile() {
    linalg::LinalgOp op = product.op;
    SmallVector<Value> extents;
    AffineExpr grid = getAffineConstantExpr(1, builder.getContext());
    auto sizeExpr = [&](unsigned loop) {
      AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
      for (auto [dim, expr] : llvm::enumerate(map.getResults()))
        if (auto single = dyn_cast<AffineDimExpr>(expr); single && single.getPosition() == loop)
          return tile::sizeOf(op->getResult(0), dim);
      return getAffineConstantExpr(1, builder.getContext());
    };
    for (unsigned loop : product.batches) {
      extents.push_back(extent(loop));
      grid = grid * sizeExpr(loop);
    }
    extents.push_back(divideUp(extent(product.m), schedule.m));
    extents.push_back(divideUp(extent(product.n), schedule.n));
    grid = grid * sizeExpr(product.m).ceilDiv(schedule.m) * sizeExpr(product.n).ceilDiv(schedule.n);
    kernel.setGrid(grid);
    SmallVector<Value> at = elements.delinearize(kernel.block, extents);
    loops.resize(op.getNumLoops());
    for (auto [loop, place] : llvm::zip(product.batches, at))
      loops[loop] = place;
    rowOrigin = elements.multiply(at[at.size() - 2], index(schedule.m));
    columnOrigin = elements.multiply(at.back(), index(schedule.n));
    warpRow = elements.multiply(quotient(warp, schedule.warpsN), index(schedule.m / schedule.warpsM));
    warpColumn = elements.multiply(remainder(warp, schedule.warpsN), index(schedule.n / schedule.warpsN));
  }

  Operand describe(OpOperand *operand, unsigned side, int64_t size, Value origin) {
    Operand made{};
    made.tensor = operand->get();
    made.pointer = kernel.pointers[made.tensor];
    AffineMap map = product.op.getMatchingIndexingMap(operand);
    made.alongK = cast<AffineDimExpr>(map.getResults().back()).getPosition() == product.k;
    made.rows = made.alongK ? size : schedule.k;
    made.columns = made.alongK ? schedule.k : size;
    made.origin = origin;
    made.base = index(0);
    made.aligned = true;
    Value stride = index(1);
    int64_t known = 1;
    for (int64_t dim = map.getNumResults() - 1; dim >= 0; --dim) {
      auto loop = dyn_cast<AffineDimExpr>(map.getResult(dim));
      bool last = dim == int64_t(map.getNumResults()) - 1;
      if (!last)
        made.aligned &= known % chunkElements == 0;
      if (loop && (loop.getPosition() == side || loop.getPosition() == product.k)) {
        (last ? made.columnExtent : made.rowExtent) = elements.size(made.tensor, dim);
        if (!last)
          made.rowStride = stride;
      } else if (loop) {
        made.base = elements.add(made.base, elements.multiply(loops[loop.getPosition()], stride));
      }
      stride = elements.multiply(stride, elements.size(made.tensor, dim));
      int64_t here = cast<ShapedType>(made.tensor.getType()).getDimSize(dim);
      known = ShapedType::isDynamic(here) ? (known % chunkElements == 0 ? chunkElements : 1) : known * here;
    }
    return made;
  }

  void loadTile(const Operand &operand, Value tile, Value slot) {
    Value depth = elements.multiply(tile, index(schedule.k));
    Value rowOrigin = operand.alongK ? operand.origin : depth, columnOrigin = operand.alongK ? depth : operand.origin;
    forChunks(operand, slot, [&](Value row, Value chunk, Value to) {
      Value fromRow = elements.add(rowOrigin, row);
      Value fromColumn = elements.add(columnOrigin, elements.multiply(chunk, index(chunkElements)));
      if (operand.aligned)
        copyInside(operand, fromRow, fromColumn, to);
      else
        gatherChunk(operand, fromRow, fromColumn, to);
    });
  }

  Value globalAddress(const Operand &operand, Value row, Value column) {
    Value linear = elements.add(operand.base, elements.add(elements.multiply(row, operand.rowStride), column));
    Value at = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), linear);
    Type element = getElementTypeOrSelf(operand.tensor.getType());
    return LLVM::GEPOp::create(builder, loc, operand.pointer.getType(), element, operand.pointer,
                               ArrayRef<LLVM::GEPArg>{at});
  }

  /// Null where `row` and `column` are inside whatever they are.
  Value insideOf(const Operand &operand, Value row, Value column) {
    Value inside;
    if (!dividesEvenly(operand.rowExtent, operand.rows))
      inside = isLess(row, operand.rowExtent);
    if (!dividesEvenly(operand.columnExtent, operand.columns))
      inside = both(inside, isLess(column, operand.columnExtent));
    return inside;
  }

  /// A chunk by cp.async. Rows are multiples of 16 bytes, so it is inside or outside.
  void copyInside(const Operand &operand, Value row, Value column, Value to) {
    Value inside = insideOf(operand, row, column);
    if (inside) {
      row = arith::SelectOp::create(builder, loc, inside, row, index(0));
      column = arith::SelectOp::create(builder, loc, inside, column, index(0));
    }
    copyChunk(to, globalAddress(operand, row, column), inside);
  }

  /// Eight elements one by one, zeros where there are none.
  void gatherChunk(const Operand &operand, Value row, Value column, Value to) {
    Type element = getElementTypeOrSelf(operand.tensor.getType()), bits = builder.getI16Type();
    auto type = VectorType::get({chunkElements}, bits);
    Value all = LLVM::UndefOp::create(builder, loc, type);
    Value zero = arith::ConstantIntOp::create(builder, loc, 0, 16);
    for (int64_t i = 0; i < chunkElements; ++i) {
      Value at = elements.add(column, index(i)), fromRow = row;
      Value inside = insideOf(operand, row, at);
      if (inside) {
        fromRow = arith::SelectOp::create(builder, loc, inside, row, index(0));
        at = arith::SelectOp::create(builder, loc, inside, at, index(0));
      }
      Value value = LLVM::LoadOp::create(builder, loc, element, globalAddress(operand, fromRow, at));
      value = arith::BitcastOp::create(builder, loc, bits, value);
      if (inside)
        value = arith::SelectOp::create(builder, loc, inside, value, zero);
      Value lane = LLVM::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(int32_t(i)));
      all = LLVM::InsertElementOp::create(builder, loc, all, value, lane);
    }
    LLVM::StoreOp::create(builder, loc, all, to, /*alignment=*/chunkBytes);
  }

  void multiplyTiles(const Operand &a, const Operand &b, Value slot, int64_t step, SmallVector<Value> &sums) {
    SmallVector<SmallVector<Value>> left, right;
    for (int64_t i = 0; i < tilesM(); ++i)
      left.push_back(loadFragments(a, slot, elements.add(warpRow, index(i * 16)), step * 16, /*isLhs=*/true));
    for (int64_t j = 0; j < tilesN(); j += 2)
      right.push_back(loadFragments(b, slot, elements.add(warpColumn, index(j * 8)), step * 16, /*isLhs=*/false));
    for (int64_t i = 0; i < tilesM(); ++i)
      for (int64_t j = 0; j < tilesN(); ++j)
        multiply(left[size_t(i)], ArrayRef<Value>(right[size_t(j / 2)]).slice(size_t(j % 2) * 2, 2),
                 MutableArrayRef<Value>(sums).slice(size_t(i * tilesN() + j) * 4, 4));
  }

  /// Lane l has rows l / 4 and l / 4 + 8 of each 16 x 8, columns 2 (l % 4) and the next.
  void writeTile(ArrayRef<Value> sums) {
    linalg::LinalgOp op = product.op;
    Value rowInTile = quotient(lane, 4), columnInTile = elements.multiply(remainder(lane, 4), index(2));
    bool wholeRows = dividesEvenly(extent(product.m), schedule.m);
    bool wholeColumns = dividesEvenly(extent(product.n), schedule.n), evenColumns = dividesEvenly(extent(product.n), 2);
    AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
    for (int64_t i = 0; i < tilesM(); ++i)
      for (int64_t half = 0; half < 2; ++half) {
        Value row = elements.add(rowOrigin, elements.add(warpRow, elements.add(index(i * 16 + half * 8), rowInTile)));
        for (int64_t j = 0; j < tilesN(); ++j) {
          Value column = elements.add(columnOrigin, elements.add(warpColumn, elements.add(index(j * 8), columnInTile)));
          // Two columns at a time where they are both inside or both outside.
          int64_t together = wholeColumns || evenColumns ? 2 : 1;
          for (int64_t first = 0; first < 2; first += together) {
            Value at = elements.add(column, index(first)), inside;
            if (!wholeRows)
              inside = isLess(row, extent(product.m));
            if (!wholeColumns)
              inside = both(inside, isLess(at, extent(product.n)));
            const Value *sum = &sums[size_t((i * tilesN() + j) * 4 + half * 2 + first)];
            when(inside, [&] { writeElements(map, row, at, ArrayRef(sum, size_t(together))); });
          }
        }
      }
  }

  void writeElements(AffineMap map, Value row, Value column, ArrayRef<Value> sums) {
    struct Made {
      Value value;
      BlockArgument destination;
      SmallVector<Value> at;
    };
    SmallVector<Made> made;
    for (auto [number, sum] : llvm::enumerate(sums)) {
      loops[product.m] = row;
      loops[product.n] = elements.add(column, index(int64_t(number)));
      SmallVector<Value> at;
      for (AffineExpr expr : map.getResults())
        at.push_back(elements.evaluate(expr, loops));
      Value mine = sum;
      elements.provide(product.op->getResult(0), [mine](ArrayRef<Value>) { return mine; });
      for (auto [value, destination] : kernel.results())
        made.push_back({elements.element(value, at), destination, at});
    }
    for (Made &each : made)
      elements.store(each.value, each.destination, each.at, kernel.pointers[each.destination]);
  }

  Product product;
  SmallVector<Value> loops; ///< places of the product's loops
  Value rowOrigin, columnOrigin, warpRow, warpColumn;
};

} // namespace

LogicalResult emitMma(ThreadKernel &kernel) {
  std::string reason;
  std::optional<Product> product = matchProduct(kernel.from, reason);
  if (!product)
    return kernel.from.emitOpError("its schedule `mma` does not fit: ") << reason;
  // The architecture has been asked when the schedule was chosen.
  if (std::string wrong = whyNotMma(kernel.schedule, INT64_MAX); !wrong.empty())
    return kernel.from.emitOpError("its schedule `mma` cannot be: ") << wrong;
  return MmaEmitter(kernel, std::move(*product)).run();
}

} // namespace tilewright::cuda
