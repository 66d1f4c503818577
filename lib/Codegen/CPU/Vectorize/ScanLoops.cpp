//===- ScanLoops.cpp - lowers running sums and maxima to loops --------------------===//
//
// Before:  tw_tile.scan max {dim = 1} ins(%x) outs(%y)
// After:   for each row { a = -inf; for j { a = max(a, x[j]); y[j] = a } }
//
// If the scan is not along the last dimension, vectors have 16 consecutive elements of the last dimension. The tail is
// a masked vector. If elements have fewer than 32 bits, the tail is scanned column by column instead. If the scan is
// along the last dimension, operations that are exact in any order (maxima, minima, sums and products of integers)
// process 16 elements at a time. First, the elements of a vector are scanned in four shuffle steps (2, 4, 8, 16
// elements), which do not depend on the previous vector. Then the result is combined with the running value. As in
// eager, a running sum or product of f32 is computed in f64.
//
// Tests: test/Codegen/CPU/Vectorize/expand-loops.mlir, test/Python/ops/test_topk_argmax_and_scans.py
//
//===----------------------------------------------------------------------------===//
#include "lib/Codegen/CPU/Vectorize/ScanLoops.h"

#include "lib/Codegen/CPU/Vectorize/LoopNest.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tilewright::vector_stage {
namespace {

constexpr int64_t lanes = 16;

class ScanLoops : LoopNest {
public:
  explicit ScanLoops(tile::ScanOp scan)
      : LoopNest(scan), in(scan.getInputs()[0]), out(scan.getOutputs()[0]), combiner(tile::combinerOf(scan.getKind())),
        dim(scan.getDim()), rank(typeOf(out).getRank()) {
    element = typeOf(out).getElementType();
    wide = element.isBF16() || element.isF16() ? builder.getF32Type() : element;
    if (element.isF32() && tile::dependsOnOrder(combiner, element))
      wide = builder.getF64Type();
  }

  void expand() {
    const bool byLanes = dim == rank - 1;
    const bool few = !typeOf(out).isDynamicDim(rank - 1) && typeOf(out).getDimSize(rank - 1) < lanes;
    const bool one = few && typeOf(out).getDimSize(rank - 1) == 1;
    const unsigned bits = element.getIntOrFloatBitWidth();
    const bool vectors = isDense(in) && isDense(out) && bits >= 8 && (!few || (!byLanes && !one && bits >= 32));
    const bool anyOrder = !tile::dependsOnOrder(combiner, wide);
    SmallVector<Value> at(rank);
    over(0, at, vectors && !byLanes ? rank - 1 : rank, [&] {
      if (!vectors || (byLanes && !anyOrder)) {
        along(at, constant(0), size(dim), identity(wide));
        return;
      }
      if (byLanes)
        return row(at);
      // Scan whole vectors of columns first, then the remaining columns.
      Value end = size(rank - 1), whole = wholeVectors(end);
      loop(constant(0), whole, lanes, [&](Value column) {
        at[rank - 1] = column;
        along(at, constant(0), size(dim), identity(vectorOf(wide)));
      });
      if (bits >= 32)
        return rest(at, whole, end);
      loop(whole, end, 1, [&](Value column) {
        at[rank - 1] = column;
        along(at, constant(0), size(dim), identity(wide));
      });
    });
  }

private:
  static bool isDense(Value value) {
    auto [strides, offset] = typeOf(value).getStridesAndOffset();
    return strides.back() == 1;
  }
  VectorType vectorOf(Type type) { return VectorType::get({lanes}, type); }
  Value size(int64_t of) { return LoopNest::size(in, of); }
  Value wholeVectors(Value count) {
    if (std::optional<int64_t> known = getConstantIntValue(count))
      return constant(*known / lanes * lanes);
    Value rest = arith::RemUIOp::create(builder, loc, count, constant(lanes));
    return arith::SubIOp::create(builder, loc, count, rest);
  }

  /// Returns true if the range from `from` to `to` is known to be empty.
  static bool isNone(Value from, Value to) {
    std::optional<int64_t> known = getConstantIntValue(from);
    return known && known == getConstantIntValue(to);
  }
  void loop(Value from, Value to, int64_t step, function_ref<void(Value)> body) {
    if (!isNone(from, to))
      LoopNest::loop(from, to, constant(step), body);
  }

