//===- Recurrent.cpp - unrolled LSTM, GRU and RNN of plain exports ----------------------===//
//
//   lstm(x [T, B, I], (h, c), weights)   one product for the inputs x of all steps, then, in each step, one product
//                                        for the hidden state h [B, H], and the gates
//
// Every step is unrolled, so the length of the sequence must be constant. The weights have torch's order of gates,
// which is input, forget, cell, output for an LSTM, and reset, update, new for a GRU.
//
// Test: test/Python/test_plain_exports.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Table.h"
#include "lib/Import/Builder/Node.h"

namespace tilewright {
namespace {

enum class Cell { Lstm, Gru, Tanh, Relu };

int64_t gatesOf(Cell cell) { return cell == Cell::Lstm ? 4 : cell == Cell::Gru ? 3 : 1; }

/// The weights of a layer in one direction: [gates * H, I], [gates * H, H], and either two biases [gates * H] or none.
struct Weights {
  Value input, hidden, inputBias, hiddenBias;
};

struct State {
  Value hidden, memory; ///< [B, H]; `memory` for LSTMs only
};

struct Step {
  Node &n;
  Cell cell;
  AffineExpr size;

  Value part(Value gates, int64_t k) { return n.sliceDim(gates, 1, canonicalSize(size * k), size); }
  Value plus(Value a, Value b) { return b ? n.op<AddOp>({a, b}) : a; }

