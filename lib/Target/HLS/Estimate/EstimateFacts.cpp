//===- EstimateFacts.cpp - cycles and resources of a design ----------------------------------===//
//
// Test: test/Conformance/hls (score)
//
//===----------------------------------------------------------------------===//
#include "lib/Target/HLS/Estimate/Estimate.h"
#include "lib/Target/HLS/Estimate/TimeDataflow.h"
#include <algorithm>
#include <set>

namespace tilewright::hls {
namespace {

constexpr int64_t enterAndLeave = 1; ///< cycles around a nest, a call, an iteration of a loop that is not pipelined

/// Operators of a task: nests run one after another and share them.
struct TaskUse {
  OperatorCounts operators;
  int64_t quick = 0, addressProducts = 0, ff = 0, lut = 0;

  void add(const NestFacts &nest, const NestSchedule &schedule) {
    const int64_t sharers = std::max<int64_t>(1, schedule.ii);
    for (const auto &[name, count] : nest.operators) {
      const bool quickOnes = schedule.quickAdditions > 0 && (name == "addf" || name == "subf");
      int64_t &most = quickOnes ? quick : operators[name];
      most = std::max(most, ceilDiv(count, sharers));
    }
    addressProducts += nest.addressProducts;
  }
};

struct DesignTimer {
  const DesignFacts &design;

  /// Steps begin when those are done that use an array of theirs, be it only to read: its ports are taken.
  int64_t cyclesOf(const std::vector<StepFacts> &steps) {
    std::map<size_t, int64_t> free;
    int64_t last = 0;
    for (const StepFacts &step : steps) {
      const std::set<size_t> arrays = arraysOf(step);
      int64_t start = 0;
      for (size_t array : arrays)
        start = std::max(start, free[array]);
      const int64_t end = start + cyclesOf(step);
      for (size_t array : arrays)
        free[array] = end;
      last = std::max(last, end);
    }
    return last;
  }

  static std::set<size_t> arraysOf(const StepFacts &step) {
    std::set<size_t> arrays;
    for (const ArrayAccess &access : step.nest.arrays)
      arrays.insert(access.array);
    for (const StepFacts &inside : step.inside)
      arrays.merge(arraysOf(inside));
    return arrays;
  }

  int64_t cyclesOf(const StepFacts &step) {
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
      if (step.kind == StepFacts::Kind::Call) {
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

void use(const std::vector<StepFacts> &steps, const DesignFacts &design, TaskUse &all) {
  for (const StepFacts &step : steps) {
    if (step.kind == StepFacts::Kind::Nest)
      all.add(step.nest, scheduleNest(step.nest, design.reassociates));
    else
      use(step.inside, design, all);
  }
}

} // namespace

MemoryCost memoryCost(int64_t words, int64_t bits, int64_t copies) {
  // A block is 512 words of 36 bits; up to 16384 words take a power of two of them. One UltraRAM is 4096 words of 72
  // bits, which is taken where blocks would be half empty.
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

FactsEstimate estimateFacts(const DesignFacts &design) {
  FactsEstimate estimate;
  std::vector<TimedTask> timed;
  DesignTimer timer{design};
  for (const TaskFacts &task : design.tasks) {
    TimedTask its{task.reads, task.writes, {}};
    timer.append(task.steps, its);
    timed.push_back(std::move(its));
    TaskUse all;
    use(task.steps, design, all);
    for (const auto &[name, count] : all.operators) {
      OperatorCost cost = factsOperator(name);
      estimate.dsp += cost.dsp * count;
      estimate.lut += cost.lut * count;
      estimate.ff += cost.ff * count;
    }
    estimate.lut += quickAddition().lut * all.quick + addressProduct().lut * all.addressProducts;
    estimate.ff += quickAddition().ff * all.quick;
    estimate.dsp += addressProduct().dsp * all.addressProducts;
  }
  for (const ArrayFacts &array : design.arrays) {
    if (array.kind == ArrayFacts::Kind::Port || array.kind == ArrayFacts::Kind::Unread ||
        array.kind == ArrayFacts::Kind::Register)
      continue;
    MemoryCost cost = memoryCost(array.words, array.bits, array.kind == ArrayFacts::Kind::Channel ? 2 : 1);
    estimate.bram += cost.bram * array.banks;
    estimate.uram += cost.uram * array.banks;
    estimate.lut += cost.lut * array.banks;
    estimate.ff += cost.ff * array.banks;
  }
  for (const QueueFacts &queue : design.queues)
    if (queue.depth > 128)
      estimate.bram += queue.lanes;
  estimate.cycles = timeDataflow(timed, design.queues);
  return estimate;
}

} // namespace tilewright::hls
