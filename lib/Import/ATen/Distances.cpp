//===- Distances.cpp - distances of points, and their gradients ------------------------===//
//
//   dist(a, b, p)            the p-norm of a - b
//   _cdist_forward(a, b)     the distance of each row of a to each row of b
//   _pdist_forward(a)        the distance of each pair of rows of a
//
// A distance is the p-norm of a difference. dist reduces the difference over all dimensions, and the other functions
// reduce the differences of all pairs of rows along the last dimension. The gradients compute the differences again.
//
// The results of pdist are numbered in lexicographic order of the pairs (i, j) with i < j. If the number of rows is
// known, the indices i and j of all pairs are constants. Otherwise they are computed from the number of the pair.
//
// Test: test/Python/ops/test_decomposed.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Elementwise.h"
#include "lib/Import/ATen/Indexing.h"
#include "lib/Import/ATen/Norms.h"
#include "lib/Import/ATen/Table.h"
#include <cmath>

namespace tilewright {
namespace {

constexpr int64_t mostRows = 256; ///< maximum number of rows of pdist, if the number is known

/// Reads a tensor in the type in which distances are computed.
Value wideTensor(Node &n, unsigned index, llvm::StringRef name) {
  return n.cast(n.tensor(index, name), n.accumulator(n.element()));
}

/// Returns the p-norm of the last dimension, or 0 if that dimension is empty: a maximum of no elements is an error.
Value distanceOf(Node &n, Value difference, double p) {
  const int64_t last = n.rankOf(difference) - 1;
  if (n.isEmpty(difference))
    return n.reduce(ReduceKind::Sum, difference, {last}, false);
  return normOf(n, difference, p, {last}, false, n.elementOf(difference));
}

/// Returns the gradient of the p-norm of the last dimension with respect to the difference. `grad` and `distance` have
/// size 1 in this dimension. If the distance is 0, returns the subgradient 0, as torch does.
Value gradientOfDistance(Node &n, Value grad, Value difference, double p, Value distance) {
  Value zero = n.scalar(0, n.elementOf(difference));
  Value magnitude = n.op<AbsOp>({difference}), sign = n.op<SignOp>({difference});
  if (p == 0)
    return n.broadcast(zero, n.sizesIn(difference));
  if (p == 1)
    return n.op<MulOp>({grad, sign});
  if (std::isinf(p)) { // `distance` is not compared, because it may be rounded differently from `difference`
    Value most = n.reduce(ReduceKind::Max, magnitude, {n.rankOf(difference) - 1}, true);
    return n.where(n.compare<EqOp>(magnitude, most), n.op<MulOp>({grad, sign}), zero);
  }
  Value nonzero = n.compare<NeOp>(distance, zero);
  if (p == 2)
    return n.where(nonzero, n.op<DivOp>({n.op<MulOp>({grad, difference}), distance}), zero);
  if (p < 1)
    nonzero = n.op<LogicalAndOp>({nonzero, n.compare<NeOp>(magnitude, zero)});
  Value factor = p < 2 ? n.op<MulOp>({sign, powerOf(n, magnitude, p - 1)})
                       : n.op<MulOp>({difference, powerOf(n, magnitude, p - 2)});
  Value slope = n.op<DivOp>({n.op<MulOp>({factor, grad}), powerOf(n, distance, p - 1)});
  return n.where(nonzero, slope, zero);
}

Results dist(Node &n) {
  if (!n.demand(isa<FloatType>(n.element()), "the distance of " + dtypeName(n.element()) + " tensors"))
    return n.refused();
  Value x = n.cast(n.tensor(0, "self"), n.element()), other = n.cast(n.tensor(1, "other"), n.element());
  double p = n.number(2, "p", 2.0);
  if (n.failed())
    return n.refused();
  Value difference = n.op<SubOp>({x, other});
  if (!n.demand(!std::isinf(p) || !n.isEmpty(difference), "the largest difference of empty tensors"))
    return n.refused();
  Type compute = n.accumulator(n.element());
  return n.cast(normOf(n, difference, p, allDims(n.rankOf(difference)), false, compute), n.element());
}

/// Returns the difference of each row of the argument x1 [.., P, M] and each row of the argument x2 [.., R, M] as a
/// tensor [.., P, R, M]. The arguments have the positions `index` and `index` + 1. Refuses arguments that are not
/// matrices of floats.
Value differencesOfRows(Node &n, unsigned index) {
  Value x1 = wideTensor(n, index, "x1"), x2 = wideTensor(n, index + 1, "x2");
  if (!n.demand(isa<FloatType>(n.element()), "distances of " + dtypeName(n.element()) + " rows") ||
      !n.demand(n.rankOf(x1) >= 2 && n.rankOf(x2) >= 2, "distances of rows need two dimensions"))
    return x1;
  return n.op<SubOp>({n.unsqueeze(x1, n.rankOf(x1) - 1), n.unsqueeze(x2, n.rankOf(x2) - 2)});
}

/// Imports _cdist_forward(x1, x2, p, compute_mode).
Results distances(Node &n) {
  double p = n.number(2, "p");
  Value difference = differencesOfRows(n, 0);
  if (!n.demand(p >= 0, "distances with a negative p"))
    return n.refused();
  return n.cast(distanceOf(n, difference, p), n.element());
}

/// Imports _cdist_backward(grad, x1, x2, p, cdist). Returns the gradient of x1.
Results distancesBackward(Node &n) {
  Value grad = wideTensor(n, 0, "grad"), distance = wideTensor(n, 4, "cdist");
  double p = n.number(3, "p");
  Value difference = differencesOfRows(n, 1);
  if (!n.demand(p >= 0, "distances with a negative p") ||
      !n.demand(n.rankOf(grad) + 1 == n.rankOf(difference) && n.rankOf(distance) == n.rankOf(grad),
                "a gradient has one element for each distance"))
    return n.refused();
  if (n.isEmpty(n.type()) || n.isEmpty(difference))
    return n.zeros();
  const int64_t last = n.rankOf(grad);
  Value slopes = gradientOfDistance(n, n.unsqueeze(grad, last), difference, p, n.unsqueeze(distance, last));
  return n.cast(n.reduce(ReduceKind::Sum, slopes, {last - 1}, false), n.element());
}

/// Divides integers by 2, rounding down.
Value half(Node &n, Value x) { return n.op<ShiftRightOp>({x, n.scalarInt(1, n.i64())}); }

/// Returns the rows of each pair (i, j) with i < j, for `rows` rows that have `count` pairs.
std::pair<Value, Value> rowsOfPairs(Node &n, AffineExpr rows, AffineExpr count) {
  if (auto known = dyn_cast<AffineConstantExpr>(rows)) {
    SmallVector<int64_t> first, second;
    for (int64_t i = 0; i < known.getValue(); ++i)
      for (int64_t j = i + 1; j < known.getValue(); ++j) {
        first.push_back(i);
        second.push_back(j);
      }
    const int64_t pairs = first.size();
    return {constantIndices(n, first, {pairs}), constantIndices(n, second, {pairs})};
  }
  // The first pair of row i has the index i (2 rows - 1 - i) / 2. The row of an index, computed from this formula in
  // f64, has an error of at most 1, which two comparisons correct.
  Value number = n.iota({count}, 0, n.i64()), twice = n.indexScalar(canonicalSize(rows * 2 - 1), n.i64());
  auto firstPairOf = [&](Value row) { return half(n, n.op<MulOp>({row, n.op<SubOp>({twice, row})})); };
  Value square = n.op<SubOp>({n.op<MulOp>({twice, twice}), n.op<MulOp>(number, 8.0)});
  Value root = n.op<SqrtOp>({n.cast(square, n.f64())});
  Value first = n.cast(n.op<DivOp>(n.op<SubOp>({n.cast(twice, n.f64()), root}), 2.0), n.i64());
  first = n.op<SubOp>({first, n.cast(n.compare<GtOp>(firstPairOf(first), number), n.i64())});
  Value next = n.op<AddOp>(first, 1.0);
  first = n.op<AddOp>({first, n.cast(n.compare<LeOp>(firstPairOf(next), number), n.i64())});
  Value second = n.op<AddOp>(n.op<AddOp>({n.op<SubOp>({number, firstPairOf(first)}), first}), 1.0);
  return {first, second};
}

/// Refuses the arguments of pdist and returns false if `x` is not a matrix of floats, if it has too many rows, or if
/// `p` is negative.
bool demandPairs(Node &n, Value x, double p) {
  if (!n.demand(isa<FloatType>(n.element()) && n.rankOf(x) == 2, "pairs are of the rows of a matrix of floats") ||
      !n.demand(p >= 0, "distances with a negative p"))
    return false;
  auto rows = dyn_cast<AffineConstantExpr>(n.sizesIn(x)[0]);
  return n.demand(!rows || rows.getValue() <= mostRows,
                  "the pairs of more than " + llvm::Twine(mostRows) + " rows are not supported; use torch.cdist");
}

/// Imports _pdist_forward(self, p).
Results pairDistances(Node &n) {
  Value x = wideTensor(n, 0, "self");
  double p = n.number(1, "p", 2.0);
  if (!demandPairs(n, x, p) || !n.demand(n.type().getRank() == 1, "the distances of pairs have one dimension"))
    return n.refused();
  if (n.isEmpty(n.type()))
    return n.zeros();
  auto [first, second] = rowsOfPairs(n, n.sizesIn(x)[0], sizesOf(n.type())[0]);
  auto rowsAt = [&](Value index) { return take(n, x, {index}, 0, /*wraps=*/false); };
  return n.cast(distanceOf(n, n.op<SubOp>({rowsAt(first), rowsAt(second)}), p), n.element());
}

/// Imports _pdist_backward(grad, self, p, pdist). Sums the gradients of all pairs of rows. `pdist` contains each pair
/// (i, j) once, with i < j.
Results pairDistancesBackward(Node &n) {
  Value grad = wideTensor(n, 0, "grad"), x = wideTensor(n, 1, "self"), distance = wideTensor(n, 3, "pdist");
  double p = n.number(2, "p");
  if (!demandPairs(n, x, p) ||
      !n.demand(n.rankOf(grad) == 1 && n.rankOf(distance) == 1, "the distances of pairs have one dimension"))
    return n.refused();
  AffineExpr rows = n.sizesIn(x)[0];
  if (n.isEmpty(x) || rows == n.constantSize(1))
    return n.zeros();
  Value i = n.iota({rows, n.constantSize(1)}, 0, n.i64()), j = n.iota({rows}, 0, n.i64());
  Value less = n.op<MinimumOp>({i, j}), apart = n.op<AbsOp>({n.op<SubOp>({i, j})});
  Value before = n.op<SubOp>(
      {n.op<MulOp>({less, n.indexScalar(rows, n.i64())}), half(n, n.op<MulOp>({less, n.op<AddOp>(less, 1.0)}))});
  Value different = n.compare<NeOp>(i, j);
  Value index = n.where(different, n.op<AddOp>({n.op<SubOp>(apart, 1.0), before}), n.scalarInt(0, n.i64()));
  auto ofPairs = [&](Value values) { return n.unsqueeze(take(n, values, {index}, 0, /*wraps=*/false), 2); };
  Value difference = n.op<SubOp>({n.unsqueeze(x, 1), n.unsqueeze(x, 0)});
  Value slopes = gradientOfDistance(n, ofPairs(grad), difference, p, ofPairs(distance));
  slopes = n.where(n.unsqueeze(different, 2), slopes, n.scalar(0, n.elementOf(slopes)));
  return n.cast(n.reduce(ReduceKind::Sum, slopes, {1}, false), n.element());
}

} // namespace

void registerDistances(Table &t) {
  t["aten.dist.default"] = dist;
  t["aten._cdist_forward.default"] = distances;
  t["aten._cdist_backward.default"] = distancesBackward;
  t["aten._pdist_forward.default"] = pairDistances;
  t["aten._pdist_backward.default"] = pairDistancesBackward;
}

} // namespace tilewright
