//===- LowerReductions.cpp - reductions, scans and sorts ----------------------===//
//
// Before:
//   %1 = tw.reduce sum %x {dims = [1]} : tensor<4x8xbf16> -> tensor<4xbf16>
// After:
//   %0 = linalg.fill ins(0.0) outs(tensor.empty) : tensor<4xf32>
//   %1 = linalg.generic {(d0, d1) -> (d0, d1), (d0, d1) -> (d0), ["parallel", "reduction"]} ins(%x) outs(%0) { addf }
//   %2 = linalg.generic {truncf} ins(%1) : tensor<4xbf16>
//
// Test: test/Kernels/lower-reductions.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Kernels/LowerRows.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::structured {

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

Rows::Rows(Lowering &l, RankedTensorType type, ArrayRef<int64_t> dims) : l(l), sizes(graph::sizesOf(type)) {
  iterators.assign(sizes.size(), utils::IteratorType::parallel);
  for (int64_t d : dims)
    iterators[d] = utils::IteratorType::reduction;
  SmallVector<AffineExpr> kept;
  count = l.constant(1);
  for (unsigned i = 0; i < sizes.size(); ++i) {
    if (iterators[i] == utils::IteratorType::reduction) {
      count = count * sizes[i];
      continue;
    }
    kept.push_back(l.dim(i));
    rowSizes.push_back(sizes[i]);
  }
  rowMap = l.map(sizes.size(), kept);
}

Read Rows::full(Value graphValue) {
  Read read = l.read(graphValue, l.identity(sizes.size()));
  llvm::SmallBitVector seen(sizes.size());
  if (!read.splat)
    for (AffineExpr e : read.map.getResults())
      if (auto d = dyn_cast<AffineDimExpr>(e))
        seen.set(d.getPosition());
  for (unsigned i = 0; i < sizes.size(); ++i) // materialize the value, so that an operand determines the loop's size
    if (iterators[i] == utils::IteratorType::reduction && !seen.test(i))
      return {l.tensor(graphValue), l.identity(sizes.size()), TypedAttr(), read.elementType};
  return read;
}

Value Rows::reduce(tile::Combiner kind, Type accumulator, ArrayRef<Read> inputs, bool isUnsigned, RowBody body) {
  auto combine = [&](OpBuilder &b, Location at, ValueRange in, ValueRange out) {
    return SmallVector<Value>{combineScalar(b, at, kind, out[0], body(b, at, in), isUnsigned)};
  };
  return fold(neutralElement(kind, accumulator, isUnsigned), inputs, combine).front();
}

SmallVector<Value> Rows::fold(ArrayRef<TypedAttr> starts, ArrayRef<Read> inputs, BodyBuilder body) {
  // If no dimension is reduced, each row is one element. The op must then be elementwise, because later passes do not
  // support a generic that reads its outputs without a reduction loop.
  const bool reduces = llvm::is_contained(iterators, utils::IteratorType::reduction);
  SmallVector<Value> outputs = llvm::map_to_vector(starts, [&](TypedAttr start) {
    return reduces ? l.filled(rowSizes, start) : l.empty(rowSizes, start.getType());
  });
  SmallVector<AffineMap> maps(starts.size(), rowMap);
  auto step = [&](OpBuilder &b, Location at, ValueRange in, ValueRange out) {
    if (reduces)
      return body(b, at, in, out);
    SmallVector<Value> first = llvm::map_to_vector(
        starts, [&](TypedAttr start) { return arith::ConstantOp::create(b, at, start).getResult(); });
    return body(b, at, in, first);
  };
  return llvm::to_vector_of<Value>(l.generic(inputs, outputs, maps, iterators, step).getResults());
}

Value Rows::perRow(Type type, ArrayRef<Value> rows, RowBody body) {
  SmallVector<Read> inputs;
  for (Value row : rows)
    inputs.push_back(Lowering::of(row, l.identity(rowSizes.size())));
  return l.elementwise(rowSizes, type, inputs, [&](OpBuilder &b, Location at, ValueRange in, ValueRange) {
    return SmallVector<Value>{body(b, at, in)};
  });
}

