//===- BodyEmitter.cpp - the body of a structured op, on scalars or vectors ------===//
#include "lib/Codegen/CPU/Vectorize/BodyEmitter.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tilewright::vector_stage {

BodyEmitter::BodyEmitter(linalg::LinalgOp op, VectorLoop choice) : op(op), choice(choice), loc(op.getLoc()) {
  ivs.resize(op.getNumLoops());
}

bool BodyEmitter::isUniform(Value value) {
  if (choice.loop < 0)
    return false;
  if (auto known = uniformity.find(value); known != uniformity.end())
    return known->second;
  bool uniform = true;
  if (auto argument = dyn_cast<BlockArgument>(value); argument && argument.getOwner() == op.getBlock()) {
    OpOperand *operand = op.getMatchingOpOperand(argument);
    uniform = !op.isDpsInit(operand) && accessAlong(op, *operand, choice.loop) == Access::Uniform;
  } else if (Operation *definition = value.getDefiningOp(); definition && definition->getBlock() == op.getBlock()) {
    if (auto index = dyn_cast<linalg::IndexOp>(definition))
      uniform = static_cast<int64_t>(index.getDim()) != choice.loop;
    else
      uniform = llvm::all_of(definition->getOperands(), [&](Value v) { return isUniform(v); });
  }
  return uniformity[value] = uniform;
}

bool BodyEmitter::isUnitStride(Value value) {
  Operation *definition = value.getDefiningOp();
  if (!definition || definition->getBlock() != op.getBlock())
    return false;
  if (auto index = dyn_cast<linalg::IndexOp>(definition))
    return static_cast<int64_t>(index.getDim()) == choice.loop;
  if (isa<arith::IndexCastOp>(definition))
    return isUnitStride(definition->getOperand(0));
  if (isa<arith::AddIOp>(definition))
    return (isUnitStride(definition->getOperand(0)) && isUniform(definition->getOperand(1))) ||
           (isUnitStride(definition->getOperand(1)) && isUniform(definition->getOperand(0)));
  if (isa<arith::SubIOp>(definition))
    return isUnitStride(definition->getOperand(0)) && isUniform(definition->getOperand(1));
  return false;
}

BodyEmitter::Guard BodyEmitter::guardOf(memref::LoadOp load) {
  auto guarded = load.getIndices().back().getDefiningOp<arith::SelectOp>();
  if (!guarded || !load->hasOneUse() || isUniform(guarded.getCondition()) || !isUnitStride(guarded.getTrueValue()) ||
      !isConstantIntValue(guarded.getFalseValue(), 0))
    return {};
  auto taken = dyn_cast<arith::SelectOp>(*load->user_begin());
  if (!taken || taken.getTrueValue() != load.getResult())
    return {};
  // The condition under which the loaded value is used may be a conjunction. Search the conjunction for the condition
  // of the guard.
  SmallVector<Value> conditions{taken.getCondition()};
  while (!conditions.empty()) {
    Value condition = conditions.pop_back_val();
    if (condition == guarded.getCondition())
      return {guarded.getTrueValue(), condition};
    if (auto both = condition.getDefiningOp<arith::AndIOp>())
      conditions.append({both.getLhs(), both.getRhs()});
  }
  return {};
}

Value BodyEmitter::asVector(OpBuilder &builder, Value value) {
  if (choice.loop < 0 || isa<VectorType>(value.getType()))
    return value;
  return vector::BroadcastOp::create(builder, loc, vectorOf(value.getType()), value);
}

SmallVector<Value> BodyEmitter::indicesOf(OpBuilder &builder, OpOperand &operand) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  SmallVector<Value> indices;
  for (AffineExpr expr : map.getResults()) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      indices.push_back(ivs[dim.getPosition()]);
      continue;
    }
    SmallVector<OpFoldResult> dims(ivs.begin(), ivs.end());
    // The loops inside the current one have no index yet. `expr` does not depend on their indices, so use 0 for them.
    for (auto [position, dim] : llvm::enumerate(dims))
      if (!expr.isFunctionOfDim(position))
        dim = builder.getIndexAttr(0);
    OpFoldResult index =
        affine::makeComposedFoldedAffineApply(builder, loc, AffineMap::get(map.getNumDims(), 0, expr), dims);
    indices.push_back(getValueOrCreateConstantIndexOp(builder, loc, index));
  }
  return indices;
}

