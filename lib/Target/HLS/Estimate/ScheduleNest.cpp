//===- ScheduleNest.cpp - the II and the depth of a loop nest ------------------------------===//
//
// The II is the largest of what was asked for, of accesses to one bank over its two ports, of accesses to one queue, and
// of operators between two visits to one element over the iterations between them. Where only that last one is in the
// way, additions on it become quick ones. A sum that may be added as a tree is one as a whole: the element that waits
// goes through all of its levels.
//
// Test: test/Conformance/hls (score)
//
//===----------------------------------------------------------------------===//
#include "lib/Target/HLS/Estimate/Estimate.h"
#include <algorithm>

namespace tilewright::hls {
namespace {

constexpr int64_t portsOfBank = 2;
/// A quick addition whose result goes straight into the next one.
constexpr int64_t quickBetween = 4;

int64_t countOf(const OperatorCounts &counts, const char *name) {
  auto found = counts.find(name);
  return found == counts.end() ? 0 : found->second;
}

int64_t additionsOf(const OperatorCounts &counts) { return countOf(counts, "addf") + countOf(counts, "subf"); }

/// Of a balanced tree of additions.
int64_t levelsOf(int64_t terms) {
  int64_t levels = 0;
  while ((int64_t(1) << levels) < terms)
    ++levels;
  return levels;
}

int64_t latencyOf(const OperatorCounts &path) {
  int64_t cycles = 0;
  for (const auto &[name, count] : path)
    cycles += factsOperator(name).latency * count;
  return cycles;
}

} // namespace

OperatorCost factsOperator(const std::string &name) {
  if (name == "load")
    return loadOperator();
  if (name == "store")
    return storeOperator();
  if (name == "read" || name == "write")
    return queueOperator();
  if (name == "address")
    return addressProduct();
  if (name == "addi" || name == "subi" || name == "cmpi")
    return integerOperator(32);
  if (name == "muli")
    return integerProduct(32);
  return floatOperator(name, 32);
}

NestSchedule scheduleNest(const NestFacts &nest, bool reassociates) {
  NestSchedule schedule;
  for (int64_t trips : nest.trips)
    schedule.iterations *= trips;
  schedule.depth = latencyOf(nest.path);
  if (nest.trips.empty() || !nest.pipelined) {
    schedule.ii = 0;
    schedule.cycles = schedule.iterations * (schedule.depth + (nest.trips.empty() ? 0 : 1));
    return schedule;
  }
  schedule.ii = std::max<int64_t>(1, nest.ii);
  for (const ArrayAccess &access : nest.arrays)
    schedule.ii = std::max(schedule.ii, ceilDiv(access.together, portsOfBank));
  for (const QueueAccess &access : nest.queues)
    schedule.ii = std::max(schedule.ii, access.count);
  bool quick = false;
  for (const Recurrence &recurrence : nest.recurrences) {
    int64_t additions = additionsOf(recurrence.path);
    int64_t chain = latencyOf(recurrence.path);
    if (additions > 0) {
      const int64_t others = chain - additions * factsOperator("addf").latency;
      if (reassociates)
        additions = levelsOf(additions + 1);
      // Of load and store, one cycle lies between two additions.
      const int64_t between = (countOf(recurrence.path, "load") > 0 ? 1 : 0) + others -
                              latencyOf({{"load", countOf(recurrence.path, "load")}}) -
                              latencyOf({{"store", countOf(recurrence.path, "store")}});
      chain = additions * factsOperator("addf").latency + between;
      if (nest.asked && reassociates && chain > recurrence.distance * schedule.ii) {
        quick = true;
        chain = additions * quickBetween;
      }
    } else {
      chain = std::max<int64_t>(1, chain - factsOperator("load").latency);
    }
    schedule.ii = std::max(schedule.ii, ceilDiv(chain, recurrence.distance));
  }
  if (quick) {
    const int64_t levels = additionsOf(nest.path);
    schedule.depth -= levels * (factsOperator("addf").latency - quickAddition().latency);
    schedule.quickAdditions = additionsOf(nest.operators);
  }
  schedule.cycles = schedule.ii * (schedule.iterations - 1) + schedule.depth;
  return schedule;
}

} // namespace tilewright::hls
