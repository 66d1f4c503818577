//===- SegmentReductions.cpp - reductions of contiguous segments of a dimension --------------===//
//
//   segment_reduce(data, "sum", lengths=[2, 0, 1])    [data[0] + data[1], 0, data[2]]
//
// The lengths or the offsets of the segments give the position where each segment ends. The segment of an element is
// the number of segments that end before or at its position:
//
//   ends [2, 2, 3]    segments that end at each position [0, 0, 2]    segment of each element [0, 0, 2]
//
// Each element is combined into the result at the index of its segment (tw.scatter). Elements outside of all segments
// are replaced by the identity of the reduction. The result of an empty segment is the argument `initial`. Without
// `initial`, it is the identity, or NaN for a mean.
//
// Test: test/Python/test_plain_exports.py, test/Python/test_data_dependent_errors.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Indexing.h"
#include "lib/Import/ATen/Table.h"
#include "llvm/ADT/StringSwitch.h"
#include <limits>

namespace tilewright {
namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();

/// A reduction: how two elements are combined, and the identity element of this operation.
struct SegmentKind {
  ScatterKind kind = ScatterKind::Add;
  double identity = 0;
};

std::optional<SegmentKind> segmentKindNamed(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<SegmentKind>>(name)
      .Cases({"sum", "mean"}, SegmentKind{ScatterKind::Add, 0})
      .Case("prod", SegmentKind{ScatterKind::Mul, 1})
      .Case("max", SegmentKind{ScatterKind::Max, -unlimited})
      .Case("min", SegmentKind{ScatterKind::Min, unlimited})
      .Default(std::nullopt);
}

/// The segments of a dimension of `size` elements. This dimension is the last one of the tensors in the struct.
struct Segments {
  AffineExpr size, number; ///< number of elements, number of segments
  Value ends, lengths;     ///< [..., number]
  Value begin;             ///< [..., 1]: where the first segment begins; null for 0
};

/// Returns the segments that begin and end at `offsets` [..., number + 1]. A call fails if an offset is less than the
/// one before; eager computes overlapping segments in this case.
Segments segmentsAt(Node &n, Value offsets, AffineExpr size) {
  const int64_t dim = n.rankOf(offsets) - 1;
  const AffineExpr none = n.constantSize(0), one = n.constantSize(1);
  Segments s{size, canonicalSize(n.sizesIn(offsets)[dim] - 1), {}, {}, {}};
  Value starts = n.sliceDim(offsets, dim, none, s.number), ends = n.sliceDim(offsets, dim, one, s.number);
  s.ends = n.checked(n.compare<GeOp>(ends, starts), ends,
                     "offsets of segment_reduce must not fall: each segment begins where the one before ends");
  s.lengths = n.op<SubOp>({s.ends, starts});
  s.begin = n.sliceDim(offsets, dim, none, one);
  return s;
}

/// Returns the segments of these lengths, [..., number].
Segments segmentsOf(Node &n, Value lengths, AffineExpr size) {
  const int64_t dim = n.rankOf(lengths) - 1;
  Segments s{size, n.sizesIn(lengths)[dim], {}, lengths, {}};
  s.ends = n.scan(ScanKind::Sum, lengths, dim);
  return s;
}

/// Returns the number of segments that end before or at the position of each element, [..., size].
Value countEnds(Node &n, const Segments &s) {
  Type index = n.i64();
  const int64_t dim = n.rankOf(s.ends) - 1;
  SmallVector<AffineExpr> places = n.sizesIn(s.ends);
  places[dim] = canonicalSize(s.size + 1);
  Value zero = n.scalarInt(0, index), ones = n.broadcast(n.scalarInt(1, index), n.sizesIn(s.ends));
  // If the ends are not checked, they may be outside of the dimension. Clamp them, because they are indices of `zeros`.
  Value ends = n.op<MaximumOp>({n.op<MinimumOp>({s.ends, n.indexScalar(s.size, index)}), zero});
  Value zeros = n.broadcast(zero, places);
  Value counts = scatterAlong(n, zeros, ends, ones, dim, ScatterKind::Add);
  Value reached = n.scan(ScanKind::Sum, counts, dim);
  return n.sliceDim(reached, dim, n.constantSize(0), s.size);
}

/// Appends dimensions of size 1 to `value` up to the rank `rank`.
Value withTrailingOnes(Node &n, Value value, int64_t rank) {
  SmallVector<AffineExpr> sizes = n.sizesIn(value);
  sizes.resize(rank, n.constantSize(1));
  return n.reshape(value, sizes);
}

/// Combines the elements of `data` into those of `first`, whose dimension `axis` has one element per segment.
Value combineSegments(Node &n, Value data, Value first, int64_t axis, const Segments &s, SegmentKind kind) {
  Type index = n.i64();
  const int64_t rank = n.rankOf(data);
  Value reached = countEnds(n, s), zero = n.scalarInt(0, index);
  Value inside = n.compare<LtOp>(reached, n.indexScalar(s.number, index));
  if (s.begin)
    inside = n.op<LogicalAndOp>({inside, n.compare<LeOp>(s.begin, n.iota(n.sizesIn(reached), axis, index))});
  Value segment = n.op<MinimumOp>({reached, n.indexScalar(canonicalSize(s.number - 1), index)});
  segment = n.broadcast(withTrailingOnes(n, n.op<MaximumOp>({segment, zero}), rank), n.sizesIn(data));
  data = n.where(withTrailingOnes(n, inside, rank), data, n.scalar(kind.identity, n.elementOf(data)));
  return scatterAlong(n, first, segment, data, axis, kind.kind);
}

/// Imports segment_reduce(data, reduce, *, lengths, indices, offsets, axis, unsafe, initial).
Results segmentReduce(Node &n) {
  Value data = n.tensor(0, "data"), lengths = n.optionalTensor(2, "lengths"), offsets = n.optionalTensor(4, "offsets");
  const std::string name = n.text(1, "reduce");
  const int64_t axis = n.dim(5, "axis", n.rankOf(data), 0), rank = n.rankOf(data);
  const bool isUnsafe = n.flag(6, "unsafe"), hasInitial = n.has(7, "initial");
  const double initial = n.number(7, "initial", 0.0);
  const std::optional<SegmentKind> kind = segmentKindNamed(name);
  if (!n.demand(kind.has_value(), "reduce='" + name + "' is not supported; sum, mean, prod, max and min are") ||
      !n.demand(!n.has(3, "indices") && (lengths || offsets), "its segments are not given by lengths or offsets") ||
      !n.demand(n.type() && n.type().getRank() == rank && isa<FloatType>(n.elementOf(data)),
                "elements that are not floats, or a result of another rank"))
    return n.refused();
  Value bounds = n.cast(lengths ? lengths : offsets, n.i64());
  if (!n.demand(rank > axis && n.rankOf(bounds) == axis + 1,
                "the dimension of the segments is not the last one of their lengths or offsets"))
    return n.refused();
  SmallVector<AffineExpr> sizes = n.sizesIn(data), boundSizes = n.sizesIn(bounds);
  for (int64_t i = 0; i < axis; ++i) {
    AffineExpr both = n.agreed(sizes[i], boundSizes[i]);
    if (!n.demand(bool(both), "the leading sizes of the data differ from those of the lengths or offsets"))
      return n.refused();
    sizes[i] = boundSizes[i] = both;
  }
  data = n.withSizes(data, sizes);
  bounds = n.withSizes(bounds, boundSizes);
  const AffineExpr none = n.constantSize(0), size = sizes[axis];
  if (!n.demand(boundSizes[axis] != none || (lengths && (isUnsafe || size == none)), "it has no segments"))
    return n.refused();
  if (n.isEmpty(n.type()))
    return n.zeros();

  // The check is applied to values from which the result is computed, so that it is not removed.
  const bool isChecked = lengths && !isUnsafe;
  constexpr llvm::StringLiteral message = "segment_reduce(): Expected all rows of lengths along axis to sum to "
                                          "data.size(lengths.dim()-1) when !unsafe.";
  Value fits;
  if (isChecked) {
    Value sum = n.reduce(ReduceKind::Sum, bounds, {axis}, /*keepdim=*/true);
    fits = n.op<LogicalAndOp>(
        {n.compare<EqOp>(sum, n.indexScalar(size, n.i64())), n.compare<GeOp>(bounds, n.scalarInt(0, n.i64()))});
    bounds = n.checked(fits, bounds, message);
  }
  Segments segments = lengths ? segmentsOf(n, bounds, size) : segmentsAt(n, bounds, size);
  const Type element = n.elementOf(data), compute = n.accumulator(element);
  sizes[axis] = segments.number;
  Value start = n.cast(n.scalar(hasInitial ? initial : kind->identity, element), compute);
  Value first = n.broadcast(start, sizes), result = first;
  if (size != none)
    result = combineSegments(n, n.cast(data, compute), first, axis, segments, *kind);
  else if (isChecked)
    result = n.checked(withTrailingOnes(n, fits, rank), first, message);
  if (name == "mean") {
    Value counts = withTrailingOnes(n, n.cast(segments.lengths, compute), rank);
    Value means = n.op<DivOp>({result, counts});
    result = hasInitial ? n.where(n.compare<EqOp>(counts, n.scalar(0, compute)), result, means) : means;
  }
  return n.reshape(n.cast(result, n.element()), n.type());
}

} // namespace

void registerSegmentReductions(Table &t) { t["aten.segment_reduce.default"] = segmentReduce; }

} // namespace tilewright
