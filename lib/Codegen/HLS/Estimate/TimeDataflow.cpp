//===- TimeDataflow.cpp - end times of the tasks of a design -------------------------------===//
//
// This file simulates the tasks. Each task advances through its iterations as far as its queues allow. Only iterations
// that access a queue are simulated: if all accesses are under a condition that fixes the value of a loop counter, the
// counter takes only the values of these conditions. The write and read times of all elements of a queue are stored,
// because a producer may be ahead of the consumer by the depth of the queue.
//
// Test: test/Python/test_hls_estimate.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/Estimate/TimeDataflow.h"
#include <algorithm>
#include <optional>
#include <set>

namespace tilewright::hls {
namespace {

/// The iterations of a nest that access a queue, in order.
class Iterations {
public:
  explicit Iterations(const NestFacts &nest) : nest(nest), values(nest.trips.size()), at(nest.trips.size(), 0) {
    for (size_t loop = 0; loop < nest.trips.size(); ++loop)
      values[loop] = valuesOf(loop);
    for (const std::vector<int64_t> &some : values)
      done |= some.empty();
    done |= nest.queues.empty();
    load();
    skipIdle();
  }

  bool atEnd() const { return done; }
  const std::vector<size_t> &accesses() const { return active; }

  /// Returns the number of the current iteration in the nest. Iterations that were not visited are also counted.
  int64_t number() const {
    int64_t flat = 0;
    for (size_t loop = 0; loop < counters.size(); ++loop)
      flat = flat * nest.trips[loop] + counters[loop];
    return flat;
  }

  void next() {
    step();
    skipIdle();
  }

private:
  /// Returns the only value of the counter of `loop` with which the access takes place. A condition of the access
  /// determines this value if it is an equality without other counters. Returns std::nullopt if there is no such
  /// condition.
  static std::optional<int64_t> fixedBy(const QueueAccess &access, size_t loop) {
    for (const Condition &condition : access.when)
      if (!condition.orMore && condition.terms.size() == 1 && condition.terms[0].first == loop)
        return -condition.constant / condition.terms[0].second;
    return std::nullopt;
  }

  std::vector<int64_t> valuesOf(size_t loop) const {
    std::set<int64_t> some;
    for (const QueueAccess &access : nest.queues) {
      std::optional<int64_t> value = fixedBy(access, loop);
      if (!value) {
        std::vector<int64_t> all(nest.trips[loop]);
        for (int64_t counter = 0; counter < nest.trips[loop]; ++counter)
          all[counter] = counter;
        return all;
      }
      if (*value >= 0 && *value < nest.trips[loop])
        some.insert(*value);
    }
    return {some.begin(), some.end()};
  }

  void load() {
    counters.resize(at.size());
    for (size_t loop = 0; loop < at.size() && !done; ++loop)
      counters[loop] = values[loop][at[loop]];
  }

  void step() {
    for (size_t loop = at.size(); loop-- > 0;) {
      if (++at[loop] < values[loop].size()) {
        load();
        return;
      }
      at[loop] = 0;
    }
    done = true;
  }

  void skipIdle() {
    for (; !done; step()) {
      active.clear();
      for (size_t number = 0; number < nest.queues.size(); ++number)
        if (holds(nest.queues[number]))
          active.push_back(number);
      if (!active.empty())
        return;
    }
  }

  bool holds(const QueueAccess &access) const {
    for (const Condition &condition : access.when) {
      int64_t sum = condition.constant;
      for (auto [loop, coefficient] : condition.terms)
        sum += coefficient * counters[loop];
      if (condition.orMore ? sum < 0 : sum != 0)
        return false;
    }
    return true;
  }