Value Rows::perElement(Type storage, ArrayRef<Read> inputs, RowBody body) {
  return l.elementwise(sizes, storage, inputs, [&](OpBuilder &b, Location at, ValueRange in, ValueRange) {
    return SmallVector<Value>{body(b, at, in)};
  });
}

Value Rows::countAs(OpBuilder &b, Location at, Type type) {
  if (auto known = dyn_cast<AffineConstantExpr>(count))
    return floatConstant(b, at, type, known.getValue());
  Value number = arith::IndexCastOp::create(b, at, b.getI64Type(), l.size(count));
  return arith::SIToFPOp::create(b, at, type, number);
}

void Rows::setResult(Value graphValue, Value rows) {
  auto type = cast<RankedTensorType>(graphValue.getType());
  Value stored = l.rounded(rows, rowSizes, type.getElementType());
  if (type.getRank() == int64_t(rowSizes.size())) {
    l.set(graphValue, stored);
    return;
  }
  // With keepdim, the graph's result also has the reduced dimensions, with size 1. `rowMap` drops these dimensions when
  // the rows are read.
  l.setRead(graphValue, {stored, rowMap, TypedAttr(), type.getElementType()});
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

static tile::Combiner combinerOf(graph::ReduceKind kind) {
  switch (kind) {
  case graph::ReduceKind::Sum:
    return tile::Combiner::Sum;
  case graph::ReduceKind::Prod:
    return tile::Combiner::Product;
  case graph::ReduceKind::Max:
    return tile::Combiner::Maximum;
  case graph::ReduceKind::Min:
    return tile::Combiner::Minimum;
  case graph::ReduceKind::Any:
    return tile::Combiner::Or;
  case graph::ReduceKind::All:
    return tile::Combiner::And;
  }
  llvm_unreachable("all kinds are handled");
}

/// Converts an element (in its compute type, of graph type `from`) to the accumulator type of results of graph type
/// `to`.
static Value asAccumulator(OpBuilder &b, Location at, Value x, Type from, Type to) {
  Type accumulator = accumulatorType(to);
  if (x.getType() == accumulator && !to.isInteger(1))
    return x;
  if (isa<FloatType>(x.getType()) && isa<FloatType>(accumulator))
    return x.getType().getIntOrFloatBitWidth() < accumulator.getIntOrFloatBitWidth()
               ? arith::ExtFOp::create(b, at, accumulator, x).getResult()
               : arith::TruncFOp::create(b, at, accumulator, x).getResult();
  Type source = from.isInteger(1) || from.isUnsignedInteger() ? from : x.getType();
  Type target = isa<FloatType>(to) ? accumulator : to;
  return castScalar(b, at, store(b, at, x, from), source, target);
}

/// The minimum number of parts for which a reduction in two steps (within parts, then over the parts) is faster than
/// one step.
static constexpr int64_t fewestParts = 16;

/// Returns the largest divisor of `elements` from `fewestParts` to 128; 0 if there is none.
static int64_t partsOf(int64_t elements) {
  constexpr int64_t most = 128;
  for (int64_t parts = most; parts >= fewestParts; --parts)
    if (elements % parts == 0)
      return parts;
  return 0;
}

/// Reduces all elements to one element, first in each part and then over the parts. Without parts, one thread would
/// reduce the only row. The parts are the leading dimensions, or pieces of a tensor of rank 1. Returns null if the
/// tensor is small, has unknown sizes, or cannot be divided into enough parts.
static Value reduceInParts(Lowering &l, tile::Combiner kind, Value graphValue, RankedTensorType type, Type accumulator,
                           bool isUnsigned, RowBody body) {
  constexpr int64_t much = 65536;
  if (!type.hasStaticShape() || type.getNumElements() < much)
    return {};
  int64_t rank = type.getRank(), leading = 0, kept = 1;
  while (leading + 1 < rank && kept < fewestParts)
    kept *= type.getDimSize(leading++);
  Value sums;
  RankedTensorType sumsType;
  if (kept >= fewestParts) {
    Rows rows(l, type, llvm::to_vector(llvm::seq<int64_t>(leading, rank)));
    sums = rows.reduce(kind, accumulator, rows.full(graphValue), isUnsigned, body);
    sumsType = RankedTensorType::get(type.getShape().take_front(leading), accumulator);
  } else if (int64_t parts = rank == 1 ? partsOf(type.getNumElements()) : 0) {
    int64_t length = type.getNumElements() / parts;
    Value tensor = l.tensor(graphValue);
    auto cut = RankedTensorType::get({parts, length}, cast<RankedTensorType>(tensor.getType()).getElementType());
    tensor = tensor::ExpandShapeOp::create(l.builder, l.loc, cut, tensor, ArrayRef<ReassociationIndices>{{0, 1}});
    Rows rows(l, RankedTensorType::get({parts, length}, type.getElementType()), {1});
    Read read{tensor, l.identity(2), TypedAttr(), type.getElementType()};
    sums = rows.reduce(kind, accumulator, read, isUnsigned, body);
    sumsType = RankedTensorType::get({parts}, accumulator);
  } else {
    return {};
  }
  Rows last(l, sumsType, llvm::to_vector(llvm::seq<int64_t>(0, sumsType.getRank())));
  return last.reduce(kind, accumulator, Lowering::of(sums, l.identity(sumsType.getRank())), isUnsigned,
                     [](OpBuilder &, Location, ValueRange in) { return in[0]; });
}

/// The two stages of a reduction in which the last dimension is not reduced, for example over all dimensions but the
/// channels. If the reduction had a single stage, the last dimension would be divided among the threads, and each
/// thread would read only a few elements of each cache line. Instead, the last reduced dimensions, `inner`, are reduced
/// first. In this stage, the `outer` dimensions are divided among the threads, and a thread reads whole lines. Then the
/// `outer` dimensions of the first result are reduced. columnStages() returns nullopt if the last dimension is reduced,
/// if there is only one reduced dimension, if the tensor is small, or if there are enough rows before the reduced
/// dimensions.
struct ColumnStages {
  SmallVector<int64_t> inner, outer;
};
static std::optional<ColumnStages> columnStages(RankedTensorType type, ArrayRef<int64_t> dims) {
  constexpr int64_t much = 65536, enoughRows = 8, enoughInner = 4, unknown = 128;
  SmallVector<int64_t> sorted(dims);
  llvm::sort(sorted);
  auto product = [&](int64_t from, int64_t to) {
    int64_t count = 1;
    for (int64_t dim = from; dim < to; ++dim)
      count *= type.isDynamicDim(dim) ? unknown : type.getDimSize(dim);
    return count;
  };
  int64_t rank = type.getRank();
  if (sorted.size() < 2 || sorted.back() == rank - 1 || product(0, rank) < much ||
      product(0, sorted.front()) >= enoughRows)
    return std::nullopt;
  ColumnStages stages;
  int64_t length = 1;
  while (sorted.size() > 1 && length < enoughInner) {
    int64_t dim = sorted.pop_back_val();
    length *= product(dim, dim + 1);
    stages.inner.insert(stages.inner.begin(), dim);
  }
  stages.outer = sorted; // `outer` precedes `inner`, so its indices are the same in the first result
  return stages;
}

static LogicalResult lowerReduce(Lowering &l, graph::ReduceOp op) {
  auto inputType = cast<RankedTensorType>(op.getInput().getType());
  Type from = inputType.getElementType(), to = cast<RankedTensorType>(op.getType()).getElementType();
  Rows rows(l, inputType, op.getDims());
  tile::Combiner kind = combinerOf(op.getKind());
  if (to.isInteger(1)) // max and sum of booleans are "or", min and product are "and"
    kind = kind == tile::Combiner::Maximum || kind == tile::Combiner::Sum       ? tile::Combiner::Or
           : kind == tile::Combiner::Minimum || kind == tile::Combiner::Product ? tile::Combiner::And
                                                                                : kind;
  bool isUnsigned = to.isUnsignedInteger();
  Read input = rows.full(op.getInput());
  auto element = [&](OpBuilder &b, Location at, ValueRange in) { return asAccumulator(b, at, in[0], from, to); };
  Value result;
  if (rows.rowSizes.empty() && !input.splat)
    result = reduceInParts(l, kind, op.getInput(), inputType, accumulatorType(to), isUnsigned, element);
  if (std::optional<ColumnStages> stages = columnStages(inputType, op.getDims()); stages && !input.splat) {
    Rows lines(l, inputType, stages->inner);
    Value parts = lines.reduce(kind, accumulatorType(to), lines.full(op.getInput()), isUnsigned, element);
    Rows columns(l, graph::tensorWithSizes(lines.rowSizes, accumulatorType(to)), stages->outer);
    result = columns.reduce(kind, accumulatorType(to), columns.whole(parts), isUnsigned,
                            [](OpBuilder &, Location, ValueRange in) { return in[0]; });
  }
  if (!result)
    result = rows.reduce(kind, accumulatorType(to), input, isUnsigned, element);
  rows.setResult(op.getResult(), result);
  return success();
}

/// A long row, divided into `parts` x `lines` x `lanes` elements.
struct Lines {
  int64_t parts, lines, lanes;
};

/// Returns the division of the rows of an arg_reduce along the last dimension. All sizes must be known, the row length
/// must be a multiple of 16, and the rows must be long, but too few to fill the lanes of a vector. Otherwise returns
/// std::nullopt, and each row is searched as a whole.
static std::optional<Lines> linesOfFewRows(RankedTensorType type, int64_t dim) {
  constexpr int64_t longRow = 4096, mostParts = 16;
  if (!type.hasStaticShape() || type.getDimSize(dim) < longRow || dim + 1 != type.getRank() ||
      type.getNumElements() / type.getDimSize(dim) >= fewestParts)
    return std::nullopt;
  for (int64_t lanes : {64, 32, 16})
    if (int64_t lines = type.getDimSize(dim) / lanes; lines * lanes == type.getDimSize(dim)) {
      int64_t parts = mostParts;
      while (lines % parts != 0)
        --parts;
      return Lines{parts, lines / parts, lanes};
    }
  return std::nullopt;
}

static LogicalResult lowerArgReduce(Lowering &l, graph::ArgReduceOp op) {
  auto inputType = cast<RankedTensorType>(op.getInput().getType());
  Type from = inputType.getElementType();
  Rows rows(l, inputType, op.getDim());
  tile::Combiner kind = combinerOf(op.getKind());
  bool isMax = kind == tile::Combiner::Maximum, isUnsigned = from.isInteger(1) || from.isUnsignedInteger();
  if (!isMax && kind != tile::Combiner::Minimum)
    return op.emitOpError("supports only the kinds max and min");
  Type compute = accumulatorType(from), i64 = l.builder.getI64Type();
  const int64_t dim = op.getDim();
  auto extremes = [&](Rows &of, ArrayRef<Read> inputs, function_ref<Value(OpBuilder &, Location, ValueRange)> indexOf) {
    Value values = l.filled(of.rowSizes, neutralElement(kind, compute, isUnsigned));
    Value indices = l.filled(of.rowSizes, l.builder.getI64IntegerAttr(std::numeric_limits<int64_t>::max()));
    auto body = [&](OpBuilder &b, Location at, ValueRange in, ValueRange out) {
      Value x = store(b, at, in[0], from.isInteger(1) ? from : compute);
      return keepExtreme(b, at, isMax, isUnsigned, x, indexOf(b, at, in), out[0], out[1]);
    };
    return l.generic(inputs, {values, indices}, {of.rowMap, of.rowMap}, of.iterators, body);
  };
  auto loopIndex = [&](OpBuilder &b, Location at, int64_t loop) {
    return arith::IndexCastOp::create(b, at, i64, linalg::IndexOp::create(b, at, loop)).getResult();
  };
  Read input = rows.full(op.getInput());
  input.asRounded = true;
  linalg::GenericOp generic;
  if (std::optional<Lines> cut = linesOfFewRows(inputType, dim); cut && !input.splat) {
    // Find the best element of each column of each part, then the best of these elements.
    SmallVector<int64_t> shape(inputType.getShape());
    shape[dim] = cut->lanes;
    shape.insert(shape.begin() + dim, {cut->parts, cut->lines});
    Rows columns(l, RankedTensorType::get(shape, from), {dim + 1});
    Value tensor = l.reshaped(l.tensor(op.getInput()), graph::sizesOf(inputType), columns.sizes);
    Read read{tensor, l.identity(shape.size()), TypedAttr(), from};
    read.asRounded = true;
    auto found = extremes(columns, {read}, [&](OpBuilder &b, Location at, ValueRange) {
      auto scaled = [&](Value value, int64_t by) {
        return arith::MulIOp::create(b, at, value, intConstant(b, at, i64, by)).getResult();
      };
      Value line = arith::AddIOp::create(b, at, scaled(loopIndex(b, at, dim), cut->lines), loopIndex(b, at, dim + 1));
      return arith::AddIOp::create(b, at, scaled(line, cut->lanes), loopIndex(b, at, dim + 2)).getResult();
    });
    shape.erase(shape.begin() + dim + 1);
    Rows last(l, RankedTensorType::get(shape, compute), {dim, dim + 1});
    generic = extremes(last, {last.whole(found.getResult(0)), last.whole(found.getResult(1))},
                       [](OpBuilder &, Location, ValueRange in) { return in[1]; });
  } else {
    generic = extremes(rows, {input}, [&](OpBuilder &b, Location at, ValueRange) { return loopIndex(b, at, dim); });
  }
  rows.setResult(op.getResult(), generic.getResult(1));
  return success();
}

SmallVector<Value> keepExtreme(OpBuilder &b, Location at, bool isMax, bool isUnsigned, Value x, Value index, Value best,
                               Value bestIndex, bool lastNaN) {
  auto either = [&](Value p, Value q) { return arith::OrIOp::create(b, at, p, q).getResult(); };
  auto both = [&](Value p, Value q) { return arith::AndIOp::create(b, at, p, q).getResult(); };
  Value earlier = arith::CmpIOp::create(b, at, arith::CmpIPredicate::slt, index, bestIndex);
  Value better, equal;
  if (isa<FloatType>(x.getType())) {
    using P = arith::CmpFPredicate;
    auto cmp = [&](P p, Value u, Value v) { return arith::CmpFOp::create(b, at, p, u, v).getResult(); };
    Value isNaN = cmp(P::UNO, x, x), bestNaN = cmp(P::UNO, best, best);
    Value first = arith::XOrIOp::create(b, at, bestNaN, intConstant(b, at, b.getI1Type(), 1));
    better = either(cmp(isMax ? P::OGT : P::OLT, x, best), lastNaN ? isNaN : both(isNaN, either(first, earlier)));
    equal = cmp(P::OEQ, x, best);
  } else {
    using P = arith::CmpIPredicate;
    P strictly = isMax ? (isUnsigned ? P::ugt : P::sgt) : (isUnsigned ? P::ult : P::slt);
    better = arith::CmpIOp::create(b, at, strictly, x, best);
    equal = arith::CmpIOp::create(b, at, P::eq, x, best);
  }
  Value take = either(better, both(equal, earlier));
  return {arith::SelectOp::create(b, at, take, x, best), arith::SelectOp::create(b, at, take, index, bestIndex)};
}

static LogicalResult lowerVarMean(Lowering &l, graph::VarMeanOp op) {
  auto inputType = cast<RankedTensorType>(op.getInput().getType());
  Rows rows(l, inputType, op.getDims());
  Type f = accumulatorType(inputType.getElementType());
  Read input = rows.full(op.getInput());
  Rows::Moments moments;
  if (std::optional<ColumnStages> stages = columnStages(inputType, op.getDims()); stages && !input.splat) {
    Rows lines(l, inputType, stages->inner);
    Rows::Moments parts = lines.moments(f, lines.full(op.getInput()));
    Rows columns(l, graph::tensorWithSizes(lines.rowSizes, f), stages->outer);
    moments = columns.moments(f, columns.whole(parts.mean), Rows::Parts{columns.whole(parts.squares), lines});
  } else {
    moments = rows.moments(f, input);
  }
  double correction = op.getCorrection().convertToDouble();
  Value variance = rows.perRow(f, moments.squares, [&](OpBuilder &b, Location at, ValueRange in) {
    Value n = rows.countAs(b, at, f);
    Value left = arith::SubFOp::create(b, at, n, floatConstant(b, at, f, correction), contractFlag(b));
    left = arith::MaximumFOp::create(b, at, left, floatConstant(b, at, f, 0), extremeFlags(b));
    return arith::DivFOp::create(b, at, in[0], left, contractFlag(b)).getResult();
  });
  rows.setResult(op.getVariance(), variance);
  rows.setResult(op.getMean(), moments.mean);
  return success();
}

//===----------------------------------------------------------------------===//
// Scans and sorts
//===----------------------------------------------------------------------===//

static LogicalResult lowerScan(Lowering &l, graph::ScanOp op) {
  auto inputType = cast<RankedTensorType>(op.getInput().getType());
  Type from = inputType.getElementType(), to = cast<RankedTensorType>(op.getType()).getElementType();
  SmallVector<AffineExpr> sizes = graph::sizesOf(inputType);
  Type accumulator = accumulatorType(to);
  const bool flips =
      to.isUnsignedInteger() && (op.getKind() == graph::ScanKind::Max || op.getKind() == graph::ScanKind::Min);
  Value input;
  if (storageType(from) == accumulator && !from.isInteger(1) && !flips)
    input = l.tensor(op.getInput());
  else
    input = l.elementwise(sizes, accumulator, l.read(op.getInput(), l.identity(sizes.size())),
                          [&](OpBuilder &b, Location at, ValueRange in, ValueRange) {
                            Value x = asAccumulator(b, at, in[0], from, to);
                            return SmallVector<Value>{flips ? signFlipped(b, at, x) : x};
                          });
  Value empty = l.empty(sizes, accumulator);
  auto scan = tile::ScanOp::create(l.builder, l.loc, empty.getType(), input, empty,
                                   static_cast<tile::ScanKind>(op.getKind()), op.getDim());
  Value result = scan.getResult(0);
  if (flips)
    result = l.elementwise(sizes, accumulator, Lowering::of(result, l.identity(sizes.size())),
                           [](OpBuilder &b, Location at, ValueRange in, ValueRange) {
                             return SmallVector<Value>{signFlipped(b, at, in[0])};
                           });
  l.set(op, l.rounded(result, sizes, to));
  return success();
}

static LogicalResult lowerSort(Lowering &l, graph::SortOp op) {
  SmallVector<AffineExpr> sizes = graph::sizesOf(cast<RankedTensorType>(op.getValues().getType()));
  Value input = l.tensor(op.getInput());
  Value values = l.empty(sizes, cast<RankedTensorType>(input.getType()).getElementType());
  Value indices = l.empty(sizes, l.builder.getI64Type());
  auto sort = tile::SortOp::create(l.builder, l.loc, TypeRange{values.getType(), indices.getType()}, input,
                                   ValueRange{values, indices}, op.getDim(), op.getDescending());
  if (cast<RankedTensorType>(op.getInput().getType()).getElementType().isUnsignedInteger())
    sort->setAttr("tw.unsigned", l.builder.getUnitAttr());
  l.set(op.getValues(), sort.getResult(0));
  l.set(op.getIndices(), sort.getResult(1));
  return success();
}

LogicalResult lowerReduction(Lowering &l, Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<graph::ReduceOp>([&](auto op) { return lowerReduce(l, op); })
      .Case<graph::ArgReduceOp>([&](auto op) { return lowerArgReduce(l, op); })
      .Case<graph::VarMeanOp>([&](auto op) { return lowerVarMean(l, op); })
      .Case<graph::ScanOp>([&](auto op) { return lowerScan(l, op); })
      .Case<graph::SortOp>([&](auto op) { return lowerSort(l, op); })
      .Default([](Operation *op) { return op->emitOpError("is not a reduction"); });
}

} // namespace tilewright::structured
