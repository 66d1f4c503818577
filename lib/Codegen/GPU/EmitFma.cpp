//===- EmitFma.cpp - the schedule `fma`: sums of products in registers --------------------===//
//
// A block computes a tile of C, and each thread computes a smaller tile of it in registers. Tiles of A and B are in
// shared memory, one row per k, in two buffers that are used alternately. The elements of the next tiles are loaded
// while the current tiles are multiplied:
//
//   store tile 0 ; barrier
//   for k tiles: load tile + 1 into registers ; for each k: read tileM of A and tileN of B, all products
//                sums += the step's sums ; store tile + 1 into the other buffer ; barrier
//   compute the epilogue from each sum (Elements.h), and store the results
//
// Class Elements (Elements.h) emits the code that computes each element of A or B from its indices. Therefore, an
// operand may consist of windows of a convolution, and may be padded, gathered or computed. f32 is not rounded to tf32.
// Each step has a separate sum, which is then added to the total. Otherwise, rounding errors would accumulate along all
// of k.
//
// Tests: test/Codegen/NVPTX/fma.mlir, test/Python/test_cuda.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/ContractionCode.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

class FmaEmitter : ThreadCode {
public:
  FmaEmitter(ThreadKernel &kernel, Contraction contraction)
      : ThreadCode(kernel), code(kernel, std::move(contraction)), contraction(code.contraction) {}

