//===- LowerViews.cpp - views: indexing maps if possible, otherwise tensor ops ===//
//
// Before:
//   %1 = tw.permute %x {permutation = [1, 0]} : tensor<4x8xf32> -> tensor<8x4xf32>
//   %2 = tw.exp %1
//   %3 = tw.slice %2 {offsets = () -> (2, 0), strides = [1, 1]} : tensor<8x4xf32> -> tensor<3x4xf32>
// After:
//   %2 = linalg.generic {(d0, d1) -> (d1, d0), (d0, d1) -> (d0, d1)} ins(%x) ... // the permute is a map
//   %3 = tensor.extract_slice %2[2, 0] [3, 4] [1, 1]
//
// Test: test/Kernels/lower-views.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Sizes.h"
#include "dialects/Tile/CopyReason.h"
#include "lib/Kernels/Lowering.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::structured {

static SmallVector<AffineExpr> sizesOfValue(Value value) {
  return graph::sizesOf(cast<RankedTensorType>(value.getType()));
}

Value extractInside(OpBuilder &b, Location at, Value tensor, SmallVector<Value> indices,
                    ArrayRef<std::pair<unsigned, Value>> bounds, Value otherwise) {
  Value inside, zero = arith::ConstantIndexOp::create(b, at, 0);
  for (auto [dim, size] : bounds) {
    // Compare as unsigned numbers: a negative index, which is before the first element, is then larger than every size.
    Value here = arith::CmpIOp::create(b, at, arith::CmpIPredicate::ult, indices[dim], size);
    indices[dim] = arith::SelectOp::create(b, at, here, indices[dim], zero);
    inside = inside ? arith::AndIOp::create(b, at, inside, here).getResult() : here;
  }
  Value read = tensor::ExtractOp::create(b, at, tensor, indices);
  return inside ? arith::SelectOp::create(b, at, inside, read, otherwise).getResult() : read;
}

/// Pads a tensor with `value` by an elementwise op over the result. For an element of the padding, the op reads an
/// element inside of the tensor and discards it (extractInside()).
static Value paddedRows(Lowering &l, Value tensor, ArrayRef<AffineExpr> sizes, ArrayRef<OpFoldResult> low,
                        ArrayRef<AffineExpr> paddedSizes, TypedAttr value) {
  Type element = cast<RankedTensorType>(tensor.getType()).getElementType();
  SmallVector<Value> before, extents;
  for (auto [amount, size] : llvm::zip_equal(low, sizes)) {
    before.push_back(getValueOrCreateConstantIndexOp(l.builder, l.loc, amount));
    extents.push_back(l.size(size));
  }
  return l.elementwise(paddedSizes, element, {}, [&](OpBuilder &b, Location at, ValueRange, ValueRange) {
    SmallVector<Value> indices;
    SmallVector<std::pair<unsigned, Value>> bounds;
    for (unsigned dim = 0; dim < sizes.size(); ++dim) {
      indices.push_back(linalg::IndexOp::create(b, at, dim));
      if (sizes[dim] == paddedSizes[dim])
        continue;
      indices[dim] = arith::SubIOp::create(b, at, indices[dim], before[dim]);
      bounds.push_back({dim, extents[dim]});
    }
    Value constant = arith::ConstantOp::create(b, at, value);
    return SmallVector<Value>{extractInside(b, at, tensor, indices, bounds, constant)};
  });
}

/// Pads in the same way as paddedRows(). Short rows that are not padded, such as the channels of an image, are first
/// merged with the preceding dimension, because a short row would fill only a small part of a vector.
static Value paddedByRows(Lowering &l, Value tensor, ArrayRef<AffineExpr> sizes, ArrayRef<OpFoldResult> low,
                          ArrayRef<AffineExpr> paddedSizes, TypedAttr value) {
  constexpr int64_t few = 16;
  auto row = dyn_cast<AffineConstantExpr>(sizes.back());
  std::optional<int64_t> before = sizes.size() > 1 ? getConstantIntValue(low[sizes.size() - 2]) : std::nullopt;
  if (!row || row.getValue() < 1 || row.getValue() >= few || !before)
    return paddedRows(l, tensor, sizes, low, paddedSizes, value);
  auto together = [&](ArrayRef<AffineExpr> from) {
    SmallVector<AffineExpr> to(from.drop_back());
    to.back() = to.back() * row;
    return to;
  };
  SmallVector<AffineExpr> merged = together(sizes), mergedPadded = together(paddedSizes);
  SmallVector<OpFoldResult> amounts(low.drop_back());
  amounts.back() = l.builder.getIndexAttr(*before * row.getValue());
  Value result = paddedRows(l, l.reshaped(tensor, sizes, merged), merged, amounts, mergedPadded, value);
  return l.reshaped(result, mergedPadded, paddedSizes);
}

