//===- TileKernel.cpp - products on AMX tiles --------------------------------------===//
#include "lib/Codegen/CPU/MicroKernels/TileKernel.h"
#include "mlir/Dialect/AMX/AMXDialect.h"
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

/// Specifies how C is updated. Product: the product overwrites C. Added: the product is added to C, and the buffer of A
/// has whole tiles of rows and k. AddedInParts: like Added, but the operands are split into high and low parts
/// (SplitKernel.h).
enum class TileSums { Product, Added, AddedInParts };

class TileEmitter {
public:
  TileEmitter(OpBuilder &builder, Location loc, const BlockAccess &access, int64_t panel, int64_t rowsOfTile,
              TileSums sums = TileSums::Product)
      : builder(builder), loc(loc), access(access), vectors(panel / tileColumns),
        element(cast<MemRefType>(access.rhs.getType()).getElementType()),
        sumElement(cast<MemRefType>(access.out.getType()).getElementType()),
        elementBytes(element.getIntOrFloatBitWidth() / 8), tileDepth(tileRowBytes / elementBytes),
        tileReductionBlock(tileReductionBytes / elementBytes), rowsOfTile(rowsOfTile),
        accumulatorType(amx::TileType::get({rowsOfTile, tileColumns}, sumElement)),
        lhsType(amx::TileType::get({rowsOfTile, tileDepth}, element)),
        rhsType(amx::TileType::get({tileRows, tileDepth}, element)), adds(sums != TileSums::Product),
        split(sums == TileSums::AddedInParts) {
    lhsRowStride =
        arith::MulIOp::create(builder, loc, strideOf(access.lhs, access.lhsRowDim), constant(access.lhsRowStep));
    lhsDepthContiguous = access.lhsDepthContiguous();
    rhsRowStride = strideOf(access.rhs, cast<MemRefType>(access.rhs.getType()).getRank() - 2);
    outRowStride = strideOf(access.out, access.outRowDim);
    depth = access.reductionSizes.back();
    depthWhole = apply(depth, d0() - d0() % tileDepth);
    std::optional<int64_t> known = getConstantIntValue(depth);
    hasTail = !known || *known % tileDepth;
  }

  void rows(OpFoldResult rows) {
    std::optional<int64_t> known = getConstantIntValue(rows);
    Value total = getValueOrCreateConstantIndexOp(builder, loc, rows);
    const bool padRest = !adds;
    const int64_t blockRows = 2 * rowsOfTile;
    rowBlocks = known.value_or(128) / blockRows;
    Value whole = apply(total, d0() - d0() % blockRows);
    if (!known || *known >= blockRows) {
      wholeBlocks(whole);
      if (!access.wholePanels)
        access.overPanels([&] {
          inPanel(/*whole=*/false, [&] {
            overRows(whole, [&](Value first) { padded(2, first, constant(blockRows), /*padRows=*/false); });
          });
        });
    }
    if (known) {
      int64_t rest = *known % blockRows;
      if (rest == rowsOfTile)
        wholeRest(whole);
      else if (rest)
        access.overPanels([&] { padded(rest > rowsOfTile ? 2 : 1, constant(*known - rest), constant(rest), padRest); });
      return;
    }
    Value rest = arith::SubIOp::create(builder, loc, total, whole);
    auto when = [&](arith::CmpIPredicate predicate, int64_t bound) -> Value {
      return arith::CmpIOp::create(builder, loc, predicate, rest, constant(bound));
    };
    Value few = arith::AndIOp::create(builder, loc, when(arith::CmpIPredicate::sgt, 0),
                                      when(arith::CmpIPredicate::slt, rowsOfTile));
    for (int64_t tiles : {1, 2})
      inside(tiles == 1 ? few : when(arith::CmpIPredicate::sgt, rowsOfTile),
             [&] { access.overPanels([&] { padded(tiles, whole, rest, padRest); }); });
    inside(when(arith::CmpIPredicate::eq, rowsOfTile), [&] { wholeRest(whole); });
  }

  Value rowsLeft; ///< first row for which access.rowsDone was not called; null: it was never called

private:
  using Tiles = SmallVector<Value>;