  LogicalResult run() {
    Side a = describe(contraction.lhs(), contraction.rows, schedule.m, code.rowOrigin);
    Side b = describe(contraction.rhs(), contraction.columns, schedule.n, code.columnOrigin);
    Value depth = code.extentOf(contraction.depth);
    Value tiles = divideUp(depth, schedule.k);
    // If the reduction is empty, no tile is loaded.
    Value there = getConstantIntValue(depth) ? Value() : isLess(index(0), depth);
    when(there, [&] {
      storeTile(a, index(0), loadTile(a, index(0), depth));
      storeTile(b, index(0), loadTile(b, index(0), depth));
    });
    kernel.barrier();
    Type type = getElementTypeOrSelf(contraction.op->getResult(0).getType());
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    SmallVector<Value> sums(size_t(schedule.tileM * schedule.tileN), zero);
    auto loop = scf::ForOp::create(builder, loc, index(0), tiles, index(1), sums);
    elements.inScope([&] {
      builder.setInsertionPointToStart(loop.getBody());
      Value tile = loop.getInductionVar(), after = elements.add(tile, index(1));
      // There is no tile after the last tile, so load the last tile again. This second copy is not used.
      Value last = arith::SubIOp::create(builder, loc, tiles, index(1));
      Value next = arith::MinUIOp::create(builder, loc, after, last);
      SmallVector<Value> nextA = loadTile(a, next, depth), nextB = loadTile(b, next, depth);
      SmallVector<Value> step(sums.size(), zero), all(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
      Value slot = arith::RemUIOp::create(builder, loc, tile, index(2));
      for (int64_t k = 0; k < schedule.k; ++k)
        multiply(a, b, slot, k, step);
      for (auto [sum, added] : llvm::zip_equal(all, step))
        sum = isa<FloatType>(type) ? arith::AddFOp::create(builder, loc, sum, added).getResult()
                                   : arith::AddIOp::create(builder, loc, sum, added).getResult();
      Value other = arith::RemUIOp::create(builder, loc, after, index(2));
      storeTile(a, other, nextA);
      storeTile(b, other, nextB);
      kernel.barrier();
      scf::YieldOp::create(builder, loc, all);
    });
    writeTile(SmallVector<Value>(loop.getResults()));
    return success();
  }

private:
  /// An operand, A or B, with its two tiles in shared memory.
  struct Side {
    Value tensor;
    AffineMap map;
    Type stored;
    ArrayRef<unsigned> loops; ///< the loops that index rows or columns
    Value extent;             ///< product of the loops' sizes
    Value origin;             ///< first row or column of the block's tile
    int64_t size;             ///< number of rows or columns of the tile
    int64_t pitch;            ///< distance from one k to the next, in elements
    bool alongK;              ///< elements that are adjacent in memory are adjacent in k
    Value shared;             ///< address of the first tile
    Value first;              ///< this thread's first row or column in the tile
    int64_t mine = 0;         ///< the number of this thread's rows or columns
  };

  /// Returns `position`, clamped to the last index of `extent`. If `extent` is a multiple of `by`, the size of a tile,
  /// all positions are in range and are not clamped.
  Value clamped(Value position, Value extent, int64_t by) {
    if (dividesEvenly(extent, by))
      return position;
    Value last = arith::SubIOp::create(builder, loc, extent, index(1));
    return arith::MinUIOp::create(builder, loc, position, last);
  }

  Side describe(OpOperand *operand, ArrayRef<unsigned> group, int64_t size, Value origin) {
    Side side{};
    side.tensor = operand->get();
    side.map = contraction.op.getMatchingIndexingMap(operand);
    side.stored = memoryType(getElementTypeOrSelf(side.tensor.getType()));
    side.loops = group;
    side.extent = code.extentOf(group);
    side.origin = origin;
    side.size = size;
    side.pitch = size + paddingOf(side.stored);
    AffineExpr last = side.map.getNumResults() ? side.map.getResults().back() : AffineExpr();
    side.alongK = last && llvm::any_of(contraction.depth, [&](unsigned loop) { return last.isFunctionOfDim(loop); }) &&
                  llvm::none_of(group, [&](unsigned loop) { return last.isFunctionOfDim(loop); });
    side.shared = kernel.allocateShared(2 * schedule.k * side.pitch * side.stored.getIntOrFloatBitWidth() / 8);
    bool isLhs = operand == contraction.lhs();
    side.mine = isLhs ? schedule.tileM : schedule.tileN;
    int64_t across = schedule.n / schedule.tileN;
    side.first =
        elements.multiply(isLhs ? quotient(kernel.thread, across) : remainder(kernel.thread, across), index(side.mine));
    return side;
  }

  /// Returns the k and the row (or column) of element `number` of a tile.
  std::pair<Value, Value> positionInTile(const Side &side, Value number) {
    if (side.alongK)
      return {remainder(number, schedule.k), quotient(number, schedule.k)};
    return {quotient(number, side.size), remainder(number, side.size)};
  }

  SmallVector<Value> loadTile(const Side &side, Value tile, Value depth) {
    SmallVector<Value> values;
    for (int64_t first = 0; first < side.size * schedule.k; first += schedule.threads) {
      auto [k, position] = positionInTile(side, elements.add(kernel.thread, index(first)));
      k = elements.add(elements.multiply(tile, index(schedule.k)), k);
      Value at = clamped(elements.add(side.origin, position), side.extent, side.size);
      SmallVector<Value> from =
          code.indicesOf(side.map, side.loops, at, contraction.depth, clamped(k, depth, schedule.k));
      Value value = toMemory(builder, loc, elements.element(side.tensor, from));
      if (!dividesEvenly(depth, schedule.k)) { // elements after the end of the reduction are zero
        Value none = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(side.stored));
        value = arith::SelectOp::create(builder, loc, isLess(k, depth), value, none);
      }
      values.push_back(value);
    }
    return values;
  }