Value padded(Lowering &l, Value tensor, ArrayRef<AffineExpr> sizes, ArrayRef<OpFoldResult> low,
             ArrayRef<OpFoldResult> high, ArrayRef<AffineExpr> paddedSizes, TypedAttr value, bool byRows) {
  auto isZero = [](OpFoldResult amount) { return isConstantIntValue(amount, 0); };
  if (llvm::all_of(low, isZero) && llvm::all_of(high, isZero))
    return tensor;
  const Location outer = l.loc;
  llvm::scope_exit restore([&] { l.loc = outer; });
  if (l.name != "pad") // a pad op of the model needs no reason for a copy
    l.loc = tile::withCopyReason(l.loc, l.name + " reads its operand with the padding around it");
  SmallVector<int64_t> shape = llvm::map_to_vector(paddedSizes, extent);
  if (byRows && !sizes.empty() && isZero(low.back()) && isZero(high.back()))
    return paddedByRows(l, tensor, sizes, low, paddedSizes, value);
  // A size of the result is static only if the operand's size and the amounts of padding on both sides are static.
  for (unsigned i = 0; i < shape.size(); ++i)
    if (!isa<AffineConstantExpr>(sizes[i]) || !isa<Attribute>(low[i]) || !isa<Attribute>(high[i]))
      shape[i] = ShapedType::kDynamic;
  auto type = RankedTensorType::get(shape, cast<RankedTensorType>(tensor.getType()).getElementType());
  Value constant = arith::ConstantOp::create(l.builder, l.loc, value);
  return tensor::PadOp::create(l.builder, l.loc, type, tensor, low, high, constant);
}

/// Returns the map of a reshape that only adds and drops unit dimensions; null for other reshapes.
static AffineMap unitReshapeMap(Lowering &l, ArrayRef<AffineExpr> from, ArrayRef<AffineExpr> to) {
  SmallVector<AffineExpr> results;
  AffineExpr one = l.constant(1);
  unsigned next = 0;
  for (AffineExpr size : from) {
    if (size == one) {
      results.push_back(l.constant(0));
      continue;
    }
    while (next < to.size() && to[next] == one)
      ++next;
    if (next == to.size() || !graph::sameNumElements(to[next], size))
      return {};
    results.push_back(l.dim(next++));
  }
  for (; next < to.size(); ++next)
    if (to[next] != one)
      return {};
  return l.map(to.size(), results);
}

static LogicalResult lowerReshape(Lowering &l, graph::ReshapeOp op) {
  SmallVector<AffineExpr> from = sizesOfValue(op.getInput()), to = sizesOfValue(op.getResult());
  if (AffineMap map = unitReshapeMap(l, from, to)) {
    l.setRead(op, l.read(op.getInput(), map));
    return success();
  }
  Read whole = l.read(op.getInput(), l.identity(from.size()));
  if (whole.splat) {
    l.setRead(op, whole);
    return success();
  }
  l.set(op, l.reshaped(l.tensor(op.getInput()), from, to));
  return success();
}

static LogicalResult lowerSlice(Lowering &l, graph::SliceOp op) {
  SmallVector<AffineExpr> to = sizesOfValue(op.getResult());
  SmallVector<OpFoldResult> strides;
  for (int64_t stride : op.getStrides())
    strides.push_back(l.builder.getIndexAttr(stride));
  Value input = l.tensor(op.getInput());
  l.set(op, l.extractSlice(input, l.foldedSizes(op.getOffsets().getResults()), to, strides));
  return success();
}

