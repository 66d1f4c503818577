//===- VectorizeLoops.cpp - lowers structured ops on buffers to vector loops -----===//
//
// Before:
//   linalg.generic {add; exp} ins(%a: memref<4x770xf32>, %b: memref<770xf32>) outs(%c: memref<4x770xf32>)
// After:
//   scf.for %i = 0 to 4 {
//     scf.for %j = 0 to 768 step 16 { vector.load %a, %b; add; exp; vector.store %c } masked step for the last 2
//     columns }
//
// LoopVectorizer.h describes the two forms of vectorized loops, and VectorLoopChoice.cpp selects the loop to vectorize.
// TransposedLoops.h lowers ops with transposed operands, and InterleavedLoops.h lowers ops whose innermost loop has few
// iterations. This pass lowers all linalg ops of kernels, including linalg.fill and linalg.copy.
//
// Test: test/Codegen/CPU/Vectorize/vectorize-loops.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Schedule/CpuSchedule.h"
#include "dialects/Tile/Rows.h"
#include "lib/Codegen/CPU/Vectorize/BodyEmitter.h"
#include "lib/Codegen/CPU/Vectorize/InterleavedLoops.h"
#include "lib/Codegen/CPU/Vectorize/TransposedLoops.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_VECTORIZELOOPS
#include "tilewright/Passes.h.inc"
namespace vector_stage {
namespace {

class LoopEmitter {
public:
  LoopEmitter(linalg::LinalgOp op, const VectorLoop &choice)
      : op(op), choice(choice), body(op, choice), builder(op), loc(op.getLoc()),
        accumulatorSets(
            schedule::knobOr(op->getParentOfType<func::FuncOp>(), &schedule::CpuScheduleAttr::getAccumulators, 4)),
        unrolledVectors(
            schedule::knobOr(op->getParentOfType<func::FuncOp>(), &schedule::CpuScheduleAttr::getUnroll, 4)) {}

  LogicalResult run() {
    if (op.getNumLoops() > 0)
      for (Range range : op.createLoopRanges(builder, loc))
        sizes.push_back(range.size);
    zero = arith::ConstantIndexOp::create(builder, loc, 0);
    for (unsigned number = 0; number < op.getNumDpsInits(); ++number)
      if (!isStoredInSteps(op, number))
        combined.push_back(number);
    SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
    for (auto [loop, kind] : llvm::enumerate(iterators)) {
      if (static_cast<int64_t>(loop) == choice.loop)
        continue;
      (kind == utils::IteratorType::parallel ? parallel : reductions).push_back(loop);
    }
    enterParallel(0);
    op->erase();
    return success();
  }

private:
  Value valueOf(OpFoldResult size) { return getValueOrCreateConstantIndexOp(builder, loc, size); }

  void enterParallel(size_t depth) {
    if (depth == parallel.size()) {
      if (choice.reduction)
        return reductionVector();
      return parallelVector();
    }
    unsigned loop = parallel[depth];
    if (isConstantIntValue(sizes[loop], 1)) {
      body.ivs[loop] = zero;
      return enterParallel(depth + 1);
    }
    auto nest = scf::ForOp::create(builder, loc, zero, valueOf(sizes[loop]), valueOf(builder.getIndexAttr(1)));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(nest.getBody());
    body.ivs[loop] = nest.getInductionVar();
    enterParallel(depth + 1);
  }

  /// Emits `step(carried, mask)` for each vector of the vector loop: for whole vectors, then for the masked tail. If no
  /// loop is vectorized, emits one step. `carried` are the initial values of the iteration arguments. Each step takes
  /// their current values and returns their next values.
  SmallVector<Value> overVectorLoop(SmallVector<Value> carried,
                                    function_ref<SmallVector<Value>(ValueRange, Value)> step) {
    if (choice.loop < 0)
      return step(carried, Value());
    return overVectorRange(zero, sizes[choice.loop], carried, step);
  }

