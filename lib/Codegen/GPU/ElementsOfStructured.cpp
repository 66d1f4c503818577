//===- ElementsOfStructured.cpp - elements of structured ops, as one thread computes them ===//
//
//   linalg.generic ins(%x) outs(%fill)  (d0, d1) -> (d0, d1), (d0)      element i of the sums of rows
//     ->  scf.for %j: %a = load x[i, j] ; %accumulated + %a
//
// Loops that do not index the result are sequential loops. A sum of floats is computed as partial sums. Otherwise,
// rounding errors would accumulate along a whole row.
//
// Tests: test/Codegen/NVPTX/lower-to-threads.mlir, test/Python/test_cuda.py
// (test_long_sums_of_positive_numbers_match_eager)
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Tile.h"
#include "lib/Codegen/GPU/Elements.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tilewright::gpu {

/// The maximum number of terms of a partial sum of floats.
static constexpr int64_t longestSum = 32;

Value Elements::loopExtent(linalg::LinalgOp op, unsigned loop) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<ShapedType>(operand.get().getType()))
      continue;
    for (auto [dim, expr] : llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults()))
      if (auto single = dyn_cast<AffineDimExpr>(expr); single && single.getPosition() == loop)
        return size(operand.get(), dim);
  }
  return {};
}

/// Returns true if every result of `op` is a sum of floats, that is, the accumulator plus another value.
static bool addsUp(linalg::LinalgOp op) {
  Operation *yield = op.getBlock()->getTerminator();
  for (auto [argument, value] : llvm::zip_equal(op.getRegionOutputArgs(), yield->getOperands())) {
    auto sum = value.getDefiningOp<arith::AddFOp>();
    if (!sum || !argument.hasOneUse() || !llvm::is_contained(sum->getOperands(), argument))
      return false;
  }
  return true;
}

/// Returns the indices of the loops of `op` for the element of result `number` at the indices `at`. The index is null
/// for a loop that does not index the result. Returns an empty list if the loops do not index the result directly.
static SmallVector<Value> loopsAt(linalg::LinalgOp op, unsigned number, ArrayRef<Value> at) {
  SmallVector<Value> loops(op.getNumLoops());
  for (auto [expr, index] : llvm::zip_equal(op.getMatchingIndexingMap(op.getDpsInitOperand(number)).getResults(), at)) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      loops[dim.getPosition()] = index;
    else if (!isa<AffineConstantExpr>(expr))
      return {};
  }
  return loops;
}

/// Computes one element in one thread.
Value Elements::structured(linalg::LinalgOp op, unsigned number, ArrayRef<Value> at) {
  SmallVector<Value> loops = loopsAt(op, number, at);
  Type type = cast<ShapedType>(op->getResult(number).getType()).getElementType();
  if (loops.empty() && op.getNumLoops() > 0)
    return refuse(op, type);
  return structuredLanes(op, number, {SmallVector<Value>(at)}, {loops}).front();
}

void Elements::computeTogether(Value tensor, ArrayRef<SmallVector<Value>> ats) {
  if (provided.contains(tensor) || isKnown(tensor, ats.front()))
    return;
  Key key = keyOf(tensor, ats.front());
  if (llvm::any_of(visited, [&](const std::set<Key> &scope) { return scope.contains(key); }))
    return;
  visited.back().insert(std::move(key));
  auto gradient = tensor.getDefiningOp<tile::DepthwiseGradientOp>();
  if (gradient && cast<ShapedType>(gradient.getInputs()[0].getType()).hasStaticShape()) {
    for (auto [at, value] : llvm::zip_equal(ats, depthwiseGradient(gradient, ats)))
      remember(tensor, at, value);
    return;
  }
  if (auto insertion = tensor.getDefiningOp<tensor::InsertSliceOp>()) {
    if (areInOnePart(insertion, ats))
      insertTogether(insertion, ats);
    return;
  }
  auto op = tensor.getDefiningOp<linalg::LinalgOp>();
  if (!op || isa<linalg::FillOp>(op))
    return;
  const unsigned number = cast<OpResult>(tensor).getResultNumber();
  std::vector<SmallVector<Value>> lanes;
  for (const SmallVector<Value> &at : ats)
    lanes.push_back(loopsAt(op, number, at));
  if (lanes.front().empty())
    return;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    if (!isa<ShapedType>(operand->get().getType()) || !op.payloadUsesValueFromOperand(operand))
      continue;
    std::vector<SmallVector<Value>> from;
    for (ArrayRef<Value> loops : lanes) {
      from.emplace_back();
      for (AffineExpr expr : op.getMatchingIndexingMap(operand).getResults()) {
        auto dim = dyn_cast<AffineDimExpr>(expr);
        auto number = dyn_cast<AffineConstantExpr>(expr);
        from.back().push_back(dim ? loops[dim.getPosition()] : number ? constant(number.getValue()) : Value());
      }
    }
    if (!llvm::is_contained(from.front(), Value()))
      computeTogether(operand->get(), from);
  }
  const bool reduces = llvm::is_contained(lanes.front(), Value());
  const bool differ = llvm::any_of(ats, [&](const SmallVector<Value> &at) { return at != ats.front(); });
  if (reduces)
    structuredLanes(op, number, differ ? ats : ats.take_front(),
                    differ ? ArrayRef(lanes) : ArrayRef(lanes).take_front());
}