static LogicalResult lowerFlip(Lowering &l, graph::FlipOp op) {
  SmallVector<AffineExpr> sizes = sizesOfValue(op.getResult());
  Read source = l.read(op.getInput(), l.identity(sizes.size()));
  if (source.splat) {
    l.setRead(op, source);
    return success();
  }
  Type storage = storageType(source.elementType);
  l.set(op, l.elementwise(sizes, storage, {}, [&](OpBuilder &b, Location at, ValueRange, ValueRange) {
    SmallVector<Value> indices;
    for (AffineExpr result : source.map.getResults()) {
      auto d = dyn_cast<AffineDimExpr>(result);
      if (!d) {
        indices.push_back(arith::ConstantIndexOp::create(b, at, 0));
        continue;
      }
      Value index = linalg::IndexOp::create(b, at, d.getPosition());
      if (llvm::is_contained(op.getDims(), int64_t(d.getPosition()))) {
        Value last = l.size(sizes[d.getPosition()] - 1);
        index = arith::SubIOp::create(b, at, last, index);
      }
      indices.push_back(index);
    }
    return SmallVector<Value>{tensor::ExtractOp::create(b, at, source.base, indices)};
  }));
  return success();
}

static LogicalResult lowerPad(Lowering &l, graph::PadOp op) {
  SmallVector<AffineExpr> from = sizesOfValue(op.getInput()), to = sizesOfValue(op.getResult()), cropped(from);
  Value input = l.tensor(op.getInput());
  SmallVector<OpFoldResult> low, high, offsets, strides;
  bool crops = false;
  for (unsigned i = 0; i < from.size(); ++i) {
    int64_t before = op.getLow()[i], after = op.getHigh()[i];
    crops |= before < 0 || after < 0;
    cropped[i] = from[i] + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0);
    offsets.push_back(l.builder.getIndexAttr(std::max<int64_t>(-before, 0)));
    strides.push_back(l.builder.getIndexAttr(1));
    low.push_back(l.builder.getIndexAttr(std::max<int64_t>(before, 0)));
    high.push_back(l.builder.getIndexAttr(std::max<int64_t>(after, 0)));
  }
  if (crops)
    input = l.extractSlice(input, offsets, cropped, strides);
  auto value = dyn_cast<TypedAttr>(op.getValue());
  if (auto elements = dyn_cast<DenseElementsAttr>(op.getValue()))
    value = elements.isSplat() ? elements.getSplatValue<TypedAttr>() : TypedAttr();
  if (!value || !isa<FloatAttr, IntegerAttr>(value))
    return op.emitOpError("has a padding value that is not a single number: ") << op.getValue();
  Type element = cast<RankedTensorType>(op.getType()).getElementType();
  Type storage = storageType(element);
  if (auto number = dyn_cast<IntegerAttr>(value))
    value = l.builder.getIntegerAttr(storage, number.getValue().zextOrTrunc(storage.getIntOrFloatBitWidth()));
  l.set(op, padded(l, input, cropped, low, high, to, value));
  return success();
}

/// Lowers the concatenation of a few tensors along the last dimension to an elementwise op. Each tensor must have size
/// 1 in this dimension. The op selects the tensor by the index in this dimension, and the producers of the tensors can
/// be fused into the op.
static LogicalResult lowerInterleave(Lowering &l, graph::ConcatOp op) {
  SmallVector<AffineExpr> sizes = sizesOfValue(op.getResult());
  SmallVector<Read> reads;
  for (Value input : op.getInputs())
    reads.push_back(Lowering::stored(l.readBroadcast(input, sizes)));
  Type storage = storageType(cast<RankedTensorType>(op.getType()).getElementType());
  l.set(op, l.elementwise(sizes, storage, reads, [&](OpBuilder &b, Location at, ValueRange in, ValueRange) {
    Value position = linalg::IndexOp::create(b, at, op.getDim()), taken = in.back();
    for (int64_t number = int64_t(in.size()) - 2; number >= 0; --number) {
      Value here = arith::CmpIOp::create(b, at, arith::CmpIPredicate::eq, position,
                                         arith::ConstantIndexOp::create(b, at, number));
      taken = arith::SelectOp::create(b, at, here, in[number], taken);
    }
    return SmallVector<Value>{taken};
  }));
  return success();
}

