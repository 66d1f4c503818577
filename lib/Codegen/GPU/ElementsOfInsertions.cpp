//===- ElementsOfInsertions.cpp - elements of concatenations --------------------------------===//
//
// Before, for 4 adjacent elements at %first (a multiple of 4):
//   %r = tensor.insert_slice %x into %y[0, 64] [32, 64] [1, 1]
// After:
//   %x4:4 = scf.if (%first - 64 < 64) { load 4 elements of %x from %first - 64 } else { 4 elements of %y at %first }
//
// One branch for all of the adjacent elements lets LLVM merge their loads. This requires that no part of the
// concatenation begins or ends between them. Otherwise each element has its own branch.
//
// Tests: test/Codegen/NVPTX/concat.mlir, test/Python/test_cuda_concat.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Elements.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tilewright::gpu {

Elements::Inserted Elements::positionInSource(tensor::InsertSliceOp op, ArrayRef<Value> at) {
  Location loc = op.getLoc();
  llvm::SmallBitVector dropped = op.getDroppedDims();
  Inserted made;
  for (auto [dim, index] : llvm::enumerate(at)) {
    Value offset = outer(op.getMixedOffsets()[dim]), extent = outer(op.getMixedSizes()[dim]);
    OpFoldResult stride = op.getMixedStrides()[dim];
    Value moved = offset == constant(0) ? index : arith::SubIOp::create(builder, loc, index, offset).getResult();
    Value reach = multiply(extent, outer(stride));
    Value fits;
    if (!(offset == constant(0) && reach == size(op.getDest(), dim)))
      fits = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, moved, reach);
    if (!isConstantIntValue(stride, 1)) {
      Value by = outer(stride), rest = arith::RemUIOp::create(builder, loc, moved, by);
      Value exact = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, rest, constant(0));
      fits = fits ? arith::AndIOp::create(builder, loc, fits, exact).getResult() : exact;
      moved = arith::DivUIOp::create(builder, loc, moved, by);
    }
    if (fits)
      made.inside = made.inside ? arith::AndIOp::create(builder, loc, made.inside, fits).getResult() : fits;
    if (!dropped.test(dim))
      made.at.push_back(moved);
  }
  return made;
}

Value Elements::insert(tensor::InsertSliceOp op, ArrayRef<Value> at) {
  Inserted from = positionInSource(op, at);
  if (!from.inside)
    return element(op.getSource(), from.at);
  return choose(
      from.inside, op.getType().getElementType(), [&] { return element(op.getSource(), from.at); },
      [&] { return element(op.getDest(), at); });
}

bool Elements::areInOnePart(tensor::InsertSliceOp op, ArrayRef<SmallVector<Value>> ats) {
  const int64_t last = op.getType().getRank() - 1;
  if (ats.size() < 2 || last < 0 || op.getDroppedDims().test(size_t(last)))
    return false;
  Value first = ats.front().back();
  for (auto [lane, at] : llvm::enumerate(ats)) {
    auto sum = at.back().getDefiningOp<arith::AddIOp>();
    const bool follows =
        lane == 0 || (sum && sum.getLhs() == first && getConstantIntValue(sum.getRhs()) == int64_t(lane));
    if (!follows || ArrayRef(at).drop_back() != ArrayRef(ats.front()).drop_back())
      return false;
  }
  auto isMultiple = [&](OpFoldResult value) {
    std::optional<int64_t> known = getConstantIntValue(value);
    return known && *known % int64_t(ats.size()) == 0;
  };
  auto known = multiples.find(first);
  return known != multiples.end() && known->second % int64_t(ats.size()) == 0 &&
         isMultiple(op.getMixedOffsets()[size_t(last)]) && isMultiple(op.getMixedSizes()[size_t(last)]) &&
         isConstantIntValue(op.getMixedStrides()[size_t(last)], 1);
}

void Elements::insertTogether(tensor::InsertSliceOp op, ArrayRef<SmallVector<Value>> ats) {
  Inserted from = positionInSource(op, ats.front());
  Value first = from.at.back();
  assumeMultiple(first, int64_t(ats.size()));
  std::vector<SmallVector<Value>> inSource;
  for (int64_t lane = 0; lane < int64_t(ats.size()); ++lane) {
    inSource.push_back(from.at);
    inSource.back().back() = add(first, constant(lane));
  }
  auto elementsOf = [&](Value tensor, ArrayRef<SmallVector<Value>> positions) {
    computeTogether(tensor, positions);
    return llvm::map_to_vector(positions, [&](const SmallVector<Value> &at) { return element(tensor, at); });
  };
  SmallVector<Value> made;
  if (!from.inside) {
    made = elementsOf(op.getSource(), inSource);
  } else {
    const SmallVector<Type> types(ats.size(), op.getType().getElementType());
    auto branch = scf::IfOp::create(builder, op.getLoc(), types, from.inside, /*withElse=*/true);
    auto emit = [&](Region &region, Value tensor, ArrayRef<SmallVector<Value>> positions) {
      inScope([&] {
        builder.setInsertionPointToStart(&region.front());
        scf::YieldOp::create(builder, op.getLoc(), elementsOf(tensor, positions));
      });
    };
    emit(branch.getThenRegion(), op.getSource(), inSource);
    emit(branch.getElseRegion(), op.getDest(), ats);
    made = branch.getResults();
  }
  for (auto [at, value] : llvm::zip_equal(ats, made))
    remember(op.getResult(), at, value);
}

} // namespace tilewright::gpu
