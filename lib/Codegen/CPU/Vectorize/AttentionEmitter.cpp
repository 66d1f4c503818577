//===- AttentionEmitter.cpp - common code of attention and its gradient -------------------===//
#include "lib/Codegen/CPU/Vectorize/AttentionEmitter.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tilewright::vector_stage {

AttentionEmitter::AttentionEmitter(Operation *op, ValueRange inputs, Value mask, bool causal, double scale,
                                   std::optional<ArrayRef<int64_t>> permutations, const ExpandAttentionOptions &options)
    : builder(op), loc(op->getLoc()), f32(builder.getF32Type()), element(elementOf(inputs[0])), mask(mask),
      causal(causal), scale(scale), permutations(permutations) {
  group = element.isBF16() ? options.bf16Group : element.isF16() ? options.f16Group : 1;
  depth = group == 1 ? 1 : element.isBF16() ? options.bf16Depth : options.f16Depth;
}

OpFoldResult AttentionEmitter::size(Value value, int64_t dim) { return memref::getMixedSize(builder, loc, value, dim); }

Value AttentionEmitter::index(OpFoldResult value) { return getValueOrCreateConstantIndexOp(builder, loc, value); }

OpFoldResult AttentionEmitter::ceilDiv(OpFoldResult value, int64_t by) {
  return affine::makeComposedFoldedAffineApply(builder, loc,
                                               AffineMap::get(1, 0, builder.getAffineDimExpr(0).ceilDiv(by)), {value});
}

OpFoldResult AttentionEmitter::packedDepth(OpFoldResult k) {
  AffineExpr d0 = builder.getAffineDimExpr(0);
  AffineExpr expr = depth > group ? d0.ceilDiv(depth) * (depth / group) : d0.ceilDiv(group);
  return affine::makeComposedFoldedAffineApply(builder, loc, AffineMap::get(1, 0, expr), {k});
}

OpFoldResult AttentionEmitter::blockSize(Value at, OpFoldResult whole, int64_t most) {
  if (std::optional<int64_t> known = getConstantIntValue(whole); known && *known % most == 0)
    return fold(most);
  AffineExpr d0 = builder.getAffineDimExpr(0), d1 = builder.getAffineDimExpr(1);
  return affine::makeComposedFoldedAffineMin(
      builder, loc, AffineMap::get(2, 0, {builder.getAffineConstantExpr(most), d1 - d0}, builder.getContext()),
      {OpFoldResult(at), whole});
}

Value AttentionEmitter::finite(OpBuilder &b, Location at, Value value) {
  Value lowest = number(b, at, -std::numeric_limits<double>::infinity());
  Value none = arith::CmpFOp::create(b, at, arith::CmpFPredicate::OEQ, value, lowest);
  return arith::SelectOp::create(b, at, none, number(b, at, 0), value);
}

Value AttentionEmitter::wide(OpBuilder &b, Location at, Value x) {
  return x.getType().isF32() ? x : arith::ExtFOp::create(b, at, f32, x).getResult();
}

Value AttentionEmitter::view(Value value, ArrayRef<int64_t> drop) {
  auto type = cast<MemRefType>(value.getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), fold(0)), strides(type.getRank(), fold(1)), sizes;
  SmallVector<int64_t> kept;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    bool dropped = llvm::is_contained(drop, dim);
    sizes.push_back(dropped ? fold(1) : size(value, dim));
    if (!dropped)
      kept.push_back(type.getDimSize(dim));
  }
  auto reduced = cast<MemRefType>(memref::SubViewOp::inferRankReducedResultType(kept, type, offsets, sizes, strides));
  return memref::SubViewOp::create(builder, loc, reduced, value, offsets, sizes, strides);
}

Value AttentionEmitter::matrix(Value value, int64_t operand) {
  auto dimOf = [&](int64_t dim) { return permutations ? (*permutations)[operand * 4 + dim] : dim; };
  if (dimOf(2) > dimOf(3))
    return {};
  return view(value, {dimOf(0), dimOf(1)});
}

Value AttentionEmitter::slice(Value value, ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes) {
  // Constant offsets are attributes instead of values, because they are then part of the type, and later passes can
  // fold them.
  SmallVector<OpFoldResult> strides(offsets.size(), fold(1)), starts(offsets);
  (void)foldDynamicIndexList(starts);
  return memref::SubViewOp::create(builder, loc, value, starts, sizes, strides);
}