  /// Emits `step(carried, mask)` like overVectorLoop(), but for the range [from, from + size).
  SmallVector<Value> overVectorRange(Value from, OpFoldResult size, SmallVector<Value> carried,
                                     function_ref<SmallVector<Value>(ValueRange, Value)> step) {
    std::optional<int64_t> constant = getConstantIntValue(size);
    Value lanes = valueOf(builder.getIndexAttr(choice.lanes));
    AffineExpr d0 = builder.getAffineDimExpr(0), d1 = builder.getAffineDimExpr(1);
    auto apply = [&](AffineExpr expr, ArrayRef<OpFoldResult> dims) {
      return affine::makeComposedFoldedAffineApply(builder, loc, AffineMap::get(dims.size(), 0, expr), dims);
    };
    OpFoldResult first = getAsOpFoldResult(from);
    OpFoldResult whole = apply(d1 + d0 - d0 % choice.lanes, {size, first});
    if (constant && *constant >= choice.lanes && *constant / choice.lanes <= unrolledVectors) {
      for (int64_t at = 0; at + choice.lanes <= *constant; at += choice.lanes) {
        body.ivs[choice.loop] = valueOf(apply(d0 + at, {first}));
        carried = step(carried, Value());
      }
    } else if (!constant || *constant >= choice.lanes) {
      auto nest = scf::ForOp::create(builder, loc, from, valueOf(whole), lanes, carried);
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(nest.getBody());
      body.ivs[choice.loop] = nest.getInductionVar();
      SmallVector<Value> next = step(nest.getRegionIterArgs(), Value());
      if (!carried.empty())
        scf::YieldOp::create(builder, loc, next);
      carried.assign(nest.getResults().begin(), nest.getResults().end());
    }
    if (constant && *constant % choice.lanes == 0)
      return carried;
    Value start = valueOf(whole);
    Value left = valueOf(apply(d0 % choice.lanes, {size}));
    auto emitTail = [&](ValueRange in) {
      Value mask = vector::CreateMaskOp::create(builder, loc, body.vectorOf(builder.getI1Type()), left);
      body.ivs[choice.loop] = start;
      return step(in, mask);
    };
    if (constant)
      return emitTail(carried);
    Value some = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sgt, left, zero);
    SmallVector<Type> types = llvm::to_vector(ValueRange(carried).getTypes());
    auto branch = scf::IfOp::create(builder, loc, types, some, /*withElse=*/!carried.empty());
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(&branch.getThenRegion().front());
      SmallVector<Value> next = emitTail(carried);
      if (!carried.empty()) {
        scf::YieldOp::create(builder, loc, next);
        builder.setInsertionPointToStart(&branch.getElseRegion().front());
        scf::YieldOp::create(builder, loc, carried);
      }
    }
    return llvm::to_vector_of<Value>(branch.getResults());
  }

  /// Combines the accumulators `a` and `b`, which were both initialized with the identity, by the op `combiner`.
  Value combine(Operation *combiner, Value a, Value b) {
    if (Value extreme = body.numberExtreme(builder, combiner, a, b))
      return extreme;
    OperationState state(loc, combiner->getName().getStringRef(), {a, b}, {a.getType()}, combiner->getAttrs());
    return builder.create(state)->getResult(0);
  }