/// Emits one load per lane. If an index is a vector, lanes that are masked off use 0 instead, which is a valid index if
/// any lane is active.
Value BodyEmitter::readLanes(OpBuilder &builder, Value memref, ArrayRef<Value> indices, Value mask) {
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  SmallVector<Value> vectors;
  for (Value index : indices) {
    if (isa<VectorType>(index.getType()) && mask) {
      Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(index.getType()));
      index = arith::SelectOp::create(builder, loc, mask, index, zero);
    }
    vectors.push_back(index);
  }
  Value result = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorOf(element)));
  for (int64_t lane = 0; lane < choice.lanes; ++lane) {
    SmallVector<Value> at;
    for (Value index : vectors)
      at.push_back(isa<VectorType>(index.getType()) ? vector::ExtractOp::create(builder, loc, index, lane).getResult()
                                                    : index);
    Value scalar = memref::LoadOp::create(builder, loc, memref, at);
    result = vector::InsertOp::create(builder, loc, scalar, result, lane);
  }
  return result;
}

Value BodyEmitter::lineAt(OpBuilder &builder, Value memref, ArrayRef<Value> indices, int64_t count) {
  auto type = cast<MemRefType>(memref.getType());
  auto whole = memref::ExtractStridedMetadataOp::create(builder, loc, memref);
  Value first = getValueOrCreateConstantIndexOp(builder, loc, whole.getConstifiedMixedOffset());
  for (auto [index, stride] : llvm::zip_equal(indices, whole.getConstifiedMixedStrides())) {
    Value step = getValueOrCreateConstantIndexOp(builder, loc, stride);
    first = arith::AddIOp::create(builder, loc, first, arith::MulIOp::create(builder, loc, index, step));
  }
  auto layout = StridedLayoutAttr::get(builder.getContext(), ShapedType::kDynamic, {1});
  OpFoldResult one = builder.getIndexAttr(1), size = builder.getIndexAttr(count);
  return memref::ReinterpretCastOp::create(
      builder, loc, MemRefType::get({count}, type.getElementType(), layout, type.getMemorySpace()),
      whole.getBaseBuffer(), OpFoldResult(first), ArrayRef<OpFoldResult>(size), ArrayRef<OpFoldResult>(one));
}

/// Reads a vector of elements with a stride of `stride` elements, starting at `indices`, by loading `stride` whole
/// vectors and shuffling them. The last of these vectors ends with the last element, so no memory after this element is
/// read.
Value BodyEmitter::readStrided(OpBuilder &builder, Value memref, ArrayRef<Value> indices, int64_t stride) {
  const int64_t lanes = choice.lanes, count = stride * (lanes - 1) + 1;
  VectorType type = vectorOf(cast<MemRefType>(memref.getType()).getElementType());
  Value elements = lineAt(builder, memref, indices, count);
  Value result;
  for (int64_t piece = 0; piece < stride; ++piece) {
    const bool last = piece + 1 == stride;
    const int64_t begin = last ? count - lanes : piece * lanes;
    Value at = arith::ConstantIndexOp::create(builder, loc, begin);
    Value loaded = vector::LoadOp::create(builder, loc, type, elements, at);
    // The lanes whose element is in this piece get new values. All other lanes are unchanged.
    SmallVector<int64_t> from;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      const int64_t offset = lane * stride;
      const bool here = offset >= piece * lanes && (last || offset < (piece + 1) * lanes);
      from.push_back(here ? lanes + offset - begin : lane);
    }
    result = vector::ShuffleOp::create(builder, loc, result ? result : loaded, loaded, from);
  }
  return result;
}