Value AttentionEmitter::rowsOf(Value matrix, Value from, OpFoldResult count) {
  return slice(matrix, {from, fold(0)}, {count, size(matrix, 1)});
}

Value AttentionEmitter::alloc(ArrayRef<OpFoldResult> sizes, Type element) {
  SmallVector<int64_t> shape;
  SmallVector<Value> dynamic;
  dispatchIndexOpFoldResults(sizes, dynamic, shape);
  return memref::AllocOp::create(builder, loc, MemRefType::get(shape, element ? element : f32), dynamic);
}

Value AttentionEmitter::scoreBuffer(OpFoldResult rows, int64_t columns, Type element) {
  constexpr int64_t lineBits = 512;
  return alloc({rows, fold(columns + lineBits / element.getIntOrFloatBitWidth())}, element);
}

Value AttentionEmitter::panelBuffer(OpFoldResult k, OpFoldResult n, Type element) {
  return alloc({ceilDiv(n, panel), packedDepth(k), fold(panel * group)}, element);
}

Value AttentionEmitter::packed(Value matrix, Value buffer, bool columnsFirst) {
  OpFoldResult k = size(matrix, columnsFirst ? 1 : 0), n = size(matrix, columnsFirst ? 0 : 1);
  Value part = slice(buffer, {fold(0), fold(0), fold(0)}, {ceilDiv(n, panel), packedDepth(k), fold(panel * group)});
  tile::PackOp::create(builder, loc, TypeRange(), ValueRange{matrix}, ValueRange{part}, panel, group,
                       columnsFirst ? ArrayRef<int64_t>{1, 0} : ArrayRef<int64_t>{0, 1}, 0);
  return part;
}

void AttentionEmitter::multiply(Value a, Value panels, Value to, bool depthFirst) {
  tile::MatmulOp::create(builder, loc, TypeRange(), ValueRange{a, panels}, ValueRange{to}, panel, group,
                         depthFirst ? ArrayRef<int64_t>{1, 0} : ArrayRef<int64_t>{0, 1});
}

void AttentionEmitter::fill(Value value, float with) {
  linalg::FillOp::create(builder, loc,
                         arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(with)).getResult(), value);
}

void AttentionEmitter::generic(ValueRange ins, ValueRange outs, ArrayRef<StringRef> inMaps, ArrayRef<StringRef> outMaps,
                               int64_t loops, function_ref<void(OpBuilder &, Location, ValueRange)> body,
                               bool reduceLast) {
  SmallVector<AffineMap> maps;
  for (ArrayRef<StringRef> group : {inMaps, outMaps})
    for (StringRef text : group) {
      SmallVector<AffineExpr> exprs;
      for (char c : text)
        exprs.push_back(c == '0' ? builder.getAffineConstantExpr(0) : builder.getAffineDimExpr(c - 'i'));
      maps.push_back(AffineMap::get(loops, 0, exprs, builder.getContext()));
    }
  SmallVector<utils::IteratorType> iterators(loops, utils::IteratorType::parallel);
  if (reduceLast)
    iterators.back() = utils::IteratorType::reduction;
  linalg::GenericOp::create(builder, loc, TypeRange(), ins, outs, maps, iterators,
                            [&](OpBuilder &b, Location at, ValueRange arguments) { body(b, at, arguments); });
}

void AttentionEmitter::sumProducts(Value a, Value b, Value to, ArrayRef<StringRef> inMaps, StringRef outMap,
                                   int64_t loops) {
  fill(to, 0);
  generic(
      {a, b}, {to}, inMaps, {outMap}, loops,
      [&](OpBuilder &b, Location at, ValueRange in) {
        auto contract = arith::FastMathFlags::contract;
        Value x = arith::MulFOp::create(b, at, wide(b, at, in[0]), wide(b, at, in[1]), contract);
        linalg::YieldOp::create(b, at, arith::AddFOp::create(b, at, in[2], x, contract).getResult());
      },
      /*reduceLast=*/true);
}