  /// Returns the address of an element of a tile in shared memory.
  Value address(const Side &side, Value slot, Value k, Value position) {
    Value row = elements.add(elements.multiply(slot, index(schedule.k)), k);
    Value linear = elements.add(elements.multiply(row, index(side.pitch)), position);
    Value number = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), linear);
    return LLVM::GEPOp::create(builder, loc, side.shared.getType(), side.stored, side.shared,
                               ArrayRef<LLVM::GEPArg>{number});
  }

  void storeTile(const Side &side, Value slot, ArrayRef<Value> values) {
    for (auto [number, value] : llvm::enumerate(values)) {
      Value at = elements.add(kernel.thread, index(int64_t(number) * schedule.threads));
      auto [k, position] = positionInTile(side, at);
      LLVM::StoreOp::create(builder, loc, value, address(side, slot, k, position));
    }
  }

  SmallVector<Value> readTile(const Side &side, Value slot, int64_t k) {
    SmallVector<Value> values;
    Type type = getElementTypeOrSelf(side.tensor.getType());
    for (int64_t i = 0; i < side.mine; ++i) {
      Value from = address(side, slot, index(k), elements.add(side.first, index(i)));
      values.push_back(fromMemory(builder, loc, LLVM::LoadOp::create(builder, loc, side.stored, from), type));
    }
    return values;
  }

  /// Allows the product of two floats and its addition to the sum to be contracted to an FMA, which rounds once.
  static void fuse(Operation *op) {
    auto allow = [](auto floats) { floats.setFastmath(floats.getFastmath() | arith::FastMathFlags::contract); };
    if (auto product = dyn_cast<arith::MulFOp>(op))
      allow(product);
    else if (auto sum = dyn_cast<arith::AddFOp>(op))
      allow(sum);
  }

  void multiply(const Side &a, const Side &b, Value slot, int64_t k, MutableArrayRef<Value> sums) {
    SmallVector<Value> left = readTile(a, slot, k), right = readTile(b, slot, k);
    Block &body = *contraction.op.getBlock();
    for (int64_t i = 0; i < schedule.tileM; ++i)
      for (int64_t j = 0; j < schedule.tileN; ++j) {
        Value &sum = sums[size_t(i * schedule.tileN + j)];
        IRMapping mapping;
        mapping.map(body.getArgument(0), left[size_t(i)]);
        mapping.map(body.getArgument(1), right[size_t(j)]);
        mapping.map(body.getArgument(2), sum);
        for (Operation &inner : body.without_terminator())
          fuse(builder.clone(inner, mapping));
        sum = mapping.lookup(body.getTerminator()->getOperand(0));
      }
  }

  void writeTile(ArrayRef<Value> sums) {
    int64_t across = schedule.n / schedule.tileN;
    Value firstRow = elements.multiply(quotient(kernel.thread, across), index(schedule.tileM));
    Value firstColumn = elements.multiply(remainder(kernel.thread, across), index(schedule.tileN));
    Value rows = code.extentOf(contraction.rows), columns = code.extentOf(contraction.columns);
    // If the number of columns is a multiple of tileN, either all or none of a thread's columns are inside of C, so one
    // condition suffices for the stores of a row. Otherwise each column has a separate condition.
    int64_t together = dividesEvenly(columns, schedule.tileN) ? schedule.tileN : 1;
    for (int64_t i = 0; i < schedule.tileM; ++i) {
      Value row = elements.add(code.rowOrigin, elements.add(firstRow, index(i)));
      for (int64_t j = 0; j < schedule.tileN; j += together) {
        Value column = elements.add(code.columnOrigin, elements.add(firstColumn, index(j))), inside;
        if (!dividesEvenly(rows, schedule.m))
          inside = isLess(row, rows);
        if (!dividesEvenly(columns, schedule.n))
          inside = both(inside, isLess(column, columns));
        if (together > 1)
          elements.assumeMultiple(column, together);
        when(inside, [&] { code.write(row, column, sums.slice(size_t(i * schedule.tileN + j), size_t(together))); });
      }
    }
  }

  ContractionCode code;
  Contraction &contraction;
};

} // namespace

LogicalResult emitFma(ThreadKernel &kernel) {
  std::string reason;
  std::optional<Contraction> contraction = matchContraction(kernel.from, reason);
  if (!contraction)
    return kernel.from.emitOpError("its schedule `fma` does not fit: ") << reason;
  if (std::string wrong = whyNotFma(kernel.schedule, *contraction); !wrong.empty())
    return kernel.from.emitOpError("its schedule `fma` is invalid: ") << wrong;
  return FmaEmitter(kernel, std::move(*contraction)).run();
}

} // namespace tilewright::gpu
