//===- MicroKernel.cpp - register-blocked products -----------------------------===//
#include "lib/Target/CPU/MicroKernel.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace tilewright::cpu {

std::optional<int64_t> staticStride(Value value, int64_t dim) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(cast<MemRefType>(value.getType()).getStridesAndOffset(strides, offset)) ||
      ShapedType::isDynamic(strides[dim]))
    return std::nullopt;
  return strides[dim];
}

bool BlockAccess::lhsDepthContiguous() const { return staticStride(lhs, lhsDepthDim) == 1; }

bool BlockAccess::hasOneRun() const {
  return llvm::all_of(ArrayRef<Value>(reductionSizes).drop_back(),
                      [](Value size) { return isConstantIntValue(size, 1); });
}

bool BlockAccess::runsApart() const {
  constexpr int64_t shortRun = 96;
  std::optional<int64_t> depth = getConstantIntValue(reductionSizes.back());
  return !hasOneRun() && !(depth && *depth < shortRun);
}

NextBlock nextBlock(OpBuilder &builder, Location loc, const BlockAccess &access, int64_t depth) {
  auto constant = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(builder, loc, value); };
  if (isConstantIntValue(access.panels, 1))
    return {access.panel, constant(depth)};
  Value next = arith::AddIOp::create(builder, loc, access.panel, constant(1));
  Value more = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, next, access.panels);
  return {arith::SelectOp::create(builder, loc, more, next, constant(0)),
          arith::SelectOp::create(builder, loc, more, constant(0), constant(depth))};
}

int64_t rowsPerBlock(int64_t vectors, int64_t registers, int64_t others) {
  // Accumulators, one vector of B per column, one broadcast of A.
  int64_t rows = (registers - vectors - 1 - others) / vectors;
  if (rows >= 8)
    rows = vectors == 2 ? std::min<int64_t>(rows, 14) : vectors == 1 ? std::min<int64_t>(rows, 16) : 8;
  return std::max<int64_t>(rows, 1);
}

namespace {

class PanelEmitter {
public:
  PanelEmitter(OpBuilder &builder, Location loc, const BlockAccess &access, int64_t vectors, int64_t lanes,
               Product product, Value depth)
      : innermostEnd(access.reductionSizes.back()), builder(builder), loc(loc), access(access), vectors(vectors),
        lanes(lanes), vectorType(VectorType::get({lanes}, cast<MemRefType>(access.out.getType()).getElementType())),
        product(product), group(stepOf(product)), depth(depth) {}

  Value constant(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }

  /// One block of `rows` rows (static) beginning at row `first`.
  void block(int64_t rows, Value first) {
    SmallVector<Value> rowIndex;
    for (int64_t row = 0; row < rows; ++row)
      rowIndex.push_back(row == 0 ? first : arith::AddIOp::create(builder, loc, first, constant(row)).getResult());
    prefetch(rows, first);
    if (packed)
      packedBlock = arith::DivUIOp::create(builder, loc, first, constant(packedRows()));
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType));
    SmallVector<Value> accumulators((rows + (product == Product::ByteDot)) * vectors, zero), ivs(outerPlaces);
    accumulators = reduce(ivs.size(), accumulators, ivs, rowIndex);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t v = 0; v < vectors; ++v) {
        Value sum = accumulators[row * vectors + v];
        if (product == Product::ByteDot)
          sum = arith::SubIOp::create(builder, loc, sum, accumulators[rows * vectors + v]);
        store(sum, rowIndex[row], v);
      }
  }

  /// The rows [0, rows) of A at the innermost reduction's [innermostBegin, innermostEnd), block by block: what a block
  /// reads at each k lies behind what it read before.
  void packLhs(int64_t rows) {
    const int64_t blockRows = packedRows();
    Value begin = innermostBegin ? innermostBegin : constant(0);
    auto loop = scf::ForOp::create(builder, loc, begin, innermostEnd, constant(1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> ivs(access.reductionSizes.size() - 1, constant(0));
    ivs.push_back(loop.getInductionVar());
    Value place = arith::SubIOp::create(builder, loc, loop.getInductionVar(), begin);
    auto copy = [&](Value block, int64_t count) {
      auto type = VectorType::get({count}, cast<MemRefType>(access.lhs.getType()).getElementType());
      Value row = arith::MulIOp::create(builder, loc, block, constant(blockRows));
      Value line = vector::LoadOp::create(builder, loc, type, access.lhs, access.lhsAt(builder, row, ivs));
      vector::StoreOp::create(builder, loc, widened(line), packed, ValueRange{block, place, constant(0)});
    };
    if (rows >= blockRows) {
      auto blocks = scf::ForOp::create(builder, loc, constant(0), constant(rows / blockRows), constant(1));
      OpBuilder::InsertionGuard inner(builder);
      builder.setInsertionPointToStart(blocks.getBody());
      copy(blocks.getInductionVar(), blockRows);
    }
    if (rows % blockRows)
      copy(constant(rows / blockRows), rows % blockRows);
  }

  /// Rows of A at the block of k, in f32.
  void widenLhs(Value rows) {
    Value begin = innermostBegin ? innermostBegin : constant(0);
    auto overRows = scf::ForOp::create(builder, loc, constant(0), rows, constant(1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(overRows.getBody());
    Value row = overRows.getInductionVar();
    auto copy = [&](Value from, Value to, int64_t count) {
      auto loop = scf::ForOp::create(builder, loc, from, to, constant(count));
      OpBuilder::InsertionGuard inner(builder);
      builder.setInsertionPointToStart(loop.getBody());
      SmallVector<Value> ivs(outerPlaces);
      ivs.resize(access.reductionSizes.size() - 1, constant(0));
      ivs.push_back(loop.getInductionVar());
      Value place = arith::SubIOp::create(builder, loc, loop.getInductionVar(), begin);
      SmallVector<Value> at = access.lhsAt(builder, row, ivs);
      if (count == 1) {
        Value value = widened(memref::LoadOp::create(builder, loc, access.lhs, at));
        memref::StoreOp::create(builder, loc, value, wideLhs, ValueRange{row, place});
        return;
      }
      auto type = VectorType::get({count}, cast<MemRefType>(access.lhs.getType()).getElementType());
      Value value = widened(vector::LoadOp::create(builder, loc, type, access.lhs, at));
      vector::StoreOp::create(builder, loc, value, wideLhs, ValueRange{row, place});
    };
    Value count = arith::SubIOp::create(builder, loc, innermostEnd, begin);
    Value rest = arith::RemUIOp::create(builder, loc, count, constant(lanes));
    Value whole = arith::SubIOp::create(builder, loc, innermostEnd, rest);
    copy(begin, whole, lanes);
    std::optional<int64_t> known = getConstantIntValue(access.reductionSizes.back());
    if (!known || *known % lanes)
      copy(whole, innermostEnd, 1);
  }

  /// The current panel of B at the block of k, in f32.
  void widenRhs() {
    Value begin = innermostBegin ? innermostBegin : constant(0);
    auto loop = scf::ForOp::create(builder, loc, begin, innermostEnd, constant(1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> ivs(outerPlaces);
    ivs.resize(access.reductionSizes.size() - 1, constant(0));
    ivs.push_back(loop.getInductionVar());
    VectorType type = VectorType::get({lanes}, cast<MemRefType>(access.rhs.getType()).getElementType());
    Value place = arith::SubIOp::create(builder, loc, loop.getInductionVar(), begin);
    for (auto [v, at] : llvm::enumerate(rhsVectors(access.panel, ivs))) {
      Value value = widened(vector::LoadOp::create(builder, loc, type, access.rhs, at));
      vector::StoreOp::create(builder, loc, value, wideRhs, ValueRange{place, constant(v * lanes)});
    }
  }

  /// C = 0.
  void clear(OpFoldResult rows) {
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType));
    auto loop =
        scf::ForOp::create(builder, loc, constant(0), getValueOrCreateConstantIndexOp(builder, loc, rows), constant(1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    for (int64_t v = 0; v < vectors; ++v)
      store(zero, loop.getInductionVar(), v);
  }

  /// Bounds of the innermost reduction loop, and whether C already holds the sum of what came before.
  Value innermostBegin, innermostEnd;
  bool accumulate = false;
  SmallVector<Value> outerPlaces; ///< of the outer reduction loops, when they run around the rows
  int64_t totalRows = 0;          ///< of the tile, about; 0: nothing is fetched ahead
  Value packed;                   ///< where packLhs() puts A (blocks x k x rows of a block); null: A is read in place
  Value wideLhs, wideRhs; ///< where widenLhs() and widenRhs() put a block of k in f32; null: widened where it is read

private:
  int64_t packedRows() const { return cast<MemRefType>(packed.getType()).getDimSize(2); }

  /// This block's share of the block of B that comes next, into the second-level cache: from the third it comes too
  /// slowly for the first rows that read it. Where a line of an image after the other reads all of a panel, it is the
  /// next panel's at the same k; where each block serves all lines, the block behind this one.
  void prefetch(int64_t rows, Value first) {
    const int64_t total = access.rowsBefore ? access.rowsInTask : totalRows;
    if (total < 2 * rows || (!access.rowsBefore && !access.hasOneRun()))
      return;
    std::optional<int64_t> depth = getConstantIntValue(access.reductionSizes.back());
    int64_t block = depth ? std::min(*depth, reductionBlock) : reductionBlock;
    NextBlock next;
    Value from = first;
    if (access.rowsBefore) {
      std::optional<int64_t> all = 1;
      for (Value size : access.reductionSizes) {
        std::optional<int64_t> known = getConstantIntValue(size);
        all = all && known ? std::optional<int64_t>(*all * *known) : std::nullopt;
      }
      if (!all)
        return;
      next = {access.panel, constant(access.overLines ? block : *all)};
      from = arith::AddIOp::create(builder, loc, access.rowsBefore, first);
    } else {
      next = nextBlock(builder, loc, access, block);
    }
    if (innermostBegin)
      next.steps = arith::AddIOp::create(builder, loc, innermostBegin, next.steps);
    int64_t steps = llvm::divideCeil(block * rows, total);
    // Rows before this block, in blocks: not negative.
    Value before = arith::DivUIOp::create(builder, loc, from, constant(rows));
    Value share = arith::MulIOp::create(builder, loc, before, constant(steps));
    Value place = arith::AddIOp::create(builder, loc, next.steps, share);
    SmallVector<Value> ivs(outerPlaces);
    ivs.resize(access.reductionSizes.size() - 1, constant(0));
    ivs.push_back(place);
    for (int64_t step = 0; step < steps; ++step) {
      ivs.back() = step == 0 ? place : arith::AddIOp::create(builder, loc, place, constant(step)).getResult();
      for (const SmallVector<Value> &at : rhsVectors(next.panel, ivs))
        memref::PrefetchOp::create(builder, loc, access.rhs, at, /*isWrite=*/false, /*localityHint=*/2,
                                   /*isDataCache=*/true);
    }
  }

  /// Elements of B in a vector.
  int64_t rhsWidth() const { return group * lanes; }
  /// Where the vectors of the row of B's `panel` at reduction `ivs` begin.
  SmallVector<SmallVector<Value>> rhsVectors(Value panel, ValueRange ivs) {
    SmallVector<SmallVector<Value>> places(vectors, access.rhsAt(builder, panel, ivs));
    for (int64_t v = 1; v < vectors; ++v)
      places[v].back() = arith::AddIOp::create(builder, loc, places[0].back(), constant(v * rhsWidth()));
    return places;
  }

  SmallVector<Value> reduce(size_t depth, SmallVector<Value> carried, SmallVector<Value> &ivs,
                            ArrayRef<Value> rowIndex) {
    if (depth == access.reductionSizes.size())
      return step(carried, ivs, rowIndex);
    bool innermost = depth + 1 == access.reductionSizes.size();
    if (isConstantIntValue(access.reductionSizes[depth], 1)) {
      ivs.push_back(constant(0));
      SmallVector<Value> next = reduce(depth + 1, carried, ivs, rowIndex);
      ivs.pop_back();
      return next;
    }
    auto loop = scf::ForOp::create(builder, loc, innermost && innermostBegin ? innermostBegin : constant(0),
                                   innermost ? innermostEnd : access.reductionSizes[depth], constant(1), carried);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    ivs.push_back(loop.getInductionVar());
    SmallVector<Value> next = reduce(depth + 1, llvm::to_vector_of<Value>(loop.getRegionIterArgs()), ivs, rowIndex);
    scf::YieldOp::create(builder, loc, next);
    ivs.pop_back();
    return llvm::to_vector_of<Value>(loop.getResults());
  }

  SmallVector<Value> step(ArrayRef<Value> accumulators, ArrayRef<Value> ivs, ArrayRef<Value> rowIndex) {
    Type element = cast<MemRefType>(access.rhs.getType()).getElementType();
    VectorType loaded = VectorType::get({rhsWidth()}, element);
    SmallVector<Value> b;
    for (int64_t v = 0; wideRhs && v < vectors; ++v)
      b.push_back(vector::LoadOp::create(builder, loc, vectorType, wideRhs,
                                         ValueRange{inBlock(ivs.back()), constant(v * lanes)}));
    for (const SmallVector<Value> &at : wideRhs ? SmallVector<SmallVector<Value>>() : rhsVectors(access.panel, ivs)) {
      Value value = vector::LoadOp::create(builder, loc, loaded, access.rhs, at);
      if (product == Product::Fma)
        value = widened(value);
      else if (product == Product::WordDot)
        value = arith::ExtSIOp::create(builder, loc, VectorType::get({2 * lanes}, builder.getI16Type()), value);
      b.push_back(value);
    }
    SmallVector<Value> next;
    for (auto [row, index] : llvm::enumerate(rowIndex)) {
      Value a = product == Product::Fma ? broadcastOne(row, index, ivs) : broadcastGroup(index, ivs);
      for (int64_t v = 0; v < vectors; ++v)
        next.push_back(multiplyAdd(a, b[v], accumulators[row * vectors + v]));
    }
    // vpdpbusd takes unsigned bytes of A: they are 128 too large, which adds 128 times the sum of B's column.
    if (product == Product::ByteDot) {
      Value shift = splat(VectorType::get({rhsWidth()}, builder.getI8Type()), builder.getI8IntegerAttr(-128));
      for (int64_t v = 0; v < vectors; ++v)
        next.push_back(multiplyAdd(shift, b[v], accumulators[rowIndex.size() * vectors + v]));
    }
    return next;
  }

  Value splat(VectorType type, Attribute element) {
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, element));
  }

  Value intrinsic(StringRef name, ArrayRef<Value> operands) {
    return LLVM::CallIntrinsicOp::create(builder, loc, vectorType, builder.getStringAttr(name), operands).getResult(0);
  }

  Value multiplyAdd(Value a, Value b, Value sum) {
    bool wide = lanes == 16;
    switch (product) {
    case Product::Fma:
      return vector::FMAOp::create(builder, loc, a, b, sum);
    case Product::PairDot:
      return x86vector::DotBF16Op::create(builder, loc, vectorType, sum, a, b);
    case Product::ByteDot:
      return intrinsic(wide ? "llvm.x86.avx512.vpdpbusd.512" : "llvm.x86.avx512.vpdpbusd.256", {sum, a, b});
    case Product::WordDot:
      return arith::AddIOp::create(builder, loc, sum,
                                   intrinsic(wide ? "llvm.x86.avx512.pmaddw.d.512" : "llvm.x86.avx2.pmadd.wd", {a, b}));
    }
    llvm_unreachable("all products are handled");
  }

  /// A's element of row `number` of the block, `row` of the tile, in every lane.
  Value broadcastOne(int64_t number, Value row, ArrayRef<Value> ivs) {
    Value a;
    if (packed)
      a = memref::LoadOp::create(builder, loc, packed, ValueRange{packedBlock, inBlock(ivs.back()), constant(number)});
    else if (wideLhs)
      a = memref::LoadOp::create(builder, loc, wideLhs, ValueRange{row, inBlock(ivs.back())});
    else
      a = widened(memref::LoadOp::create(builder, loc, access.lhs, access.lhsAt(builder, row, ivs)));
    return vector::BroadcastOp::create(builder, loc, vectorType, a);
  }

  /// The place of `k` in the block of k.
  Value inBlock(Value k) {
    return innermostBegin ? arith::SubIOp::create(builder, loc, k, innermostBegin).getResult() : k;
  }

  /// A number or a vector of them in f32.
  Value widened(Value value) {
    if (getElementTypeOrSelf(value).isF32())
      return value;
    Type type = builder.getF32Type();
    if (auto vector = dyn_cast<VectorType>(value.getType()))
      type = vector.clone(type);
    return arith::ExtFOp::create(builder, loc, type, value);
  }

  /// The `group` consecutive k of A's `row`, in every lane; any numbers beyond the last k, where B holds zeros.
  Value broadcastGroup(Value row, ArrayRef<Value> ivs) {
    SmallVector<Value> at(ivs);
    Value k = arith::MulIOp::create(builder, loc, ivs.back(), constant(group));
    at.back() = k;
    Type element = cast<MemRefType>(access.lhs.getType()).getElementType();
    VectorType groupType = VectorType::get({group}, element);
    std::optional<int64_t> known = getConstantIntValue(depth);
    Value together;
    if (access.lhsDepthContiguous() && known && *known % group == 0) {
      together = vector::LoadOp::create(builder, loc, groupType, access.lhs, access.lhsAt(builder, row, at));
    } else {
      SmallVector<Value> parts;
      Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
      for (int64_t g = 0; g < group; ++g) {
        Value place = g == 0 ? k : arith::AddIOp::create(builder, loc, k, constant(g)).getResult();
        Value there = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, place, depth);
        at.back() = arith::SelectOp::create(builder, loc, there, place, k);
        Value part = memref::LoadOp::create(builder, loc, access.lhs, access.lhsAt(builder, row, at));
        parts.push_back(g == 0 ? part : arith::SelectOp::create(builder, loc, there, part, zero).getResult());
      }
      together = vector::FromElementsOp::create(builder, loc, groupType, parts);
    }
    if (product == Product::WordDot) {
      element = builder.getI16Type();
      together = arith::ExtSIOp::create(builder, loc, VectorType::get({group}, element), together);
    }
    VectorType bitsType = VectorType::get({1}, builder.getI32Type());
    Value bits = vector::BitCastOp::create(builder, loc, bitsType, together);
    bits = vector::ExtractOp::create(builder, loc, bits, 0);
    if (product == Product::ByteDot) // plus 128
      bits = arith::XOrIOp::create(
          builder, loc, bits,
          arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(static_cast<int32_t>(0x80808080u))));
    bits = vector::BroadcastOp::create(builder, loc, VectorType::get({lanes}, builder.getI32Type()), bits);
    return vector::BitCastOp::create(builder, loc, VectorType::get({group * lanes}, element), bits);
  }

  Value sumOf(Value a, Value b) {
    if (isa<IntegerType>(vectorType.getElementType()))
      return arith::AddIOp::create(builder, loc, a, b);
    return arith::AddFOp::create(builder, loc, a, b);
  }

  void store(Value value, Value row, int64_t v) {
    Value column = v == 0 ? access.firstColumn
                          : arith::AddIOp::create(builder, loc, access.firstColumn, constant(v * lanes)).getResult();
    SmallVector<Value> at = access.outAt(builder, row, column);
    if (access.wholePanels) {
      if (accumulate)
        value = sumOf(value, vector::LoadOp::create(builder, loc, vectorType, access.out, at));
      vector::StoreOp::create(builder, loc, value, access.out, at);
      return;
    }
    Value left = arith::SubIOp::create(builder, loc, access.columns, column);
    Value mask = vector::CreateMaskOp::create(builder, loc, VectorType::get({lanes}, builder.getI1Type()), left);
    if (accumulate) {
      Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType));
      value = sumOf(value, vector::MaskedLoadOp::create(builder, loc, vectorType, access.out, at, mask, zero));
    }
    vector::MaskedStoreOp::create(builder, loc, access.out, at, mask, value);
  }

  OpBuilder &builder;
  Location loc;
  const BlockAccess &access;
  int64_t vectors, lanes;
  VectorType vectorType;
  Product product;
  int64_t group; ///< k of a step
  Value depth;   ///< K in elements; the innermost reduction runs over steps
  Value packedBlock;
};
} // namespace