Value BodyEmitter::read(OpBuilder &builder, OpOperand &operand, Value mask) {
  Value memref = operand.get();
  auto type = dyn_cast<MemRefType>(memref.getType());
  if (!type)
    return memref;
  SmallVector<Value> indices = indicesOf(builder, operand);
  Access access = choice.loop < 0 ? Access::Uniform : accessAlong(op, operand, choice.loop);
  if (access == Access::Uniform)
    return memref::LoadOp::create(builder, loc, memref, indices);
  VectorType vectorType = vectorOf(type.getElementType());
  if (access == Access::Contiguous) {
    if (!mask)
      return vector::LoadOp::create(builder, loc, vectorType, memref, indices);
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType));
    return vector::MaskedLoadOp::create(builder, loc, vectorType, memref, indices, mask, zero);
  }
  if (const int64_t stride = mask ? 0 : smallStride(op, operand, choice.loop))
    return readStrided(builder, memref, indices, stride);
  // The index of a lane is the index of the first lane plus the lane number times the increment of the map.
  AffineMap map = op.getMatchingIndexingMap(&operand);
  Value step = vector::StepOp::create(builder, loc, vectorOf(builder.getIndexType()));
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    if (!expr.isFunctionOfDim(choice.loop))
      continue;
    // expr(iv + lane) - expr(iv) is a multiple of the lane number, because `expr` is linear in the vector loop.
    const int64_t by = stepAlong(op, expr, choice.loop).value_or(1);
    Value scaled = step;
    if (by != 1) {
      Value amount = arith::ConstantIndexOp::create(builder, loc, by);
      scaled = arith::MulIOp::create(builder, loc, step, asVector(builder, amount));
    }
    indices[dim] = arith::AddIOp::create(builder, loc, asVector(builder, indices[dim]), scaled);
  }
  return readLanes(builder, memref, indices, mask);
}

Value BodyEmitter::readBefore(OpBuilder &builder, unsigned number, Value mask) {
  return op.getRegionOutputArgs()[number].use_empty() ? Value() : read(builder, *op.getDpsInitOperand(number), mask);
}

void BodyEmitter::write(OpBuilder &builder, Value value, unsigned number, Value mask) {
  OpOperand &operand = *op.getDpsInitOperand(number);
  SmallVector<Value> indices = indicesOf(builder, operand);
  if (choice.loop < 0 || accessAlong(op, operand, choice.loop) == Access::Uniform) {
    memref::StoreOp::create(builder, loc, value, operand.get(), indices);
    return;
  }
  value = asVector(builder, value);
  if (mask)
    vector::MaskedStoreOp::create(builder, loc, operand.get(), indices, mask, value);
  else
    vector::StoreOp::create(builder, loc, value, operand.get(), indices);
}

/// Emits a load at computed indices as a strided vector load. This is possible if there is no mask, exactly one index
/// differs between lanes, this index increases by 1 from lane to lane, and its dimension has a small stride. Otherwise
/// returns null.
Value BodyEmitter::readOfLoad(OpBuilder &builder, memref::LoadOp load, ArrayRef<Value> indices, Value mask) {
  auto isVector = [](Value index) { return isa<VectorType>(index.getType()); };
  if (mask || llvm::count_if(indices, isVector) != 1)
    return {};
  const int64_t dim = llvm::find_if(indices, isVector) - indices.begin();
  const int64_t stride = load.getMemRefType().getStridesAndOffset().first[dim]; // a dynamic stride is negative
  if (!isUnitStride(load.getIndices()[dim]) || !isSmallStride(stride))
    return {};
  SmallVector<Value> first(indices);
  first[dim] = vector::ExtractOp::create(builder, loc, indices[dim], 0);
  return readStrided(builder, load.getMemref(), first, stride);
}