void AttentionEmitter::elementwise(ValueRange ins, Value out, int64_t rank,
                                   function_ref<Value(OpBuilder &, Location, ValueRange)> body) {
  SmallVector<StringRef> maps(ins.size(), rank == 1 ? "i" : "ij");
  generic(ins, {out}, maps, {rank == 1 ? "i" : "ij"}, rank,
          [&](OpBuilder &b, Location at, ValueRange in) { linalg::YieldOp::create(b, at, body(b, at, in)); });
}

void AttentionEmitter::reduce(Value matrix, Value row,
                              function_ref<Value(OpBuilder &, Location, Value, Value)> combine) {
  generic(
      {matrix}, {row}, {"ij"}, {"i"}, 2,
      [&](OpBuilder &b, Location at, ValueRange in) { linalg::YieldOp::create(b, at, combine(b, at, in[0], in[1])); },
      /*reduceLast=*/true);
}

Value AttentionEmitter::number(OpBuilder &b, Location at, double value) {
  return arith::ConstantOp::create(b, at, b.getF32FloatAttr(value));
}

Value AttentionEmitter::power(OpBuilder &b, Location at, Value x, bool natural) {
  auto flags = group > 1 ? arith::FastMathFlags::afn : arith::FastMathFlags::none;
  return natural ? math::ExpOp::create(b, at, x, flags).getResult() : math::Exp2Op::create(b, at, x, flags).getResult();
}

void AttentionEmitter::overRowBlocks(OpFoldResult rows, int64_t count, function_ref<void(Value, OpFoldResult)> body,
                                     Value from) {
  std::optional<int64_t> known = getConstantIntValue(rows);
  if (known && *known <= count)
    return body(index(fold(0)), rows);
  int64_t left = known ? *known % count : 0;
  Value end = known ? index(fold(*known - left)) : index(rows);
  auto loop = scf::ForOp::create(builder, loc, from ? from : index(fold(0)), end, index(fold(count)));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar(), known ? fold(count) : blockSize(loop.getInductionVar(), rows, count));
  }
  if (left > 0)
    body(end, fold(left));
}

void AttentionEmitter::readMask(Value first, OpFoldResult count, Value kb, OpFoldResult width,
                                SmallVectorImpl<Value> &ins, SmallVectorImpl<StringRef> &maps) {
  if (!mask)
    return;
  Value matrix = view(mask, {0, 1});
  auto type = cast<MemRefType>(matrix.getType());
  bool perRow = type.getDimSize(0) != 1, perColumn = type.getDimSize(1) != 1;
  ins.push_back(slice(matrix, {perRow ? OpFoldResult(first) : fold(0), perColumn ? OpFoldResult(kb) : fold(0)},
                      {perRow ? count : fold(1), perColumn ? width : fold(1)}));
  maps.push_back(perRow ? (perColumn ? "ij" : "i0") : (perColumn ? "0j" : "00"));
}

Value AttentionEmitter::score(OpBuilder &b, Location at, Value x, double factor, Value masking, Value first, Value kb) {
  auto contract = arith::FastMathFlags::contract;
  x = arith::MulFOp::create(b, at, x, number(b, at, factor), contract);
  Value lowest = number(b, at, -std::numeric_limits<double>::infinity());
  if (masking && masking.getType().isInteger(8)) {
    Value zero = arith::ConstantOp::create(b, at, b.getI8IntegerAttr(0));
    Value attend = arith::CmpIOp::create(b, at, arith::CmpIPredicate::ne, masking, zero);
    x = arith::SelectOp::create(b, at, attend, x, lowest);
  } else if (masking) {
    x = arith::AddFOp::create(b, at, x, masking, contract);
  }
  if (!causal)
    return x;
  Value row = linalg::IndexOp::create(b, at, 0), column = linalg::IndexOp::create(b, at, 1);
  row = arith::AddIOp::create(b, at, row, first);
  if (firstRow)
    row = arith::AddIOp::create(b, at, row, firstRow);
  column = arith::AddIOp::create(b, at, column, kb);
  Value seen = arith::CmpIOp::create(b, at, arith::CmpIPredicate::ule, column, row);
  return arith::SelectOp::create(b, at, seen, x, lowest);
}

} // namespace tilewright::vector_stage