  const NestFacts &nest;
  std::vector<std::vector<int64_t>> values;
  std::vector<size_t> at, active;
  std::vector<int64_t> counters;
  bool done = false;
};

/// The cycles in which each element of a queue was written and read.
struct QueueTimes {
  std::vector<int64_t> in, out;
};

struct Runner {
  const TimedTask *task = nullptr;
  size_t nest = 0;
  int64_t clock = -1; ///< cycle in which the nest began; -1 if it has not begun
  int64_t late = 0;   ///< number of cycles that this nest has waited for queues
  std::optional<Iterations> iterations;
  bool done = false;
};

constexpr int64_t queueLatency = 1; ///< cycles from a write to the read of the same element

class Timer {
public:
  Timer(const std::vector<TimedTask> &tasks, const std::vector<QueueFacts> &queues)
      : queues(queues), times(queues.size()) {
    for (const TimedTask &task : tasks) {
      Runner &runner = runners.emplace_back();
      runner.task = &task;
      for (size_t array : task.writes)
        writers.insert({array, runners.size() - 1});
    }
  }

  int64_t run(std::vector<int64_t> *ends) {
    int64_t last = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t number = 0; number < runners.size(); ++number)
        moved |= advance(number);
    }
    for (const Runner &runner : runners) {
      if (!runner.done)
        return -1;
      last = std::max(last, runner.clock);
      if (ends)
        ends->push_back(runner.clock);
    }
    return last;
  }

private:
  bool begin(size_t number) {
    Runner &runner = runners[number];
    int64_t start = 0;
    for (size_t array : runner.task->reads)
      for (auto [its, writer] : writers)
        if (its == array && writer != number) {
          if (!runners[writer].done)
            return false;
          start = std::max(start, runners[writer].clock + 1);
        }
    runner.clock = start;
    return true;
  }

  bool advance(size_t number) {
    Runner &runner = runners[number];
    if (runner.done || (runner.clock < 0 && !begin(number)))
      return false;
    bool moved = false;
    while (runner.nest < runner.task->nests.size()) {
      const TimedNest &nest = runner.task->nests[runner.nest];
      if (!nest.facts) {
        runner.clock += nest.cycles;
      } else {
        if (!runner.iterations)
          runner.iterations.emplace(*nest.facts);
        for (; !runner.iterations->atEnd(); runner.iterations->next(), moved = true)
          if (!iterate(runner, nest))
            return moved;
        int64_t count = 1;
        for (int64_t trips : nest.facts->trips)
          count *= trips;
        runner.clock += (count - 1) * nest.ii + runner.late + nest.depth + nest.after;
        runner.iterations.reset();
        runner.late = 0;
      }
      ++runner.nest;
      moved = true;
    }
    runner.done = true;
    return true;
  }

  /// Executes one iteration if its queues allow it.
  bool iterate(Runner &runner, const TimedNest &nest) {
    int64_t start = runner.clock + runner.iterations->number() * nest.ii + runner.late;
    const int64_t planned = start;
    for (size_t number : runner.iterations->accesses()) {
      const QueueAccess &access = nest.facts->queues[number];
      QueueTimes &queue = times[access.queue];
      if (!access.writes) {
        const size_t last = queue.out.size() + access.count;
        if (queue.in.size() < last)
          return false;
        start = std::max(start, queue.in[last - 1] + queueLatency);
      } else if (const int64_t leaves = int64_t(queue.in.size()) + access.count - queues[access.queue].depth;
                 leaves > 0) {
        if (int64_t(queue.out.size()) < leaves)
          return false;
        start = std::max(start, queue.out[leaves - 1] + 1 - nest.depth);
      }
    }
    for (size_t number : runner.iterations->accesses()) {
      const QueueAccess &access = nest.facts->queues[number];
      QueueTimes &queue = times[access.queue];
      for (int64_t one = 0; one < access.count; ++one)
        (access.writes ? queue.in : queue.out).push_back(start + (access.writes ? nest.depth : 0));
    }
    runner.late += start - planned;
    return true;
  }

  const std::vector<QueueFacts> &queues;
  std::vector<QueueTimes> times;
  std::vector<Runner> runners;
  std::multimap<size_t, size_t> writers; ///< for each array: the tasks that write it
};

} // namespace

int64_t timeDataflow(const std::vector<TimedTask> &tasks, const std::vector<QueueFacts> &queues,
                     std::vector<int64_t> *ends) {
  return Timer(tasks, queues).run(ends);
}

} // namespace tilewright::hls
