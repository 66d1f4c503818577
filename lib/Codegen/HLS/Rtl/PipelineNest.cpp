//===- PipelineNest.cpp - a loop nest as a pipeline of stages ------------------------------===//
//
// Each unrolled copy of a loop body becomes separate operations. An operation with a latency begins as soon as its
// operands are ready, according to the latencies in Estimate/Operators.cpp. A load of an array on the chip, or an
// operation without latency, begins as late as the operations that use its result allow, because the number of cycles
// between a load and the store of the same element limits the II. This file enumerates all iterations to check that an
// element that an iteration stores is written no later than in the cycle in which a later iteration loads it. If there
// are too many iterations, it assumes that the next iteration loads the element.
//
// Tests: test/Unit/Codegen/HLS/PipelineNestTest.cpp, test/Codegen/HLS/rtl.mlir, test/Conformance/hls (rtl)
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/Rtl/PipelineNest.h"
#include "lib/Codegen/HLS/Cost.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tilewright/SourceLine.h"
#include "llvm/ADT/DenseMap.h"
#include <map>
#include <unordered_map>

using namespace mlir;

namespace tilewright::hls {
namespace {

bool isSupported(Operation *op) {
  return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp, arith::ShLIOp,
             arith::ShRSIOp, arith::ShRUIOp, arith::CmpIOp, arith::SelectOp, arith::ExtSIOp, arith::ExtUIOp,
             arith::TruncIOp, arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp, arith::IndexCastOp>(op);
}

class Flattener {
public:
  Flattener(PipelineNest &nest, std::vector<std::string> &problems) : nest(nest), problems(problems) {}

  void counter(affine::AffineForOp loop) {
    std::string name;
    if (auto attribute = loop->getAttrOfType<LoopAttr>(loopAttrName))
      name = attribute.getLabel().str();
    IndexSum index;
    index.factors.resize(nest.counters.size() + 1);
    index.factors.back() = 1;
    indices[loop.getInductionVar()] = index;
    const int64_t from = loop.getConstantLowerBound(), trips = loop.getConstantUpperBound() - from;
    nest.counters.push_back({name, from, trips});
    nest.iterations *= trips;
  }

  void block(Block &block) {
    for (Operation &op : block)
      operation(op);
  }

  void schedule() {
    for (Step &step : nest.steps)
      nest.depth = std::max(nest.depth, step.ready());
    // Start loads of arrays on the chip, and operations without latency, as late as possible.
    std::vector<int64_t> latest(nest.steps.size(), nest.depth);
    for (size_t number = nest.steps.size(); number-- > 0;) {
      Step &step = nest.steps[number];
      const bool onChip =
          step.kind == Step::Kind::Load && memoryOf(cast<MemRefType>(step.memory.getType())) != Memory::Dram;
      if (onChip)
        for (size_t store = number + 1; store < nest.steps.size(); ++store)
          if (nest.steps[store].memory == step.memory && nest.steps[store].kind == Step::Kind::Store)
            latest[number] = std::min(latest[number], nest.steps[store].start);
      if (onChip || (step.kind == Step::Kind::Compute && step.latency == 0))
        step.start = std::max(step.start, latest[number] - step.latency);
      for (size_t operand : step.operands)
        latest[operand] = std::min(latest[operand], step.start);
    }
  }

  /// Checks that an element that an iteration stores, and that a later iteration loads, is written before this load or
  /// in the same cycle. In the second case, sets `bypassed` of the load. If the element is written later than the load,
  /// adds a problem.
  void checkDistances() {
    for (Step &store : nest.steps)
      for (Step &load : nest.steps)
        if (store.kind == Step::Kind::Store && load.kind == Step::Kind::Load && store.memory == load.memory &&
            !store.overwritten) {
          const int64_t needed = store.start - load.start;
          std::optional<int64_t> distance = distanceOnce(store, load);
          if (distance && *distance * nest.ii < needed)
            return problem(load.op, "loop '" + nest.label + "' begins an iteration every " + std::to_string(nest.ii) +
                                        " cycles, but the value that it loads is stored " + std::to_string(needed) +
                                        " cycles after the load by the iteration " + std::to_string(*distance) +
                                        " before it");
          load.bypassed |= distance && *distance * nest.ii == needed;
        }
  }

private:
  void problem(Operation *op, const std::string &what) {
    std::string text = locationText(op) + what;
    if (!llvm::is_contained(problems, text))
      problems.push_back(text);
  }