namespace {
/// A tensor and its sizes as expressions of the graph's symbols.
struct Part {
  Value value;
  SmallVector<AffineExpr> sizes;
};
} // namespace

/// A concatenation of more tensors is lowered to concatenations of at most this number of consecutive tensors, and a
/// concatenation of their results. Each concatenation is one kernel with an argument per tensor, and some passes over a
/// kernel take time in proportion to the square of the number of arguments. The elements of such a concatenation are
/// copied at least twice.
static constexpr size_t mostConcatenated = 128;

/// Returns the concatenation of `parts` along `dim`, which has the sizes `sizes`: a chain of tensor.insert_slice into a
/// new tensor.
static Value concatenate(Lowering &l, ArrayRef<Part> parts, int64_t dim, ArrayRef<AffineExpr> sizes, Type storage) {
  SmallVector<AffineExpr> offsets(sizes.size(), l.constant(0));
  SmallVector<OpFoldResult> strides(sizes.size(), l.builder.getIndexAttr(1));
  Value result = l.empty(sizes, storage);
  for (const Part &part : parts) {
    result = l.insertSlice(part.value, result, l.foldedSizes(offsets), part.sizes, strides);
    offsets[dim] = offsets[dim] + part.sizes[dim];
  }
  if (result.getDefiningOp<tensor::EmptyOp>()) // no part has elements
    result = l.filled(sizes, l.builder.getZeroAttr(storage));
  return result;
}

static LogicalResult lowerConcat(Lowering &l, graph::ConcatOp op) {
  constexpr size_t mostInterleaved = 4;
  SmallVector<AffineExpr> sizes = sizesOfValue(op.getResult());
  if (int64_t(op.getDim()) + 1 == int64_t(sizes.size()) && op.getInputs().size() <= mostInterleaved &&
      sizes.size() > 1 &&
      llvm::all_of(op.getInputs(), [&](Value v) { return sizesOfValue(v)[op.getDim()] == l.constant(1); }))
    return lowerInterleave(l, op);
  SmallVector<Part> parts; // create all inputs first, so that the insertions are consecutive ops
  for (Value input : op.getInputs())
    parts.push_back({l.tensor(input), sizesOfValue(input)});
  Type storage = storageType(cast<RankedTensorType>(op.getType()).getElementType());
  while (parts.size() > mostConcatenated) {
    SmallVector<Part> groups;
    for (ArrayRef<Part> left = parts; !left.empty();) {
      ArrayRef<Part> group = left.take_front(mostConcatenated);
      left = left.drop_front(group.size());
      SmallVector<AffineExpr> together = group.front().sizes;
      for (const Part &part : group.drop_front())
        together[op.getDim()] = together[op.getDim()] + part.sizes[op.getDim()];
      groups.push_back({concatenate(l, group, op.getDim(), together, storage), together});
    }
    parts = std::move(groups);
  }
  l.set(op, concatenate(l, parts, op.getDim(), sizes, storage));
  return success();
}

LogicalResult lowerView(Lowering &l, Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<graph::ReshapeOp>([&](auto op) { return lowerReshape(l, op); })
      .Case<graph::PermuteOp>([&](graph::PermuteOp op) {
        SmallVector<AffineExpr> results(op.getPermutation().size());
        for (auto [i, from] : llvm::enumerate(op.getPermutation()))
          results[from] = l.dim(i);
        l.setRead(op, l.read(op.getInput(), l.map(results.size(), results)));
        return success();
      })
      .Case<graph::BroadcastOp>([&](graph::BroadcastOp op) {
        l.setRead(op, l.readBroadcast(op.getInput(), sizesOfValue(op.getResult())));
        return success();
      })
      .Case<graph::SliceOp>([&](auto op) { return lowerSlice(l, op); })
      .Case<graph::FlipOp>([&](auto op) { return lowerFlip(l, op); })
      .Case<graph::PadOp>([&](auto op) { return lowerPad(l, op); })
      .Case<graph::ConcatOp>([&](auto op) { return lowerConcat(l, op); })
      .Default([](Operation *op) { return op->emitOpError("is not a view"); });
}

} // namespace tilewright::structured
