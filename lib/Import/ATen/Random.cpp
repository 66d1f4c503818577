//===- Random.cpp - random numbers and dropout ------------------------------------------------===//
//
// All random ops of a graph use the seed that is a hidden last argument of the graph. Each op has a separate stream of
// random numbers. The numbers differ from torch's, but their distribution is the same.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Random.h"
#include "lib/Import/ATen/Table.h"

namespace tilewright {

Value drawRandom(Node &n, RandomKind kind, ArrayRef<AffineExpr> sizes, Type element) {
  return RandomOp::create(n.builder, n.loc, tensorWithSizes(sizes, element), n.importer.seedArgument(),
                          n.importer.randomStreams++, kind);
}

namespace {

/// Draws uniform numbers in [0, 1), as f32 or f64, which are compared with a probability.
Value drawUniform(Node &n, ArrayRef<AffineExpr> sizes) {
  return drawRandom(n, RandomKind::Uniform, sizes, sampleType(n, n.element()));
}

/// Imports an op that draws from a distribution. Uniform numbers are drawn in the result's type, because rounding a
/// number of a wider type could return 1, which is not in [0, 1).
template <RandomKind kind> Results distribution(Node &n) {
  bool inType = isa<FloatType>(n.element()) && (kind == RandomKind::Uniform || n.element().isF64());
  return n.cast(drawRandom(n, kind, sizesOf(n.type()), inType ? n.element() : n.f32()), n.element());
}

/// Imports bernoulli: draws uniform numbers u, and returns 1 where u < p and 0 elsewhere. If p is a number, torch has
/// checked it. If p is a tensor, each call of the compiled program checks it.
Results bernoulli(Node &n) {
  Value x = n.tensor(0, "self");
  if (n.failed())
    return n.refused();
  Value drawn = drawUniform(n, n.sizesIn(x));
  Value p = n.has(1, "p") ? n.scalar(n.number(1, "p"), n.elementOf(drawn)) : n.cast(x, n.elementOf(drawn));
  if (n.failed())
    return n.refused();
  if (!n.has(1, "p"))
    p = n.checked(n.isBetween(p, 0, 1), p, "Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
  return n.cast(n.compare<LtOp>(drawn, p), n.element());
}

/// Emits arithmetic ops on i64 tensors.
struct Integers {
  Node &n;
  Value times(Value x, int64_t y) { return n.op<MulOp>({x, n.scalarInt(y, n.i64())}); }
  Value plus(Value x, Value y) { return x ? n.op<AddOp>({x, y}) : y; }
  Value shiftedRight(Value x, int64_t by) { return n.op<ShiftRightOp>({x, n.scalarInt(by, n.i64())}); }
  Value lowBits(Value x, int64_t count) {
    return n.op<BitwiseAndOp>({x, n.scalarInt((int64_t(1) << count) - 1, n.i64())});
  }
};

/// Draws integers in [0, count), as the high bits of the product of random bits and `count`. The probabilities of these
/// integers are equal within 2^-32. Taking the remainder of a division of random bits by `count` would be slower, and
/// would return small integers with a higher probability.
Value belowCount(Node &n, uint64_t count) {
  Integers i{n};
  Value bits = drawRandom(n, RandomKind::Bits, sizesOf(n.type()), n.i64());
  if (count <= uint64_t(1) << 31) {
    Value high = i.times(i.lowBits(i.shiftedRight(bits, 32), 32), int64_t(count));
    Value carry = i.shiftedRight(i.times(i.lowBits(bits, 32), int64_t(count)), 32);
    return i.shiftedRight(i.plus(high, carry), 32);
  }
  // Multiply 120 random bits by a number of 64 bits, in digits of 30 bits. The products and sums of the digits fit in
  // i64.
  constexpr int64_t digit = 30;
  Value more = drawRandom(n, RandomKind::Bits, sizesOf(n.type()), n.i64());
  Value random[] = {i.lowBits(bits, digit), i.lowBits(i.shiftedRight(bits, digit), digit), i.lowBits(more, digit),
                    i.lowBits(i.shiftedRight(more, digit), digit)};
  int64_t range[3];
  for (int k = 0; k < 3; ++k)
    range[k] = int64_t(count >> (k * digit)) & ((int64_t(1) << digit) - 1);
  Value carry, result;
  for (int column = 0; column <= 6; ++column) {
    Value sum = carry;
    for (int k = 0; k < 3; ++k)
      if (column >= k && column - k < 4 && range[k])
        sum = i.plus(sum, i.times(random[column - k], range[k]));
    if (!sum)
      continue;
    carry = i.shiftedRight(sum, digit);
    if (column >= 4)
      result = i.plus(result, i.times(i.lowBits(sum, digit), int64_t(uint64_t(1) << ((column - 4) * digit))));
  }
  return result;
}

/// Imports randint(high, size), randint.low(low, high, size), randint_like(self, high) and
/// randint_like.low_dtype(self, low, high).
Results randint(Node &n) {
  bool hasLow = n.target.contains("low");
  int64_t low = hasLow ? n.integer(n.target.contains("like") ? 1 : 0, "low") : 0;
  unsigned highIndex = (hasLow ? 1 : 0) + (n.target.contains("like") ? 1 : 0);
  int64_t high = n.integer(highIndex, "high");
  if (n.failed() || high <= low)
    return n.refuse("an empty range");
  Value drawn = belowCount(n, uint64_t(high) - uint64_t(low));
  return n.cast(n.op<AddOp>({drawn, n.scalarInt(low, n.i64())}), n.element());
}

/// Imports native_dropout(input, p, train) -> output, mask.
Results dropout(Node &n) {
  Value x = n.tensor(0, "input");
  double p = n.number(1, "p");
  bool train = n.flag(2, "train", true);
  if (n.failed())
    return n.refused();
  if (!train || p == 0)
    return {x, n.type(1) ? n.full(n.scalarInt(1, n.i1()), n.type(1)) : Value()};
  Value drawn = drawUniform(n, n.sizesIn(x));
  Value keep = n.compare<GeOp>(drawn, n.scalar(p, n.elementOf(drawn)));
  Type compute = n.accumulator(n.element());
  Value kept = n.op<MulOp>({n.cast(x, compute), n.cast(keep, compute)});
  return {n.cast(n.op<MulOp>(kept, p == 1 ? 0.0 : 1.0 / (1.0 - p)), n.element()), keep};
}

/// Imports native_dropout_backward(grad_output, mask, scale).
Results dropoutBackward(Node &n) {
  Value grad = n.tensor(0, "grad_output"), mask = n.tensor(1, "mask");
  double scale = n.number(2, "scale");
  if (n.failed())
    return n.refused();
  Type compute = n.accumulator(n.element());
  Value kept = n.op<MulOp>({n.cast(grad, compute), n.cast(mask, compute)});
  return n.cast(n.op<MulOp>(kept, scale), n.element());
}

} // namespace

void registerRandom(Table &t) {
  t["aten.rand.default"] = distribution<RandomKind::Uniform>;
  t["aten.rand_like.default"] = distribution<RandomKind::Uniform>;
  t["aten.randn.default"] = distribution<RandomKind::Normal>;
  t["aten.randn_like.default"] = distribution<RandomKind::Normal>;
  t["aten.bernoulli.default"] = bernoulli;
  t["aten.bernoulli.p"] = bernoulli;
  t["aten.randint.default"] = randint;
  t["aten.randint.low"] = randint;
  t["aten.randint_like.default"] = randint;
  t["aten.randint_like.low_dtype"] = randint;
  t["aten.native_dropout.default"] = dropout;
  t["aten.native_dropout_backward.default"] = dropoutBackward;
}

} // namespace tilewright