  /// Returns distanceOf(store, load). The results are cached, because the unrolled copies of a body repeat the query,
  /// and the result depends only on the factors of the two indices and on the difference of their constants.
  std::optional<int64_t> distanceOnce(const Step &store, const Step &load) {
    std::vector<int64_t> key;
    bool moves = false, same = true;
    for (auto [a, b] : llvm::zip(store.at, load.at)) {
      for (size_t number = 0; number < nest.counters.size() + nest.quotients.size(); ++number) {
        key.insert(key.end(), {a.factor(number), b.factor(number)});
        moves |= a.factor(number) != 0 || b.factor(number) != 0;
      }
      key.push_back(a.constant - b.constant);
      same &= a.constant == b.constant;
    }
    if (!moves && !same)
      return std::nullopt;
    auto [found, isNew] = distances.try_emplace(std::move(key), std::nullopt);
    if (isNew)
      found->second = distanceOf(store, load);
    return found->second;
  }

  /// Returns the smallest number of iterations between a store of an element and the first later load of this element.
  /// Returns std::nullopt if no later iteration loads an element that `store` writes, and 1 if there are too many
  /// iterations to enumerate.
  std::optional<int64_t> distanceOf(const Step &store, const Step &load) {
    std::unordered_map<int64_t, int64_t> written;
    std::optional<int64_t> least;
    ArrayRef<int64_t> shape = cast<MemRefType>(store.memory.getType()).getShape();
    int64_t iteration = 0;
    const bool counted = forEachIteration(nest, [&](ArrayRef<int64_t> counters) {
      auto element = [&](const Step &step) {
        int64_t linear = 0;
        for (auto [size, index] : llvm::zip(shape, step.at))
          linear = linear * size + valueOf(index, counters);
        return linear;
      };
      if (auto found = written.find(element(load)); found != written.end())
        least = std::min(least.value_or(iteration - found->second), iteration - found->second);
      written[element(store)] = iteration++;
    });
    return counted ? least : 1;
  }

  std::optional<IndexSum> divided(const IndexSum &of, int64_t by, bool isRest) {
    auto [least, most] = rangeOf(nest, of);
    if (least < 0)
      return std::nullopt;
    if (most < by)
      return isRest ? of : IndexSum();
    if (least == most)
      return IndexSum{{}, isRest ? least % by : least / by};
    Quotient wanted{of, by, isRest};
    size_t number = size_t(llvm::find(nest.quotients, wanted) - nest.quotients.begin());
    if (number == nest.quotients.size())
      nest.quotients.push_back(wanted);
    IndexSum index;
    index.factors.resize(nest.counters.size() + number + 1);
    index.factors.back() = 1;
    return index;
  }

  /// Returns an index value as a sum of multiples of counters and quotients, or std::nullopt if the value has another
  /// form.
  std::optional<IndexSum> indexOf(Value value) {
    if (auto found = indices.find(value); found != indices.end())
      return found->second;
    if (auto constant = value.getDefiningOp<arith::ConstantOp>())
      if (auto number = dyn_cast<IntegerAttr>(constant.getValue()))
        return IndexSum{{}, number.getInt()};
    if (auto apply = value.getDefiningOp<affine::AffineApplyOp>())
      return indexOf(apply.getAffineMap().getResult(0), apply.getMapOperands(), apply.getAffineMap().getNumDims());
    return std::nullopt;
  }

