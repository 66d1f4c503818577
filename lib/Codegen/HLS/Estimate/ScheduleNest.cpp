//===- ScheduleNest.cpp - the II and depth of a loop nest -----------------===//
//
// The II is the largest of four numbers: the requested II; the accesses to one bank divided by its ports; the accesses
// to one queue; and the latency of the operators between two accesses of an element, divided by the number of
// iterations between them. If sums may be reassociated, each sum is computed as a tree. The accumulated element, for
// which the next iteration waits, then passes through only one addition per level of the tree. If the latency of such a
// tree is still the limit, and the II comes from a directive, the additions between the two accesses become quick
// additions (Operators.h).
//
// Test: test/Python/test_hls_estimate.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/Estimate/Estimate.h"
#include "lib/Codegen/HLS/Estimate/SumTrees.h"
#include <algorithm>

namespace tilewright::hls {
namespace {

/// The number of cycles from the start of a quick addition to the start of the next quick addition that uses its
/// result.
constexpr int64_t quickBetween = 4;
/// The number of cycles of a store and of the following load of the same element.
constexpr int64_t intoArray = 2;

int64_t countOf(const OperatorCounts &counts, const char *name) {
  auto found = counts.find(name);
  return found == counts.end() ? 0 : found->second;
}

int64_t additionsOf(const OperatorCounts &counts) { return countOf(counts, "addf") + countOf(counts, "subf"); }

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
    schedule.ii = std::max(schedule.ii, ceilDiv(access.together, access.ports));
  for (const QueueAccess &access : nest.queues)
    schedule.ii = std::max(schedule.ii, access.count);
  const int64_t slow = factsOperator("addf").latency;
  // The element that an iteration stores is forwarded to the next iteration, unless other elements of the same bank are
  // also stored.
  const bool othersAreWritten = std::any_of(nest.arrays.begin(), nest.arrays.end(), [](const ArrayAccess &access) {
    return access.loads > 1 && access.stores > 1 && access.together > 0;
  });
  for (const Recurrence &recurrence : nest.recurrences) {
    const int64_t terms = additionsOf(recurrence.path), distance = recurrence.distance;
    int64_t chain = latencyOf(recurrence.path);
    const auto memory = [&](const char *name) { return latencyOf({{name, countOf(recurrence.path, name)}}); };
    if (terms == 0) {
      chain = std::max<int64_t>(1, chain - memory("load"));
    } else {
      const int64_t others = chain - terms * slow - memory("load") - memory("store");
      const int64_t levels = reassociates ? levelsInTree(nest, terms) : terms,
                    sums = additionsOf(nest.operators) / terms;
      // An iteration reads the element that an earlier iteration has stored in the array. If other iterations are
      // between the two (distance > 1), an addition starts in the cycle in which the previous addition ends.
      const auto slowChain = [&](int64_t through) {
        return distance > 1 ? through * (slow - 1) + others + intoArray
                            : through * slow + others + (memory("load") > 0 ? 1 : 0);
      };
      const auto quickChain = [&](int64_t through) {
        return through * quickBetween + others +
               (distance > 1                             ? intoArray
                : memory("load") > 0 && othersAreWritten ? intoArray + 1
                                                         : 0);
      };
      // If the latency with some additions outside of the tree, which is longer, still allows this II, synthesis leaves
      // these additions outside of the tree. This rule is derived from one public design.
      int64_t outside = 0;
      if (reassociates && distance > 1 && quickChain(levelsOutsideTree(terms)) <= distance * schedule.ii)
        outside = sumsOutsideTree(nest.columns, sums);
      const int64_t most = outside > 0 ? levelsOutsideTree(terms) : levels;
      chain = slowChain(most);
      if (nest.asked && reassociates && chain > distance * (distance > 1 ? schedule.ii : nest.ii)) {
        const int64_t raised = std::max(schedule.ii, ceilDiv(quickChain(most), distance)), time = distance * raised;
        // The additions on the path of the accumulated element become quick additions. If slow additions would also
        // allow the raised II, only the additions of one sum become quick additions.
        schedule.depth -= levels * (slow - quickAddition().latency);
        const auto inTime = [&](int64_t through) { return distance > 1 && slowChain(through) <= time; };
        if (inTime(most))
          schedule.quickAdditions += levels;
        else
          schedule.quickAdditions += outside * most + (inTime(levels) ? 0 : (sums - outside) * levels);
        chain = quickChain(most);
        if (distance == 1) {
          // Additions that are not on the path of the accumulated element remain slow. Each adder starts one of them in
          // each cycle of the II. If sums have at least four terms and the II does not divide the number of slow
          // additions, one more adder is needed. Sums of exactly four terms are an exception, unless other elements of
          // the same bank are also stored. Their slow additions must start within the cycles of one level of the tree,
          // so an adder executes only `quickBetween` of these additions. The products then start in slightly more than
          // half of the cycles of the II.
          const int64_t slowOnes = sums * (terms - levels), products = countOf(nest.operators, "mulf");
          const bool fourTerms = terms == 4 && !othersAreWritten;
          if (fourTerms)
            schedule.together = {{"addf", ceilDiv(slowOnes, quickBetween)},
                                 {"mulf", ceilDiv(48 * products, 25 * raised)}};
          else if (terms >= 4 && slowOnes % raised != 0)
            schedule.together["addf"] = ceilDiv(slowOnes, raised) + 1;
        }
        schedule.ii = raised;
      }
    }
    schedule.ii = std::max(schedule.ii, ceilDiv(chain, distance));
  }
  for (const ArrayAccess &access : nest.arrays)
    schedule.portsAreFull |= access.together >= schedule.ii * access.ports;
  schedule.cycles = schedule.ii * (schedule.iterations - 1) + schedule.depth;
  return schedule;
}

} // namespace tilewright::hls
