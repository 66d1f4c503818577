//===- EstimateFacts.cpp - cycles and resources of a design ----------------------------------===//
//
// Test: test/Python/test_hls_estimate.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/Estimate/Estimate.h"
#include "lib/Codegen/HLS/Estimate/TimeDataflow.h"
#include <algorithm>
#include <numeric>
#include <set>

namespace tilewright::hls {
namespace {

/// The number of cycles to enter a nest, and the number of cycles to leave it. A call, a loop that is not pipelined,
/// and each iteration of such a loop also take this number of cycles in addition to the steps inside.
constexpr int64_t enterAndLeave = 1;

/// The name of the operator "quick addition" (quickAddition() in Operators.h), which is counted separately from other
/// additions.
constexpr const char *quickName = "quick addition";
/// Operators that are not shared between the steps of a task: each address has separate operators, and the control
/// logic (counters, states, multiplexers) belongs to one nest. Other operators are shared by steps that run one after
/// another.
constexpr const char *unshared[] = {"address", "address in logic", "wide quotient", "nest", "shared operand"};

OperatorCounts operatorsOf(const NestFacts &nest, const NestSchedule &schedule) {
  OperatorCounts counts;
  // An operator starts one operation per cycle, so II operations of an iteration can share it.
  const int64_t sharers = std::max<int64_t>(1, schedule.ii);
  for (const auto &[name, count] : nest.operators) {
    int64_t plain = count;
    if (name == "addf" && schedule.quickAdditions > 0) {
      plain -= std::min(count, schedule.quickAdditions);
      counts[quickName] += ceilDiv(count - plain, sharers);
    }
    const auto together = schedule.together.find(name);
    if (plain > 0)
      counts[name] += std::max(ceilDiv(plain, sharers), together == schedule.together.end() ? 0 : together->second);
  }
  for (const auto &[name, count] : nest.operators)
    if (name != "load" && name != "store" && name != "read" && name != "write")
      counts["shared operand"] += sharers > 1 ? 2 * count : 0;
  counts["nest"] += nest.trips.empty() ? 0 : 1;
  counts.merge(addressOperators(nest));
  // Wide quotients share operators, unless the ports of a bank are used in every cycle: then all quotients are needed
  // in each cycle.
  if (auto wide = counts.find("wide quotient"); wide != counts.end() && !schedule.portsAreFull)
    wide->second = ceilDiv(wide->second, sharers);
  return counts;
}

std::set<size_t> arraysOf(const StepFacts &step) {
  std::set<size_t> arrays;
  for (const ArrayAccess &access : step.nest.arrays)
    arrays.insert(access.array);
  for (const StepFacts &inside : step.inside)
    arrays.merge(arraysOf(inside));
  return arrays;
}

struct DesignTimer {
  const DesignFacts &design;

  struct Span {
    int64_t begin, end;
  };

  /// Returns the begin and end of each step. A step waits for earlier steps that use the same array, even if both steps
  /// only read it, because the steps use the same ports. Steps that begin in the same cycle form one state of the task,
  /// which ends when the last of these steps ends.
  std::vector<Span> spansOf(const std::vector<StepFacts> &steps) const {
    std::map<size_t, size_t> free;
    std::vector<size_t> states;
    std::vector<int64_t> cycles, lengths;
    for (const StepFacts &step : steps) {
      const std::set<size_t> arrays = arraysOf(step);
      size_t state = 0;
      for (size_t array : arrays)
        state = std::max(state, free[array]);
      for (size_t array : arrays)
        free[array] = state + 1;
      states.push_back(state);
      cycles.push_back(cyclesOf(step));
      lengths.resize(std::max(lengths.size(), state + 1));
      lengths[state] = std::max(lengths[state], cycles.back());
    }
    std::vector<Span> spans;
    for (size_t step = 0; step < steps.size(); ++step) {
      const int64_t start = std::accumulate(lengths.begin(), lengths.begin() + states[step], int64_t(0));
      spans.push_back({start, start + cycles[step]});
    }
    return spans;
  }

  int64_t cyclesOf(const std::vector<StepFacts> &steps) const {
    int64_t last = 0;
    for (Span span : spansOf(steps))
      last = std::max(last, span.end);
    return last;
  }

  OperatorCounts operatorsOf(const std::vector<StepFacts> &steps) const {
    std::vector<OperatorCounts> each;
    for (const StepFacts &step : steps)
      each.push_back(step.kind == StepFacts::Kind::Nest
                         ? hls::operatorsOf(step.nest, scheduleNest(step.nest, design.reassociates))
                         : operatorsOf(step.inside));
    OperatorCounts most;
    const std::vector<Span> spans = spansOf(steps);
    for (Span now : spans) {
      OperatorCounts together;
      for (size_t other = 0; other < steps.size(); ++other)
        if (spans[other].begin <= now.begin && now.begin < spans[other].end)
          for (const auto &[name, count] : each[other])
            together[name] += count;
      for (const auto &[name, count] : together)
        most[name] = std::max(most[name], count);
    }
    for (const char *name : unshared) {
      most.erase(name);
      for (const OperatorCounts &counts : each)
        if (auto found = counts.find(name); found != counts.end())
          most[name] += found->second;
    }
    return most;
  }

  int64_t cyclesOf(const StepFacts &step) const {
    if (step.kind == StepFacts::Kind::Nest) {
      NestSchedule schedule = scheduleNest(step.nest, design.reassociates);
      return schedule.cycles + (step.nest.trips.empty() ? 0 : 2 * enterAndLeave);
    }
    const int64_t inside = cyclesOf(step.inside);
    return step.kind == StepFacts::Kind::Loop ? step.trips * (inside + enterAndLeave) + enterAndLeave
                                              : inside + enterAndLeave;
  }