  std::optional<IndexSum> indexOf(AffineExpr expr, ValueRange operands, unsigned dims) {
    if (auto constant = dyn_cast<AffineConstantExpr>(expr))
      return IndexSum{{}, constant.getValue()};
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      return indexOf(operands[dim.getPosition()]);
    if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
      return indexOf(operands[dims + symbol.getPosition()]);
    auto pair = cast<AffineBinaryOpExpr>(expr);
    std::optional<IndexSum> left = indexOf(pair.getLHS(), operands, dims),
                            right = indexOf(pair.getRHS(), operands, dims);
    if (!left || !right)
      return std::nullopt;
    auto isConstant = [](const IndexSum &index) {
      return llvm::all_of(index.factors, [](int64_t f) { return f == 0; });
    };
    if (pair.getKind() == AffineExprKind::Add) {
      if (left->factors.size() < right->factors.size())
        std::swap(left, right);
      for (size_t number = 0; number < right->factors.size(); ++number)
        left->factors[number] += right->factors[number];
      left->constant += right->constant;
      return left;
    }
    if (pair.getKind() == AffineExprKind::Mul) {
      if (!isConstant(*right))
        std::swap(left, right);
      if (!isConstant(*right))
        return std::nullopt;
      for (int64_t &factor : left->factors)
        factor *= right->constant;
      left->constant *= right->constant;
      return left;
    }
    if (!isConstant(*right) || right->constant <= 0 || pair.getKind() == AffineExprKind::CeilDiv)
      return std::nullopt;
    return divided(*left, right->constant, pair.getKind() == AffineExprKind::Mod);
  }

  std::vector<IndexSum> indicesOf(Operation *op, AffineMap map, ValueRange operands) {
    std::vector<IndexSum> all;
    for (AffineExpr expr : map.getResults()) {
      std::optional<IndexSum> index = indexOf(expr, operands, map.getNumDims());
      if (!index)
        problem(op, "an element's index is not a sum of multiples of loop counters");
      all.push_back(index.value_or(IndexSum()));
    }
    return all;
  }

  size_t add(Step step) {
    nest.steps.push_back(std::move(step));
    return nest.steps.size() - 1;
  }

  /// Returns the number of the step that computes `value`. If `value` is a constant or an index, adds a step for it.
  size_t stepOf(Operation *user, Value value) {
    if (auto found = made.find(value); found != made.end())
      return found->second;
    Step step;
    step.width = step.bits = widthOf(value.getType());
    auto constant = value.getDefiningOp<arith::ConstantOp>();
    auto number = constant ? dyn_cast<IntegerAttr>(constant.getValue()) : IntegerAttr();
    if (number) {
      step.kind = Step::Kind::Constant;
      step.constant = number.getValue();
      if (value.getType().isIndex())
        step.constant = step.constant.trunc(32);
      step.bits = std::max(1u, step.constant.getSignificantBits());
    } else if (std::optional<IndexSum> index = value.getType().isIndex() ? indexOf(value) : std::nullopt) {
      step.kind = Step::Kind::Counter;
      step.at = {*index};
    } else {
      problem(user, "it uses a value from outside of its loop");
    }
    return add(step);
  }

