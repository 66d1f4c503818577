//===- GradientRows.cpp - rows of the gradient of attention in a warp's registers ---------===//
#include "lib/Codegen/NVPTX/GradientRows.h"
#include "dialects/Tile/Sizes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::cuda {

using Of = AttentionGradient;

GradientRows::GradientRows(ThreadKernel &kernel, const AttentionGradient &gradient)
    : AttentionCode(kernel, getElementTypeOrSelf(gradient.op.getInputs()[0].getType())), gradient(gradient),
      scale(this->gradient.op.getScale().convertToDouble(), this->gradient.hasMask()) {
  pair = elements.multiply(remainder(lane, 4), index(2));
}

Of::Operand GradientRows::ownOperand(unsigned number) const {
  return ofKeys ? (number == 0 ? Of::Key : Of::Value) : (number == 0 ? Of::Query : Of::Grad);
}

Of::Operand GradientRows::otherOperand(unsigned number) const {
  return ofKeys ? (number == 0 ? Of::Query : Of::Grad) : (number == 0 ? Of::Key : Of::Value);
}

AffineExpr GradientRows::blocksFor(unsigned number) {
  Operand of = operand(number);
  auto sizeOf = [&](unsigned dim) { return tile::sizeOf(of.tensor, of.dims[dim]); };
  return sizeOf(0) * sizeOf(1) * sizeOf(2).ceilDiv(schedule.m);
}

void GradientRows::forBothKinds(llvm::function_ref<void()> emit) {
  kernel.setGrid(blocksFor(Of::Key) + blocksFor(Of::Query));
  Value heads = elements.multiply(size(operand(Of::Key), 0), size(operand(Of::Key), 1));
  Value blocksOfKeys = elements.multiply(heads, divideUp(size(operand(Of::Key), 2), schedule.m));
  Value isOfKeys = isLess(kernel.block, blocksOfKeys);
  auto branch = scf::IfOp::create(builder, loc, TypeRange(), isOfKeys, /*withElse=*/true);
  for (bool keysAreOwn : {true, false})
    elements.inScope([&] {
      Region &region = keysAreOwn ? branch.getThenRegion() : branch.getElseRegion();
      builder.setInsertionPointToStart(&region.front());
      ofKeys = keysAreOwn;
      locate(ofKeys ? kernel.block : arith::SubIOp::create(builder, loc, kernel.block, blocksOfKeys).getResult());
      emit();
    });
}

void GradientRows::locate(Value block) {
  auto minimum = [&](Value a, Value b) { return arith::MinUIOp::create(builder, loc, a, b).getResult(); };
  ownCount = size(operand(ownOperand(0)), 2);
  otherCount = size(operand(otherOperand(0)), 2);
  Value blocks = divideUp(ownCount, schedule.m);
  SmallVector<Value> at = elements.delinearize(block, {size(operand(Of::Key), 0), size(operand(Of::Key), 1), blocks});
  // In causal attention, the first keys and the last queries have the most work, so their blocks start first.
  if (causal() && !ofKeys)
    at[2] = arith::SubIOp::create(builder, loc, arith::SubIOp::create(builder, loc, blocks, index(1)), at[2]);
  batch = at[0];
  head = at[1];
  blockRow = elements.multiply(at[2], index(schedule.m));
  warpRow = elements.add(blockRow, elements.multiply(warp, index(16)));
  for (int64_t half = 0; half < 2; ++half) {
    Value position = elements.add(warpRow, elements.add(index(half * 8), quotient(lane, 4)));
    row[size_t(half)] = {position, Value()};
    if (!dividesEvenly(ownCount, schedule.m))
      row[size_t(half)] = {minimum(position, arith::SubIOp::create(builder, loc, ownCount, index(1))),
                           isLess(position, ownCount)};
  }
  // If there is a causal mask, a query attends to the keys up to its own index. If the block's own rows are keys, the
  // loop starts at the first query that attends to one of them. Otherwise, it ends after the last key to which the
  // block's queries attend.
  firstTile = causal() && ofKeys ? quotient(blockRow, schedule.n) : index(0);
  Value seen = causal() && !ofKeys ? minimum(otherCount, elements.add(blockRow, index(schedule.m))) : otherCount;
  endTile = divideUp(seen, schedule.n);
}

Value GradientRows::baseOf(Value position) {
  Value sum = elements.element(gradient.op.getInputs()[Of::LogSumExp], {batch, head, position});
  Value none = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, sum, lowest);
  return arith::SelectOp::create(builder, loc, none, number(std::numeric_limits<double>::infinity()),
                                 scale.inExponent ? times(sum, number(ScoreScale::log2OfE)) : sum);
}

Value GradientRows::deltaOf(Value position) {
  return elements.element(gradient.op.getInputs()[Of::Delta], {batch, head, position});
}

void GradientRows::loadOwnStatistics() {
  for (size_t half = 0; half < 2; ++half) {
    bases[half] = baseOf(row[half].position);
    deltas[half] = deltaOf(row[half].position);
  }
}

Value GradientRows::clampedOther(Value position) {
  if (dividesEvenly(otherCount, schedule.n))
    return position;
  Value last = arith::SubIOp::create(builder, loc, otherCount, index(1));
  return arith::MinUIOp::create(builder, loc, position, last);
}

