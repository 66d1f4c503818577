//===- AttentionRows.cpp - rows of attention in a warp's registers, and their softmax -------===//
#include "lib/Codegen/NVPTX/AttentionRows.h"
#include "dialects/Tile/Sizes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tilewright::cuda {

AttentionRows::AttentionRows(ThreadKernel &kernel, Attention attention)
    : AttentionCode(kernel, getElementTypeOrSelf(attention.op.getInputs()[0].getType())), attention(attention),
      scale(attention.op.getScale().convertToDouble(), attention.op.getInputs().size() > 3) {
  for (unsigned number = 0; number < 4; ++number)
    for (unsigned dim = 0; dim < 4; ++dim)
      dims[number].push_back(attention.position(Attention::Operand(number), dim));
}

SmallVector<Value> AttentionRows::beginning() {
  SmallVector<Value> state(size_t(attention.valueSize / 2), zero);
  state.append({lowest, lowest, zero, zero});
  return state;
}

void AttentionRows::locateRows() {
  Value query = operand(Attention::Query).tensor;
  bool grouped = attention.groupedRows > 0;
  rows = grouped ? index(attention.groupedRows) : sizeOf(Attention::Query, 2);
  int64_t heads = attention.sizeOf(grouped ? Attention::Key : Attention::Query, 1);
  AffineExpr rowsExpr = grouped ? getAffineConstantExpr(attention.groupedRows, builder.getContext())
                                : tile::sizeOf(query, attention.position(Attention::Query, 2));
  kernel.setGrid(tile::sizeOf(query, attention.position(Attention::Query, 0)) * heads * rowsExpr.ceilDiv(schedule.m));
  Value blocks = divideUp(rows, schedule.m);
  SmallVector<Value> at = elements.delinearize(kernel.block, {sizeOf(Attention::Query, 0), index(heads), blocks});
  // In causal attention, the last rows attend to the most columns. Blocks start in the order of their numbers.
  // Therefore, the blocks with the most columns get the lowest numbers, so that the blocks that start last take little
  // time.
  if (attention.op.getCausal() && !grouped)
    at[2] = arith::SubIOp::create(builder, loc, arith::SubIOp::create(builder, loc, blocks, index(1)), at[2]);
  batch = at[0];
  firstHead = at[1];
  keyHead = grouped || attention.queryHeads == 1 ? at[1] : quotient(at[1], attention.queryHeads);
  blockRow = elements.multiply(at[2], index(schedule.m));
  warpRow = elements.add(blockRow, elements.multiply(warp, index(16)));
  for (int64_t half = 0; half < 2; ++half)
    row[half] = rowAt(elements.add(warpRow, elements.add(index(half * 8), quotient(lane, 4))));
  pair = elements.multiply(remainder(lane, 4), index(2));
}

AttentionRows::Row AttentionRows::rowAt(Value number) {
  Row found;
  if (!dividesEvenly(rows, schedule.m)) {
    found.valid = isLess(number, rows);
    Value last = arith::SubIOp::create(builder, loc, rows, index(1));
    number = arith::MinUIOp::create(builder, loc, number, last);
  }
  found.head = firstHead;
  found.position = number;
  if (attention.groupedRows > 0) {
    Value length = sizeOf(Attention::Query, 2), inGroup = arith::DivUIOp::create(builder, loc, number, length);
    found.head = elements.add(elements.multiply(firstHead, index(attention.queryHeads)), inGroup);
    found.position = arith::RemUIOp::create(builder, loc, number, length);
  }
  return found;
}

Value AttentionRows::columnsSeen() {
  if (!attention.op.getCausal())
    return columns();
  Value seen = attention.groupedRows > 0 ? sizeOf(Attention::Query, 2) : elements.add(blockRow, index(schedule.m));
  return arith::MinUIOp::create(builder, loc, columns(), seen);
}

Value AttentionRows::inQuad(Value value, llvm::function_ref<Value(Value, Value)> combine) {
  for (int32_t mask : {1, 2})
    value = combine(value, shuffle(kernel, value, mask));
  return value;
}

std::array<Value, 2> AttentionRows::weigh(Value tile, MutableArrayRef<Value> scores,
                                          MutableArrayRef<Value> statistics) {
  applyScale(scale, scores);
  Value firstColumn = elements.add(elements.multiply(tile, index(schedule.n)), pair);
  addMask(firstColumn, scores);
  hideUnseen(tile, firstColumn, scores);

  MutableArrayRef<Value> max = statistics.take_front(2), total = statistics.take_back(2);
  std::array<Value, 2> factors;
  for (size_t half = 0; half < 2; ++half) {
    Value found = max[half];
    auto mine = [&](int64_t j) { return four(scores, j).slice(half * 2, 2); };
    Value here = maximum(mine(0)[0], mine(0)[1]);
    for (int64_t j = 1; j < schedule.n / 8; ++j)
      here = maximum(here, maximum(mine(j)[0], mine(j)[1]));
    Value larger = maximum(found, inQuad(here, [&](Value a, Value b) { return maximum(a, b); }));
    Value top = orZero(larger), base = baseOf(scale, top), added = zero;
    // If the maximum does not change, the factor must be exactly 1. Each tile multiplies the sums by its factor, so
    // errors would accumulate.
    factors[half] = quotientOfWeights(found, top, scale);
    for (int64_t j = 0; j < schedule.n / 8; ++j)
      for (Value &score : mine(j)) {
        score = weightOf(score, scale, base);
        added = plus(added, score);
      }
    total[half] = plus(times(total[half], factors[half]), added);
    max[half] = larger;
  }
  return factors;
}

