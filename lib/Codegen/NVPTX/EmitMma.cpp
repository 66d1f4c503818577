//===- EmitMma.cpp - the schedule `mma`: products on tensor cores by mma.sync --------------===//
//
// A block computes a tile of C. Tiles of A and B are copied to a ring of `stages` slots in shared memory. Depending on
// the layout of an operand and the alignment of its rows, its tiles are copied by cp.async of 16, 8 or 4 bytes, or
// element by element:
//
//   load tiles 0 ... stages - 2
//   for k tiles: wait for the oldest ; barrier ; load tile + stages - 1 into the slot that all warps have released ;
//                for each 32 bytes along k: ldmatrix A and B, mma (m16n8k16 for 16-bit types)
//   compute the epilogue from the sums (ContractionCode.h), and store the results
//
// TileCode.h describes the layout of a tile in its slot. Elements outside of A and B are loaded as zeros. Results
// outside of C are not stored.
//
// Tests: test/Codegen/NVPTX/product.mlir, test/Python/test_cuda.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/ContractionCode.h"
#include "lib/Codegen/GPU/Schedule/Product.h"
#include "lib/Codegen/NVPTX/EmitTensorCores.h"
#include "lib/Codegen/NVPTX/TileCode.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tilewright::cuda {
using namespace tilewright::gpu;
namespace {

class MmaEmitter : TileCode {
public:
  MmaEmitter(ThreadKernel &kernel, Contraction product)
      : TileCode(kernel, elementOf(product), rhsElementOf(product)), code(kernel, std::move(product)),
        product(code.contraction) {}

  LogicalResult run() {
    warpRow = elements.multiply(quotient(warp, schedule.warpsN), index(schedule.m / schedule.warpsM));
    warpColumn = elements.multiply(remainder(warp, schedule.warpsN), index(schedule.n / schedule.warpsN));
    Operand a = describe(product.lhs(), product.rows, schedule.m, code.rowOrigin);
    Operand b = describe(product.rhs(), product.columns, schedule.n, code.columnOrigin);
    int64_t slotBytes = a.bytes() + b.bytes();
    Value shared = kernel.allocateShared(slotBytes * schedule.stages);
    b.slotOffset = a.bytes();
    Value depth = code.extentOf(product.depth);
    Value tiles = divideUp(depth, schedule.k);
    auto slot = [&](Value tile) {
      Value number = arith::RemUIOp::create(builder, loc, tile, index(schedule.stages));
      return address(shared, elements.multiply(number, index(slotBytes)));
    };
    auto load = [&](Value tile) {
      // There is no tile to load after the last tile. Commit an empty group of copies instead, so that the number of
      // groups does not change.
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
    Type sumType = element.isInteger() ? Type(builder.getI32Type()) : builder.getF32Type();
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(sumType));
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
      SmallVector<Value> sumsOfTile = addsTiles(product) ? SmallVector<Value>(next.size(), zero) : next;
      for (int64_t step = 0; step < schedule.k / stepOf(element); ++step)
        multiplyTiles(a, b, from, step, sumsOfTile);
      next = addsTiles(product) ? code.added(next, sumsOfTile) : sumsOfTile;
      scf::YieldOp::create(builder, loc, next);
    });
    // All groups of copies that are still pending are empty, so the kernel does not wait for them.
    code.writeFragments(lane, warpRow, warpColumn, {tilesM(), tilesN(), /*rowStep=*/16},
                        SmallVector<Value>(loop.getResults()));
    return success();
  }