/// Computes the elements of result `number` of `op` at the indices `ats`. `lanes` contains the loop indices of each
/// element, or null for a loop that does not index the result. All elements share one sequential loop for each loop
/// that does not index the result.
SmallVector<Value> Elements::structuredLanes(linalg::LinalgOp op, unsigned number, ArrayRef<SmallVector<Value>> ats,
                                             std::vector<SmallVector<Value>> lanes) {
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(number));
  Type type = cast<ShapedType>(op->getResult(number).getType()).getElementType();
  const size_t perLane = op.getNumDpsInits();
  SmallVector<Value> accumulated; // for each lane, the values of all results
  for (ArrayRef<Value> loops : lanes)
    llvm::append_range(accumulated, initialValues(op, loops));
  SmallVector<int64_t> reduced;
  for (auto [loop, value] : llvm::enumerate(lanes.front()))
    if (!value)
      reduced.push_back(loop);
  auto bodies = [&](ArrayRef<Value> carried) {
    loadOperands(op, lanes);
    SmallVector<Value> next;
    for (auto [lane, loops] : llvm::enumerate(lanes))
      llvm::append_range(next, yielded(op, loops, carried.slice(lane * perLane, perLane)));
    return next;
  };
  const bool sums = !reduced.empty() && addsUp(op);
  auto add = [&](ArrayRef<Value> a, ArrayRef<Value> b) {
    return llvm::map_to_vector(llvm::zip_equal(a, b), [&](auto pair) -> Value {
      return arith::AddFOp::create(builder, op.getLoc(), std::get<0>(pair), std::get<1>(pair));
    });
  };
  const SmallVector<Value> zeros =
      sums ? llvm::map_to_vector(accumulated,
                                 [&](Value of) -> Value {
                                   return arith::ConstantOp::create(builder, op.getLoc(),
                                                                    builder.getZeroAttr(of.getType()));
                                 })
           : SmallVector<Value>();
  auto loopOver = [&](Value from, Value to, Value step, ArrayRef<Value> start,
                      llvm::function_ref<SmallVector<Value>(Value, SmallVector<Value>)> body) {
    auto loop = scf::ForOp::create(builder, op.getLoc(), from, to, step, start);
    inScope([&] {
      builder.setInsertionPointToStart(loop.getBody());
      SmallVector<Value> inner = body(loop.getInductionVar(), SmallVector<Value>(loop.getRegionIterArgs()));
      builder.setInsertionPointToEnd(loop.getBody());
      scf::YieldOp::create(builder, op.getLoc(), inner);
    });
    return SmallVector<Value>(loop.getResults());
  };
  // In sums of floats, each loop and each part of a long loop has a separate sum. Otherwise, rounding errors would
  // accumulate along all elements.
  std::function<SmallVector<Value>(size_t, SmallVector<Value>)> nest = [&](size_t depth, SmallVector<Value> carried) {
    if (depth == reduced.size())
      return bodies(carried);
    Value extent = loopExtent(op, reduced[depth]);
    if (!extent) {
      refuse(op, type);
      return carried;
    }
    auto setIndex = [&](Value index) {
      for (SmallVector<Value> &loops : lanes)
        loops[reduced[depth]] = index;
    };
    auto each = [&](Value index, SmallVector<Value> within) {
      setIndex(index);
      return sums && depth + 1 < reduced.size() ? add(within, nest(depth + 1, zeros)) : nest(depth + 1, within);
    };
    std::optional<int64_t> known = getConstantIntValue(extent);
    SmallVector<Value> found;
    if (sums && (!known || *known > longestSum))
      found = loopOver(constant(0), extent, constant(longestSum), carried, [&](Value first, SmallVector<Value> within) {
        Value end = arith::AddIOp::create(builder, op.getLoc(), first, constant(longestSum));
        end = arith::MinUIOp::create(builder, op.getLoc(), end, extent);
        return add(within, loopOver(first, end, constant(1), zeros, each));
      });
    else
      found = loopOver(constant(0), extent, constant(1), carried, each);
    setIndex(Value());
    return found;
  };
  accumulated = nest(0, accumulated);
  SmallVector<Value> made;
  for (auto [lane, at] : llvm::enumerate(ats)) {
    for (size_t other = 0; other < perLane; ++other)
      if (op.getMatchingIndexingMap(op.getDpsInitOperand(other)) == map)
        remember(op->getResult(other), at, accumulated[lane * perLane + other]);
    made.push_back(accumulated[lane * perLane + number]);
  }
  return made;
}

