//===- Random.cpp - random numbers and dropout ------------------------------------------------===//
//
// All random ops of a graph draw from the hidden last argument `seed`, each with its own stream. The numbers are not
// torch's, their distribution is.
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Node.h"

namespace tilewright {
namespace {

Value draw(Node &n, RandomKind kind, ArrayRef<AffineExpr> sizes) {
  Type element = kind == RandomKind::Bits ? n.i64() : n.f32();
  return RandomOp::create(n.builder, n.loc, tensorWithSizes(sizes, element), n.importer.seedArgument(),
                          n.importer.randomStreams++, kind);
}

template <RandomKind kind> Results distribution(Node &n) {
  return n.cast(draw(n, kind, sizesOf(n.type())), n.element());
}

/// u < p as numbers
Results bernoulli(Node &n) {
  Value x = n.tensor(0, "self");
  if (n.failed())
    return n.refused();
  Value p = n.has(1, "p") ? n.scalar(n.number(1, "p"), n.f32()) : n.cast(x, n.f32());
  if (n.failed())
    return n.refused();
  return n.cast(n.compare<LtOp>(draw(n, RandomKind::Uniform, n.sizesIn(x)), p), n.element());
}

/// randint(high, size) and randint.low(low, high, size)
Results randint(Node &n) {
  bool hasLow = n.target.contains("low");
  int64_t low = hasLow ? n.integer(n.target.contains("like") ? 1 : 0, "low") : 0;
  unsigned highIndex = (hasLow ? 1 : 0) + (n.target.contains("like") ? 1 : 0);
  int64_t high = n.integer(highIndex, "high");
  if (n.failed() || high <= low)
    return n.refuse("an empty range");
  if (high - low > (int64_t(1) << 32))
    return n.refuse("a range of more than 2^32 numbers");
  Value bits = draw(n, RandomKind::Bits, sizesOf(n.type()));
  Value inRange = n.op<RemainderOp>({bits, n.scalarInt(high - low, n.i64())});
  return n.cast(n.op<AddOp>({inRange, n.scalarInt(low, n.i64())}), n.element());
}

/// native_dropout(input, p, train) -> output, mask
Results dropout(Node &n) {
  Value x = n.tensor(0, "input");
  double p = n.number(1, "p");
  bool train = n.flag(2, "train", true);
  if (n.failed())
    return n.refused();
  if (!train || p == 0)
    return {x, n.type(1) ? n.full(n.scalarInt(1, n.i1()), n.type(1)) : Value()};
  Value keep = n.compare<GeOp>(draw(n, RandomKind::Uniform, n.sizesIn(x)), n.scalar(p, n.f32()));
  Type compute = n.accumulator(n.element());
  Value kept = n.op<MulOp>({n.cast(x, compute), n.cast(keep, compute)});
  return {n.cast(n.op<MulOp>(kept, p == 1 ? 0.0 : 1.0 / (1.0 - p)), n.element()), keep};
}

/// native_dropout_backward(grad_output, mask, scale)
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