  static bool usesQueues(const std::vector<StepFacts> &steps) {
    return std::any_of(steps.begin(), steps.end(),
                       [](const StepFacts &step) { return !step.nest.queues.empty() || usesQueues(step.inside); });
  }

  void append(const std::vector<StepFacts> &steps, TimedTask &task) {
    if (!usesQueues(steps)) {
      TimedNest all;
      all.cycles = cyclesOf(steps);
      task.nests.push_back(all);
      return;
    }
    for (const StepFacts &step : steps) {
      TimedNest timed;
      if (step.kind == StepFacts::Kind::Call || (step.kind == StepFacts::Kind::Loop && usesQueues(step.inside))) {
        for (int64_t trip = 0; trip < step.trips; ++trip)
          append(step.inside, task);
        continue;
      }
      if (step.kind == StepFacts::Kind::Nest && !step.nest.queues.empty()) {
        NestSchedule schedule = scheduleNest(step.nest, design.reassociates);
        timed.facts = &step.nest;
        timed.ii = schedule.ii;
        timed.depth = schedule.depth;
        timed.after = 2 * enterAndLeave;
      } else {
        timed.cycles = cyclesOf(step);
      }
      task.nests.push_back(timed);
    }
  }
};

/// Sets the number of ports of all accesses of `arrays` to one.
void takeOnePort(std::vector<StepFacts> &steps, const std::set<size_t> &arrays) {
  for (StepFacts &step : steps) {
    for (ArrayAccess &access : step.nest.arrays)
      if (arrays.count(access.array))
        access.ports = 1;
    takeOnePort(step.inside, arrays);
  }
}

/// Assigns ports to accesses. An array outside of the design has two ports. If several tasks use the array, each task
/// gets one port, because tasks run in parallel.
DesignFacts withPorts(DesignFacts design) {
  std::set<size_t> used, divided;
  for (const TaskFacts &task : design.tasks) {
    std::set<size_t> its;
    for (const StepFacts &step : task.steps)
      its.merge(arraysOf(step));
    for (size_t array : its)
      if (!used.insert(array).second && design.arrays[array].kind == ArrayFacts::Kind::Port)
        divided.insert(array);
  }
  for (TaskFacts &task : design.tasks)
    takeOnePort(task.steps, divided);
  return design;
}

} // namespace

MemoryCost memoryCost(int64_t words, int64_t bits, int64_t copies) {
  // Lookup tables store a memory of at most 128 words. A block memory has 512 words of 36 bits, and an UltraRAM has
  // 4096 words of 72 bits. The other rules count the words of all copies together: UltraRAMs are used for more than
  // 2048 and at most 4096 words. For at most 10240 words, the number of block memories that store the words is rounded
  // up to a power of two.
  constexpr int64_t wordsInLuts = 128, wordsOfBlock = 512, bitsOfBlock = 36, wordsOfUram = 4096, bitsOfUram = 72;
  const int64_t all = words * copies;
  if (words <= wordsInLuts)
    return {0, 0, copies * ceilDiv(words, 64) * bits, bits};
  if (all > wordsOfUram / 2 && all <= wordsOfUram)
    return {0, ceilDiv(bits, bitsOfUram), 0, 0};
  int64_t rows = ceilDiv(all, wordsOfBlock);
  if (all <= 2 * wordsOfUram + wordsOfUram / 2) {
    int64_t rounded = 1;
    while (rounded < rows)
      rounded *= 2;
    rows = rounded;
  }
  return {std::max<int64_t>(1, rows) * ceilDiv(bits, bitsOfBlock), 0, 0, 0};
}

FactsEstimate estimateFacts(const DesignFacts &given) {
  const DesignFacts design = withPorts(given);
  FactsEstimate estimate;
  std::vector<TimedTask> timed;
  DesignTimer timer{design};
  for (const TaskFacts &task : design.tasks) {
    TimedTask its{task.reads, task.writes, {}};
    timer.append(task.steps, its);
    timed.push_back(std::move(its));
    for (const auto &[name, count] : timer.operatorsOf(task.steps))
      estimate.operators[name] += count;
  }
  for (const ArrayFacts &array : design.arrays) {
    using Kind = ArrayFacts::Kind;
    if (array.kind != Kind::Local && array.kind != Kind::Channel && array.kind != Kind::Rom)
      continue; // ports are outside of the design, and the other kinds need no memory
    MemoryCost cost = memoryCost(array.words, array.bits, array.kind == ArrayFacts::Kind::Channel ? 2 : 1);
    estimate.bram += cost.bram * array.banks;
    estimate.uram += cost.uram * array.banks;
    estimate.lut += cost.lut * array.banks;
    estimate.ff += cost.ff * array.banks;
  }
  for (const QueueFacts &queue : design.queues) {
    estimate.operators["queue"] += queue.lanes;
    if (queue.depth > 128)
      estimate.bram += queue.lanes;
  }
  for (const auto &[name, count] : estimate.operators) {
    const OperatorCost cost = factsOperator(name);
    estimate.dsp += cost.dsp * count;
    estimate.lut += cost.lut * count;
    estimate.ff += cost.ff * count;
  }
  estimate.cycles = timeDataflow(timed, design.queues);
  return estimate;
}

} // namespace tilewright::hls