  /// Emits a reduction like overVectorRange(). Ranges that are long or whose size is unknown use `accumulatorSets` sets
  /// of accumulators, which hide the latency of the combining op. `identities` are the initial values of the additional
  /// sets.
  SmallVector<Value> overChains(Value from, OpFoldResult size, SmallVector<Value> carried, ValueRange identities,
                                ArrayRef<Operation *> combiners,
                                function_ref<SmallVector<Value>(ValueRange, Value)> step) {
    const int64_t wide = accumulatorSets * choice.lanes;
    std::optional<int64_t> constant = getConstantIntValue(size);
    if (constant && *constant < 2 * wide)
      return overVectorRange(from, size, carried, step);
    AffineExpr d0 = builder.getAffineDimExpr(0), d1 = builder.getAffineDimExpr(1);
    auto apply = [&](AffineExpr expr) {
      return affine::makeComposedFoldedAffineApply(builder, loc, AffineMap::get(2, 0, expr),
                                                   {size, getAsOpFoldResult(from)});
    };
    const size_t outputs = carried.size();
    Value end = valueOf(apply(d1 + d0 - d0 % wide));
    SmallVector<Value> sets(carried);
    for (int64_t chain = 1; chain < accumulatorSets; ++chain)
      sets.append(identities.begin(), identities.end());
    auto loop = scf::ForOp::create(builder, loc, from, end, valueOf(builder.getIndexAttr(wide)), sets);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBody());
      SmallVector<Value> next;
      for (int64_t chain = 0; chain < accumulatorSets; ++chain) {
        Value iv = loop.getInductionVar();
        if (chain > 0)
          iv = arith::AddIOp::create(builder, loc, iv, valueOf(builder.getIndexAttr(chain * choice.lanes)));
        body.ivs[choice.loop] = iv;
        llvm::append_range(next, step(loop.getRegionIterArgs().slice(chain * outputs, outputs), Value()));
      }
      scf::YieldOp::create(builder, loc, next);
    }
    SmallVector<Value> totals;
    for (size_t number = 0; number < outputs; ++number) {
      SmallVector<Value> parts; // the values are combined pairwise
      for (int64_t chain = 0; chain < accumulatorSets; ++chain)
        parts.push_back(loop.getResult(chain * outputs + number));
      while (parts.size() > 1) {
        SmallVector<Value> pairs;
        for (size_t i = 0; i + 1 < parts.size(); i += 2)
          pairs.push_back(combine(combiners[number], parts[i], parts[i + 1]));
        if (parts.size() % 2)
          pairs.push_back(parts.back());
        parts = pairs;
      }
      totals.push_back(parts.front());
    }
    return overVectorRange(end, apply(d0 % wide), totals, step);
  }

  /// Emits the reduction loops, with the accumulators as iteration arguments and `step` in the innermost loop.
  SmallVector<Value> overReductions(size_t depth, SmallVector<Value> carried,
                                    function_ref<SmallVector<Value>(ValueRange)> step) {
    if (depth == reductions.size())
      return step(carried);
    unsigned loop = reductions[depth];
    if (isConstantIntValue(sizes[loop], 1)) {
      body.ivs[loop] = zero;
      return overReductions(depth + 1, carried, step);
    }
    auto nest = scf::ForOp::create(builder, loc, zero, valueOf(sizes[loop]), valueOf(builder.getIndexAttr(1)), carried);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(nest.getBody());
    body.ivs[loop] = nest.getInductionVar();
    SmallVector<Value> next = overReductions(depth + 1, llvm::to_vector_of<Value>(nest.getRegionIterArgs()), step);
    scf::YieldOp::create(builder, loc, next);
    return llvm::to_vector_of<Value>(nest.getResults());
  }

  /// Returns true if every result that is combined in accumulators is a sum of floats.
  bool sumsFloats() {
    for (unsigned number : combined)
      if (!isa_and_nonnull<arith::AddFOp>(tile::combinerOf(op, number)))
        return false;
    return true;
  }

  /// Emits reduction loops like overReductions(), for sums of floats. Each inner loop has a separate sum, which starts
  /// at zero and is then added to the total. A long loop consists of groups of `partialSum` steps, which form larger
  /// groups of `partialSum` groups, and so on. Each group also has a separate sum. If the number of elements is known,
  /// the rounding error therefore grows with its logarithm.
  static constexpr int64_t partialSum = 16;
  SmallVector<Value> overPartialSums(size_t depth, SmallVector<Value> carried,
                                     function_ref<SmallVector<Value>(ValueRange)> step) {
    if (depth == reductions.size())
      return step(carried);
    unsigned loop = reductions[depth];
    if (isConstantIntValue(sizes[loop], 1)) {
      body.ivs[loop] = zero;
      return overPartialSums(depth + 1, carried, step);
    }
    auto nest = [&](Value from, Value to, int64_t by, SmallVector<Value> init,
                    function_ref<SmallVector<Value>(Value, SmallVector<Value>)> inside) {
      auto made = scf::ForOp::create(builder, loc, from, to, valueOf(builder.getIndexAttr(by)), init);
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(made.getBody());
      scf::YieldOp::create(builder, loc,
                           inside(made.getInductionVar(), llvm::to_vector_of<Value>(made.getRegionIterArgs())));
      return llvm::to_vector_of<Value>(made.getResults());
    };
    auto fromZero = [&](SmallVector<Value> totals, function_ref<SmallVector<Value>(SmallVector<Value>)> sum) {
      SmallVector<Value> zeros;
      for (Value total : totals)
        zeros.push_back(arith::ConstantOp::create(builder, loc, builder.getZeroAttr(total.getType())));
      SmallVector<Value> sums = sum(zeros);
      for (auto [sum, total] : llvm::zip_equal(sums, totals))
        sum = arith::AddFOp::create(builder, loc, total, sum);
      return sums;
    };
    bool innermost = llvm::all_of(ArrayRef<unsigned>(reductions).drop_front(depth + 1),
                                  [&](unsigned inner) { return isConstantIntValue(sizes[inner], 1); });
    auto element = [&](Value iv, SmallVector<Value> sums) {
      body.ivs[loop] = iv;
      if (innermost)
        return overPartialSums(depth + 1, sums, step);
      return fromZero(sums, [&](SmallVector<Value> zeros) { return overPartialSums(depth + 1, zeros, step); });
    };
    Value end = valueOf(sizes[loop]);
    // Sums are hierarchical: blocks of `block` elements consist of sub-blocks of `block` / `partialSum` elements.
    std::function<SmallVector<Value>(Value, Value, int64_t, SmallVector<Value>)> over = [&](Value from, Value to,
                                                                                            int64_t block,
                                                                                            SmallVector<Value> totals) {
      if (block == 1)
        return nest(from, to, 1, totals, element);
      return nest(from, to, block, totals, [&](Value first, SmallVector<Value> sums) {
        AffineExpr d0 = builder.getAffineDimExpr(0), d1 = builder.getAffineDimExpr(1);
        Value last = valueOf(affine::makeComposedFoldedAffineMin(
            builder, loc, AffineMap::get(2, 0, {d0 + block, d1}, builder.getContext()),
            {OpFoldResult(first), OpFoldResult(to)}));
        return fromZero(sums, [&](SmallVector<Value> zeros) { return over(first, last, block / partialSum, zeros); });
      });
    };
    int64_t block = partialSum * partialSum; // size of the outermost blocks if the number of elements is unknown
    if (std::optional<int64_t> size = getConstantIntValue(sizes[loop]))
      for (block = 1; *size > 2 * partialSum * block;)
        block *= partialSum;
    return over(zero, end, block, carried);
  }

  void parallelVector() {
    if (!reductions.empty())
      return columnVectors();
    IRMapping uniform;
    body.emitUniform(builder, uniform);
    overVectorLoop({}, [&](ValueRange, Value mask) -> SmallVector<Value> {
      body.emitElements(builder, uniform, mask);
      return {};
    });
  }

  /// Emits vectors along a parallel loop, with the reduction loops inside. `accumulatorSets` adjacent vectors are
  /// computed at a time while enough vectors remain. The remaining vectors are computed one at a time. Several adjacent
  /// vectors read longer runs of each row, and their independent accumulators hide the latency of the combining op.
  void columnVectors() {
    std::optional<int64_t> constant =
        choice.loop < 0 ? std::optional<int64_t>(1) : getConstantIntValue(sizes[choice.loop]);
    const int64_t wide = accumulatorSets * choice.lanes;
    if (constant && *constant < wide) {
      overVectorLoop({}, [&](ValueRange, Value mask) {
        reduceColumns(choice.loop < 0 ? Value() : body.ivs[choice.loop], 1, mask);
        return SmallVector<Value>();
      });
      return;
    }
    AffineExpr d0 = builder.getAffineDimExpr(0);
    auto apply = [&](AffineExpr expr) {
      return affine::makeComposedFoldedAffineApply(builder, loc, AffineMap::get(1, 0, expr), {sizes[choice.loop]});
    };
    Value end = valueOf(apply(d0 - d0 % wide));
    auto nest = scf::ForOp::create(builder, loc, zero, end, valueOf(builder.getIndexAttr(wide)));
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(nest.getBody());
      reduceColumns(nest.getInductionVar(), accumulatorSets, Value());
    }
    if (constant && *constant % wide == 0)
      return;
    overVectorRange(end, apply(d0 % wide), {}, [&](ValueRange, Value mask) {
      reduceColumns(body.ivs[choice.loop], 1, mask);
      return SmallVector<Value>();
    });
  }

  /// Emits the reductions of `count` adjacent vectors, starting at column `first`.
  void reduceColumns(Value first, int64_t count, Value mask) {
    IRMapping uniform;
    const unsigned outputs = combined.size();
    SmallVector<Value> starts{first}, accumulators;
    for (int64_t i = 1; i < count; ++i)
      starts.push_back(
          arith::AddIOp::create(builder, loc, first, valueOf(builder.getIndexAttr(i * choice.lanes))).getResult());
    auto moveTo = [&](Value start) {
      if (choice.loop >= 0)
        body.ivs[choice.loop] = start;
    };
    for (Value start : starts) {
      moveTo(start);
      for (unsigned number : combined)
        accumulators.push_back(body.asVector(builder, body.read(builder, *op.getDpsInitOperand(number), mask)));
    }
    auto step = [&](ValueRange in) {
      SmallVector<Value> out;
      for (auto [i, start] : llvm::enumerate(starts)) {
        moveTo(start);
        llvm::append_range(out, body.emitElements(builder, uniform, mask, combined, in.slice(i * outputs, outputs)));
      }
      return out;
    };
    SmallVector<Value> results =
        sumsFloats() ? overPartialSums(0, accumulators, step) : overReductions(0, accumulators, step);
    for (auto [i, start] : llvm::enumerate(starts)) {
      moveTo(start);
      for (auto [at, number] : llvm::enumerate(combined))
        body.write(builder, results[i * outputs + at], number, mask);
    }
  }

  /// Returns the combination of all lanes of `value` as a scalar.
  Value combineLanes(Operation *combiner, Value value) {
    if (!isa<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp>(combiner))
      return vector::ReductionOp::create(builder, loc, kindOf(combiner), value, arith::FastMathFlags::reassoc);
    // Combine the lower and the upper half repeatedly, because vector.reduction of float maxima and minima would be
    // lowered to a chain of scalar ops.
    for (int64_t width = cast<VectorType>(value.getType()).getDimSize(0); width > 1; width /= 2) {
      SmallVector<int64_t> low = llvm::to_vector(llvm::seq<int64_t>(0, width / 2)),
                           high = llvm::to_vector(llvm::seq<int64_t>(width / 2, width));
      Value a = vector::ShuffleOp::create(builder, loc, value, value, low);
      Value b = vector::ShuffleOp::create(builder, loc, value, value, high);
      value = combine(combiner, a, b);
    }
    return vector::ExtractOp::create(builder, loc, value, 0);
  }

  static vector::CombiningKind kindOf(Operation *combiner) {
#define TW_COMBINER_OP(NAME, ELEMENTS, OP, VECTOR_KIND)                                                                \
  if (isa<arith::OP>(combiner))                                                                                        \
    return vector::CombiningKind::VECTOR_KIND;
#include "dialects/Tile/Combiners.def"
    llvm::reportFatalInternalError("no combiner: " + combiner->getName().getStringRef());
  }

  /// The number of vectors per block of a long sum of floats. If several rows are summed, each row has at least one
  /// block. The rounding error of a block grows with the number of additions per lane, and the total error grows with
  /// the number of blocks.
  static constexpr int64_t sumVectors = 128;
  int64_t sumBlock() const { return sumVectors * choice.lanes; }

  bool sumsInBlocks() {
    std::optional<int64_t> size = getConstantIntValue(sizes[choice.loop]);
    if (size && *size <= 2 * sumBlock() && reductions.empty())
      return false;
    return sumsFloats();
  }

  /// Adds the sum of each block to `totals`. A block of more than sumBlock() elements is summed in sub-blocks of one
  /// sixteenth of its size.
  SmallVector<Value> overBlocks(int64_t block, Value from, OpFoldResult to, ValueRange totals, ValueRange identities,
                                ArrayRef<Operation *> combiners,
                                function_ref<SmallVector<Value>(ValueRange, Value)> step) {
    auto blocks = scf::ForOp::create(builder, loc, from, valueOf(to), valueOf(builder.getIndexAttr(block)), totals);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(blocks.getBody());
    AffineExpr d0 = builder.getAffineDimExpr(0), d1 = builder.getAffineDimExpr(1);
    auto least = [&](AffineExpr one, AffineExpr other) {
      return affine::makeComposedFoldedAffineMin(builder, loc, AffineMap::get(2, 0, {one, other}, builder.getContext()),
                                                 {OpFoldResult(blocks.getInductionVar()), to});
    };
    SmallVector<Value> zeros(identities);
    SmallVector<Value> sums =
        block > sumBlock() ? overBlocks(block / partialSum, blocks.getInductionVar(), least(d0 + block, d1), zeros,
                                        identities, combiners, step)
                           : overChains(blocks.getInductionVar(), least(builder.getAffineConstantExpr(block), d1 - d0),
                                        zeros, identities, combiners, step);
    for (auto [sum, total] : llvm::zip_equal(sums, blocks.getRegionIterArgs()))
      sum = arith::AddFOp::create(builder, loc, total, sum);
    scf::YieldOp::create(builder, loc, sums);
    return llvm::to_vector_of<Value>(blocks.getResults());
  }

  /// Returns the number of elements of an outermost block. If the number of elements is known, there are at most 2 *
  /// `partialSum` blocks. Otherwise a block has sumBlock() * `partialSum`^2 elements, about half a million with 16
  /// lanes.
  int64_t largestBlock() {
    int64_t block = sumBlock() * partialSum * partialSum;
    if (std::optional<int64_t> size = getConstantIntValue(sizes[choice.loop]))
      for (block = sumBlock(); *size > 2 * partialSum * block;)
        block *= partialSum;
    return block;
  }

  void reductionVector() {
    SmallVector<Operation *> combiners;
    SmallVector<Value> accumulators;
    for (unsigned number : combined) {
      combiners.push_back(tile::combinerOf(op, number));
      Value identity = arith::ConstantOp::create(builder, loc, tile::identityOf(combiners.back()));
      accumulators.push_back(body.asVector(builder, identity));
    }
    SmallVector<Value> identities(accumulators);
    body.fromIdentity = true;
    auto rows = [&](ValueRange in) -> SmallVector<Value> {
      IRMapping uniform;
      body.emitUniform(builder, uniform);
      auto step = [&](ValueRange carried, Value mask) {
        SmallVector<Value> next = body.emitElements(builder, uniform, mask, combined, carried);
        for (auto [value, old] : llvm::zip_equal(next, carried)) {
          if (mask)
            value = arith::SelectOp::create(builder, loc, mask, value, old);
        }
        return next;
      };
      if (choice.loop < 0)
        return step(in, Value());
      if (sumsInBlocks())
        return overBlocks(largestBlock(), zero, sizes[choice.loop], in, identities, combiners, step);
      return overChains(zero, sizes[choice.loop], llvm::to_vector_of<Value>(in), identities, combiners, step);
    };
    accumulators = sumsFloats() ? overPartialSums(0, accumulators, rows) : overReductions(0, accumulators, rows);
    for (auto [at, number] : llvm::enumerate(combined)) {
      Value old = body.read(builder, *op.getDpsInitOperand(number), Value());
      Operation *combiner = combiners[at];
      Value sum = combineLanes(combiner, accumulators[at]);
      IRMapping scalar;
      bool accumulatorFirst = combiner->getOperand(0) == op.getRegionOutputArgs()[number];
      scalar.map(combiner->getOperand(accumulatorFirst ? 0 : 1), old);
      scalar.map(combiner->getOperand(accumulatorFirst ? 1 : 0), sum);
      Value result = builder.clone(*combiner, scalar)->getResult(0);
      body.write(builder, result, number, Value());
    }
  }

  linalg::LinalgOp op;
  VectorLoop choice;
  BodyEmitter body;
  OpBuilder builder;
  Location loc;
  const int64_t accumulatorSets; ///< number of sets of accumulators of a long reduction
  const int64_t unrolledVectors; ///< maximum number of unrolled vectors
  Value zero;
  SmallVector<OpFoldResult> sizes;
  SmallVector<unsigned> parallel, reductions;
  SmallVector<unsigned> combined; ///< numbers of the results that are not stored step by step
};