std::array<Value, 4> GradientRows::statisticsOf(std::array<Value, 2> own, Value others, int64_t group) {
  if (!ofKeys)
    return {own[0], own[0], own[1], own[1]};
  constexpr int64_t bytes = 4;
  Value from = address(others, elements.multiply(elements.add(pair, index(group * 8)), index(bytes)));
  Value loaded = LLVM::LoadOp::create(builder, loc, VectorType::get({2}, f32), from, /*alignment=*/2 * bytes);
  auto lane = [&](int32_t number) {
    Value at = LLVM::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(number));
    return LLVM::ExtractElementOp::create(builder, loc, loaded, at).getResult();
  };
  Value first = lane(0), second = lane(1);
  return {first, second, first, second};
}

void GradientRows::toWeights(Value begin, MutableArrayRef<Value> scores, Value others) {
  applyScale(scale, scores);
  Value first = elements.add(begin, pair);
  addMask(first, scores);
  hideUnseen(begin, first, scores);
  for (size_t group = 0; group < scores.size() / 4; ++group)
    for (auto [score, base] :
         llvm::zip_equal(four(scores, int64_t(group)), statisticsOf(bases, others, int64_t(group))))
      score = weightOf(score, scale, base);
}

void GradientRows::toSlopes(ArrayRef<Value> weights, MutableArrayRef<Value> products, Value others) {
  for (size_t group = 0; group < products.size() / 4; ++group)
    for (auto [weight, product, delta] : llvm::zip_equal(weights.slice(group * 4, 4), four(products, int64_t(group)),
                                                         statisticsOf(deltas, others, int64_t(group))))
      product = times(weight, minus(product, delta));
}

void GradientRows::addMask(Value first, MutableArrayRef<Value> scores) {
  if (!gradient.hasMask())
    return;
  for (auto [position, score] : llvm::enumerate(scores)) {
    Value mine = row[position / 2 % 2].position,
          other = clampedOther(elements.add(first, index(offsetInTile(position))));
    score =
        masked(score, gradient.op.getInputs()[Of::Mask], {batch, head, ofKeys ? other : mine, ofKeys ? mine : other});
  }
}

void GradientRows::hideUnseen(Value begin, Value first, MutableArrayRef<Value> scores) {
  const bool ragged = !dividesEvenly(otherCount, schedule.n);
  if (!ragged && !causal())
    return;
  Value end = elements.add(begin, index(int64_t(scores.size()) * 2));
  Value needed = ragged ? isLess(otherCount, end) : Value();
  if (causal()) {
    Value crosses =
        ofKeys ? isLess(begin, elements.add(warpRow, index(15))) : isLess(elements.add(warpRow, index(1)), end);
    needed = needed ? arith::OrIOp::create(builder, loc, needed, crosses).getResult() : crosses;
  }
  SmallVector<Type> types(scores.size(), f32);
  auto branch = scf::IfOp::create(builder, loc, types, needed, /*withElse=*/true);
  elements.inScope([&] {
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    auto fromFirst = [&](Value offset) { return arith::SubIOp::create(builder, loc, offset, first).getResult(); };
    auto compare = [&](arith::CmpIPredicate predicate, int64_t offset, Value with) {
      return arith::CmpIOp::create(builder, loc, predicate, index(offset), with).getResult();
    };
    SmallVector<Value> hidden(scores.begin(), scores.end());
    Value endOffset = fromFirst(otherCount);
    SmallVector<Value> mine;
    for (Row &each : row)
      mine.push_back(fromFirst(each.position));
    for (auto [position, score] : llvm::enumerate(hidden)) {
      const int64_t offset = offsetInTile(position);
      Value seen = ragged ? compare(arith::CmpIPredicate::slt, offset, endOffset) : Value();
      if (causal())
        seen = both(seen, compare(ofKeys ? arith::CmpIPredicate::sge : arith::CmpIPredicate::sle, offset,
                                  mine[position / 2 % 2]));
      score = arith::SelectOp::create(builder, loc, seen, score, lowest);
    }
    scf::YieldOp::create(builder, loc, hidden);
    builder.setInsertionPointToStart(&branch.getElseRegion().front());
    scf::YieldOp::create(builder, loc, SmallVector<Value>(scores.begin(), scores.end()));
  });
  llvm::copy(branch.getResults(), scores.begin());
}

void GradientRows::write(ArrayRef<Value> sums) {
  const auto ofHead = size_t(gradient.headSize / 2);
  write(ofKeys ? 1 : 0, sums.take_front(ofHead), number(scale.scale));
  if (ofKeys)
    write(2, sums.drop_front(ofHead), Value());
}

void GradientRows::write(unsigned result, ArrayRef<Value> sums, Value factor) {
  for (auto [value, destination] : kernel.results()) {
    if (cast<OpResult>(value).getResultNumber() != result)
      continue;
    constexpr unsigned firstResult = 5;
    Type type = cast<ShapedType>(destination.getType()).getElementType();
    Operand to{destination, gradient.dims[firstResult + result]};
    for (size_t half = 0; half < 2; ++half)
      when(row[half].valid, [&] {
        for (size_t j = 0; j < sums.size() / 4; ++j)
          for (size_t next = 0; next < 2; ++next) {
            Value sum = sums[j * 4 + half * 2 + next];
            if (factor)
              sum = times(sum, factor);
            if (type != f32)
              sum = arith::TruncFOp::create(builder, loc, type, sum);
            Value column = elements.add(pair, index(int64_t(j * 8 + next)));
            elements.store(sum, destination, indicesOf(to, {batch, head, row[half].position, column}),
                           kernel.pointers[destination]);
          }
      });
  }
}

} // namespace tilewright::cuda