  void operation(Operation &op) {
    if (isa<arith::ConstantOp, affine::AffineYieldOp, affine::AffineApplyOp>(op))
      return;
    if (auto loop = dyn_cast<affine::AffineForOp>(op)) {
      if (!loop.hasConstantBounds() || loop.getNumResults() || loop.getStepAsInt() != 1)
        return problem(&op, "an inner loop must have constant bounds, step 1 and no loop-carried values");
      for (int64_t at = loop.getConstantLowerBound(); at < loop.getConstantUpperBound(); ++at) {
        indices[loop.getInductionVar()] = IndexSum{{}, at};
        block(*loop.getBody());
      }
      return;
    }
    for (Type type : op.getOperandTypes())
      if (isa<FloatType>(getElementTypeOrSelf(type)))
        return problem(
            &op, "floats are not supported in Verilog: quantize the model, or compile the C++ with a vendor's tool");
    Step step;
    step.op = &op;
    step.latency = operatorCost(&op).latency;
    if (auto load = dyn_cast<affine::AffineLoadOp>(op))
      return this->load(std::move(step), load);
    if (auto store = dyn_cast<affine::AffineStoreOp>(op))
      return this->store(std::move(step), store);
    if (auto read = dyn_cast<ReadOp>(op)) {
      step.kind = Step::Kind::Read;
      step.memory = read.getStream();
    } else if (auto write = dyn_cast<WriteOp>(op)) {
      step.kind = Step::Kind::Write;
      step.memory = write.getStream();
      step.operands = {stepOf(&op, write.getValue())};
    } else if (!isSupported(&op)) {
      return problem(&op, "'" + op.getName().getStringRef().str() + "' is not supported in Verilog");
    } else {
      for (Value operand : op.getOperands())
        step.operands.push_back(stepOf(&op, operand));
    }
    if (step.memory) // an iteration may access a queue only once, because steps may be reordered
      for (const Step &other : nest.steps)
        if (other.memory == step.memory)
          return problem(&op, "an iteration reads or writes two elements of one queue");
    for (size_t operand : step.operands)
      step.start = std::max(step.start, nest.steps[operand].ready());
    if (op.getNumResults() == 1) {
      step.width = step.bits = widthOf(op.getResult(0).getType());
      if (isa<arith::ExtSIOp>(op))
        step.bits = nest.steps[step.operands[0]].bits;
      if (isa<arith::ExtUIOp>(op))
        step.bits = widthOf(op.getOperand(0).getType()) + 1;
      if (isa<arith::MulIOp>(op))
        step.bits = std::min(step.width, nest.steps[step.operands[0]].bits + nest.steps[step.operands[1]].bits);
      made[op.getResult(0)] = add(std::move(step));
      return;
    }
    add(std::move(step));
  }

  void load(Step step, affine::AffineLoadOp load) {
    step.kind = Step::Kind::Load;
    step.memory = load.getMemRef();
    step.at = indicesOf(load, load.getAffineMap(), load.getMapOperands());
    step.width = step.bits = widthOf(load.getType());
    bool stored = false, mayBeStored = false;
    for (size_t number = nest.steps.size(); number-- > 0;) {
      const Step &other = nest.steps[number];
      if (other.memory != step.memory || other.kind != Step::Kind::Store)
        continue;
      stored = true;
      if (other.at == step.at && !mayBeStored) { // use the value that this iteration has stored to the element
        made[load.getResult()] = other.operands[0];
        return;
      }
      // Earlier stores may start later than this store if their elements differ from the element of this store.
      if (!areDistinct(other.at, step.at)) {
        step.start = std::max(step.start, other.start + 1);
        mayBeStored = true;
      }
    }
    if (!stored) // reuse an earlier load of the same element
      for (auto [number, other] : llvm::enumerate(nest.steps))
        if (other.kind == Step::Kind::Load && other.memory == step.memory && other.at == step.at) {
          made[load.getResult()] = number;
          return;
        }
    made[load.getResult()] = add(std::move(step));
  }

  void store(Step step, affine::AffineStoreOp store) {
    step.kind = Step::Kind::Store;
    step.memory = store.getMemRef();
    step.at = indicesOf(store, store.getAffineMap(), store.getMapOperands());
    step.operands = {stepOf(store, store.getValueToStore())};
    step.start = nest.steps[step.operands[0]].ready();
    for (Step &other : nest.steps)
      if (other.memory == step.memory && other.kind == Step::Kind::Store && other.at == step.at)
        other.overwritten = true;
      else if (other.memory == step.memory && !areDistinct(other.at, step.at)) // start after earlier loads and stores
        step.start = std::max(step.start, other.kind == Step::Kind::Store ? other.start + 1 : other.ready());
    add(std::move(step));
  }

  /// Returns true if the indices `a` and `b` are known to differ in every iteration.
  static bool areDistinct(const std::vector<IndexSum> &a, const std::vector<IndexSum> &b) {
    for (auto [left, right] : llvm::zip(a, b))
      if (IndexSum{left.factors, 0} == IndexSum{right.factors, 0} && left.constant != right.constant)
        return true;
    return false;
  }