struct VectorizeLoops : impl::VectorizeLoopsBase<VectorizeLoops> {
  using VectorizeLoopsBase::VectorizeLoopsBase;
  void runOnOperation() override {
    if (failed(requireForm(getOperation(), IRForm::Buffers, getArgument())))
      return signalPassFailure();
    func::FuncOp kernel = getOperation();
    if (!kernel->hasAttr(kernelAttrName))
      return;
    SmallVector<linalg::LinalgOp> ops;
    graph::DecisionList decisions;
    kernel.walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    for (linalg::LinalgOp op : ops) {
      // If a tile was computed in place, a copy of the tile onto itself remains. Erase it.
      if (auto copy = dyn_cast<linalg::CopyOp>(*op); copy && copy.getInputs()[0] == copy.getOutputs()[0]) {
        copy.erase();
        continue;
      }
      if (failed(emitLoops(op, lanes, &decisions)))
        return signalPassFailure();
    }
    decisions.store(kernel);
    keepOrderOfSums(kernel);
  }

private:
  /// Removes the fast-math flag that permits LLVM to reassociate reductions. Otherwise, LLVM might choose different
  /// orders of additions for loops of different lengths. However, schedules that differ only in knobs that do not
  /// reorder sums (tw.space) must have bitwise equal results.
  static void keepOrderOfSums(func::FuncOp kernel) {
    kernel.walk([](arith::ArithFastMathInterface op) {
      const arith::FastMathFlagsAttr has = op.getFastMathFlagsAttr();
      if (!has || !arith::bitEnumContainsAny(has.getValue(), arith::FastMathFlags::reassoc))
        return;
      op->setAttr(op.getFastMathAttrName(),
                  arith::FastMathFlagsAttr::get(op.getContext(), has.getValue() & ~arith::FastMathFlags::reassoc));
    });
  }
};
} // namespace

