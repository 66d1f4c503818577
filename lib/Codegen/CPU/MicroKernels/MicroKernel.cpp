//===- MicroKernel.cpp - register-blocked products -----------------------------===//
#include "dialects/Schedule/CpuSchedule.h"
#include "lib/Codegen/CPU/MicroKernels/PanelEmitter.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include <numeric>

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

bool BlockAccess::hasSeparateRuns() const {
  const int64_t shortRun = widens ? 16 : 96;
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
  // The registers contain the accumulators, one vector of B per column of vectors, and one broadcast element of A.
  int64_t rows = (registers - vectors - 1 - others) / vectors;
  if (rows >= 8)
    rows = vectors == 2 ? std::min<int64_t>(rows, 14) : vectors == 1 ? std::min<int64_t>(rows, 16) : 8;
  return std::max<int64_t>(rows, 1);
}

/// Emits the blocks of all rows for the current range of the innermost reduction of `emitter`.
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
  // If the number of remaining rows is static, these rows are computed as one block.
  if (constant) {
    if (int64_t rest = *constant % blockRows)
      emitter.block(rest, emitter.constant(*constant - rest));
    return;
  }
  // If a block has few rows, emit a separate case for each possible number of remaining rows, so that B is read only
  // once for all of them.
  if (blockRows <= 8) {
    Value rest = apply(d0 % blockRows), first = apply(d0 - d0 % blockRows);
    auto sizes = llvm::to_vector(llvm::seq<int64_t>(1, blockRows));
    auto choice = scf::IndexSwitchOp::create(builder, loc, TypeRange(), rest, sizes, sizes.size());
    OpBuilder::InsertionGuard guard(builder);
    for (auto [size, region] : llvm::zip_equal(sizes, choice.getCaseRegions())) {
      builder.setInsertionPointToStart(&region.emplaceBlock());
      emitter.block(size, first);
      scf::YieldOp::create(builder, loc);
    }
    builder.setInsertionPointToStart(&choice.getDefaultRegion().emplaceBlock());
    scf::YieldOp::create(builder, loc);
    return;
  }
  for (int64_t step = llvm::PowerOf2Ceil(blockRows); step >= 1; step /= 2) {
    if (step >= blockRows)
      continue;
    // The remaining rows are computed in blocks of 8, 4, 2 and 1 rows, according to the binary digits of their number.
    // The first row of a block follows the rows of the larger blocks.
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

/// Returns the end of the K-block that begins at `begin`: the smaller of begin + reductionBlock and depth.
static Value blockEnd(OpBuilder &builder, Location loc, Value begin, Value depth, int64_t reductionBlock) {
  AffineExpr d0 = builder.getAffineDimExpr(0), d1 = builder.getAffineDimExpr(1);
  return getValueOrCreateConstantIndexOp(
      builder, loc,
      affine::makeComposedFoldedAffineMin(builder, loc,
                                          AffineMap::get(2, 0, {d0 + reductionBlock, d1}, builder.getContext()),
                                          {OpFoldResult(begin), OpFoldResult(depth)}));
}

/// Emits loops over all reductions except the innermost, with `body` inside, and sets the emitter's outerIndices.
static void overOuter(OpBuilder &builder, Location loc, PanelEmitter &emitter, const BlockAccess &access,
                      SmallVector<Value> &ivs, function_ref<void()> body) {
  if (ivs.size() + 1 == access.reductionSizes.size()) {
    emitter.outerIndices = ivs;
    return body();
  }
  auto loop =
      scf::ForOp::create(builder, loc, emitter.constant(0), access.reductionSizes[ivs.size()], emitter.constant(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  ivs.push_back(loop.getInductionVar());
  overOuter(builder, loc, emitter, access, ivs, body);
}

Value onStack(OpBuilder &builder, Location loc, ArrayRef<int64_t> sizes, Type element) {
  OpBuilder::InsertionGuard guard(builder);
  auto function = builder.getInsertionBlock()->getParent()->getParentOfType<FunctionOpInterface>();
  builder.setInsertionPointToStart(&function.getFunctionBody().front());
  return memref::AllocaOp::create(builder, loc, MemRefType::get(sizes, element), builder.getI64IntegerAttr(64));
}

/// Returns the buffer into which A is copied for each K-block. Returns null if A is read in place. A is copied if all
/// of these conditions hold: `product` is Product::Fma; no reduction loop except the innermost has more than one
/// iteration; the number of rows is static and at least two blocks; A has a stride of 1 between rows and not along k;
/// the copy has at most `mostBytes` bytes. If such an A were read in place, each k would be in another cache line,
/// often in another page, and a block of rows would use only a part of the line.
static Value packedLhs(OpBuilder &builder, Location loc, const BlockAccess &access, OpFoldResult rows,
                       int64_t blockRows, Product product) {
  constexpr int64_t mostBytes = 256 * 1024;
  auto type = cast<MemRefType>(access.lhs.getType());
  std::optional<int64_t> count = getConstantIntValue(rows);
  if (product != Product::Fma || !count || *count < 2 * blockRows || !access.hasOneRun() ||
      access.lhsDepthContiguous() || access.lhsRowDim + 1 != type.getRank() || access.lhsRowStep != 1 ||
      staticStride(access.lhs, access.lhsRowDim) != 1)
    return {};
  int64_t blocks = llvm::divideCeil(*count, blockRows), depth = access.reductionBlock + access.reductionBlock / 2;
  if (blocks * blockRows * depth * 4 > mostBytes)
    return {};
  return onStack(builder, loc, {blocks, depth, blockRows}, builder.getF32Type());
}

int64_t mostRows(OpFoldResult rows) {
  if (std::optional<int64_t> known = getConstantIntValue(rows))
    return *known;
  auto least = cast<Value>(rows).getDefiningOp<affine::AffineMinOp>();
  int64_t most = 0;
  for (AffineExpr expr : least ? least.getMap().getResults() : ArrayRef<AffineExpr>())
    if (auto constant = dyn_cast<AffineConstantExpr>(expr))
      most = most ? std::min(most, constant.getValue()) : constant.getValue();
  return most;
}

/// Returns the number of sets of the L1 cache (64 in total) to which the elements of adjacent rows of A at one k map.
/// The number is small if the row stride is a multiple of a large power of two. Returns nullopt if the row stride is
/// unknown or not a multiple of a cache line, or if A is not contiguous along k or is converted to f32.
static std::optional<int64_t> setsOfRows(const BlockAccess &access) {
  constexpr int64_t setsBytes = 4096, lineBytes = 64;
  auto type = cast<MemRefType>(access.lhs.getType());
  std::optional<int64_t> stride = staticStride(access.lhs, access.lhsRowDim);
  if (!stride || !access.lhsDepthContiguous() || (access.widens && !type.getElementType().isF32()))
    return std::nullopt;
  const int64_t bytes = *stride * access.lhsRowStep * type.getElementTypeBitWidth() / 8;
  if (bytes % lineBytes)
    return std::nullopt;
  return setsBytes / std::gcd(bytes, setsBytes);
}

/// Returns the number of rows of a block. It is `most`, or less if `most` rows of A would evict each other from the
/// cache sets to which they map. In this case, the rows use all ways of a set but one, which remains for B, and all
/// blocks have about the same size. An example is a 1x1 convolution of 1024 channels in f32, whose row stride of 4096
/// bytes maps all rows to one set.
static int64_t rowsKept(const BlockAccess &access, int64_t most, OpFoldResult rows) {
  constexpr int64_t ways = 8; // L1 caches of 32 KB or more have at least 8 ways
  std::optional<int64_t> sets = setsOfRows(access);
  if (!sets || most <= ways * *sets)
    return most;
  const int64_t kept = (ways - 1) * *sets;
  std::optional<int64_t> all = getConstantIntValue(rows);
  return all && *all > 0 ? llvm::divideCeil(*all, llvm::divideCeil(*all, kept)) : kept;
}

/// Allocates buffers in which K-blocks of operands of less than 32 bits are converted to f32. The converted K-block of
/// A is used for all panels of the task, unless access.overLines is set: A is then converted again for each line and
/// panel. A is converted if it is not packed (packedLhs()) and is contiguous along k, and if the buffer has at most
/// `mostBytes` bytes. The converted K-block of B is used for all rows. B is converted if the task has at least four
/// blocks of rows; otherwise it is converted at each use.
static void widenBlocks(OpBuilder &builder, Location loc, PanelEmitter &emitter, const BlockAccess &access,
                        OpFoldResult rows, int64_t blockRows, int64_t columns) {
  constexpr int64_t mostBytes = 256 * 1024;
  const int64_t depth = access.reductionBlock + access.reductionBlock / 2;
  if (!access.widens || (!access.hasOneRun() && !access.hasSeparateRuns()))
    return;
  int64_t most = mostRows(rows);
  if (!emitter.packed && !cast<MemRefType>(access.lhs.getType()).getElementType().isF32() && most > 0 &&
      most * depth * 4 <= mostBytes && access.lhsDepthContiguous())
    emitter.wideLhs = onStack(builder, loc, {most, depth}, builder.getF32Type());
  int64_t lines = access.rowsInTask && most ? std::max<int64_t>(1, access.rowsInTask / most) : 1;
  if (most * lines >= 4 * blockRows)
    emitter.wideRhs = onStack(builder, loc, {depth, columns}, builder.getF32Type());
}

/// Emits the loops of emitPanels(). The innermost reduction size of `access` counts steps; `elements` is K in elements.
static void emitSteps(OpBuilder &builder, Location loc, BlockAccess &access, OpFoldResult rows, int64_t vectors,
                      int64_t lanes, int64_t registers, Product product, Value elements) {
  PanelEmitter emitter(builder, loc, access, vectors, lanes, product, elements);
  const int64_t reductionBlock = access.reductionBlock;
  emitter.totalRows = getConstantIntValue(rows).value_or(0);
  // vpdpbusd needs additional registers: for the sums of B's columns, and for the constant 128 by which they are
  // multiplied.
  int64_t blockRows = rowsPerBlock(vectors, registers, product == Product::ByteDot ? vectors + 1 : 0);
  if (access.blockRows > 0 && access.blockRows < schedule::wholeBlocks)
    blockRows = std::min(blockRows, access.blockRows);
  else
    blockRows = rowsKept(access, blockRows, rows);
  emitter.packed = packedLhs(builder, loc, access, rows, blockRows, product);
  if (product == Product::Fma)
    widenBlocks(builder, loc, emitter, access, rows, blockRows, vectors * lanes);
  // While a block of B is in the L1 cache, it is used for all lines of the task.
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
  if (access.hasSeparateRuns()) {
    // Set C to zero. Then add the products of each iteration of the outer reduction loops, K-block by K-block.
    access.overPanels([&] { everyLine([&] { emitter.clear(rows); }); });
    SmallVector<Value> ivs;
    return overOuter(builder, loc, emitter, access, ivs, [&] {
      auto loop = scf::ForOp::create(builder, loc, emitter.constant(0), depth, emitter.constant(reductionBlock));
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBody());
      emitter.innermostBegin = loop.getInductionVar();
      emitter.innermostEnd = blockEnd(builder, loc, emitter.innermostBegin, depth, reductionBlock);
      emitter.accumulate = true;
      everyPanel();
    });
  }
  if (!access.hasOneRun() || (constant && *constant <= reductionBlock + reductionBlock / 2))
    return everyPanel();
  emitter.innermostEnd = blockEnd(builder, loc, emitter.constant(0), depth, reductionBlock);
  everyPanel();
  auto loop =
      scf::ForOp::create(builder, loc, emitter.constant(reductionBlock), depth, emitter.constant(reductionBlock));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  emitter.innermostBegin = loop.getInductionVar();
  emitter.innermostEnd = blockEnd(builder, loc, emitter.innermostBegin, depth, reductionBlock);
  emitter.accumulate = true;
  everyPanel();
}

void emitPanels(OpBuilder &builder, Location loc, BlockAccess &access, OpFoldResult rows, int64_t vectors,
                int64_t lanes, int64_t registers, Product product) {
  access.widens = product == Product::Fma && !cast<MemRefType>(access.rhs.getType()).getElementType().isF32();
  Value elements = access.reductionSizes.back();
  if (stepOf(product) > 1)
    access.reductionSizes.back() = getValueOrCreateConstantIndexOp(
        builder, loc,
        affine::makeComposedFoldedAffineApply(
            builder, loc, AffineMap::get(1, 0, builder.getAffineDimExpr(0).ceilDiv(stepOf(product))),
            {OpFoldResult(elements)}));
  auto steps = [&] { emitSteps(builder, loc, access, rows, vectors, lanes, registers, product, elements); };
  if (!access.overLines || access.hasSeparateRuns())
    return steps();
  // If runs are not separate, the accumulators stay in registers through the outer reduction loops. Therefore, the loop
  // over lines contains these loops.
  auto lines = std::exchange(access.overLines, nullptr);
  lines(steps);
}

} // namespace tilewright::cpu
