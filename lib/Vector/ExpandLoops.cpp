//===- ExpandLoops.cpp - scans, sorts and scatters as plain loops --------------------===//
//
// scan: ScanLoops.h.
// scatter: one loop nest over the source, in order, so that of several writes to one place the last stays. Where the
// innermost dimension is no index's (rows that are added to a table's), each row is one elementwise op, which becomes
// vectors; what makes the rows for this scatter alone is computed in it, and rows that indices say are fetched ahead.
// sort: each row by a stable bottom-up merge sort of (value, index) pairs in scratch memory; NaN counts as largest. Few
// of many elements (topk) are found in one pass that inserts what comes before the last of those kept. Bytes are
// counted: how many come before says where each goes.
//
// Test: test/Vector/expand-loops.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Vector/RowMaker.h"
#include "lib/Vector/ScanLoops.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "tilewright/Passes.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_EXPANDLOOPS
#include "tilewright/Passes.h.inc"
namespace vector_stage {
namespace {

class PlainLoops {
public:
  explicit PlainLoops(Operation *op) : op(op), builder(op), loc(op->getLoc()) {}

  void scatter(tile::ScatterOp scatter) {
    Value source = scatter.getInputs()[0], out = scatter.getOutputs()[0];
    const bool wholeRows = tile::writesRows(scatter) && hasDenseRows(typeOf(source)) && hasDenseRows(typeOf(out));
    linalg::GenericOp maker = wholeRows ? rowMakerOf(scatter) : linalg::GenericOp();
    int64_t rank = typeOf(source).getRank();
    SmallVector<Value> extents;
    for (int64_t dim = 0; dim < rank - wholeRows; ++dim)
      extents.push_back(size(source, dim));
    nest(extents, [&](SmallVector<Value> at) {
      if (wholeRows)
        at.push_back(constant(0));
      SmallVector<Value> indices;
      for (auto [operand, map] : llvm::zip_equal(scatter.getInputs().drop_front(), scatter.getIndexMaps())) {
        SmallVector<Value> where;
        for (AffineExpr expr : cast<AffineMapAttr>(map).getValue().getResults())
          where.push_back(evaluate(expr, at, {}));
        Value index = memref::LoadOp::create(builder, loc, operand, where);
        indices.push_back(arith::IndexCastOp::create(builder, loc, builder.getIndexType(), index));
      }
      SmallVector<Value> to;
      Value inside;
      bool wraps = !scatter->hasAttr("tw.from_start");
      for (auto [dim, expr] : llvm::enumerate(scatter.getDestMap().getResults())) {
        Value place = evaluate(expr, at, indices);
        Value extent = size(out, dim), number = place;
        bool isIndex = isa<AffineSymbolExpr>(expr);
        if (isIndex && wraps) {
          Value negative = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, place, constant(0));
          place = arith::SelectOp::create(builder, loc, negative,
                                          arith::AddIOp::create(builder, loc, place, extent).getResult(), place);
        }
        if (wholeRows && int64_t(dim) + 1 == typeOf(out).getRank()) {
          to.push_back(place);
          continue;
        }
        Value fits = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, place, extent);
        if (isIndex) {
          Value outside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge, place, extent);
          auto told = scf::IfOp::create(builder, loc, TypeRange(), outside, /*withElse=*/false);
          OpBuilder telling = OpBuilder::atBlockBegin(&told.getThenRegion().front());
          tile::ReportOp::create(telling, loc, number, extent);
        }
        inside = inside ? arith::AndIOp::create(builder, loc, inside, fits).getResult() : fits;
        to.push_back(place);
      }
      // A place out of range is not written: memory of others stays whole.
      std::optional<scf::IfOp> branch;
      OpBuilder::InsertionGuard guard(builder);
      if (inside) {
        branch = scf::IfOp::create(builder, loc, TypeRange(), inside, /*withElse=*/false);
        builder.setInsertionPointToStart(&branch->getThenRegion().front());
      }
      if (maker) {
        prefetchRows(maker, at);
        return rowOfMaker(scatter.getKind(), maker, at, rowOf(out, to));
      }
      if (wholeRows)
        return row(scatter.getKind(), rowOf(source, at), rowOf(out, to));
      Value value = memref::LoadOp::create(builder, loc, source, at);
      if (scatter.getKind() != tile::ScatterKind::Set) {
        Value old = memref::LoadOp::create(builder, loc, out, to);
        if (Value replaces = beats(scatter.getKind(), value, old)) {
          auto rarely = scf::IfOp::create(builder, loc, TypeRange(), replaces, /*withElse=*/false);
          builder.setInsertionPointToStart(&rarely.getThenRegion().front());
        } else {
          value = combine(scatter.getKind(), old, value);
        }
      }
      memref::StoreOp::create(builder, loc, value, out, to);
    });
    op->erase();
    if (maker) {
      for (Operation *user : llvm::make_early_inc_range(source.getUsers()))
        user->erase();
      source.getDefiningOp()->erase();
    }
  }

  void sort(tile::SortOp sort) {
    Value in = sort.getInputs()[0], values = sort.getOutputs()[0], places = sort.getOutputs()[1];
    int64_t dim = sort.getDim();
    if (keepsFew(typeOf(in).getDimSize(dim), typeOf(values).getDimSize(dim)))
      return sortFew(sort);
    Type element = typeOf(in).getElementType();
    if (element.isInteger(8) && (typeOf(in).isDynamicDim(dim) || typeOf(in).getDimSize(dim) >= 64))
      return sortBytes(sort);
    OpFoldResult count = memref::getMixedSize(builder, loc, in, dim);
    // Two pairs of buffers: a merge reads one and writes the other.
    Value n = size(in, dim);
    Value keys = pairBuffer(count, element), order = pairBuffer(count, builder.getI64Type());
    nest(extentsBut(in, dim), [&](SmallVector<Value> at) {
      at.insert(at.begin() + dim, Value());
      loop(constant(0), n, constant(1), [&](Value j) {
        at[dim] = j;
        Value x = memref::LoadOp::create(builder, loc, in, at);
        memref::StoreOp::create(builder, loc, x, keys, {constant(0), j});
        Value index = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), j);
        memref::StoreOp::create(builder, loc, index, order, {constant(0), j});
      });
      // width = 1, 2, 4, ...; `from` is the half of the buffers that holds the runs.
      Type indexType = builder.getIndexType();
      auto passes = scf::WhileOp::create(
          builder, loc, TypeRange{indexType, indexType}, ValueRange{constant(1), constant(0)},
          [&](OpBuilder &b, Location l, ValueRange state) {
            Value more = arith::CmpIOp::create(b, l, arith::CmpIPredicate::ult, state[0], n);
            scf::ConditionOp::create(b, l, more, state);
          },
          [&](OpBuilder &b, Location l, ValueRange state) {
            OpBuilder::InsertionGuard guard(builder);
            builder.setInsertionPointToEnd(b.getInsertionBlock());
            Value width = state[0], from = state[1];
            Value to = arith::SubIOp::create(builder, loc, constant(1), from);
            Value twice = arith::AddIOp::create(builder, loc, width, width);
            loop(constant(0), n, twice, [&](Value start) {
              Value middle = arith::MinUIOp::create(builder, loc, arith::AddIOp::create(builder, loc, start, width), n);
              Value end = arith::MinUIOp::create(builder, loc, arith::AddIOp::create(builder, loc, start, twice), n);
              merge(keys, order, from, to, start, middle, end, sort.getDescending());
            });
            scf::YieldOp::create(builder, loc, ValueRange{twice, to});
          });
      Value sorted = passes.getResult(1);
      loop(constant(0), size(values, dim), constant(1), [&](Value j) {
        at[dim] = j;
        memref::StoreOp::create(builder, loc, memref::LoadOp::create(builder, loc, keys, ValueRange{sorted, j}), values,
                                at);
        memref::StoreOp::create(builder, loc, memref::LoadOp::create(builder, loc, order, ValueRange{sorted, j}),
                                places, at);
      });
    });
    op->erase();
  }