void AttentionRows::rescale(MutableArrayRef<Value> sums, std::array<Value, 2> factors) {
  for (size_t half = 0; half < 2; ++half)
    for (int64_t j = 0; j < attention.valueSize / 8; ++j)
      for (Value &sum : four(sums, j).slice(half * 2, 2))
        sum = times(sum, factors[half]);
}

Value AttentionRows::scaled(Value max) { return scale.inExponent ? times(max, number(scale.scale)) : max; }

Value AttentionRows::orZero(Value max) {
  Value none = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, max, lowest);
  return arith::SelectOp::create(builder, loc, none, zero, max);
}

void AttentionRows::addMask(Value firstColumn, MutableArrayRef<Value> scores) {
  if (attention.op.getInputs().size() < 4)
    return;
  Value mask = attention.op.getInputs()[3];
  bool ragged = !dividesEvenly(columns(), schedule.n);
  for (auto [position, score] : llvm::enumerate(scores)) {
    const Row &mine = row[position / 2 % 2];
    Value column = elements.add(firstColumn, index(int64_t(position / 4 * 8 + position % 2)));
    if (ragged) {
      Value last = arith::SubIOp::create(builder, loc, columns(), index(1));
      column = arith::MinUIOp::create(builder, loc, column, last);
    }
    score = masked(score, mask, {batch, mine.head, mine.position, column});
  }
}

void AttentionRows::hideUnseen(Value tile, Value firstColumn, MutableArrayRef<Value> scores) {
  bool ragged = !dividesEvenly(columns(), schedule.n), causal = attention.op.getCausal();
  if (!ragged && !causal)
    return;
  Value end = elements.multiply(elements.add(tile, index(1)), index(schedule.n));
  Value needed = ragged ? isLess(columns(), end) : Value();
  if (causal) {
    Value firstRow = attention.groupedRows > 0 ? index(0) : warpRow;
    Value crosses = isLess(elements.add(firstRow, index(1)), end);
    needed = needed ? arith::OrIOp::create(builder, loc, needed, crosses).getResult() : crosses;
  }
  SmallVector<Type> types(scores.size(), f32);
  auto branch = scf::IfOp::create(builder, loc, types, needed, /*withElse=*/true);
  elements.inScope([&] {
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    SmallVector<Value> rest, hidden(scores.begin(), scores.end());
    for (const Row &mine : row) {
      Value seen = columns();
      if (causal)
        seen = arith::MinUIOp::create(builder, loc, seen, elements.add(mine.position, index(1)));
      rest.push_back(arith::SubIOp::create(builder, loc, seen, firstColumn));
    }
    for (auto [position, score] : llvm::enumerate(hidden)) {
      Value at = index(int64_t(position / 4 * 8 + position % 2));
      Value seen = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, at, rest[position / 2 % 2]);
      score = arith::SelectOp::create(builder, loc, seen, score, lowest);
    }
    scf::YieldOp::create(builder, loc, hidden);
    builder.setInsertionPointToStart(&branch.getElseRegion().front());
    scf::YieldOp::create(builder, loc, SmallVector<Value>(scores.begin(), scores.end()));
  });
  llvm::copy(branch.getResults(), scores.begin());
}

void AttentionRows::write(SmallVector<Value> state) {
  ArrayRef<Value> sums = ArrayRef<Value>(state).drop_back(4), max = ArrayRef<Value>(state).take_back(4).take_front(2),
                  total = ArrayRef<Value>(state).take_back(2);
  for (int64_t half = 0; half < 2; ++half) {
    const Row &mine = row[half];
    Value all = inQuad(total[size_t(half)], [&](Value a, Value b) { return plus(a, b); });
    Value none = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, all, zero);
    Value factor = arith::DivFOp::create(builder, loc, number(1), all);
    Value ofNone = attention.op.getNanRows() ? number(std::numeric_limits<double>::quiet_NaN()) : zero;
    factor = arith::SelectOp::create(builder, loc, none, ofNone, factor);
    for (auto [value, destination] : kernel.results()) {
      Type type = cast<ShapedType>(destination.getType()).getElementType();
      Value pointer = kernel.pointers[destination];
      auto rounded = [&](Value x) {
        return type == f32 ? x : arith::TruncFOp::create(builder, loc, type, x).getResult();
      };
      if (cast<OpResult>(value).getResultNumber() == 1) {
        Value first = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, pair, index(0));
        when(both(mine.valid, first), [&] {
          Value logarithm = plus(scaled(orZero(max[size_t(half)])), math::LogOp::create(builder, loc, all));
          elements.store(rounded(logarithm), destination, {batch, mine.head, mine.position}, pointer);
        });
        continue;
      }
      when(mine.valid, [&] {
        for (int64_t j = 0; j < attention.valueSize / 8; ++j)
          for (int64_t next = 0; next < 2; ++next) {
            Value column = elements.add(pair, index(j * 8 + next));
            Value sum = sums[size_t(j * 4 + half * 2 + next)];
            elements.store(rounded(times(sum, factor)), destination,
                           indicesOf({destination, dims[Attention::Result]}, {batch, mine.head, mine.position, column}),
                           pointer);
          }
      });
    }
  }
}

} // namespace tilewright::cuda