  AffineExpr d0() { return builder.getAffineDimExpr(0); }
  Value constant(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  Value apply(Value value, AffineExpr expr) {
    return getValueOrCreateConstantIndexOp(
        builder, loc,
        affine::makeComposedFoldedAffineApply(builder, loc, AffineMap::get(1, 0, expr), {OpFoldResult(value)}));
  }
  Value add(Value a, Value b) { return arith::AddIOp::create(builder, loc, a, b); }
  Value plus(Value a, int64_t b) { return b == 0 ? a : add(a, constant(b)); }

  Value strideOf(Value value, int64_t dim) {
    if (std::optional<int64_t> known = staticStride(value, dim))
      return constant(*known);
    return memref::ExtractStridedMetadataOp::create(builder, loc, value).getStrides()[dim];
  }

  /// Returns the pad for elements of type `of`. The pad is a buffer in the kernel's stack frame for tiles that are not
  /// accessed in place: tiles of C if `of` is the type of the sums, otherwise tiles of A. The first call allocates the
  /// buffer.
  Value pad(Type of) {
    bool sums = of == sumElement;
    Value &have = sums ? outPad : lhsPad;
    if (have)
      return have;
    have = onStack(builder, loc, {2 * tileRows, sums ? 2 * tileColumns : tileDepth}, of);
    return have;
  }

  void overRows(Value end, function_ref<void(Value)> body) {
    auto loop = scf::ForOp::create(builder, loc, constant(0), end, constant(2 * rowsOfTile));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }

  void inside(Value condition, function_ref<void()> body) {
    auto branch = scf::IfOp::create(builder, loc, TypeRange(), condition, /*withElse=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    body();
  }
  /// Emits `body` under a condition on the columns of the current panel. If `whole` is true, the condition is that all
  /// of them are columns of C, otherwise that some of them are not. If access.wholePanels is set, `body` is emitted
  /// without a condition.
  void inPanel(bool whole, function_ref<void()> body) {
    if (access.wholePanels)
      return body();
    Value left = arith::SubIOp::create(builder, loc, access.columns, access.firstColumn);
    inside(arith::CmpIOp::create(builder, loc, whole ? arith::CmpIPredicate::sge : arith::CmpIPredicate::slt, left,
                                 constant(vectors * tileColumns)),
           body);
  }

  /// Computes one complete tile of rows, starting at row `first`.
  void wholeRest(Value first) {
    auto tiles = [&] { return sums(adds ? load(1, first) : zeros(1), 1, first, Value()); };
    access.overPanels([&] {
      inPanel(/*whole=*/true, [&] { store(tiles(), 1, first); });
      if (!access.wholePanels)
        inPanel(/*whole=*/false, [&] { padded(1, first, constant(rowsOfTile), /*padRows=*/false); });
    });
  }

  /// Computes the rows before `end` in blocks of two tiles. Skips panels with padding columns, which are not columns of
  /// C.
  void wholeBlocks(Value end) {
    auto everyBlock = [&](function_ref<Tiles(Value)> tilesOf) {
      access.overPanels([&] {
        inPanel(/*whole=*/true, [&] { overRows(end, [&](Value first) { store(tilesOf(first), 2, first); }); });
      });
    };
    if (adds) {
      fetchDepth = getConstantIntValue(depth).value_or(0);
      return everyBlock([&](Value first) {
        fetchFrom = fetchDepth ? constant(0) : Value();
        Tiles tiles = sums(load(2, first), 2, first, Value());
        fetchFrom = Value();
        return tiles;
      });
    }
    const bool single = access.hasOneRun();
    SmallVector<Value> outerIndices(access.reductionSizes.size() - 1, constant(0));
    std::optional<int64_t> known = getConstantIntValue(depth);
    if (single && known && *known <= tileReductionBlock + tileReductionBlock / 4 && *known % tileDepth == 0 &&
        access.rowsDone && access.wholePanels) {
      fetchDepth = *known;
      return whenThereAre(
          end, [&] { overlappedBlocks(end, outerIndices, constant(0), constant(*known), *known / tileDepth); });
    }
    if (!single || (known && *known <= tileReductionBlock + tileReductionBlock / 4))
      return everyBlock([&](Value first) {
        fetchFrom = single && known ? constant(0) : Value();
        fetchDepth = single && known ? *known : 0;
        Tiles tiles = reduce(0, zeros(2), {}, 2, first, constant(0), depthWhole, Value());
        fetchFrom = Value();
        return tiles;
      });
    // If K is known, search for a number of K-blocks such that all K-blocks have the same length. The length must be a
    // multiple of the depth of a tile and at most `tileReductionBlock`. If there is no such number, the last K-block
    // may be shorter than the others.
    int64_t block = tileReductionBlock;
    bool even = false;
    if (known) {
      int64_t blocks = llvm::divideCeil(*known, tileReductionBlock);
      block = llvm::alignTo(llvm::divideCeil(*known, blocks), tileDepth);
      for (int64_t more = blocks; !even && more <= blocks + blocks / 2; ++more)
        if (*known % (more * tileDepth) == 0) {
          block = *known / more;
          even = true;
        }
    }
    auto least = [&](Value from) {
      AffineExpr d1 = builder.getAffineDimExpr(1);
      return getValueOrCreateConstantIndexOp(
          builder, loc,
          affine::makeComposedFoldedAffineMin(builder, loc,
                                              AffineMap::get(2, 0, {d0() + block, d1}, builder.getContext()),
                                              {OpFoldResult(from), OpFoldResult(depthWhole)}));
    };
    Value zero = constant(0), firstEnd = least(zero);
    fetchDepth = block;
    const bool overlap = even && !hasTail && access.rowsDone && access.wholePanels;
    auto fetchingSteps = [&](Tiles tiles, Value first, Value from, Value to) {
      fetchFrom = from;
      tiles = steps(tiles, outerIndices, 2, first, from, to);
      fetchFrom = Value();
      return tiles;
    };
    everyBlock([&](Value first) { return fetchingSteps(zeros(2), first, zero, firstEnd); });
    {
      Value end = overlap ? constant(*known - block) : depthWhole;
      auto loop = scf::ForOp::create(builder, loc, constant(block), end, constant(block));
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBody());
      Value from = loop.getInductionVar(), to = even ? plus(from, block) : least(from);
      everyBlock([&](Value first) { return fetchingSteps(load(2, first), first, from, to); });
    }
    if (overlap)
      whenThereAre(end, [&] {
        overlappedBlocks(end, outerIndices, constant(*known - block), constant(*known), block / tileDepth);
      });
    if (hasTail)
      inside(arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, depthWhole, depth), [&] {
        everyBlock([&](Value first) { return tail(load(2, first), outerIndices, 2, first, constant(2 * rowsOfTile)); });
      });
  }

  /// Emits `blocks`, which calls overlappedBlocks(), under the condition that `end` is not zero. Sets `rowsLeft` to the
  /// first row of the last block, or to 0 if there is no block.
  void whenThereAre(Value end, function_ref<void()> blocks) {
    const int64_t blockRows = 2 * rowsOfTile;
    if (std::optional<int64_t> known = getConstantIntValue(end)) {
      rowsLeft = constant(*known - blockRows);
      return blocks();
    }
    Value zero = constant(0);
    rowsLeft = arith::MaxSIOp::create(builder, loc, zero, apply(end, d0() - blockRows));
    inside(arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sgt, end, zero), blocks);
  }

  /// Emits the last K-block, which has `count` steps. While the tile unit computes a block of two tiles of rows, each
  /// step calls access.rowsDone for a few rows of the previous block. It does not call access.rowsDone for the last
  /// block (`rowsLeft`).
  void overlappedBlocks(Value end, const SmallVector<Value> &outerIndices, Value from, Value to, int64_t count) {
    const int64_t blockRows = 2 * rowsOfTile;
    fetchFrom = from;
    const int64_t rows = llvm::divideCeil(blockRows, count);
    access.overPanels([&] {
      store(steps(begin(from, constant(0)), outerIndices, 2, constant(0), from, to), 2, constant(0));
      auto loop = scf::ForOp::create(builder, loc, constant(blockRows), end, constant(blockRows));
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBody());
      Value first = loop.getInductionVar();
      duringStep = [&](Value k) {
        AffineExpr d1 = builder.getAffineDimExpr(1), d2 = builder.getAffineDimExpr(2);
        AffineExpr done = d0() - blockRows + (d1 - d2).floorDiv(tileDepth) * rows;
        auto least = [&](AffineExpr row) {
          return getValueOrCreateConstantIndexOp(
              builder, loc,
              affine::makeComposedFoldedAffineMin(builder, loc, AffineMap::get(3, 0, {row, d0()}, builder.getContext()),
                                                  {OpFoldResult(first), OpFoldResult(k), OpFoldResult(from)}));
        };
        access.rowsDone(builder, least(done), least(done + rows));
      };
      Tiles tiles = steps(begin(from, first), outerIndices, 2, first, from, to);
      duringStep = nullptr;
      store(tiles, 2, first);
    });
    fetchFrom = Value();
  }

  /// Computes one block of `count` tiles of rows, of which only the first `valid` rows exist. The sums are stored in
  /// the pad, and the rows and columns that exist are copied to C, or added to C if `adds` is set. If `padRows` is set,
  /// A is copied to the pad as well.
  void padded(int64_t count, Value first, Value valid, bool padRows) {
    if (padRows)
      clearPad();
    Tiles tiles = sums(zeros(count), count, first, padRows ? valid : Value());
    Value out = pad(sumElement);
    for (auto [index, tile] : llvm::enumerate(tiles))
      amx::TileStoreOp::create(
          builder, loc, out,
          ValueRange{constant(index / vectors * rowsOfTile), constant(index % vectors * tileColumns)}, tile,
          constant(2 * tileColumns));
    auto loop = scf::ForOp::create(builder, loc, constant(0), valid, constant(1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    VectorType type = VectorType::get({tileColumns}, sumElement);
    VectorType maskType = VectorType::get({tileColumns}, builder.getI1Type());
    for (int64_t v = 0; v < vectors; ++v) {
      Value column = plus(access.firstColumn, v * tileColumns);
      Value value = vector::LoadOp::create(builder, loc, type, out,
                                           ValueRange{loop.getInductionVar(), constant(v * tileColumns)});
      Value mask = vector::CreateMaskOp::create(
          builder, loc, maskType, ValueRange{arith::SubIOp::create(builder, loc, access.columns, column)});
      SmallVector<Value> at = access.outAt(builder, add(first, loop.getInductionVar()), column);
      if (adds) {
        Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
        value = arith::AddFOp::create(builder, loc, value,
                                      vector::MaskedLoadOp::create(builder, loc, type, access.out, at, mask, zero));
      }
      vector::MaskedStoreOp::create(builder, loc, access.out, at, mask, value);
    }
  }

  Tiles zeros(int64_t count) {
    Tiles tiles;
    for (int64_t i = 0; i < count * vectors; ++i)
      tiles.push_back(amx::TileZeroOp::create(builder, loc, accumulatorType));
    return tiles;
  }

  SmallVector<Value> outAt(int64_t index, Value first) {
    return access.outAt(builder, plus(first, index / vectors * rowsOfTile),
                        plus(access.firstColumn, index % vectors * tileColumns));
  }
  Tiles load(int64_t count, Value first) {
    Tiles tiles;
    for (int64_t i = 0; i < count * vectors; ++i)
      tiles.push_back(
          amx::TileLoadOp::create(builder, loc, accumulatorType, access.out, outAt(i, first), outRowStride));
    return tiles;
  }
  /// Returns the initial accumulators of a K-block: zero for the first K-block, otherwise C.
  Tiles begin(Value from, Value first) { return isConstantIntValue(from, 0) ? zeros(2) : load(2, first); }
  void store(const Tiles &tiles, int64_t count, Value first) {
    for (int64_t i = 0; i < count * vectors; ++i)
      amx::TileStoreOp::create(builder, loc, access.out, outAt(i, first), tiles[i], outRowStride);
  }

  /// Returns `tiles` plus the whole product, for `count` tiles of rows starting at row `first`. If `validRows` is not
  /// null, only this number of rows of A may be read.
  Tiles sums(Tiles tiles, int64_t count, Value first, Value validRows) {
    if (split)
      return splitSteps(tiles, count, first);
    if (adds)
      return steps(tiles, {}, count, first, constant(0), depth);
    return reduce(0, tiles, {}, count, first, constant(0), depthWhole, validRows);
  }

  /// Emits the loops around the innermost reduction. Their body consists of the steps from `from` to `to`, and of the
  /// tail.
  Tiles reduce(size_t level, Tiles tiles, SmallVector<Value> ivs, int64_t count, Value first, Value from, Value to,
               Value validRows) {
    if (level + 1 == access.reductionSizes.size()) {
      if (!validRows && lhsDepthContiguous) {
        tiles = steps(tiles, ivs, count, first, from, to);
        return hasTail ? tail(tiles, ivs, count, first, constant(count * rowsOfTile)) : tiles;
      }
      return paddedSteps(tiles, ivs, count, first, from, depth, validRows ? validRows : constant(count * rowsOfTile));
    }
    if (isConstantIntValue(access.reductionSizes[level], 1)) {
      ivs.push_back(constant(0));
      return reduce(level + 1, tiles, ivs, count, first, from, to, validRows);
    }
    auto loop = scf::ForOp::create(builder, loc, constant(0), access.reductionSizes[level], constant(1), tiles);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    ivs.push_back(loop.getInductionVar());
    Tiles next =
        reduce(level + 1, llvm::to_vector_of<Value>(loop.getRegionIterArgs()), ivs, count, first, from, to, validRows);
    scf::YieldOp::create(builder, loc, next);
    return llvm::to_vector_of<Value>(loop.getResults());
  }

  /// Emits steps over whole tiles of A. If A is contiguous along k, A is read in place, otherwise through the pad
  /// (pad()).
  Tiles steps(Tiles tiles, SmallVector<Value> ivs, int64_t count, Value first, Value from, Value to) {
    if (!lhsDepthContiguous)
      return paddedSteps(tiles, ivs, count, first, from, to, constant(count * rowsOfTile));
    return over(tiles, ivs, from, to, [&](Tiles carried, ArrayRef<Value> at) {
      fetchAhead(first, at);
      Tiles a;
      for (int64_t row = 0; row < count; ++row)
        a.push_back(amx::TileLoadOp::create(builder, loc, lhsType, access.lhs,
                                            access.lhsAt(builder, plus(first, row * rowsOfTile), at), lhsRowStride));
      return multiply(carried, a, at);
    });
  }

  /// Emits all steps of a product of split operands. In each step, each tile of A is loaded once and each tile of B
  /// twice, because there are only eight tile registers.
  Tiles splitSteps(Tiles tiles, int64_t count, Value first) {
    auto loop = scf::ForOp::create(builder, loc, constant(0), depth, constant(2 * tileDepth), tiles);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value high = loop.getInductionVar(), low = plus(high, tileDepth);
    tiles = llvm::to_vector_of<Value>(loop.getRegionIterArgs());
    auto rowTiles = [&](Value k) {
      Tiles a;
      for (int64_t row = 0; row < count; ++row)
        a.push_back(amx::TileLoadOp::create(builder, loc, lhsType, access.lhs,
                                            access.lhsAt(builder, plus(first, row * rowsOfTile), {k}), lhsRowStride));
      return a;
    };
    Tiles a = rowTiles(high);
    tiles = multiply(multiply(tiles, a, {high}), a, {low});
    a = rowTiles(low);
    tiles = multiply(multiply(tiles, a, {low}), a, {high});
    scf::YieldOp::create(builder, loc, tiles);
    return llvm::to_vector_of<Value>(loop.getResults());
  }

  Tiles paddedSteps(Tiles tiles, SmallVector<Value> ivs, int64_t count, Value first, Value from, Value to,
                    Value valid) {
    return over(tiles, ivs, from, to, [&](Tiles carried, ArrayRef<Value> at) {
      copyToPad(first, at, valid);
      return multiply(carried, padTiles(count), at);
    });
  }

  /// Emits the product for the part of k after the last whole tile, if K is not a multiple of the depth of a tile.
  Tiles tail(Tiles tiles, SmallVector<Value> ivs, int64_t count, Value first, Value valid) {
    return paddedSteps(tiles, ivs, count, first, depthWhole, depth, valid);
  }

  Tiles padTiles(int64_t count) {
    Tiles a;
    for (int64_t row = 0; row < count; ++row)
      a.push_back(amx::TileLoadOp::create(builder, loc, lhsType, pad(element),
                                          ValueRange{constant(row * rowsOfTile), constant(0)}, constant(tileDepth)));
    return a;
  }

  /// Products with at most this many steps are unrolled if B is in the L2 cache (access.rhsNear). For example, products
  /// of attention heads with 64 elements have two steps. Products that prefetch are not unrolled, because the code of
  /// the prefetches would be repeated.
  static constexpr int64_t unrolledSteps = 2;

  Tiles over(const Tiles &tiles, ArrayRef<Value> ivs, Value from, Value to,
             function_ref<Tiles(Tiles, ArrayRef<Value>)> body) {
    auto step = [&](const Tiles &sums, Value k) {
      SmallVector<Value> indices(ivs);
      indices.push_back(k);
      if (duringStep)
        duringStep(k);
      return body(sums, indices);
    };
    std::optional<int64_t> begin = getConstantIntValue(from), end = getConstantIntValue(to);
    if (access.rhsNear && begin && end && *end - *begin <= unrolledSteps * tileDepth) {
      Tiles sums(tiles);
      for (int64_t k = *begin; k < *end; k += tileDepth)
        sums = step(sums, constant(k));
      return sums;
    }
    auto loop = scf::ForOp::create(builder, loc, from, to, constant(tileDepth), tiles);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(builder, loc,
                         step(llvm::to_vector_of<Value>(loop.getRegionIterArgs()), loop.getInductionVar()));
    return llvm::to_vector_of<Value>(loop.getResults());
  }

  /// Prefetches one step's part of the next block of B into the L2 cache, because reads from the L3 cache would delay
  /// the first rows of that block. Each block of rows prefetches another share of that block.
  void fetchAhead(Value first, ArrayRef<Value> at) {
    if (!fetchFrom || rowBlocks < 1 || access.rhsNear)
      return;
    const int64_t group = 4 / elementBytes;
    auto divided = [&](Value value, int64_t by) -> Value { // unsigned, because no operand is negative
      return arith::DivUIOp::create(builder, loc, value, constant(by));
    };
    auto times = [&](Value value, int64_t by) -> Value {
      return arith::MulIOp::create(builder, loc, value, constant(by));
    };
    NextBlock next = nextBlock(builder, loc, access, fetchDepth / group);
    Value from = add(divided(fetchFrom, group), next.steps);
    // Rows of B are groups of k; a step reads 16 of them.
    int64_t rows = llvm::divideCeil(tileRows, rowBlocks), share = fetchDepth / tileDepth * rows;
    Value step = divided(arith::SubIOp::create(builder, loc, at.back(), fetchFrom), tileDepth);
    Value position = add(add(from, times(divided(first, 2 * rowsOfTile), share)), times(step, rows));
    for (int64_t row = 0; row < rows; ++row) {
      SmallVector<Value> ivs(at);
      ivs.back() = plus(position, row);
      SmallVector<Value> index = access.rhsAt(builder, next.panel, ivs);
      Value column = index.back();
      for (int64_t v = 0; v < vectors; ++v) {
        index.back() = plus(column, v * group * tileColumns);
        memref::PrefetchOp::create(builder, loc, access.rhs, index, /*isWrite=*/false, /*localityHint=*/2,
                                   /*isDataCache=*/true);
      }
    }
  }

  Tiles multiply(Tiles tiles, const Tiles &a, ArrayRef<Value> at) {
    int64_t group = 4 / elementBytes;
    SmallVector<Value> step(at);
    step.back() = arith::ShRUIOp::create(builder, loc, at.back(), constant(llvm::Log2_64(group)));
    SmallVector<Value> indices = access.rhsAt(builder, access.panel, step);
    Value column = indices.back();
    Tiles b;
    for (int64_t v = 0; v < vectors; ++v) {
      indices.back() = plus(column, v * group * tileColumns);
      b.push_back(amx::TileLoadOp::create(builder, loc, rhsType, access.rhs, indices, rhsRowStride));
    }
    for (auto [row, left] : llvm::enumerate(a))
      for (int64_t v = 0; v < vectors; ++v) {
        Value &sum = tiles[row * vectors + v];
        sum = isa<IntegerType>(element)
                  ? amx::TileMulIOp::create(builder, loc, accumulatorType, left, b[v], sum).getResult()
                  : amx::TileMulFOp::create(builder, loc, accumulatorType, left, b[v], sum).getResult();
      }
    return tiles;
  }

  void clearPad() {
    Value a = pad(element);
    VectorType type = VectorType::get({tileDepth}, element);
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    auto loop = scf::ForOp::create(builder, loc, constant(0), constant(2 * rowsOfTile), constant(1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    vector::StoreOp::create(builder, loc, zero, a, ValueRange{loop.getInductionVar(), constant(0)});
  }

  /// Copies the first `valid` rows of A at the step `at` to the pad. Elements after the last k are set to zero. The
  /// other rows of the pad remain zero, as clearPad() has set them.
  void copyToPad(Value first, ArrayRef<Value> at, Value valid) {
    Value a = pad(element);
    Value left = arith::SubIOp::create(builder, loc, depth, at.back());
    auto loop = scf::ForOp::create(builder, loc, constant(0), valid, constant(1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value row = loop.getInductionVar(), from = add(first, row);
    VectorType type = VectorType::get({tileDepth}, element);
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    if (lhsDepthContiguous) {
      Value mask = vector::CreateMaskOp::create(builder, loc, VectorType::get({tileDepth}, builder.getI1Type()),
                                                ValueRange{left});
      Value value =
          vector::MaskedLoadOp::create(builder, loc, type, access.lhs, access.lhsAt(builder, from, at), mask, zero);
      vector::StoreOp::create(builder, loc, value, a, ValueRange{row, constant(0)});
      return;
    }
    vector::StoreOp::create(builder, loc, zero, a, ValueRange{row, constant(0)});
    Value end = arith::MinSIOp::create(builder, loc, left, constant(tileDepth));
    auto inner = scf::ForOp::create(builder, loc, constant(0), end, constant(1));
    builder.setInsertionPointToStart(inner.getBody());
    SmallVector<Value> indices(at);
    indices.back() = add(at.back(), inner.getInductionVar());
    Value value = memref::LoadOp::create(builder, loc, access.lhs, access.lhsAt(builder, from, indices));
    memref::StoreOp::create(builder, loc, value, a, ValueRange{row, inner.getInductionVar()});
  }

  OpBuilder &builder;
  Location loc;
  const BlockAccess &access;
  int64_t vectors;
  Type element, sumElement;
  int64_t elementBytes, tileDepth, tileReductionBlock, rowsOfTile;
  amx::TileType accumulatorType, lhsType, rhsType;
  Value lhsRowStride, rhsRowStride, outRowStride, depth, depthWhole, lhsPad, outPad;
  bool adds, split, lhsDepthContiguous = false, hasTail = false;
  std::function<void(Value)> duringStep; ///< callback that is called in each step with the k of the step
  /// Number of blocks of two tiles of rows; computed for 128 rows if the number of rows is unknown.
  int64_t rowBlocks = 0;
  Value fetchFrom;        ///< first k of the current K-block; null: no prefetch
  int64_t fetchDepth = 0; ///< number of elements along k in the current K-block
};
} // namespace

int64_t rowsOfTiles(OpFoldResult rows) {
  std::optional<int64_t> known = getConstantIntValue(rows);
  if (!known || *known < 1 || *known % tileRows == 0)
    return tileRows;
  if (*known < tileRows)
    return *known;
  constexpr int64_t fewest = 12;
  for (int64_t rowsOfTile = tileRows - 1; rowsOfTile >= fewest; --rowsOfTile)
    if (*known % rowsOfTile == 0)
      return rowsOfTile;
  return tileRows;
}

Value emitTilePanels(OpBuilder &builder, Location loc, const BlockAccess &access, OpFoldResult rows, int64_t panel) {
  TileEmitter emitter(builder, loc, access, panel, access.tileRows ? access.tileRows : rowsOfTiles(rows));
  emitter.rows(rows);
  return emitter.rowsLeft;
}

void addTiles(OpBuilder &builder, Location loc, const BlockAccess &access, OpFoldResult rows, int64_t panel) {
  TileEmitter(builder, loc, access, panel, access.tileRows ? access.tileRows : rowsOfTiles(rows), TileSums::Added)
      .rows(rows);
}

void addSplitTiles(OpBuilder &builder, Location loc, const BlockAccess &access, OpFoldResult rows, int64_t panel) {
  TileEmitter(builder, loc, access, panel, access.tileRows ? access.tileRows : rowsOfTiles(rows),
              TileSums::AddedInParts)
      .rows(rows);
}

} // namespace tilewright::cpu
