//===- ExpandLoops.cpp - lowers scans, sorts and scatters to loops -------------------===//
//
// ScanLoops.h lowers scans, and ScatterLoops.h lowers scatters. A sort becomes, for each row, a stable bottom-up merge
// sort of (value, index) pairs in scratch memory. NaN is the largest value. A topk with a small k needs only the first
// k results. In this case, one pass over the row maintains a sorted list of the first k of the elements that have been
// read. An element is inserted if it precedes the last element of the list. Rows of bytes that are long, or whose
// length is symbolic, are sorted by counting: the position of an element is the number of elements that precede it.
//
// Test: test/Codegen/CPU/Vectorize/expand-loops.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/CPU/Vectorize/LoopNest.h"
#include "lib/Codegen/CPU/Vectorize/ScanLoops.h"
#include "lib/Codegen/CPU/Vectorize/ScatterLoops.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_EXPANDLOOPS
#include "tilewright/Passes.h.inc"
namespace vector_stage {
namespace {

class SortLoops : LoopNest {
public:
  explicit SortLoops(tile::SortOp op) : LoopNest(op), op(op) {}

  void expand() {
    tile::SortOp sort = op;
    Value in = sort.getInputs()[0], values = sort.getOutputs()[0], indices = sort.getOutputs()[1];
    int64_t dim = sort.getDim();
    if (keepsFew(typeOf(in).getDimSize(dim), typeOf(values).getDimSize(dim)))
      return sortFew(sort);
    Type element = typeOf(in).getElementType();
    constexpr int64_t leastCounted = 64; // minimum row length for which counting bytes is faster than merging
    if (element.isInteger(8) && (typeOf(in).isDynamicDim(dim) || typeOf(in).getDimSize(dim) >= leastCounted))
      return sortBytes(sort);
    OpFoldResult count = memref::getMixedSize(builder, loc, in, dim);
    // Each buffer has two halves. A merge reads from one half and writes to the other.
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
      // The width of runs is 1, 2, 4, ...; `from` is the half of the buffers that has the current runs.
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
                                indices, at);
      });
    });
    op->erase();
  }