void BodyEmitter::emitOp(OpBuilder &builder, Operation &inner, IRMapping &values, Value mask) {
  if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
    Value iv = ivs[index.getDim()];
    if (choice.loop == static_cast<int64_t>(index.getDim())) {
      Value step = vector::StepOp::create(builder, loc, vectorOf(builder.getIndexType()));
      iv = arith::AddIOp::create(builder, loc, asVector(builder, iv), step);
    }
    values.map(index.getResult(), iv);
    return;
  }
  bool anyVector =
      llvm::any_of(inner.getOperands(), [&](Value v) { return isa<VectorType>(values.lookupOrDefault(v).getType()); });
  if (!anyVector) {
    builder.clone(inner, values);
    return;
  }
  if (auto load = dyn_cast<memref::LoadOp>(inner)) {
    SmallVector<Value> indices;
    for (Value index : load.getIndices())
      indices.push_back(values.lookupOrDefault(index));
    auto type = cast<MemRefType>(load.getMemref().getType());
    auto [strides, offset] = type.getStridesAndOffset();
    bool othersUniform =
        llvm::none_of(ArrayRef<Value>(indices).drop_back(), [](Value v) { return isa<VectorType>(v.getType()); });
    Value result;
    Value last = load.getIndices().back();
    if (Guard guard = guardOf(load)) {
      last = guard.index;
      indices.back() = values.lookupOrDefault(last);
      Value there = values.lookupOrDefault(guard.there);
      mask = mask ? arith::AndIOp::create(builder, loc, mask, there).getResult() : there;
    }
    if (othersUniform && strides.back() == 1 && isUnitStride(last)) {
      indices.back() = vector::ExtractOp::create(builder, loc, indices.back(), 0);
      VectorType vectorType = vectorOf(type.getElementType());
      if (mask)
        result = vector::MaskedLoadOp::create(
            builder, loc, vectorType, load.getMemref(), indices, mask,
            arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType)).getResult());
      else
        result = vector::LoadOp::create(builder, loc, vectorType, load.getMemref(), indices);
    } else if (Value few = readOfLoad(builder, load, indices, mask)) {
      result = few;
    } else {
      result = readLanes(builder, load.getMemref(), indices, mask);
    }
    values.map(load.getResult(), result);
    return;
  }
  SmallVector<Value> operands;
  for (Value v : inner.getOperands())
    operands.push_back(asVector(builder, values.lookupOrDefault(v)));
  // Lanes that are masked off have arbitrary indices, divisors and conditions. Replace these by valid values, so that
  // no error is reported for them.
  if (mask && isa<tile::PlaceOp, tile::DivisorOp, tile::RequireOp>(inner)) {
    Type type = operands[0].getType();
    TypedAttr valid = isa<tile::PlaceOp>(inner) ? builder.getZeroAttr(type) : builder.getOneAttr(type);
    operands[0] =
        arith::SelectOp::create(builder, loc, mask, operands[0], arith::ConstantOp::create(builder, loc, valid));
  }
  OperationState state(inner.getLoc(), inner.getName(), operands, {vectorOf(inner.getResult(0).getType())},
                       inner.getAttrs());
  Operation *made = builder.create(state);
  values.map(inner.getResult(0), made->getResult(0));
}

Value BodyEmitter::numberExtreme(OpBuilder &builder, Operation *combiner, Value x, Value best) {
  if (!isa<arith::MaxNumFOp, arith::MinNumFOp>(combiner))
    return {};
  auto better = isa<arith::MaxNumFOp>(combiner) ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT;
  Value take = arith::CmpFOp::create(builder, loc, better, x, best);
  return arith::SelectOp::create(builder, loc, take, x, best);
}

void BodyEmitter::emitUniform(OpBuilder &builder, IRMapping &values) {
  if (choice.loop < 0)
    return;
  for (OpOperand *input : op.getDpsInputOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(input);
    if (!argument.use_empty() && isUniform(argument))
      values.map(argument, read(builder, *input, Value()));
  }
  for (Operation &inner : op.getBlock()->without_terminator())
    if (inner.getNumResults() == 1 && isUniform(inner.getResult(0)))
      emitOp(builder, inner, values, Value());
}