/// Returns the ratio of 32 bits to the width of the widest type that `op` reads, computes or writes. The ratio is 4 for
/// at most 8 bits, 2 for at most 16 bits, and 1 for wider types. A vector of `op` can have more elements than a vector
/// of 32-bit elements by this factor.
static int64_t narrowness(linalg::LinalgOp op) {
  unsigned widest = 1;
  auto see = [&](Type type) {
    Type element = getElementTypeOrSelf(type);
    widest = std::max(widest, element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 64);
  };
  for (Type type : op->getOperandTypes())
    see(type);
  op.getBlock()->walk([&](Operation *inner) {
    for (Type type : inner->getResultTypes())
      see(type);
  });
  return widest <= 8 ? 4 : widest <= 16 ? 2 : 1;
}

/// Returns true if the loops of `op` may have so many iterations that the report must state why they are not
/// vectorized.
static bool isLong(linalg::LinalgOp op) {
  constexpr int64_t fewest = 64;
  int64_t elements = 1;
  for (int64_t size : op.getStaticLoopRanges())
    elements = ShapedType::isDynamic(size) || elements >= fewest ? fewest : elements * size;
  return elements >= fewest;
}

LogicalResult emitLoops(linalg::LinalgOp op, int64_t lanes, graph::DecisionList *decisions) {
  for (Value operand : op->getOperands())
    if (isa<TensorType>(operand.getType()))
      return op.emitOpError("is still on tensors: run --tw-bufferize-kernels first");
  // Tiling computes the index of a tile in the whole tensor by affine.apply. Expand this op to additions and
  // multiplications, which have vector forms.
  for (auto apply : llvm::make_early_inc_range(op.getBlock()->getOps<affine::AffineApplyOp>())) {
    OpBuilder builder(apply);
    std::optional<SmallVector<Value, 8>> expanded =
        affine::expandAffineMap(builder, apply.getLoc(), apply.getAffineMap(), apply.getMapOperands());
    if (!expanded)
      continue;
    apply.replaceAllUsesWith(expanded->front());
    apply.erase();
  }
  if (emitInterleavedLoops(op, lanes * narrowness(op)) || emitTransposedLoops(op, lanes))
    return success();
  const VectorLoop choice = chooseVectorLoop(op, lanes * narrowness(op));
  if (decisions && choice.loop < 0 && isLong(op))
    decisions->add(op.getLoc(),
                   {"VectorizeLoops", "vectorize", /*done=*/false, tile::describe(op), choice.reason.str()});
  return LoopEmitter(op, choice).run();
}

} // namespace vector_stage
} // namespace tilewright
