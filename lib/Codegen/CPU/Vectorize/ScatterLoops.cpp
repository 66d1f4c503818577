//===- ScatterLoops.cpp - lowers scatters to loops ---------------------------------===//
//
// Before:  tw_tile.scatter add ins(%source, %index) outs(%out)
// After:   for each element of the source, in order { at = index; if inside { out[at] += source } }
//
// The loops run in the order of the source. Therefore, if a scatter without a combiner (set) writes several elements to
// one position, the last element remains. If the innermost dimension is not indexed and is contiguous in the source and
// in the result, rows of the source are combined with rows of the result, and each row is one elementwise op, which is
// vectorized:
//
//   at = none; held: a row on the stack
//   for i { if at != index[i] { out[at] = held; at = index[i]; held = out[at] }; held += source[i] }
//   out[at] = held
//
// If the scatter has a combiner, the row of the result is kept in registers while consecutive rows of the source have
// the same destination, as in the gradient of an embedding bag. This is possible because LLVM promotes stack accesses
// with constant indices to values. If a row is longer than the registers allow, the remaining columns are accumulated
// in memory. If only this scatter reads the rows that an op computes, the op is fused into the scatter (RowProducer.h),
// and rows of the tables that the op indexes are prefetched.
//
// Tests: test/Codegen/CPU/Vectorize/expand-loops.mlir, test/Python/ops/test_scatter_of_fused_producers.py
//
//===----------------------------------------------------------------------------===//
#include "lib/Codegen/CPU/Vectorize/ScatterLoops.h"

#include "dialects/Tile/Combiner.h"
#include "lib/Codegen/CPU/Vectorize/LoopNest.h"
#include "lib/Codegen/CPU/Vectorize/RowProducer.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tilewright/AttributeNames.h"

using namespace mlir;

namespace tilewright::vector_stage {
namespace {

constexpr int64_t vectorBytes = 64, blockBytes = 4 * vectorBytes; ///< blocks are unrolled (VectorizeLoops.cpp)
constexpr int64_t heldBytes = 4 * blockBytes;                     ///< bytes of half of the vector registers of AVX-512

class ScatterLoops : LoopNest {
public:
  explicit ScatterLoops(tile::ScatterOp op)
      : LoopNest(op), op(op), source(op.getInputs()[0]), out(op.getOutputs()[0]), kind(op.getKind()) {}

  void expand() {
    const bool ofRows = tile::writesRows(op) && hasDenseRows(typeOf(source)) && hasDenseRows(typeOf(out));
    if (ofRows)
      producer = rowProducerOf(op);
    SmallVector<Value> extents;
    for (int64_t dim = 0; dim < typeOf(source).getRank(); ++dim)
      extents.push_back(size(source, dim));
    if (ofRows)
      rows(extents);
    else
      nest(extents, [&](SmallVector<Value> at) { element(at); });
    op->erase();
    if (producer) {
      for (Operation *user : llvm::make_early_inc_range(source.getUsers()))
        user->erase();
      source.getDefiningOp()->erase();
    }
  }

private:
  /// A range of columns of a row, and the buffer that contains their current values.
  struct Block {
    int64_t first, width;
    Value held;
  };

  /// The indices to which an element is scattered, and the condition that they are within the result.
  struct Destination {
    SmallVector<Value> to;
    Value inside;
  };