  /// Computes one step. `given` is the part of the gates that depends on the input, including the input bias.
  State run(Value given, const Weights &w, State state) {
    Value own = plus(n.matmul(state.hidden, n.transpose(w.hidden, 0, 1)), w.hiddenBias);
    if (cell == Cell::Gru) {
      auto gate = [&](int64_t k) { return n.op<SigmoidOp>({n.op<AddOp>({part(given, k), part(own, k)})}); };
      Value reset = gate(0), update = gate(1);
      Value fresh = n.op<TanhOp>({n.op<AddOp>({part(given, 2), n.op<MulOp>({reset, part(own, 2)})})});
      // As in torch, the new state is computed as fresh + update * (hidden - fresh).
      return {n.op<AddOp>({fresh, n.op<MulOp>({update, n.op<SubOp>({state.hidden, fresh})})}), {}};
    }
    Value sums = n.op<AddOp>({given, own});
    if (cell == Cell::Tanh)
      return {n.op<TanhOp>({sums}), {}};
    if (cell == Cell::Relu)
      return {n.op<ReluOp>({sums}), {}};
    Value in = n.op<SigmoidOp>({part(sums, 0)}), forget = n.op<SigmoidOp>({part(sums, 1)});
    Value fresh = n.op<TanhOp>({part(sums, 2)}), out = n.op<SigmoidOp>({part(sums, 3)});
    Value memory = n.op<AddOp>({n.op<MulOp>({forget, state.memory}), n.op<MulOp>({in, fresh})});
    return {n.op<MulOp>({out, n.op<TanhOp>({memory})}), memory};
  }
};

/// Returns entry `k` along the first dimension, without that dimension.
Value entry(Node &n, Value x, int64_t k) {
  SmallVector<AffineExpr> sizes = n.sizesIn(x);
  sizes.erase(sizes.begin());
  return n.reshape(n.sliceDim(x, 0, n.constantSize(k), n.constantSize(1)), sizes);
}

/// Computes a layer in one direction for all steps of `x` [T, B, I], from the last step to the first if `backwards`.
/// Returns the hidden states of all steps [T, B, H].
Value runLayer(Step &step, Value x, const Weights &w, State &state, int64_t steps, bool backwards) {
  Node &n = step.n;
  SmallVector<AffineExpr> sizes = n.sizesIn(x);
  Value rows = n.reshape(x, {canonicalSize(sizes[0] * sizes[1]), sizes[2]});
  Value given = step.plus(n.matmul(rows, n.transpose(w.input, 0, 1)), w.inputBias);
  given = n.reshape(given, {sizes[0], sizes[1], canonicalSize(step.size * gatesOf(step.cell))});
  SmallVector<Value> results(steps);
  for (int64_t i = 0; i < steps; ++i) {
    int64_t at = backwards ? steps - 1 - i : i;
    state = step.run(entry(n, given, at), w, state);
    results[at] = n.unsqueeze(state.hidden, 0);
  }
  return n.concat(results, 0);
}

/// Imports lstm, gru, rnn_tanh and rnn_relu, which have the arguments (input, hx, params, has_biases, num_layers,
/// dropout, train, bidirectional, batch_first). For an LSTM, `hx` is a list of two tensors.
template <Cell cell> Results recurrent(Node &n) {
  Value x = n.tensor(0, "input");
  SmallVector<Value> start = cell == Cell::Lstm ? n.tensors(1, "hx") : SmallVector<Value>{n.tensor(1, "hx")};
  SmallVector<Value> given = n.tensors(2, "params");
  bool biases = n.flag(3, "has_biases"), both = n.flag(7, "bidirectional"), batchFirst = n.flag(8, "batch_first");
  int64_t layers = n.integer(4, "num_layers"), directions = both ? 2 : 1;
  if (!n.demand(!n.flag(6, "train") || n.number(5, "dropout") == 0, "dropout between layers, in training") ||
      !n.demand(n.rankOf(x) == 3 && start.size() == (cell == Cell::Lstm ? 2 : 1), "its operands are not of rank 3") ||
      !n.demand(layers > 0 && layers < 1024 && int64_t(given.size()) == layers * directions * (biases ? 4 : 2),
                "it has other weights than those of its layers (projections are not supported)"))
    return n.refused();
  if (batchFirst)
    x = n.transpose(x, 0, 1);
  auto steps = dyn_cast<AffineConstantExpr>(n.sizesIn(x)[0]);
  if (!n.demand(bool(steps), "the length of its sequence is symbolic") ||
      !n.demand(steps.getValue() > 0 && steps.getValue() <= mostUnrolledSteps,
                "sequences of 1 to " + llvm::Twine(mostUnrolledSteps) + " steps are supported; this one has " +
                    llvm::Twine(steps.getValue())))
    return n.refused();
  for (Value value : start)
    n.demand(n.rankOf(value) == 3, "a state is not of rank 3");
  for (auto [i, weight] : llvm::enumerate(given))
    n.demand(n.rankOf(weight) == (biases && i % 4 > 1 ? 1 : 2), "a weight has another rank");
  if (n.failed())
    return n.refused();
  Step step{n, cell, n.sizesIn(start[0])[2]};
  SmallVector<Value> hidden, memory;
  for (int64_t layer = 0; layer < layers; ++layer) {
    SmallVector<Value> sides;
    for (int64_t direction = 0; direction < directions; ++direction) {
      int64_t number = layer * directions + direction;
      const Value *w = &given[number * (biases ? 4 : 2)];
      Weights weights{w[0], w[1], biases ? w[2] : Value(), biases ? w[3] : Value()};
      for (const Value &matrix : {weights.input, weights.hidden})
        if (!n.demand(n.sizesIn(matrix)[0] == canonicalSize(step.size * gatesOf(cell)), "a weight has another size"))
          return n.refused();
      State state{entry(n, start[0], number), cell == Cell::Lstm ? entry(n, start[1], number) : Value()};
      sides.push_back(runLayer(step, x, weights, state, steps.getValue(), direction == 1));
      hidden.push_back(n.unsqueeze(state.hidden, 0));
      if (state.memory)
        memory.push_back(n.unsqueeze(state.memory, 0));
    }
    x = n.concat(sides, 2);
  }
  SmallVector<Value> results{batchFirst ? n.transpose(x, 0, 1) : x, n.concat(hidden, 0)};
  if (cell == Cell::Lstm)
    results.push_back(n.concat(memory, 0));
  return results;
}

/// Imports one step of a recurrent layer, with the arguments (input [B, I], hx, w_ih, w_hh, b_ih, b_hh). For an LSTM,
/// hx is a list.
template <Cell cell> Results single(Node &n) {
  Value x = n.tensor(0, "input");
  SmallVector<Value> start = cell == Cell::Lstm ? n.tensors(1, "hx") : SmallVector<Value>{n.tensor(1, "hx")};
  Weights w{n.tensor(2, "w_ih"), n.tensor(3, "w_hh"), n.optionalTensor(4, "b_ih"), n.optionalTensor(5, "b_hh")};
  if (!n.demand(n.rankOf(x) == 2 && start.size() == (cell == Cell::Lstm ? 2 : 1) && n.rankOf(w.input) == 2 &&
                    n.rankOf(w.hidden) == 2 && llvm::all_of(start, [&](Value value) { return n.rankOf(value) == 2; }),
                "its operands are not of rank 2"))
    return n.refused();
  Step step{n, cell, n.sizesIn(start[0])[1]};
  for (const Value &matrix : {w.input, w.hidden})
    if (!n.demand(n.sizesIn(matrix)[0] == canonicalSize(step.size * gatesOf(cell)), "a weight has another size"))
      return n.refused();
  Value given = step.plus(n.matmul(x, n.transpose(w.input, 0, 1)), w.inputBias);
  State state = step.run(given, w, {start[0], cell == Cell::Lstm ? start[1] : Value()});
  return cell == Cell::Lstm ? Results{state.hidden, state.memory} : Results(state.hidden);
}

} // namespace

void registerRecurrent(Table &t) {
  t["aten.lstm_cell.default"] = single<Cell::Lstm>;
  t["aten.gru_cell.default"] = single<Cell::Gru>;
  t["aten.rnn_tanh_cell.default"] = single<Cell::Tanh>;
  t["aten.rnn_relu_cell.default"] = single<Cell::Relu>;
  t["aten.lstm.input"] = recurrent<Cell::Lstm>;
  t["aten.gru.input"] = recurrent<Cell::Gru>;
  t["aten.rnn_tanh.input"] = recurrent<Cell::Tanh>;
  t["aten.rnn_relu.input"] = recurrent<Cell::Relu>;
}

} // namespace tilewright