  PipelineNest &nest;
  std::vector<std::string> &problems;
  llvm::DenseMap<Value, IndexSum> indices;
  llvm::DenseMap<Value, size_t> made;
  std::map<std::vector<int64_t>, std::optional<int64_t>> distances;
};

} // namespace

bool IndexSum::operator==(const IndexSum &other) const {
  for (size_t number = 0; number < std::max(factors.size(), other.factors.size()); ++number)
    if (factor(number) != other.factor(number))
      return false;
  return constant == other.constant;
}

int64_t valueOf(const IndexSum &index, ArrayRef<int64_t> counters) {
  int64_t value = index.constant;
  for (size_t number = 0; number < index.factors.size(); ++number)
    value += index.factors[number] * counters[number];
  return value;
}

void fillQuotients(const PipelineNest &nest, MutableArrayRef<int64_t> counters) {
  for (auto [number, quotient] : llvm::enumerate(nest.quotients)) {
    const int64_t value = valueOf(quotient.of, counters);
    counters[nest.counters.size() + number] = quotient.isRest ? value % quotient.by : value / quotient.by;
  }
}

bool forEachIteration(const PipelineNest &nest, llvm::function_ref<void(ArrayRef<int64_t>)> visit) {
  constexpr int64_t most = 2'000'000;
  if (nest.iterations > most)
    return false;
  std::vector<int64_t> at(nest.counters.size() + nest.quotients.size(), 0);
  for (int64_t iteration = 0; iteration < nest.iterations; ++iteration) {
    int64_t rest = iteration;
    for (size_t number = nest.counters.size(); number-- > 0;) {
      at[number] = nest.counters[number].from + rest % nest.counters[number].trips;
      rest /= nest.counters[number].trips;
    }
    fillQuotients(nest, at);
    visit(at);
  }
  return true;
}

std::pair<int64_t, int64_t> rangeOf(const PipelineNest &nest, const IndexSum &index) {
  int64_t least = index.constant, most = index.constant;
  for (size_t number = 0; number < index.factors.size(); ++number) {
    int64_t low = 0, high = 0;
    if (number < nest.counters.size()) {
      low = nest.counters[number].from;
      high = low + nest.counters[number].trips - 1;
    } else {
      const Quotient &quotient = nest.quotients[number - nest.counters.size()];
      high = quotient.isRest ? quotient.by - 1 : rangeOf(nest, quotient.of).second / quotient.by;
    }
    const int64_t factor = index.factors[number];
    least += factor * (factor < 0 ? high : low);
    most += factor * (factor < 0 ? low : high);
  }
  return {least, most};
}

std::string locationText(Operation *op) {
  auto function = op->getParentOfType<func::FuncOp>();
  return (function ? function.getName().str() : std::string("model")) + sourceLineAfter(op->getLoc()) + ": ";
}

PipelineNest pipelineNest(affine::AffineForOp loop, std::vector<std::string> &problems) {
  PipelineNest nest;
  Flattener flattener(nest, problems);
  affine::AffineForOp at = loop;
  while (true) {
    auto attribute = at->getAttrOfType<LoopAttr>(loopAttrName);
    if (!at.hasConstantBounds() || at.getStepAsInt() != 1 || at.getNumResults()) {
      problems.push_back(locationText(at) + "a loop must have constant bounds, step 1 and no loop-carried values");
      return nest;
    }
    flattener.counter(at);
    if (attribute && attribute.getIi() > 0) {
      nest.ii = attribute.getIi();
      nest.label = attribute.getLabel().str();
      break;
    }
    auto inner = dyn_cast<affine::AffineForOp>(at.getBody()->front());
    if (!inner || !llvm::hasNItems(*at.getBody(), 2)) {
      problems.push_back(locationText(at) + "its loop has no schedule, so its iterations cannot be pipelined");
      return nest;
    }
    at = inner;
  }
  flattener.block(*at.getBody());
  flattener.schedule();
  flattener.checkDistances();
  return nest;
}

} // namespace tilewright::hls
