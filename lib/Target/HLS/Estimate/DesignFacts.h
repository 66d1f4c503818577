//===- DesignFacts.h - what the estimator has to know of a design -------------------------===//
//
// Loops, counts and connections, without the ops themselves. Public designs are written down in this form
// (test/Conformance/hls/public); our own share the table of operators with them, and keep the II of their schedules.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_TARGET_HLS_ESTIMATE_DESIGNFACTS_H
#define TILEWRIGHT_TARGET_HLS_ESTIMATE_DESIGNFACTS_H

#include "lib/Target/HLS/Estimate/Operators.h"
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tilewright::hls {

inline int64_t ceilDiv(int64_t number, int64_t by) { return (number + by - 1) / by; }

/// How often each operator is there, by its name.
using OperatorCounts = std::map<std::string, int64_t>;

/// An array: `banks` memories of `words` words of `bits`.
struct ArrayFacts {
  /// Port: outside of the design. Channel: between two tasks, so two arrays in turn. Held: an
  /// element is taken from a queue and used by the iterations right after, and by no other. Unread: no hardware.
  enum class Kind { Port, Local, Channel, Rom, Register, Held, Unread };
  Kind kind = Kind::Local;
  int64_t banks = 1, words = 0, bits = 32;
};

/// Queues side by side, all read and written together.
struct QueueFacts {
  int64_t lanes = 1, depth = 2, bits = 32;
};

/// An iteration does it only where this sum of coefficients times loop counters, plus a constant, is zero, or not less.
struct Condition {
  std::vector<std::pair<size_t, int64_t>> terms; ///< loop of the nest, coefficient
  int64_t constant = 0;
  bool orMore = false;
};

struct QueueAccess {
  size_t queue = 0;
  bool writes = false;
  int64_t count = 1; ///< of one lane, in one iteration
  std::vector<Condition> when;
};

/// Accesses of one array in an iteration, of the bank with the most.
struct ArrayAccess {
  size_t array = 0;
  int64_t loads = 0, stores = 0, together = 0;
  int64_t ports = 2; ///< of the bank, for this task: one, where several tasks use an array outside of the design
};

/// An element that is written and read again `distance` iterations later, by way of these operators, a sum's in the
/// order in which they are written.
struct Recurrence {
  int64_t distance = 1;
  OperatorCounts path;
};

/// Sums side by side in an unrolled loop, the only one inside the one that adds their terms.
struct SumColumns {
  int64_t count = 0;
  bool lastIndex = false;  ///< is its counter the last index of the elements?
  bool conditions = false; ///< does each term have a condition of its own?
};

/// A constant that is no power of two times an index that counters of the flattened nest take part in, on the way to a
/// place in an array. A counter of a loop outside of the flattened nest needs none: its product is kept as a sum.
struct AddressProduct {
  int64_t factor = 1; ///< the constant: words of a bank between two rows
  int64_t sums = 0;   ///< places that it is added to something else for
  /// Is it known before the rest of the sum? Synthesis moves what the innermost counter takes no part in out of the
  /// innermost loop, away from the addition, where conditions cut the iteration into blocks. It does not behind a
  /// queue that is read under a condition.
  bool ahead = false;
};

/// A pipelined loop nest, flattened, with all that lies in the pipelined loop unrolled; without trips, a line of code.
struct NestFacts {
  std::vector<int64_t> trips;
  int64_t ii = 1; ///< asked for
  bool pipelined = true;
  bool asked = true;              ///< is the II a directive, for which quick additions are taken?
  OperatorCounts operators, path; ///< all copies; those of the longest way
  std::vector<AddressProduct> products;
  std::vector<int64_t> quotients; ///< bits of indices that are divided by banks, no power of two
  std::vector<Recurrence> recurrences;
  SumColumns columns;
  std::vector<ArrayAccess> arrays;
  std::vector<QueueAccess> queues;
};

/// What a task does one after another: nests, and loops and calls around more of that.
struct StepFacts {
  enum class Kind { Nest, Loop, Call };
  Kind kind = Kind::Nest;
  NestFacts nest;
  int64_t trips = 1;
  std::vector<StepFacts> inside;
};

struct TaskFacts {
  std::string name;
  std::vector<size_t> reads, writes; ///< channels
  std::vector<StepFacts> steps;
};

struct DesignFacts {
  std::string name;
  bool reassociates = false; ///< may sums be added as a tree?
  std::vector<ArrayFacts> arrays;
  std::vector<QueueFacts> queues;
  std::vector<TaskFacts> tasks;
};

} // namespace tilewright::hls

#endif