/// All rows, for the reduction range that `emitter` is set to.
static void emitRows(OpBuilder &builder, Location loc, PanelEmitter &emitter, OpFoldResult rows, int64_t blockRows) {
  std::optional<int64_t> constant = getConstantIntValue(rows);
  Value total = getValueOrCreateConstantIndexOp(builder, loc, rows);
  AffineExpr d0 = builder.getAffineDimExpr(0);
  auto apply = [&](AffineExpr expr) {
    return getValueOrCreateConstantIndexOp(
        builder, loc,
        affine::makeComposedFoldedAffineApply(builder, loc, AffineMap::get(1, 0, expr), {OpFoldResult(total)}));
  };
  if (!constant || *constant >= blockRows) {
    auto loop =
        scf::ForOp::create(builder, loc, emitter.constant(0), apply(d0 - d0 % blockRows), emitter.constant(blockRows));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    emitter.block(blockRows, loop.getInductionVar());
  }
  // The rest: 8, 4, 2, 1 rows, as its binary digits say; a static rest in one block.
  if (constant) {
    if (int64_t rest = *constant % blockRows)
      emitter.block(rest, emitter.constant(*constant - rest));
    return;
  }
  for (int64_t step = llvm::PowerOf2Ceil(blockRows); step >= 1; step /= 2) {
    if (step >= blockRows)
      continue;
    // First row of this step: everything above its binary digit has been done.
    AffineExpr done = (d0 - d0 % blockRows) + (d0 % blockRows) - (d0 % blockRows) % (2 * step);
    Value bit = apply(((d0 % blockRows) % (2 * step)).floorDiv(step));
    Value some = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, bit, emitter.constant(0));
    Value first = apply(done);
    auto branch = scf::IfOp::create(builder, loc, TypeRange(), some, /*withElse=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    emitter.block(step, first);
  }
}

/// min(begin + reductionBlock, depth).
static Value blockEnd(OpBuilder &builder, Location loc, Value begin, Value depth) {
  AffineExpr d0 = builder.getAffineDimExpr(0), d1 = builder.getAffineDimExpr(1);
  return getValueOrCreateConstantIndexOp(
      builder, loc,
      affine::makeComposedFoldedAffineMin(builder, loc,
                                          AffineMap::get(2, 0, {d0 + reductionBlock, d1}, builder.getContext()),
                                          {OpFoldResult(begin), OpFoldResult(depth)}));
}

/// `body` inside the loops of all reductions but the innermost, whose places the emitter is told.
static void overOuter(OpBuilder &builder, Location loc, PanelEmitter &emitter, const BlockAccess &access,
                      SmallVector<Value> &ivs, function_ref<void()> body) {
  if (ivs.size() + 1 == access.reductionSizes.size()) {
    emitter.outerPlaces = ivs;
    return body();
  }
  auto loop =
      scf::ForOp::create(builder, loc, emitter.constant(0), access.reductionSizes[ivs.size()], emitter.constant(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  ivs.push_back(loop.getInductionVar());
  overOuter(builder, loc, emitter, access, ivs, body);
}

/// Memory in the kernel's stack frame.
static Value stackOfFloats(OpBuilder &builder, Location loc, ArrayRef<int64_t> sizes) {
  OpBuilder::InsertionGuard guard(builder);
  auto function = builder.getInsertionBlock()->getParent()->getParentOfType<FunctionOpInterface>();
  builder.setInsertionPointToStart(&function.getFunctionBody().front());
  return memref::AllocaOp::create(builder, loc, MemRefType::get(sizes, builder.getF32Type()),
                                  builder.getI64IntegerAttr(64));
}

/// Where to copy A, block of k by block of k, when its rows are neighbours and its k are not (a transposed A): read in
/// place, each k would be another line, often of another page, of which a block of rows takes a part. Null: in place.
static Value packedLhs(OpBuilder &builder, Location loc, const BlockAccess &access, OpFoldResult rows,
                       int64_t blockRows, Product product) {
  constexpr int64_t mostBytes = 256 * 1024;
  auto type = cast<MemRefType>(access.lhs.getType());
  std::optional<int64_t> count = getConstantIntValue(rows);
  if (product != Product::Fma || !count || *count < 2 * blockRows || !access.hasOneRun() ||
      access.lhsDepthContiguous() || access.lhsRowDim + 1 != type.getRank() || access.lhsRowStep != 1 ||
      staticStride(access.lhs, access.lhsRowDim) != 1)
    return {};
  int64_t blocks = llvm::divideCeil(*count, blockRows), depth = reductionBlock + reductionBlock / 2;
  if (blocks * blockRows * depth * 4 > mostBytes)
    return {};
  return stackOfFloats(builder, loc, {blocks, depth, blockRows});
}

/// The rows of a tile at most; 0: not known.
static int64_t mostRows(OpFoldResult rows) {
  if (std::optional<int64_t> known = getConstantIntValue(rows))
    return *known;
  auto least = cast<Value>(rows).getDefiningOp<affine::AffineMinOp>();
  int64_t most = 0;
  for (AffineExpr expr : least ? least.getMap().getResults() : ArrayRef<AffineExpr>())
    if (auto constant = dyn_cast<AffineConstantExpr>(expr))
      most = most ? std::min(most, constant.getValue()) : constant.getValue();
  return most;
}

/// Operands narrower than f32 are widened block of k by block of k, A once for all panels of the task and B once for
/// all rows, where that is less work than to widen them at each use.
static void widenBlocks(OpBuilder &builder, Location loc, PanelEmitter &emitter, const BlockAccess &access,
                        OpFoldResult rows, int64_t blockRows, int64_t columns) {
  constexpr int64_t depth = reductionBlock + reductionBlock / 2, mostBytes = 256 * 1024;
  if (cast<MemRefType>(access.rhs.getType()).getElementType().isF32() || (!access.hasOneRun() && !access.runsApart()))
    return;
  int64_t most = mostRows(rows);
  if (!emitter.packed && !cast<MemRefType>(access.lhs.getType()).getElementType().isF32() && most > 0 &&
      most * depth * 4 <= mostBytes && access.lhsDepthContiguous())
    emitter.wideLhs = stackOfFloats(builder, loc, {most, depth});
  int64_t lines = access.rowsInTask && most ? std::max<int64_t>(1, access.rowsInTask / most) : 1;
  if (most * lines >= 4 * blockRows)
    emitter.wideRhs = stackOfFloats(builder, loc, {depth, columns});
}

/// emitPanels() once the reduction counts steps; `depth` is K in elements.
static void emitSteps(OpBuilder &builder, Location loc, BlockAccess &access, OpFoldResult rows, int64_t vectors,
                      int64_t lanes, int64_t registers, Product product, Value elements) {
  PanelEmitter emitter(builder, loc, access, vectors, lanes, product, elements);
  emitter.totalRows = getConstantIntValue(rows).value_or(0);
  // vpdpbusd's column sums and the 128 that makes them.
  int64_t blockRows = rowsPerBlock(vectors, registers, product == Product::ByteDot ? vectors + 1 : 0);
  emitter.packed = packedLhs(builder, loc, access, rows, blockRows, product);
  if (product == Product::Fma)
    widenBlocks(builder, loc, emitter, access, rows, blockRows, vectors * lanes);
  // A block of B serves all lines of an image while it is in the first-level cache.
  auto everyLine = [&](function_ref<void()> body) { access.overLines ? access.overLines(body) : body(); };
  auto everyPanel = [&] {
    if (emitter.packed)
      emitter.packLhs(*getConstantIntValue(rows));
    auto widenLhs = [&](bool now) {
      if (emitter.wideLhs && now)
        emitter.widenLhs(getValueOrCreateConstantIndexOp(builder, loc, rows));
    };
    widenLhs(!access.overLines);
    access.overPanels([&] {
      if (emitter.wideRhs)
        emitter.widenRhs();
      everyLine([&] {
        widenLhs(access.overLines != nullptr);
        emitRows(builder, loc, emitter, rows, blockRows);
      });
    });
  };
  Value depth = access.reductionSizes.back();
  std::optional<int64_t> constant = getConstantIntValue(depth);
  if (access.runsApart()) {
    // C = 0, then one pass for each step of the outer loops, itself cut into blocks.
    access.overPanels([&] { everyLine([&] { emitter.clear(rows); }); });
    SmallVector<Value> ivs;
    return overOuter(builder, loc, emitter, access, ivs, [&] {
      auto loop = scf::ForOp::create(builder, loc, emitter.constant(0), depth, emitter.constant(reductionBlock));
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBody());
      emitter.innermostBegin = loop.getInductionVar();
      emitter.innermostEnd = blockEnd(builder, loc, emitter.innermostBegin, depth);
      emitter.accumulate = true;
      everyPanel();
    });
  }
  if (!access.hasOneRun() || (constant && *constant <= reductionBlock + reductionBlock / 2))
    return everyPanel();
  emitter.innermostEnd = blockEnd(builder, loc, emitter.constant(0), depth);
  everyPanel();
  auto loop =
      scf::ForOp::create(builder, loc, emitter.constant(reductionBlock), depth, emitter.constant(reductionBlock));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  emitter.innermostBegin = loop.getInductionVar();
  emitter.innermostEnd = blockEnd(builder, loc, emitter.innermostBegin, depth);
  emitter.accumulate = true;
  everyPanel();
}

void emitPanels(OpBuilder &builder, Location loc, BlockAccess &access, OpFoldResult rows, int64_t vectors,
                int64_t lanes, int64_t registers, Product product) {
  Value elements = access.reductionSizes.back();
  if (stepOf(product) > 1)
    access.reductionSizes.back() = getValueOrCreateConstantIndexOp(
        builder, loc,
        affine::makeComposedFoldedAffineApply(
            builder, loc, AffineMap::get(1, 0, builder.getAffineDimExpr(0).ceilDiv(stepOf(product))),
            {OpFoldResult(elements)}));
  auto steps = [&] { emitSteps(builder, loc, access, rows, vectors, lanes, registers, product, elements); };
  if (!access.overLines || access.runsApart())
    return steps();
  // Sums stay in registers through all reductions: a line after the other.
  auto lines = std::exchange(access.overLines, nullptr);
  lines(steps);
}

} // namespace tilewright::cpu