  /// Emits code that computes the destination of the source's element at `at`, in the first `dims` dimensions of the
  /// result, and that reports an error if an index is out of range.
  Destination destinationOf(ArrayRef<Value> at, int64_t dims) {
    SmallVector<Value> indices;
    for (auto [operand, map] : llvm::zip_equal(op.getInputs().drop_front(), op.getIndexMaps())) {
      SmallVector<Value> where;
      for (AffineExpr expr : cast<AffineMapAttr>(map).getValue().getResults())
        where.push_back(evaluate(expr, at, {}));
      Value index = memref::LoadOp::create(builder, loc, operand, where);
      indices.push_back(arith::IndexCastOp::create(builder, loc, builder.getIndexType(), index));
    }
    Destination destination;
    const bool wraps = !op->hasAttr(fromStartAttrName);
    for (auto [dim, expr] : llvm::enumerate(op.getDestMap().getResults().take_front(dims))) {
      Value number = evaluate(expr, at, indices), extent = size(out, dim), to = number;
      const bool isIndex = isa<AffineSymbolExpr>(expr);
      if (isIndex && wraps) {
        Value negative = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, number, constant(0));
        to = arith::SelectOp::create(builder, loc, negative,
                                     arith::AddIOp::create(builder, loc, number, extent).getResult(), number);
      }
      Value fits = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, to, extent);
      if (isIndex) {
        Value outside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge, to, extent);
        auto branch = scf::IfOp::create(builder, loc, TypeRange(), outside, /*withElse=*/false);
        OpBuilder inBranch = OpBuilder::atBlockBegin(&branch.getThenRegion().front());
        tile::ReportOp::create(inBranch, loc, number, extent);
      }
      destination.inside =
          destination.inside ? arith::AndIOp::create(builder, loc, destination.inside, fits).getResult() : fits;
      destination.to.push_back(to);
    }
    return destination;
  }

  /// Emits the scatter of one element. If an index is out of range, nothing is written, so no memory outside of the
  /// result is changed.
  void element(ArrayRef<Value> at) {
    Destination destination = destinationOf(at, typeOf(out).getRank());
    OpBuilder::InsertionGuard guard(builder);
    if (destination.inside)
      enter(destination.inside);
    Value value = memref::LoadOp::create(builder, loc, source, at);
    if (kind != tile::ScatterKind::Set) {
      Value old = memref::LoadOp::create(builder, loc, out, destination.to);
      if (Value replaces = beats(value, old))
        enter(replaces);
      else
        value = combine(old, value);
    }
    memref::StoreOp::create(builder, loc, value, out, destination.to);
  }

  /// Emits a branch that is executed if `condition` is true, and moves the insertion point into it.
  void enter(Value condition) {
    auto branch = scf::IfOp::create(builder, loc, TypeRange(), condition, /*withElse=*/false);
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
  }

  void rows(ArrayRef<Value> extents) {
    const int64_t dims = typeOf(out).getRank() - 1;
    const int64_t width = typeOf(source).getShape().back();
    const SmallVector<Block> blocks = heldBlocks(width);
    const int64_t left = blocks.empty() ? 0 : blocks.back().first + blocks.back().width;
    nest(extents.drop_back(2), [&](SmallVector<Value> outer) {
      SmallVector<Value> none(blocks.empty() ? 0 : dims, constant(-1));
      auto over = scf::ForOp::create(builder, loc, constant(0), extents[extents.size() - 2], constant(1), none);
      {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToStart(over.getBody());
        SmallVector<Value> at(outer), before(over.getRegionIterArgs());
        at.append({over.getInductionVar(), constant(0)});
        Destination destination = destinationOf(at, dims);
        auto branch = scf::IfOp::create(builder, loc, TypeRange(none), destination.inside, /*withElse=*/!none.empty());
        if (!none.empty()) {
          scf::YieldOp::create(builder, loc, branch.getResults());
          builder.setInsertionPointToStart(&branch.getElseRegion().front());
          scf::YieldOp::create(builder, loc, before);
        }
        builder.setInsertionPointToStart(&branch.getThenRegion().front());
        if (producer)
          prefetchRows(at);
        if (!blocks.empty())
          change(blocks, before, destination.to);
        const IRMapping common = producer ? commonInputs(at) : IRMapping();
        for (const Block &block : blocks)
          meet(at, common, block.first, block.held);
        if (left < width)
          meet(at, common, left, part(out, destination.to, left, width - left));
        if (!none.empty())
          scf::YieldOp::create(builder, loc, destination.to);
      }
      if (!blocks.empty())
        release(blocks, over.getResults());
    });
  }

  /// Returns the blocks of columns that are kept in registers while the index does not change from row to row. There
  /// are none if `kind` is Set. A block has one to four whole vectors, or half, a quarter, ... of a vector at the end
  /// of a row. All blocks together have at most `heldBytes` bytes. The last columns are not a masked vector, because a
  /// masked load would force the row to the stack.
  SmallVector<Block> heldBlocks(int64_t width) {
    Type element = typeOf(out).getElementType();
    const int64_t bytes = std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8);
    SmallVector<Block> blocks;
    if (kind == tile::ScatterKind::Set)
      return blocks;
    OpBuilder entry = OpBuilder::atBlockBegin(&op->getParentOfType<func::FuncOp>().front());
    const int64_t lanes = vectorBytes / bytes, most = std::min(width, heldBytes / bytes);
    for (int64_t first = 0; first < most;) {
      const int64_t left = most - first;
      const int64_t columns =
          left < lanes ? llvm::bit_floor<uint64_t>(left) : std::min(left - left % lanes, blockBytes / bytes);
      Value held = memref::AllocaOp::create(entry, loc, MemRefType::get({columns}, element),
                                            entry.getI64IntegerAttr(vectorBytes));
      blocks.push_back({first, columns, held});
      first += columns;
    }
    return blocks;
  }

  /// If `before` and `to` differ, stores `blocks` to row `before`, and loads row `to` into `blocks`.
  void change(ArrayRef<Block> blocks, ValueRange before, ValueRange to) {
    Value changes;
    for (auto [a, b] : llvm::zip_equal(before, to)) {
      Value differs = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, a, b);
      changes = changes ? arith::OrIOp::create(builder, loc, changes, differs).getResult() : differs;
    }
    OpBuilder::InsertionGuard guard(builder);
    enter(changes);
    release(blocks, before);
    for (const Block &block : blocks)
      copy(part(out, to, block.first, block.width), block.held);
  }

  /// Stores `blocks` to row `to`, unless `to` is negative.
  void release(ArrayRef<Block> blocks, ValueRange to) {
    OpBuilder::InsertionGuard guard(builder);
    enter(arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, to.front(), constant(0)));
    for (const Block &block : blocks)
      copy(block.held, part(out, to, block.first, block.width));
  }

  void copy(Value from, Value to) {
    AffineMap along = builder.getMultiDimIdentityMap(1);
    linalg::GenericOp::create(
        builder, loc, from, to, {along, along}, {utils::IteratorType::parallel},
        [](OpBuilder &body, Location loc, ValueRange elements) { linalg::YieldOp::create(body, loc, elements[0]); });
  }

  /// Combines the elements of the source's row at `at`, starting at column `first`, with the elements of `to`, and
  /// stores the results in `to`. `known` is the result of commonInputs(at), or empty if there is no producer.
  void meet(ArrayRef<Value> at, IRMapping known, int64_t first, Value to) {
    const int64_t width = typeOf(to).getShape().back();
    AffineMap along = builder.getMultiDimIdentityMap(1);
    SmallVector<Value> inputs;
    if (producer) {
      for (OpOperand *input : producer.getDpsInputOperands())
        if (!known.contains(producer.getMatchingBlockArgument(input)))
          inputs.push_back(part(input->get(), ArrayRef(indicesOf(input, at)).drop_back(), first, width));
    } else {
      inputs.push_back(part(source, at.drop_back(), first, width));
    }
    SmallVector<AffineMap> maps(inputs.size() + 1, along);
    linalg::GenericOp::create(builder, loc, inputs, ValueRange{to}, maps, {utils::IteratorType::parallel},
                              [&](OpBuilder &body, Location, ValueRange elements) {
                                OpBuilder::InsertionGuard guard(builder);
                                builder.restoreInsertionPoint(body.saveInsertionPoint());
                                Value value = producer ? made(known, at, first, elements) : elements[0];
                                linalg::YieldOp::create(builder, loc, met(value, elements.back()));
                              });
  }

  /// Emits the body of `producer`, and returns its result. `elements` are the values of the inputs that `known` does
  /// not contain.
  Value made(IRMapping &known, ArrayRef<Value> at, int64_t first, ValueRange elements) {
    const unsigned last = producer.getNumLoops() - 1;
    unsigned next = 0;
    for (OpOperand *input : producer.getDpsInputOperands())
      if (BlockArgument argument = producer.getMatchingBlockArgument(input); !known.contains(argument))
        known.map(argument, elements[next++]);
    for (Operation &inner : producer.getBlock()->without_terminator()) {
      auto index = dyn_cast<linalg::IndexOp>(inner);
      if (index && index.getDim() < last) {
        known.map(index.getResult(), at[index.getDim()]);
      } else if (index) {
        Value column = linalg::IndexOp::create(builder, loc, 0);
        if (first > 0)
          column = arith::AddIOp::create(builder, loc, column, constant(first));
        known.map(index.getResult(), column);
      } else {
        builder.clone(inner, known);
      }
    }
    return known.lookupOrDefault(producer.getBlock()->getTerminator()->getOperand(0));
  }

  /// Returns the indices at which `producer` reads `input` for the row at `at`.
  SmallVector<Value> indicesOf(OpOperand *input, ArrayRef<Value> at) {
    return llvm::map_to_vector(producer.getMatchingIndexingMap(input).getResults(),
                               [&](AffineExpr expr) { return evaluate(expr, at, {}); });
  }

  /// Loads the inputs of `producer` that are the same for all elements of the row at `at`. Returns a map from their
  /// block arguments to the loaded values.
  IRMapping commonInputs(ArrayRef<Value> at) {
    IRMapping known;
    for (OpOperand *input : producer.getDpsInputOperands())
      if (!producer.getMatchingIndexingMap(input).isFunctionOfDim(producer.getNumLoops() - 1))
        known.map(producer.getMatchingBlockArgument(input),
                  memref::LoadOp::create(builder, loc, input->get(), indicesOf(input, at)).getResult());
    return known;
  }

  /// Prefetches rows of indexed tables for later iterations, because the rows are at arbitrary addresses, and a core
  /// has only a few outstanding loads.
  void prefetchRows(ArrayRef<Value> at) {
    constexpr int64_t ahead = 16, lineBytes = 64, mostLines = 16;
    const unsigned last = producer.getNumLoops() - 1;
    for (auto load : producer.getBlock()->getOps<memref::LoadOp>()) {
      auto type = cast<MemRefType>(load.getMemRefType());
      auto column =
          load.getIndices().empty() ? linalg::IndexOp() : load.getIndices().back().getDefiningOp<linalg::IndexOp>();
      if (!column || column.getDim() != last || type.getRank() < 2)
        continue;
      SmallVector<Value> there(at);
      Value end = arith::SubIOp::create(builder, loc, size(producer.getDpsInits()[0], last - 1), constant(1));
      there[last - 1] = arith::MinUIOp::create(
          builder, loc, arith::AddIOp::create(builder, loc, there[last - 1], constant(ahead)), end);
      IRMapping known = commonInputs(there);
      // Collect the ops that compute the row's index, and check that they do not depend on the column and need no
      // further loads.
      SetVector<Operation *> slice;
      BackwardSliceOptions options;
      options.filter = [&](Operation *inner) { return inner->getBlock() == producer.getBlock(); };
      bool possible = true;
      for (Value index : load.getIndices().drop_back()) {
        (void)getBackwardSlice(index, &slice, options);
        if (Operation *direct = index.getDefiningOp(); direct && direct->getBlock() == producer.getBlock())
          slice.insert(direct);
      }
      for (Operation *inner : slice) {
        auto index = dyn_cast<linalg::IndexOp>(inner);
        possible &= !isa<memref::LoadOp>(inner) && !(index && index.getDim() == last);
        for (Value operand : inner->getOperands())
          if (auto argument = dyn_cast<BlockArgument>(operand); argument && argument.getOwner() == producer.getBlock())
            possible &= known.contains(argument);
      }
      if (!possible)
        continue;
      for (Operation &inner : producer.getBlock()->without_terminator()) {
        if (!slice.contains(&inner))
          continue;
        if (auto index = dyn_cast<linalg::IndexOp>(inner))
          known.map(index.getResult(), there[index.getDim()]);
        else
          builder.clone(inner, known);
      }
      SmallVector<Value> indices;
      for (Value index : load.getIndices().drop_back())
        indices.push_back(known.lookupOrDefault(index));
      const int64_t bytes = std::max<int64_t>(1, type.getElementTypeBitWidth() / 8), width = type.getShape().back();
      const int64_t lines =
          std::min<int64_t>(mostLines, ShapedType::isDynamic(width) ? 1 : llvm::divideCeil(width * bytes, lineBytes));
      for (int64_t line = 0; line < lines; ++line) {
        indices.push_back(constant(line * lineBytes / bytes));
        memref::PrefetchOp::create(builder, loc, load.getMemRef(), indices, /*isWrite=*/false, /*localityHint=*/3,
                                   /*isDataCache=*/true);
        indices.pop_back();
      }
    }
  }

  /// Returns a view of `width` columns of row `rows` of `memref`, starting at column `first`.
  Value part(Value memref, ValueRange rows, int64_t first, int64_t width) {
    SmallVector<OpFoldResult> offsets = getAsOpFoldResult(rows), sizes(rows.size() + 1, builder.getIndexAttr(1));
    SmallVector<OpFoldResult> strides(sizes.size(), builder.getIndexAttr(1));
    offsets.push_back(builder.getIndexAttr(first));
    sizes.back() = builder.getIndexAttr(width);
    MemRefType row = memref::SubViewOp::inferRankReducedResultType({width}, typeOf(memref), offsets, sizes, strides);
    return memref::SubViewOp::create(builder, loc, row, memref, offsets, sizes, strides);
  }

  /// Returns the new value of an element that has the value `old` and to which `value` is scattered.
  Value met(Value value, Value old) {
    if (Value replaces = beats(value, old))
      return arith::SelectOp::create(builder, loc, replaces, value, old);
    return kind == tile::ScatterKind::Set ? value : combine(old, value);
  }

  /// For a maximum or minimum, emits the condition that `value` replaces `old`. For other kinds of scatters, returns
  /// null. NaN replaces any value, and no number replaces NaN. A caller may branch on the condition: most values do not
  /// replace another value, so most iterations then do not wait for a store to the same position.
  Value beats(Value value, Value old) {
    if (kind != tile::ScatterKind::Max && kind != tile::ScatterKind::Min)
      return {};
    const bool larger = kind == tile::ScatterKind::Max;
    if (!isa<FloatType>(value.getType()))
      return arith::CmpIOp::create(builder, loc, larger ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::slt, value,
                                   old);
    Value better =
        arith::CmpFOp::create(builder, loc, larger ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT, value, old);
    Value isNan = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, value, value);
    return arith::OrIOp::create(builder, loc, better, isNan);
  }

  /// Combines `a` and `b`; `kind` is not Set.
  Value combine(Value a, Value b) { return tile::combine(builder, loc, *tile::combinerOf(kind), a, b); }

  tile::ScatterOp op;
  Value source, out;
  tile::ScatterKind kind;
  /// Op that computes the rows of the source, if only this scatter reads them; otherwise null.
  linalg::GenericOp producer;
};
} // namespace

void expandScatter(tile::ScatterOp scatter) { ScatterLoops(scatter).expand(); }

} // namespace tilewright::vector_stage
