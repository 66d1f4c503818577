//===- Estimate.h - cycles and resources of a design, from its facts -------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_ESTIMATE_ESTIMATE_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_ESTIMATE_ESTIMATE_H

#include "lib/Codegen/HLS/Estimate/DesignFacts.h"

namespace tilewright::hls {

/// Returns the cost of the operator `name`, a key of OperatorCounts: "addf", "load", "store", "read", "write",
/// "address", ...
OperatorCost factsOperator(const std::string &name);

/// The schedule of a nest: the `ii` that resources and recurrences allow, the cycles of one iteration (`depth`), and
/// the cycles of all iterations.
struct NestSchedule {
  int64_t iterations = 1, ii = 1, depth = 0, cycles = 0;
  int64_t quickAdditions = 0; ///< number of additions that must be quick to reach this II
  /// Minimum numbers of instances, if more operations begin in one cycle than on average over the II.
  OperatorCounts together;
  bool portsAreFull = false; ///< all ports of a bank are used in every cycle
};
NestSchedule scheduleNest(const NestFacts &nest, bool reassociates);

/// Returns the numbers of operators that implement products in the computation of addresses, and divisions of indices
/// by numbers of banks. The keys are the names of the operators.
OperatorCounts addressOperators(const NestFacts &nest);

/// The cost of `copies` memories of `words` x `bits`: block memories of 18 kbit, UltraRAMs of 288 kbit, and logic.
struct MemoryCost {
  int64_t bram = 0, uram = 0, lut = 0, ff = 0;
};
MemoryCost memoryCost(int64_t words, int64_t bits, int64_t copies);

struct FactsEstimate {
  int64_t cycles = 0; ///< -1: a deadlock, in which the tasks wait for each other
  int64_t dsp = 0, bram = 0, uram = 0, lut = 0, ff = 0;
  OperatorCounts operators; ///< operators, by the names of their implementations
};
FactsEstimate estimateFacts(const DesignFacts &design);

} // namespace tilewright::hls

#endif
