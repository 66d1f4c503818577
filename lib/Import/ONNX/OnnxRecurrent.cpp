//===- OnnxRecurrent.cpp - unrolled LSTM, GRU and RNN ---------------------------------===//
//
// One product of the inputs and their weights computes the corresponding part of the gates for all steps. The steps are
// unrolled, so the number of steps must be constant. Sequences may be shorter (sequence_lens): after their end, the
// state does not change, and the results are 0. The reverse direction starts at the end of each sequence.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ONNX/OnnxNode.h"
#include "lib/Import/ONNX/OnnxTable.h"

namespace tilewright {
namespace {

struct Recurrence {
  Value x, weights, recurrent, bias, lengths, hidden, cell, peepholes; ///< hidden and cell: of all directions
  int64_t steps = 0, directions = 1, gates = 1, size = 0;
  double clip = 0;
  bool inputForget = false, linearBeforeReset = false;
  SmallVector<std::string> activations;
};

struct StepState {
  Value hidden, cell;
};

Value activated(OnnxNode &n, llvm::StringRef name, Value x) {
  std::string lower = name.lower();
  if (lower == "sigmoid")
    return n.op<SigmoidOp>({x});
  if (lower == "tanh")
    return n.op<TanhOp>({x});
  if (lower == "relu")
    return n.op<ReluOp>({x});
  if (lower == "hardsigmoid")
    return n.op<MinimumOp>(n.op<MaximumOp>(n.op<AddOp>(n.op<MulOp>(x, 0.2), 0.5), 0.0), 1.0);
  n.refuse("its activation '" + name + "' is not supported");
  return x;
}

Value clipped(OnnxNode &n, const Recurrence &r, Value x) {
  return r.clip > 0 ? n.op<MinimumOp>(n.op<MaximumOp>(x, -r.clip), r.clip) : x;
}

/// Returns the k-th slice of `size` elements along the last dimension.
Value partOf(OnnxNode &n, Value x, int64_t k, int64_t size) {
  return n.sliceDim(x, n.rankOf(x) - 1, n.constantSize(k * size), n.constantSize(size));
}

/// Returns the part of `x` for one direction. The directions are the first dimension of `x`, which the result does not
/// have.
Value ofDirection(OnnxNode &n, Value x, int64_t direction) {
  SmallVector<AffineExpr> sizes = n.sizesIn(x);
  sizes.erase(sizes.begin());
  return n.reshape(n.sliceDim(x, 0, n.constantSize(direction), n.constantSize(1)), sizes);
}

/// Reverses the first lengths[b] steps of each sequence b, or all steps if `lengths` is null.
Value reversed(OnnxNode &n, Value x, Value lengths) {
  if (!lengths)
    return FlipOp::create(n.builder, n.loc, x.getType(), x, n.builder.getDenseI64ArrayAttr({0}));
  SmallVector<AffineExpr> sizes = n.sizesIn(x);
  Value position = n.iota(sizes, 0, n.i64()), length = n.alongDim(lengths, 1, n.rankOf(x));
  Value mirrored = n.op<SubOp>({n.op<SubOp>(length, 1.0), position});
  Value index = n.where(n.compare<LtOp>(position, length), mirrored, position);
  return GatherOp::create(n.builder, n.loc, x.getType(), x, index, 0);
}

StepState lstmStep(OnnxNode &n, const Recurrence &r, Value inputs, StepState state, Value recurrent,
                   Value recurrentBias, Value peepholes, ArrayRef<std::string> f) {
  Value sums = n.op<AddOp>({inputs, n.matmul(state.hidden, n.transpose(recurrent, 0, 1))});
  if (recurrentBias)
    sums = n.op<AddOp>({sums, recurrentBias});
  auto gate = [&](int64_t k) { return partOf(n, sums, k, r.size); };
  auto peep = [&](Value gate, int64_t k, Value cell) {
    return peepholes ? n.op<AddOp>({gate, n.op<MulOp>({partOf(n, peepholes, k, r.size), cell})}) : gate;
  };
  Value input = activated(n, f[0], clipped(n, r, peep(gate(0), 0, state.cell)));
  Value forget = r.inputForget ? n.op<SubOp>({n.scalar(1, n.elementOf(input)), input})
                               : activated(n, f[0], clipped(n, r, peep(gate(2), 2, state.cell)));
  Value candidate = activated(n, f[1], clipped(n, r, gate(3)));
  Value cell = n.op<AddOp>({n.op<MulOp>({forget, state.cell}), n.op<MulOp>({input, candidate})});
  Value output = activated(n, f[0], clipped(n, r, peep(gate(1), 1, cell)));
  return {n.op<MulOp>({output, activated(n, f[2], cell)}), cell};
}

StepState gruStep(OnnxNode &n, const Recurrence &r, Value inputs, StepState state, Value recurrent, Value recurrentBias,
                  ArrayRef<std::string> f) {
  Value weights = n.transpose(recurrent, 0, 1);
  auto product = [&](Value by, int64_t k) {
    Value result = n.matmul(by, partOf(n, weights, k, r.size));
    return recurrentBias ? n.op<AddOp>({result, partOf(n, recurrentBias, k, r.size)}) : result;
  };
  auto input = [&](int64_t k) { return partOf(n, inputs, k, r.size); };
  Value update = activated(n, f[0], clipped(n, r, n.op<AddOp>({input(0), product(state.hidden, 0)})));
  Value reset = activated(n, f[0], clipped(n, r, n.op<AddOp>({input(1), product(state.hidden, 1)})));
  Value inner = r.linearBeforeReset ? n.op<MulOp>({reset, product(state.hidden, 2)})
                                    : product(n.op<MulOp>({reset, state.hidden}), 2);
  Value candidate = activated(n, f[1], clipped(n, r, n.op<AddOp>({input(2), inner})));
  Value rest = n.op<SubOp>({n.scalar(1, n.elementOf(update)), update});
  return {n.op<AddOp>({n.op<MulOp>({rest, candidate}), n.op<MulOp>({update, state.hidden})}), {}};
}

StepState rnnStep(OnnxNode &n, const Recurrence &r, Value inputs, StepState state, Value recurrent, Value recurrentBias,
                  ArrayRef<std::string> f) {
  Value sums = n.op<AddOp>({inputs, n.matmul(state.hidden, n.transpose(recurrent, 0, 1))});
  if (recurrentBias)
    sums = n.op<AddOp>({sums, recurrentBias});
  return {activated(n, f[0], clipped(n, r, sums)), {}};
}

/// Computes one direction. Returns the results of all steps [steps, batch, size] and the last state.
std::pair<Value, StepState> runDirection(OnnxNode &n, const Recurrence &r, int64_t direction, bool backwards) {
  Type element = n.elementOf(r.x);
  AffineExpr batch = n.sizesIn(r.x)[1], size = n.constantSize(r.size);
  Value x = backwards ? reversed(n, r.x, r.lengths) : r.x;
  Value weights = ofDirection(n, r.weights, direction), recurrent = ofDirection(n, r.recurrent, direction);
  Value bias = r.bias ? ofDirection(n, r.bias, direction) : Value(), recurrentBias;
  SmallVector<AffineExpr> sizes = n.sizesIn(x);
  Value inputs = n.matmul(n.reshape(x, {sizes[0] * sizes[1], sizes[2]}), n.transpose(weights, 0, 1));
  if (bias) {
    inputs = n.op<AddOp>({inputs, partOf(n, bias, 0, r.gates * r.size)});
    recurrentBias = partOf(n, bias, 1, r.gates * r.size);
  }
  inputs = n.reshape(inputs, {sizes[0], sizes[1], n.constantSize(r.gates * r.size)});
  Value zeros = n.broadcast(n.scalar(0, element), {batch, size});
  StepState state{r.hidden ? ofDirection(n, r.hidden, direction) : zeros,
                  r.cell ? ofDirection(n, r.cell, direction) : zeros};
  Value peepholes = r.peepholes ? ofDirection(n, r.peepholes, direction) : Value();
  size_t perDirection = r.gates == 4 ? 3 : r.gates == 3 ? 2 : 1;
  ArrayRef<std::string> f = ArrayRef(r.activations).slice(direction * perDirection, perDirection);
  SmallVector<Value> results;
  for (int64_t step = 0; step < r.steps && !n.failed(); ++step) {
    Value now = n.reshape(n.sliceDim(inputs, 0, n.constantSize(step), n.constantSize(1)),
                          {batch, n.constantSize(r.gates * r.size)});
    StepState next = r.gates == 4   ? lstmStep(n, r, now, state, recurrent, recurrentBias, peepholes, f)
                     : r.gates == 3 ? gruStep(n, r, now, state, recurrent, recurrentBias, f)
                                    : rnnStep(n, r, now, state, recurrent, recurrentBias, f);
    Value result = next.hidden;
    if (r.lengths) {
      Value alive = n.unsqueeze(n.compare<GtOp>(r.lengths, n.scalarInt(step, n.i64())), 1);
      result = n.where(alive, next.hidden, n.scalar(0, element));
      next.hidden = n.where(alive, next.hidden, state.hidden);
      if (next.cell)
        next.cell = n.where(alive, next.cell, state.cell);
    }
    results.push_back(n.unsqueeze(result, 0));
    state = next;
  }
  if (n.failed())
    return {};
  Value all = n.concat(results, 0);
  return {backwards ? reversed(n, all, r.lengths) : all, state};
}

template <int64_t gates> Results recurrent(OnnxNode &n) {
  Recurrence r;
  r.gates = gates;
  r.x = n.in(0);
  r.weights = n.in(1);
  r.recurrent = n.in(2);
  r.bias = n.optionalIn(3);
  r.lengths = n.optionalIn(4);
  r.hidden = n.optionalIn(5);
  r.cell = gates == 4 ? n.optionalIn(6) : Value();
  r.peepholes = gates == 4 ? n.optionalIn(7) : Value();
  bool batchFirst = n.integer("layout", 0);
  std::string direction = n.text("direction", "forward");
  r.directions = direction == "bidirectional" ? 2 : 1;
  r.clip = n.number("clip", 0.0);
  r.inputForget = n.integer("input_forget", 0);
  r.linearBeforeReset = n.integer("linear_before_reset", 0);
  if (!n.demand(n.rankOf(r.x) == 3 && n.rankOf(r.weights) == 3 && n.rankOf(r.recurrent) == 3,
                "its operands are not of rank 3"))
    return n.refused();
  r.size = n.staticSize(r.recurrent, 2);
  if (batchFirst) {
    r.x = n.transpose(r.x, 0, 1);
    r.hidden = r.hidden ? n.transpose(r.hidden, 0, 1) : r.hidden;
    r.cell = r.cell ? n.transpose(r.cell, 0, 1) : r.cell;
  }
  r.steps = n.staticSize(r.x, 0);
  if (n.failed() ||
      !n.demand(r.steps > 0 && r.steps <= mostUnrolledSteps,
                "sequences of 1 to " + llvm::Twine(mostUnrolledSteps) + " steps are supported") ||
      !n.demand(n.staticSize(r.weights, 0) == r.directions && n.staticSize(r.recurrent, 0) == r.directions &&
                    n.staticSize(r.weights, 1) == gates * r.size && n.staticSize(r.recurrent, 1) == gates * r.size,
                "its weights do not fit its direction and hidden size"))
    return n.refused();
  if (r.lengths)
    r.lengths = n.cast(r.lengths, n.i64());
  r.activations = n.texts("activations");
  static constexpr const char *usual[] = {"Sigmoid", "Tanh", "Tanh"};
  size_t perDirection = gates == 4 ? 3 : gates == 3 ? 2 : 1;
  if (r.activations.empty())
    for (int64_t d = 0; d < r.directions; ++d)
      for (size_t i = 0; i < perDirection; ++i)
        r.activations.push_back(gates == 1 ? "Tanh" : usual[i]);
  if (!n.demand(r.activations.size() == perDirection * r.directions,
                "the number of its activations does not match its directions") ||
      !n.demand(!n.attribute("activation_alpha") && !n.attribute("activation_beta"),
                "activations with their own alpha and beta are not supported"))
    return n.refused();
  SmallVector<Value> all, hidden, cell;
  for (int64_t d = 0; d < r.directions; ++d) {
    auto [results, last] = runDirection(n, r, d, d == 1 || direction == "reverse");
    if (n.failed())
      return n.refused();
    all.push_back(n.unsqueeze(results, 1));
    hidden.push_back(n.unsqueeze(last.hidden, 0));
    if (last.cell)
      cell.push_back(n.unsqueeze(last.cell, 0));
  }
  Value y = n.concat(all, 1), lastHidden = n.concat(hidden, 0), lastCell = cell.empty() ? Value() : n.concat(cell, 0);
  if (batchFirst) { // the result is [batch, steps, directions, size]
    y = n.permute(y, {2, 0, 1, 3});
    lastHidden = n.transpose(lastHidden, 0, 1);
    lastCell = lastCell ? n.transpose(lastCell, 0, 1) : lastCell;
  }
  return {y, lastHidden, lastCell};
}

} // namespace

void registerOnnxRecurrent(OnnxTable &t) {
  t["LSTM"] = recurrent<4>;
  t["GRU"] = recurrent<3>;
  t["RNN"] = recurrent<1>;
}

} // namespace tilewright