private:
  /// An operand, A or B, with its position in memory and its tile in a slot.
  struct Operand : SharedTile {
    Value tensor, pointer;
    AffineMap map;
    ArrayRef<unsigned> rowLoops, columnLoops; ///< if `unit` > 0, the last column loop is contiguous
    Value origin;                             ///< origin of the tile in m or n
    Value rowExtent, columnExtent;            ///< extents of the whole operand
    int64_t unit; ///< contiguous, aligned elements per cp.async; 0 if cp.async cannot be used
  };

  int64_t tilesM() const { return schedule.m / schedule.warpsM / 16; }
  int64_t tilesN() const { return schedule.n / schedule.warpsN / 8; }
  Operand describe(OpOperand *operand, ArrayRef<unsigned> side, int64_t size, Value origin) {
    Operand made{};
    made.tensor = operand->get();
    made.pointer = kernel.pointers[made.tensor];
    made.map = product.op.getMatchingIndexingMap(operand);
    bool liesAlongK = cast<AffineDimExpr>(made.map.getResults().back()).getPosition() == product.depth.back();
    made.elementBytes = bytesOf(element);
    made.alongK = liesAlongK || made.elementBytes == 1;
    made.rows = made.alongK ? size : schedule.k;
    made.columns = made.alongK ? schedule.k : size;
    made.rowLoops = made.alongK ? side : ArrayRef<unsigned>(product.depth);
    made.columnLoops = made.alongK ? ArrayRef<unsigned>(product.depth) : side;
    made.rowExtent = code.extentOf(made.rowLoops);
    made.columnExtent = code.extentOf(made.columnLoops);
    made.origin = origin;
    // A unit is the part of an operand that one cp.async copies. It must be within one dimension. Therefore, the
    // strides of all other dimensions must be multiples of a unit.
    auto type = cast<ShapedType>(made.tensor.getType());
    int64_t last = type.getShape().back();
    auto isUnit = [&](int64_t unit) {
      return (unit == 1 || type.getRank() == 1 || (!ShapedType::isDynamic(last) && last % unit == 0)) &&
             (made.columnLoops.size() == 1 || dividesEvenly(code.extentsOf(made.columnLoops).back(), unit));
    };
    constexpr int64_t leastBytes = 4;
    for (int64_t unit = chunkElements; unit * made.elementBytes >= leastBytes && !made.unit; unit /= 2)
      if (made.alongK == liesAlongK && isUnit(unit))
        made.unit = unit;
    return made;
  }

  void loadTile(const Operand &operand, Value tile, Value slot) {
    Value depth = elements.multiply(tile, index(schedule.k));
    Value rowOrigin = operand.alongK ? operand.origin : depth, columnOrigin = operand.alongK ? depth : operand.origin;
    auto load = [&](Value row, Value chunk, Value to) {
      Value fromRow = elements.add(rowOrigin, row);
      Value fromColumn = elements.add(columnOrigin, elements.multiply(chunk, index(chunkElements)));
      if (!operand.unit)
        return gatherChunk(operand, fromRow, fromColumn, to);
      for (int64_t first = 0; first < chunkElements; first += operand.unit)
        copyInside(operand, fromRow, elements.add(fromColumn, index(first)),
                   first ? address(to, index(first * operand.elementBytes)) : to);
    };
    forChunks(operand, slot, load, /*rolled=*/operand.unit != chunkElements);
  }

  Value globalAddress(const Operand &operand, Value row, Value column) {
    SmallVector<Value> indices = code.indicesOf(operand.map, operand.rowLoops, row, operand.columnLoops, column);
    Value linear = elements.linearize(indices, elements.extents(operand.tensor));
    linear = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), linear);
    return LLVM::GEPOp::create(builder, loc, operand.pointer.getType(), memoryType(element), operand.pointer,
                               ArrayRef<LLVM::GEPArg>{linear});
  }

  /// Returns the condition that `row` and `column` are inside the operand, or null if it is always true.
  Value insideOf(const Operand &operand, Value row, Value column) {
    Value inside;
    if (!dividesEvenly(operand.rowExtent, operand.rows))
      inside = isLess(row, operand.rowExtent);
    if (!dividesEvenly(operand.columnExtent, operand.columns))
      inside = both(inside, isLess(column, operand.columnExtent));
    return inside;
  }

  /// Copies a unit by cp.async. Row lengths are multiples of a unit, so a unit is either all inside or all outside of
  /// the operand.
  void copyInside(const Operand &operand, Value row, Value column, Value to) {
    Value inside = insideOf(operand, row, column);
    if (inside) {
      row = arith::SelectOp::create(builder, loc, inside, row, index(0));
      column = arith::SelectOp::create(builder, loc, inside, column, index(0));
    }
    copyBytes(operand.unit * operand.elementBytes, to, globalAddress(operand, row, column), inside);
  }

  /// Loads a chunk element by element, with zeros for elements outside of the operand.
  void gatherChunk(const Operand &operand, Value row, Value column, Value to) {
    Type bits = builder.getIntegerType(unsigned(bytesOf(element)) * 8);
    auto type = VectorType::get({chunkElements}, bits);
    Value all = LLVM::UndefOp::create(builder, loc, type);
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(bits));
    for (int64_t i = 0; i < chunkElements; ++i) {
      Value at = elements.add(column, index(i)), fromRow = row;
      Value inside = insideOf(operand, row, at);
      if (inside) {
        fromRow = arith::SelectOp::create(builder, loc, inside, row, index(0));
        at = arith::SelectOp::create(builder, loc, inside, at, index(0));
      }
      Value value = LLVM::LoadOp::create(builder, loc, memoryType(element), globalAddress(operand, fromRow, at));
      if (value.getType() != bits)
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
      left.push_back(
          loadFragments(a, slot, elements.add(warpRow, index(i * 16)), step * stepOf(element), /*isLhs=*/true));
    for (int64_t j = 0; j < tilesN(); j += 2)
      right.push_back(
          loadFragments(b, slot, elements.add(warpColumn, index(j * 8)), step * stepOf(element), /*isLhs=*/false));
    for (int64_t i = 0; i < tilesM(); ++i)
      for (int64_t j = 0; j < tilesN(); ++j)
        multiply(left[size_t(i)], ArrayRef<Value>(right[size_t(j / 2)]).slice(size_t(j % 2) * 2, 2),
                 MutableArrayRef<Value>(sums).slice(size_t(i * tilesN() + j) * 4, 4));
  }

  ContractionCode code;
  Contraction &product;
  Value warpRow, warpColumn; ///< position of this warp's part in the block's tile
};

} // namespace

LogicalResult emitMma(ThreadKernel &kernel) {
  std::string reason;
  std::optional<Contraction> product = matchContraction(kernel.from, reason);
  if (product)
    reason = whyNotOnTensorCores(*product, TensorFormats());
  if (!reason.empty())
    return kernel.from.emitOpError("its schedule `mma` does not fit: ") << reason;
  // The limit is INT64_MAX, because the size of shared memory is checked when a schedule is selected or measured.
  if (std::string wrong = whyNotMma(kernel.schedule, *product, INT64_MAX); !wrong.empty())
    return kernel.from.emitOpError("its schedule `mma` is invalid: ") << wrong;
  return MmaEmitter(kernel, std::move(*product)).run();
}

} // namespace tilewright::cuda