SmallVector<Value> BodyEmitter::emitElements(OpBuilder &builder, const IRMapping &values, Value mask,
                                             ArrayRef<unsigned> combined, ValueRange accumulators) {
  SmallVector<Value> in, out;
  for (unsigned number = 0, next = 0; number < op.getNumDpsInits(); ++number)
    if (next < combined.size() && combined[next] == number)
      in.push_back(accumulators[next++]);
    else
      in.push_back(readBefore(builder, number, mask));
  for (auto [number, value] : llvm::enumerate(emitStep(builder, values, in, mask)))
    if (out.size() < combined.size() && combined[out.size()] == number)
      out.push_back(asVector(builder, value));
    else
      write(builder, value, number, mask);
  return out;
}

/// Emits `combiner` as one FMA if it adds a product of f32 or f64 to the accumulator, the product has no other use, and
/// both ops may be contracted. Otherwise returns null. LLVM would also form an FMA. However, in a sum of two products,
/// LLVM's choice of the contracted product depends on the surrounding code. Schedules with the same order of sums would
/// then not have bitwise equal results.
Value BodyEmitter::sumOfProducts(OpBuilder &builder, Operation &combiner, const IRMapping &values) {
  auto add = dyn_cast<arith::AddFOp>(combiner);
  if (!add || !(add.getType().isF32() || add.getType().isF64()))
    return {};
  const bool first = llvm::is_contained(op.getRegionOutputArgs(), add.getLhs());
  Value accumulator = first ? add.getLhs() : add.getRhs();
  auto product = (first ? add.getRhs() : add.getLhs()).getDefiningOp<arith::MulFOp>();
  if (!product || product->getBlock() != op.getBlock() || !product->hasOneUse() ||
      !arith::bitEnumContainsAny(add.getFastmath(), arith::FastMathFlags::contract) ||
      !arith::bitEnumContainsAny(product.getFastmath(), arith::FastMathFlags::contract))
    return {};
  Value before = asVector(builder, values.lookupOrDefault(accumulator));
  Value x = asVector(builder, values.lookupOrDefault(product.getLhs())),
        y = asVector(builder, values.lookupOrDefault(product.getRhs()));
  return math::FmaOp::create(builder, add.getLoc(), x, y, before, add.getFastmathAttr());
}

SmallVector<Value> BodyEmitter::emitStep(OpBuilder &builder, IRMapping values, ValueRange accumulators, Value mask) {
  for (OpOperand *input : op.getDpsInputOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(input);
    if (!argument.use_empty() && !values.contains(argument))
      values.map(argument, read(builder, *input, mask));
  }
  for (auto [argument, value] : llvm::zip_equal(op.getRegionOutputArgs(), accumulators))
    values.map(argument, value);
  SmallVector<Operation *> combiners;
  for (unsigned number = 0; number < op.getNumDpsInits(); ++number)
    combiners.push_back(tile::combinerOf(op, number));
  for (Operation &inner : op.getBlock()->without_terminator()) {
    if (inner.getNumResults() == 1 && values.contains(inner.getResult(0)))
      continue;
    if (llvm::is_contained(combiners, &inner))
      if (Value sum = sumOfProducts(builder, inner, values)) {
        values.map(inner.getResult(0), sum);
        continue;
      }
    if (fromIdentity && llvm::is_contained(combiners, &inner)) {
      bool first = llvm::is_contained(op.getRegionOutputArgs(), inner.getOperand(0));
      Value best = values.lookupOrDefault(inner.getOperand(first ? 0 : 1));
      Value x = asVector(builder, values.lookupOrDefault(inner.getOperand(first ? 1 : 0)));
      if (Value extreme = numberExtreme(builder, &inner, x, best)) {
        values.map(inner.getResult(0), extreme);
        continue;
      }
    }
    emitOp(builder, inner, values, mask);
  }
  SmallVector<Value> yielded;
  for (Value value : op.getBlock()->getTerminator()->getOperands())
    yielded.push_back(values.lookupOrDefault(value));
  return yielded;
}

} // namespace tilewright::vector_stage