/// Uses vector loads for the operands of `op` that the lanes read at adjacent positions.
void Elements::loadOperands(linalg::LinalgOp op, ArrayRef<SmallVector<Value>> lanes) {
  if (lanes.size() == 1)
    return;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    if (!op.payloadUsesValueFromOperand(operand) || map.getNumResults() == 0 || !map.isProjectedPermutation())
      continue;
    SmallVector<Value> at, adjacent;
    for (AffineExpr expr : map.getResults())
      at.push_back(lanes.front()[cast<AffineDimExpr>(expr).getPosition()]);
    const unsigned last = cast<AffineDimExpr>(map.getResults().back()).getPosition();
    for (ArrayRef<Value> loops : lanes)
      adjacent.push_back(loops[last]);
    if (adjacent[0] != adjacent[1])
      loadTogether(operand->get(), at, adjacent);
  }
}

/// Returns the initial values of the accumulators of `op`, before the loops that do not index the result.
SmallVector<Value> Elements::initialValues(linalg::LinalgOp op, ArrayRef<Value> loops) {
  SmallVector<Value> initial;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    Type element = cast<ShapedType>(init.get().getType()).getElementType();
    const bool known = llvm::all_of(map.getResults(), [&](AffineExpr expr) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      return !dim || loops[dim.getPosition()];
    });
    if (!known || !op.payloadUsesValueFromOperand(&init)) {
      initial.push_back(arith::ConstantOp::create(builder, op.getLoc(), builder.getZeroAttr(element)));
      continue;
    }
    SmallVector<Value> indices;
    for (AffineExpr expr : map.getResults())
      indices.push_back(evaluate(expr, loops));
    initial.push_back(this->element(init.get(), indices));
  }
  return initial;
}

SmallVector<Value> Elements::yielded(linalg::LinalgOp op, ArrayRef<Value> loops, ArrayRef<Value> accumulated) {
  Block &body = *op.getBlock();
  IRMapping mapping;
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(&operand);
    if (op.isDpsInit(&operand)) {
      mapping.map(argument, accumulated[operand.getOperandNumber() - op.getNumDpsInputs()]);
    } else if (!isa<ShapedType>(operand.get().getType())) {
      mapping.map(argument, outer(operand.get()));
    } else if (!argument.use_empty()) {
      SmallVector<Value> at;
      for (AffineExpr expr : op.getMatchingIndexingMap(&operand).getResults())
        at.push_back(evaluate(expr, loops));
      mapping.map(argument, element(operand.get(), at));
    }
  }
  cloneBody(body, mapping, loops);
  SmallVector<Value> results;
  for (Value value : body.getTerminator()->getOperands())
    results.push_back(mapping.contains(value) ? mapping.lookup(value) : outer(value));
  return results;
}

void Elements::cloneBody(Block &body, IRMapping &mapping, ArrayRef<Value> loops) {
  auto mapped = [&](Value value) { return mapping.contains(value) ? mapping.lookup(value) : outer(value); };
  for (Operation &inner : body.without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      mapping.map(index.getResult(), loops[index.getDim()]);
    } else if (auto extract = dyn_cast<tensor::ExtractOp>(inner)) {
      SmallVector<Value> at;
      for (Value index : extract.getIndices())
        at.push_back(mapped(index));
      mapping.map(extract.getResult(), element(extract.getTensor(), at));
    } else if (auto placeOp = dyn_cast<tile::PlaceOp>(inner)) {
      mapping.map(placeOp.getPlace(),
                  checkedIndex(mapped(placeOp.getNumber()), mapped(placeOp.getLimit()), placeOp.getFromEnd()));
    } else if (auto divisor = dyn_cast<tile::DivisorOp>(inner)) {
      Value safe = tile::divideByOne(builder, inner.getLoc(), mapped(divisor.getDivisor()));
      mapping.map(divisor.getResult(), safe);
    } else if (auto require = dyn_cast<tile::RequireOp>(inner)) {
      mapping.map(require.getResult(), mapped(require.getValue())); // this target does not check the condition
    } else if (auto apply = dyn_cast<affine::AffineApplyOp>(inner)) {
      SmallVector<Value> operands = llvm::map_to_vector(apply.getMapOperands(), mapped);
      AffineMap map = apply.getAffineMap();
      mapping.map(apply.getResult(), affine::expandAffineExpr(builder, inner.getLoc(), map.getResult(0),
                                                              ArrayRef(operands).take_front(map.getNumDims()),
                                                              ArrayRef(operands).drop_front(map.getNumDims())));
    } else if (inner.getNumRegions() > 0) {
      refuse(&inner, inner.getNumResults() ? inner.getResult(0).getType() : builder.getI1Type());
      for (Value result : inner.getResults())
        mapping.map(result, arith::ConstantOp::create(builder, inner.getLoc(), builder.getZeroAttr(result.getType())));
    } else {
      for (Value operand : inner.getOperands())
        if (!mapping.contains(operand))
          mapping.map(operand, outer(operand));
      builder.clone(inner, mapping);
    }
  }
}

} // namespace tilewright::gpu