private:
  /// Returns true if the first `kept` of `all` elements are found by insertion. In the worst case, insertion compares
  /// each element with `kept` elements, so `kept` must be a small constant, and at most a quarter of `all` if `all` is
  /// known.
  static bool keepsFew(int64_t all, int64_t kept) {
    constexpr int64_t mostKept = 64;
    return !ShapedType::isDynamic(kept) && kept >= 1 && kept <= mostKept &&
           (ShapedType::isDynamic(all) || all >= 4 * kept);
  }

  /// Finds the first elements of each row by insertion. The outputs contain the first of the elements that have been
  /// read, in sorted order.
  void sortFew(tile::SortOp sort) {
    Value in = sort.getInputs()[0], values = sort.getOutputs()[0], indices = sort.getOutputs()[1];
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
      // Inserts element `j` of the row, whose value is `x`, before the elements that it precedes. These elements move
      // by one index, and the last of them moves to index `free`.
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
              store(load(indices, below), indices, state[0]);
              scf::YieldOp::create(builder, loc, below);
            });
        store(x, values, moves.getResult(0));
        store(arith::IndexCastOp::create(builder, loc, builder.getI64Type(), j), indices, moves.getResult(0));
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
    Value in = sort.getInputs()[0], values = sort.getOutputs()[0], indices = sort.getOutputs()[1];
    const int64_t dim = sort.getDim();
    Type number = builder.getI64Type();
    Value counts = memref::AllocOp::create(builder, loc, MemRefType::get({256}, number));
    Value zero = arith::ConstantIntOp::create(builder, loc, number, 0);
    Value one = arith::ConstantIntOp::create(builder, loc, number, 1);
    // Returns the rank of a byte among all byte values, in ascending order.
    auto rankOf = [&](Value byte) -> Value {
      if (!sort->hasAttr("tw.unsigned"))
        byte = arith::XOrIOp::create(builder, loc, byte,
                                     arith::ConstantIntOp::create(builder, loc, builder.getI8Type(), -128));
      return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), byte);
    };
    // Returns the entry of `counts` at `rank`, and increments it.
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
        Value position = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), take(rankOf(byte)));
        OpBuilder::InsertionGuard guard(builder);
        if (typeOf(values).getDimSize(dim) != typeOf(in).getDimSize(dim)) { // store only the first elements
          Value kept = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, position, size(values, dim));
          auto branch = scf::IfOp::create(builder, loc, TypeRange(), kept, /*withElse=*/false);
          builder.setInsertionPointToStart(&branch.getThenRegion().front());
        }
        at[dim] = position;
        memref::StoreOp::create(builder, loc, byte, values, at);
        memref::StoreOp::create(builder, loc, arith::IndexCastOp::create(builder, loc, number, j), indices, at);
      });
    });
    sort->erase();
  }

  SmallVector<Value> extentsBut(Value value, int64_t without) {
    SmallVector<Value> extents;
    for (int64_t dim = 0; dim < typeOf(value).getRank(); ++dim)
      if (dim != without)
        extents.push_back(size(value, dim));
    return extents;
  }

  Value pairBuffer(OpFoldResult count, Type element) {
    SmallVector<int64_t> shape;
    SmallVector<Value> dynamic;
    dispatchIndexOpFoldResults({OpFoldResult(builder.getIndexAttr(2)), count}, dynamic, shape);
    return memref::AllocOp::create(builder, loc, MemRefType::get(shape, element), dynamic);
  }

  /// Returns true if `a` must be before `b` in the sorted row. NaN is greater than every number.
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

  /// Merges the runs [start, middle) and [middle, end) of half `from` of the buffers into half `to`. If two elements
  /// are equal, the element of the left run comes first.
  void merge(Value keys, Value order, Value from, Value to, Value start, Value middle, Value end, bool descending) {
    Type indexType = builder.getIndexType();
    auto made = scf::ForOp::create(builder, loc, start, end, constant(1), ValueRange{start, middle});
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(made.getBody());
    Value left = made.getRegionIterArgs()[0], right = made.getRegionIterArgs()[1];
    Value leftDone = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge, left, middle);
    Value rightLeft = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, right, end);
    // After the end of a run, clamp the index, so that the read stays inside the buffer. The value is not used.
    Value last = arith::SubIOp::create(builder, loc, end, constant(1));
    Value a =
        memref::LoadOp::create(builder, loc, keys, ValueRange{from, arith::MinUIOp::create(builder, loc, left, last)});
    Value b =
        memref::LoadOp::create(builder, loc, keys, ValueRange{from, arith::MinUIOp::create(builder, loc, right, last)});
    Value rightFirst = before(b, a, descending);
    Value takeRight =
        arith::AndIOp::create(builder, loc, rightLeft, arith::OrIOp::create(builder, loc, leftDone, rightFirst));
    Value position = arith::SelectOp::create(builder, loc, takeRight, right, left);
    Value key = memref::LoadOp::create(builder, loc, keys, ValueRange{from, position});
    Value index = memref::LoadOp::create(builder, loc, order, ValueRange{from, position});
    memref::StoreOp::create(builder, loc, key, keys, ValueRange{to, made.getInductionVar()});
    memref::StoreOp::create(builder, loc, index, order, ValueRange{to, made.getInductionVar()});
    Value moved = arith::IndexCastUIOp::create(builder, loc, indexType, takeRight);
    Value stayed = arith::SubIOp::create(builder, loc, constant(1), moved);
    scf::YieldOp::create(builder, loc,
                         ValueRange{arith::AddIOp::create(builder, loc, left, stayed).getResult(),
                                    arith::AddIOp::create(builder, loc, right, moved).getResult()});
  }

  tile::SortOp op;
};

struct ExpandLoops : impl::ExpandLoopsBase<ExpandLoops> {
  void runOnOperation() override {
    if (failed(requireForm(getOperation(), IRForm::Buffers, getArgument())))
      return signalPassFailure();
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<tile::ScanOp, tile::SortOp, tile::ScatterOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      if (auto scan = dyn_cast<tile::ScanOp>(op))
        expandScan(scan);
      else if (auto scatter = dyn_cast<tile::ScatterOp>(op))
        expandScatter(scatter);
      else
        SortLoops(cast<tile::SortOp>(op)).expand();
    }
  }
};
} // namespace
} // namespace vector_stage
} // namespace tilewright
