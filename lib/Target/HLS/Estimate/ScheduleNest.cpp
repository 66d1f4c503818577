//===- ScheduleNest.cpp - the II and the depth of a loop nest ------------------------------===//
//
// The II is the largest of what was asked for, of accesses to one bank over its two ports, of accesses to one queue,
// and of operators between two visits to one element over the iterations between them. Where only that last one is in
// the way, additions on it become quick ones. A sum that may be added as a tree is one as a whole: the element that
// waits goes through its levels.
//
// Test: test/Python/test_hls_score.py
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

/// Additions on each level of a balanced tree of an element and of the terms that are added to it.
std::vector<int64_t> levelsOf(int64_t terms) {
  std::vector<int64_t> levels;
  for (int64_t leaves = terms + 1; leaves > 1; leaves -= levels.back())
    levels.push_back(leaves / 2);
  return levels;
}

/// Does the element, being one too many for pairs, join the tree at its second level only? Synthesis does so for most
/// even numbers of terms; with an iteration that waits for the one before, for powers of two.
bool joinsLate(int64_t terms, int64_t distance) {
  const bool isPower = (terms & (terms - 1)) == 0;
  return terms % 2 == 0 && terms != 4 && (distance > 1 || isPower);
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
  if (name == "address in logic")
    return addressInLogic();
  if (name == "wide quotient")
    return wideQuotient();
  if (name == "quick addition")
    return quickAddition();
  if (name == "mulf by double")
    return productByDouble();
  if (name == "nest")
    return nestControl();
  if (name == "shared operand")
    return sharedOperand();
  if (name == "queue")
    return queueLane();
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
  const int64_t slow = factsOperator("addf").latency;
  for (const Recurrence &recurrence : nest.recurrences) {
    const int64_t terms = additionsOf(recurrence.path), distance = recurrence.distance;
    int64_t chain = latencyOf(recurrence.path);
    const auto memory = [&](const char *name) { return latencyOf({{name, countOf(recurrence.path, name)}}); };
    if (terms == 0) {
      chain = std::max<int64_t>(1, chain - memory("load"));
    } else {
      const int64_t others = chain - terms * slow - memory("load") - memory("store");
      const std::vector<int64_t> tree = reassociates ? levelsOf(terms) : std::vector<int64_t>(terms, 1);
      const size_t first = reassociates && joinsLate(terms, distance) ? 1 : 0;
      const int64_t levels = tree.size() - first;
      // An iteration that waits for the one before goes by way of the array.
      chain = levels * slow + others + (distance == 1 && memory("load") > 0 ? 1 : 0);
      if (nest.asked && reassociates && chain > distance * schedule.ii) {
        int64_t quick = levels; // the last level is slow where there is more than one iteration's time
        if (distance > 1) {
          const int64_t least = (levels - 1) * quickBetween + slow + others;
          schedule.ii = std::max(schedule.ii, ceilDiv(least, distance));
          quick = std::clamp<int64_t>(ceilDiv(chain - distance * schedule.ii, slow - quickBetween), 0, levels - 1);
          chain = least;
        } else {
          chain = levels * quickBetween + others;
        }
        schedule.depth -= quick * (slow - quickAddition().latency);
        for (int64_t level = 0; level < quick; ++level)
          if (distance > 1 || terms == 1 || first + level > 0)
            schedule.quickAdditions += tree[first + level] * (additionsOf(nest.operators) / terms);
      }
    }
    schedule.ii = std::max(schedule.ii, ceilDiv(chain, distance));
  }
  schedule.cycles = schedule.ii * (schedule.iterations - 1) + schedule.depth;
  return schedule;
}

} // namespace tilewright::hls