  /// Emits loops over the dimensions from `next` to `end`, except the scan's dimension, with `body` in the innermost.
  void over(int64_t next, SmallVector<Value> &at, int64_t end, function_ref<void()> body) {
    if (next == end)
      return body();
    if (next == dim)
      return over(next + 1, at, end, body);
    loop(constant(0), size(next), 1, [&](Value index) {
      at[next] = index;
      over(next + 1, at, end, body);
    });
  }

  /// Emits the scan of the elements from `from` to `to`. `before` is the initial value: a scalar, or a vector with one
  /// lane per column. Returns the last running value, which has the same type.
  Value along(SmallVector<Value> at, Value from, Value to, Value before) {
    auto made = scf::ForOp::create(builder, loc, from, to, constant(1), ValueRange{before});
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(made.getBody());
    at[dim] = made.getInductionVar();
    Value next = combine(made.getRegionIterArgs()[0], load(at, before.getType()));
    store(next, at);
    scf::YieldOp::create(builder, loc, next);
    return made.getResult(0);
  }

  /// Scans the columns from `from` to `end` as one masked vector. These columns are fewer than the lanes of a vector.
  void rest(SmallVector<Value> at, Value from, Value end) {
    if (isNone(from, end))
      return;
    Value count = arith::SubIOp::create(builder, loc, end, from);
    mask = vector::CreateMaskOp::create(builder, loc, vectorOf(builder.getI1Type()), count);
    at[rank - 1] = from;
    along(at, constant(0), size(dim), identity(vectorOf(wide)));
    mask = {};
  }

  /// Scans a row in vectors of consecutive elements.
  void row(SmallVector<Value> at) {
    Value end = size(dim), whole = wholeVectors(end);
    auto made =
        scf::ForOp::create(builder, loc, constant(0), whole, constant(lanes), ValueRange{identity(vectorOf(wide))});
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(made.getBody());
      at[dim] = made.getInductionVar();
      Value running = load(at, vectorOf(wide)), first = identity(vectorOf(wide));
      for (int64_t step = 1; step < lanes; step *= 2) {
        SmallVector<int64_t> moved;
        for (int64_t lane = 0; lane < lanes; ++lane)
          moved.push_back(lane < step ? lane : lanes + lane - step);
        running = combine(vector::ShuffleOp::create(builder, loc, first, running, moved), running);
      }
      Value before = made.getRegionIterArgs()[0];
      store(combine(before, running), at);
      Value last = vector::ShuffleOp::create(builder, loc, running, running, SmallVector<int64_t>(lanes, lanes - 1));
      scf::YieldOp::create(builder, loc, combine(before, last));
    }
    Value last = vector::ExtractOp::create(builder, loc, made.getResult(0), lanes - 1);
    along(at, whole, end, last);
  }

  /// Loads an element as `type`: the type in which the scan computes (`wide`), or a vector of this type.
  Value load(ArrayRef<Value> at, Type type) {
    Value x;
    if (!isa<VectorType>(type))
      x = memref::LoadOp::create(builder, loc, in, at);
    else if (!mask)
      x = vector::LoadOp::create(builder, loc, vectorOf(element), in, at);
    else
      x = vector::MaskedLoadOp::create(
          builder, loc, vectorOf(element), in, at, mask,
          arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorOf(element))).getResult());
    return wide == element ? x : arith::ExtFOp::create(builder, loc, type, x).getResult();
  }
  void store(Value value, ArrayRef<Value> at) {
    const bool isVector = isa<VectorType>(value.getType());
    if (wide != element)
      value = arith::TruncFOp::create(builder, loc, isVector ? Type(vectorOf(element)) : element, value);
    if (!isVector)
      memref::StoreOp::create(builder, loc, value, out, at);
    else if (mask)
      vector::MaskedStoreOp::create(builder, loc, out, at, mask, value);
    else
      vector::StoreOp::create(builder, loc, value, out, at);
  }

  Value combine(Value a, Value b) { return tile::combine(builder, loc, combiner, a, b); }

  /// Returns the identity of the operation as `type`: the type in which the scan computes (`wide`), or a vector of this
  /// type.
  Value identity(Type type) {
    TypedAttr value = tile::identityOf(combiner, wide);
    if (auto vector = dyn_cast<VectorType>(type))
      value = DenseElementsAttr::get(vector, Attribute(value));
    return arith::ConstantOp::create(builder, loc, value);
  }

  Value in, out;
  tile::Combiner combiner;
  int64_t dim, rank;
  Type element, wide;
  Value mask; ///< mask of the columns that exist
};

} // namespace

void expandScan(tile::ScanOp scan) {
  ScanLoops(scan).expand();
  scan->erase();
}

} // namespace tilewright::vector_stage
