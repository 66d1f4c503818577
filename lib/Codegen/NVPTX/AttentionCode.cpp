//===- AttentionCode.cpp - code shared by attention and its gradient on tensor cores ----===//
#include "lib/Codegen/NVPTX/AttentionCode.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace tilewright::cuda {

AttentionCode::AttentionCode(ThreadKernel &kernel, Type element)
    : TileCode(kernel, element, element), f32(builder.getF32Type()), zero(number(0)),
      lowest(number(-std::numeric_limits<double>::infinity())) {}

Value AttentionCode::number(double value) {
  return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(float(value)));
}
Value AttentionCode::maximum(Value a, Value b) { return arith::MaximumFOp::create(builder, loc, a, b); }
Value AttentionCode::times(Value a, Value b) { return arith::MulFOp::create(builder, loc, a, b); }
Value AttentionCode::plus(Value a, Value b) { return arith::AddFOp::create(builder, loc, a, b); }
Value AttentionCode::minus(Value a, Value b) { return arith::SubFOp::create(builder, loc, a, b); }

void AttentionCode::applyScale(const ScoreScale &scale, MutableArrayRef<Value> scores) {
  if (!scale.inExponent)
    for (Value &score : scores)
      score = times(score, number(scale.scale));
}

Value AttentionCode::baseOf(const ScoreScale &scale, Value score) {
  return scale.inExponent ? times(score, number(scale.exponentFactor())) : score;
}

Value AttentionCode::weightOf(Value score, const ScoreScale &scale, Value base) {
  if (!scale.inExponent)
    return exp2(times(minus(score, base), number(scale.exponentFactor())));
  return exp2(LLVM::FMAOp::create(builder, loc, score, number(scale.exponentFactor()),
                                  arith::NegFOp::create(builder, loc, base)));
}

Value AttentionCode::quotientOfWeights(Value a, Value b, const ScoreScale &scale) {
  return exp2(times(minus(a, b), number(scale.exponentFactor())));
}

Value AttentionCode::exp2(Value exponent) {
  // Without .ftz, ptxas adds three instructions for subnormal results. Such results may be flushed to 0 here, because
  // the largest weight of a row is 1.
  return LLVM::CallIntrinsicOp::create(builder, loc, f32, builder.getStringAttr("llvm.nvvm.ex2.approx.ftz.f32"),
                                       ValueRange(exponent))
      .getResult(0);
}

Value AttentionCode::packed(ArrayRef<Value> two) {
  Value both = LLVM::UndefOp::create(builder, loc, VectorType::get({2}, f32));
  for (auto [number, value] : llvm::enumerate(two)) {
    Value lane = LLVM::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(int32_t(number)));
    both = LLVM::InsertElementOp::create(builder, loc, both, value, lane);
  }
  Value narrow = LLVM::FPTruncOp::create(builder, loc, VectorType::get({2}, element), both);
  return element.isF16() ? narrow : LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), narrow).getResult();
}

SmallVector<Value> AttentionCode::words(ArrayRef<Value> weights) {
  SmallVector<Value> made;
  for (size_t first = 0; first < weights.size(); first += 2) {
    Value word = packed(weights.slice(first, 2));
    if (!word.getType().isInteger())
      word = LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), word);
    made.push_back(word);
  }
  return made;
}

Value AttentionCode::size(const Operand &operand, unsigned dim) {
  return elements.size(operand.tensor, operand.dims[dim]);
}

SmallVector<Value> AttentionCode::indicesOf(const Operand &operand, std::array<Value, 4> at) {
  SmallVector<Value> indices(4);
  for (unsigned dim = 0; dim < 4; ++dim)
    indices[size_t(operand.dims[dim])] = at[dim];
  return indices;
}

Value AttentionCode::globalAddress(const Operand &operand, std::array<Value, 4> at) {
  Value pointer = kernel.pointers[operand.tensor];
  Value linear = elements.linearize(indicesOf(operand, at), elements.extents(operand.tensor));
  linear = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), linear);
  return LLVM::GEPOp::create(builder, loc, pointer.getType(), element, pointer, ArrayRef<LLVM::GEPArg>{linear});
}

void AttentionCode::copyRows(const SharedTile &tile, Value slot, const Rows &rows, Value first) {
  forChunks(tile, slot, [&](Value rowInTile, Value chunk, Value to) {
    Value row = elements.add(first, rowInTile), inside;
    if (!dividesEvenly(rows.count, tile.rows)) {
      inside = isLess(row, rows.count);
      row = arith::SelectOp::create(builder, loc, inside, row, index(0));
    }
    Value column = columnOf(chunk, tile, rows.columns, inside);
    copyChunk(to, globalAddress(rows.operand, {rows.batch, rows.head, row, column}), inside);
  });
}

Value AttentionCode::columnOf(Value chunk, const SharedTile &tile, int64_t columns, Value &inside) {
  if (columns != tile.columns) {
    Value has = isLess(chunk, index(columns / chunkElements));
    inside = both(inside, has);
    chunk = arith::SelectOp::create(builder, loc, has, chunk, index(0));
  }
  return elements.multiply(chunk, index(chunkElements));
}

Value AttentionCode::masked(Value score, Value mask, std::array<Value, 4> all) {
  auto type = cast<RankedTensorType>(mask.getType());
  SmallVector<Value> at(all.begin(), all.end());
  at.erase(at.begin(), at.end() - type.getRank());
  for (auto [dim, position] : llvm::enumerate(at))
    if (type.getDimSize(int64_t(dim)) == 1)
      position = index(0);
  Value value = elements.element(mask, at);
  if (isa<IntegerType>(value.getType())) {
    Value none = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(value.getType()));
    Value seen = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, value, none);
    return arith::SelectOp::create(builder, loc, seen, score, lowest);
  }
  if (value.getType() != f32)
    value = arith::ExtFOp::create(builder, loc, f32, value);
  return plus(score, value);
}

} // namespace tilewright::cuda