private:
  /// Where `input` is read for the row at `at`.
  SmallVector<Value> placesOf(linalg::GenericOp maker, OpOperand *input, ArrayRef<Value> at) {
    return llvm::map_to_vector(maker.getMatchingIndexingMap(input).getResults(),
                               [&](AffineExpr expr) { return evaluate(expr, at, {}); });
  }

  /// The block arguments of `maker` that all of the row at `at` has in common, loaded.
  IRMapping commonInputs(linalg::GenericOp maker, ArrayRef<Value> at) {
    IRMapping known;
    for (OpOperand *input : maker.getDpsInputOperands())
      if (!maker.getMatchingIndexingMap(input).isFunctionOfDim(maker.getNumLoops() - 1))
        known.map(maker.getMatchingBlockArgument(input),
                  memref::LoadOp::create(builder, loc, input->get(), placesOf(maker, input, at)).getResult());
    return known;
  }

  /// The row of the source at `at`, as `maker` makes it, is to what stands in `out`.
  void rowOfMaker(tile::ScatterKind kind, linalg::GenericOp maker, ArrayRef<Value> at, Value out) {
    const unsigned last = maker.getNumLoops() - 1;
    AffineMap along = builder.getMultiDimIdentityMap(1);
    IRMapping known = commonInputs(maker, at);
    SmallVector<Value> inputs;
    for (OpOperand *input : maker.getDpsInputOperands())
      if (!known.contains(maker.getMatchingBlockArgument(input)))
        inputs.push_back(rowOf(input->get(), placesOf(maker, input, at)));
    SmallVector<AffineMap> maps(inputs.size() + 1, along);
    linalg::GenericOp::create(builder, loc, inputs, ValueRange{out}, maps, {utils::IteratorType::parallel},
                              [&](OpBuilder &body, Location, ValueRange elements) {
                                OpBuilder::InsertionGuard guard(builder);
                                builder.restoreInsertionPoint(body.saveInsertionPoint());
                                unsigned next = 0;
                                for (OpOperand *input : maker.getDpsInputOperands())
                                  if (BlockArgument argument = maker.getMatchingBlockArgument(input);
                                      !known.contains(argument))
                                    known.map(argument, elements[next++]);
                                for (Operation &inner : maker.getBlock()->without_terminator()) {
                                  auto index = dyn_cast<linalg::IndexOp>(inner);
                                  if (index && index.getDim() < last)
                                    known.map(index.getResult(), at[index.getDim()]);
                                  else if (index)
                                    known.map(index.getResult(), linalg::IndexOp::create(builder, loc, 0).getResult());
                                  else
                                    builder.clone(inner, known);
                                }
                                Value value = known.lookupOrDefault(maker.getBlock()->getTerminator()->getOperand(0));
                                linalg::YieldOp::create(builder, loc, met(kind, value, elements.back()));
                              });
  }

  /// Rows of tables that indices say come from anywhere in memory, and a core has a few of them under way: those of
  /// some iterations ahead are asked for.
  void prefetchRows(linalg::GenericOp maker, ArrayRef<Value> at) {
    constexpr int64_t ahead = 16, lineBytes = 64, mostLines = 16;
    const unsigned last = maker.getNumLoops() - 1;
    for (auto load : maker.getBlock()->getOps<memref::LoadOp>()) {
      auto type = cast<MemRefType>(load.getMemRefType());
      auto column =
          load.getIndices().empty() ? linalg::IndexOp() : load.getIndices().back().getDefiningOp<linalg::IndexOp>();
      if (!column || column.getDim() != last || type.getRank() < 2)
        continue;
      SmallVector<Value> there(at);
      Value end = arith::SubIOp::create(builder, loc, size(maker.getDpsInits()[0], last - 1), constant(1));
      there[last - 1] = arith::MinUIOp::create(
          builder, loc, arith::AddIOp::create(builder, loc, there[last - 1], constant(ahead)), end);
      IRMapping known = commonInputs(maker, there);
      // What says the row, and whether it depends on the column.
      SetVector<Operation *> slice;
      BackwardSliceOptions options;
      options.filter = [&](Operation *inner) { return inner->getBlock() == maker.getBlock(); };
      bool possible = true;
      for (Value index : load.getIndices().drop_back()) {
        (void)getBackwardSlice(index, &slice, options);
        if (Operation *direct = index.getDefiningOp(); direct && direct->getBlock() == maker.getBlock())
          slice.insert(direct);
      }
      for (Operation *inner : slice) {
        auto index = dyn_cast<linalg::IndexOp>(inner);
        possible &= !isa<memref::LoadOp>(inner) && !(index && index.getDim() == last);
        for (Value operand : inner->getOperands())
          if (auto argument = dyn_cast<BlockArgument>(operand); argument && argument.getOwner() == maker.getBlock())
            possible &= known.contains(argument);
      }
      if (!possible)
        continue;
      for (Operation &inner : maker.getBlock()->without_terminator()) {
        if (!slice.contains(&inner))
          continue;
        if (auto index = dyn_cast<linalg::IndexOp>(inner))
          known.map(index.getResult(), there[index.getDim()]);
        else
          builder.clone(inner, known);
      }
      SmallVector<Value> place;
      for (Value index : load.getIndices().drop_back())
        place.push_back(known.lookupOrDefault(index));
      const int64_t bytes = std::max<int64_t>(1, type.getElementTypeBitWidth() / 8), width = type.getShape().back();
      const int64_t lines =
          std::min<int64_t>(mostLines, ShapedType::isDynamic(width) ? 1 : llvm::divideCeil(width * bytes, lineBytes));
      for (int64_t line = 0; line < lines; ++line) {
        place.push_back(constant(line * lineBytes / bytes));
        memref::PrefetchOp::create(builder, loc, load.getMemRef(), place, /*isWrite=*/false, /*localityHint=*/3,
                                   /*isDataCache=*/true);
        place.pop_back();
      }
    }
  }

  /// What stands where `value` has met `old`.
  Value met(tile::ScatterKind kind, Value value, Value old) {
    if (Value replaces = beats(kind, value, old))
      return arith::SelectOp::create(builder, loc, replaces, value, old);
    return kind == tile::ScatterKind::Set ? value : combine(kind, old, value);
  }

  /// The innermost elements of `memref` from `at` on.
  Value rowOf(Value memref, ArrayRef<Value> at) {
    const MemRefType type = typeOf(memref);
    const int64_t width = typeOf(cast<tile::ScatterOp>(op).getInputs()[0]).getShape().back();
    SmallVector<OpFoldResult> offsets = getAsOpFoldResult(at), sizes(at.size(), builder.getIndexAttr(1));
    SmallVector<OpFoldResult> strides(at.size(), builder.getIndexAttr(1));
    sizes.back() = builder.getIndexAttr(width);
    MemRefType row = memref::SubViewOp::inferRankReducedResultType({width}, type, offsets, sizes, strides);
    return memref::SubViewOp::create(builder, loc, row, memref, offsets, sizes, strides);
  }

  /// What `values` are to what stands in `out`.
  void row(tile::ScatterKind kind, Value values, Value out) {
    AffineMap along = builder.getMultiDimIdentityMap(1);
    linalg::GenericOp::create(builder, loc, ValueRange{values}, ValueRange{out}, {along, along},
                              {utils::IteratorType::parallel}, [&](OpBuilder &body, Location, ValueRange elements) {
                                OpBuilder::InsertionGuard guard(builder);
                                builder.restoreInsertionPoint(body.saveInsertionPoint());
                                linalg::YieldOp::create(builder, loc, met(kind, elements[0], elements[1]));
                              });
  }

  /// Whether `kept` of `all` elements are rather inserted one by one: at worst each is compared with all that are kept.
  static bool keepsFew(int64_t all, int64_t kept) {
    return !ShapedType::isDynamic(kept) && kept >= 1 && kept <= 64 && (ShapedType::isDynamic(all) || all >= 4 * kept);
  }

  /// The outputs themselves hold what is kept, in order.
  void sortFew(tile::SortOp sort) {
    Value in = sort.getInputs()[0], values = sort.getOutputs()[0], places = sort.getOutputs()[1];
    int64_t dim = sort.getDim();
    Value kept = size(values, dim), end = constant(typeOf(values).getDimSize(dim) - 1);
    nest(extentsBut(in, dim), [&](SmallVector<Value> at) {
      at.insert(at.begin() + dim, Value());
      auto load = [&](Value from, Value j) {
        at[dim] = j;
        return memref::LoadOp::create(builder, loc, from, at).getResult();
      };
      auto store = [&](Value value, Value to, Value j) {
        at[dim] = j;
        memref::StoreOp::create(builder, loc, value, to, at);
      };
      // Element `j` of the row, `x`, goes in front of those behind it, which move up to `free`.
      auto insert = [&](Value x, Value j, Value free) {
        auto moves = scf::WhileOp::create(
            builder, loc, TypeRange{builder.getIndexType()}, ValueRange{free},
            [&](OpBuilder &b, Location l, ValueRange state) {
              OpBuilder::InsertionGuard guard(builder);
              builder.setInsertionPointToEnd(b.getInsertionBlock());
              Value some = arith::CmpIOp::create(b, l, arith::CmpIPredicate::ugt, state[0], constant(0));
              auto checked = scf::IfOp::create(builder, loc, TypeRange{builder.getI1Type()}, some, /*withElse=*/true);
              builder.setInsertionPointToStart(&checked.getThenRegion().front());
              Value other = load(values, arith::SubIOp::create(builder, loc, state[0], constant(1)));
              scf::YieldOp::create(builder, loc, before(x, other, sort.getDescending()));
              builder.setInsertionPointToStart(&checked.getElseRegion().front());
              scf::YieldOp::create(builder, loc, some);
              builder.setInsertionPointAfter(checked);
              scf::ConditionOp::create(builder, loc, checked.getResult(0), state);
            },
            [&](OpBuilder &b, Location, ValueRange state) {
              OpBuilder::InsertionGuard guard(builder);
              builder.setInsertionPointToEnd(b.getInsertionBlock());
              Value below = arith::SubIOp::create(builder, loc, state[0], constant(1));
              store(load(values, below), values, state[0]);
              store(load(places, below), places, state[0]);
              scf::YieldOp::create(builder, loc, below);
            });
        store(x, values, moves.getResult(0));
        store(arith::IndexCastOp::create(builder, loc, builder.getI64Type(), j), places, moves.getResult(0));
      };
      loop(constant(0), kept, constant(1), [&](Value j) { insert(load(in, j), j, j); });
      Value last = load(values, end);
      auto rest = scf::ForOp::create(builder, loc, kept, size(in, dim), constant(1), ValueRange{last});
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(rest.getBody());
      Value j = rest.getInductionVar(), x = load(in, j), worst = rest.getRegionIterArgs()[0];
      auto better = scf::IfOp::create(builder, loc, TypeRange{x.getType()}, before(x, worst, sort.getDescending()),
                                      /*withElse=*/true);
      builder.setInsertionPointToStart(&better.getThenRegion().front());
      insert(x, j, end);
      scf::YieldOp::create(builder, loc, load(values, end));
      builder.setInsertionPointToStart(&better.getElseRegion().front());
      scf::YieldOp::create(builder, loc, worst);
      builder.setInsertionPointAfter(better);
      scf::YieldOp::create(builder, loc, better.getResult(0));
    });
    sort->erase();
  }

  void sortBytes(tile::SortOp sort) {
    Value in = sort.getInputs()[0], values = sort.getOutputs()[0], places = sort.getOutputs()[1];
    const int64_t dim = sort.getDim();
    Type number = builder.getI64Type();
    Value counts = memref::AllocOp::create(builder, loc, MemRefType::get({256}, number));
    Value zero = arith::ConstantIntOp::create(builder, loc, number, 0);
    Value one = arith::ConstantIntOp::create(builder, loc, number, 1);
    // The place of a byte among all, in ascending order.
    auto rankOf = [&](Value byte) -> Value {
      if (!sort->hasAttr("tw.unsigned"))
        byte = arith::XOrIOp::create(builder, loc, byte,
                                     arith::ConstantIntOp::create(builder, loc, builder.getI8Type(), -128));
      return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), byte);
    };
    // What `counts` has at `rank`, and there is one more of it.
    auto take = [&](Value rank) {
      Value old = memref::LoadOp::create(builder, loc, counts, rank);
      memref::StoreOp::create(builder, loc, arith::AddIOp::create(builder, loc, old, one), counts, rank);
      return old;
    };
    nest(extentsBut(in, dim), [&](SmallVector<Value> at) {
      at.insert(at.begin() + dim, Value());
      auto forEach = [&](function_ref<void(Value, Value)> body) {
        loop(constant(0), size(in, dim), constant(1), [&](Value j) {
          at[dim] = j;
          body(j, memref::LoadOp::create(builder, loc, in, at));
        });
      };
      loop(constant(0), constant(256), constant(1),
           [&](Value rank) { memref::StoreOp::create(builder, loc, zero, counts, rank); });
      forEach([&](Value, Value byte) { take(rankOf(byte)); });
      auto sums = scf::ForOp::create(builder, loc, constant(0), constant(256), constant(1), ValueRange{zero});
      {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToStart(sums.getBody());
        Value rank = sums.getInductionVar(), before = sums.getRegionIterArgs()[0];
        if (sort.getDescending())
          rank = arith::SubIOp::create(builder, loc, constant(255), rank);
        Value count = memref::LoadOp::create(builder, loc, counts, rank);
        memref::StoreOp::create(builder, loc, before, counts, rank);
        scf::YieldOp::create(builder, loc, arith::AddIOp::create(builder, loc, before, count).getResult());
      }
      forEach([&](Value j, Value byte) {
        Value place = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), take(rankOf(byte)));
        OpBuilder::InsertionGuard guard(builder);
        if (typeOf(values).getDimSize(dim) != typeOf(in).getDimSize(dim)) { // only so many are kept
          Value kept = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, place, size(values, dim));
          auto branch = scf::IfOp::create(builder, loc, TypeRange(), kept, /*withElse=*/false);
          builder.setInsertionPointToStart(&branch.getThenRegion().front());
        }
        at[dim] = place;
        memref::StoreOp::create(builder, loc, byte, values, at);
        memref::StoreOp::create(builder, loc, arith::IndexCastOp::create(builder, loc, number, j), places, at);
      });
    });
    sort->erase();
  }

  static MemRefType typeOf(Value value) { return cast<MemRefType>(value.getType()); }
  Value constant(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  Value size(Value value, int64_t dim) {
    return getValueOrCreateConstantIndexOp(builder, loc, memref::getMixedSize(builder, loc, value, dim));
  }
  SmallVector<Value> extentsBut(Value value, int64_t without) {
    SmallVector<Value> extents;
    for (int64_t dim = 0; dim < typeOf(value).getRank(); ++dim)
      if (dim != without)
        extents.push_back(size(value, dim));
    return extents;
  }

  void loop(Value from, Value to, Value step, function_ref<void(Value)> body) {
    auto made = scf::ForOp::create(builder, loc, from, to, step);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(made.getBody());
    body(made.getInductionVar());
  }

  void nest(ArrayRef<Value> extents, function_ref<void(SmallVector<Value>)> body, SmallVector<Value> ivs = {}) {
    if (ivs.size() == extents.size())
      return body(ivs);
    loop(constant(0), extents[ivs.size()], constant(1), [&](Value iv) {
      SmallVector<Value> inner(ivs);
      inner.push_back(iv);
      nest(extents, body, inner);
    });
  }

  Value evaluate(AffineExpr expr, ArrayRef<Value> dims, ArrayRef<Value> symbols) {
    return affine::expandAffineExpr(builder, loc, expr, dims, symbols);
  }

  Value pairBuffer(OpFoldResult count, Type element) {
    SmallVector<int64_t> shape;
    SmallVector<Value> dynamic;
    dispatchIndexOpFoldResults({OpFoldResult(builder.getIndexAttr(2)), count}, dynamic, shape);
    return memref::AllocOp::create(builder, loc, MemRefType::get(shape, element), dynamic);
  }

  /// `a` comes strictly before `b`. A NaN is larger than every number.
  Value before(Value a, Value b, bool descending) {
    if (descending)
      std::swap(a, b);
    if (!isa<FloatType>(a.getType()))
      return arith::CmpIOp::create(
          builder, loc, op->hasAttr("tw.unsigned") ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt, a, b);
    Value less = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, a, b);
    Value aNumber = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::ORD, a, a);
    Value bNaN = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, b, b);
    return arith::OrIOp::create(builder, loc, less, arith::AndIOp::create(builder, loc, aNumber, bNaN));
  }

  /// Merges the runs [start, middle) and [middle, end) of half `from` into half `to`; the left run wins a tie.
  void merge(Value keys, Value order, Value from, Value to, Value start, Value middle, Value end, bool descending) {
    Type indexType = builder.getIndexType();
    auto made = scf::ForOp::create(builder, loc, start, end, constant(1), ValueRange{start, middle});
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(made.getBody());
    Value left = made.getRegionIterArgs()[0], right = made.getRegionIterArgs()[1];
    Value leftDone = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge, left, middle);
    Value rightLeft = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, right, end);
    // Reads of an exhausted run stay inside the buffer.
    Value last = arith::SubIOp::create(builder, loc, end, constant(1));
    Value a =
        memref::LoadOp::create(builder, loc, keys, ValueRange{from, arith::MinUIOp::create(builder, loc, left, last)});
    Value b =
        memref::LoadOp::create(builder, loc, keys, ValueRange{from, arith::MinUIOp::create(builder, loc, right, last)});
    Value rightFirst = before(b, a, descending);
    Value takeRight =
        arith::AndIOp::create(builder, loc, rightLeft, arith::OrIOp::create(builder, loc, leftDone, rightFirst));
    Value place = arith::SelectOp::create(builder, loc, takeRight, right, left);
    Value key = memref::LoadOp::create(builder, loc, keys, ValueRange{from, place});
    Value index = memref::LoadOp::create(builder, loc, order, ValueRange{from, place});
    memref::StoreOp::create(builder, loc, key, keys, ValueRange{to, made.getInductionVar()});
    memref::StoreOp::create(builder, loc, index, order, ValueRange{to, made.getInductionVar()});
    Value moved = arith::IndexCastUIOp::create(builder, loc, indexType, takeRight);
    Value stayed = arith::SubIOp::create(builder, loc, constant(1), moved);
    scf::YieldOp::create(builder, loc,
                         ValueRange{arith::AddIOp::create(builder, loc, left, stayed).getResult(),
                                    arith::AddIOp::create(builder, loc, right, moved).getResult()});
  }

  /// Of a maximum or a minimum: is `value` the new one? A NaN is, and stays. Few elements are, so that what does not
  /// wait for a store to the same place is quick. Null for other kinds.
  Value beats(tile::ScatterKind kind, Value value, Value old) {
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

  /// A sum or a product.
  Value combine(tile::ScatterKind kind, Value a, Value b) {
    const tile::ScanKind reduction = kind == tile::ScatterKind::Add ? tile::ScanKind::Sum : tile::ScanKind::Prod;
    return arith::getReductionOp(reductionOf(reduction, a.getType()), builder, loc, a, b);
  }

  Operation *op;
  OpBuilder builder;
  Location loc;
};

struct ExpandLoops : impl::ExpandLoopsBase<ExpandLoops> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<tile::ScanOp, tile::SortOp, tile::ScatterOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      PlainLoops loops(op);
      if (auto scan = dyn_cast<tile::ScanOp>(op))
        expandScan(scan);
      else if (auto scatter = dyn_cast<tile::ScatterOp>(op))
        loops.scatter(scatter);
      else
        loops.sort(cast<tile::SortOp>(op));
    }
  }
};
} // namespace
} // namespace vector_stage
} // namespace tilewright
