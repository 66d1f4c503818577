//===- DesignFacts.h - the facts about a design that the estimator uses -------------------===//
//
// Loops, counts and connections, without the ops themselves. Public designs are described in this form
// (test/Conformance/hls/public). Our own designs share the table of operators with them, but keep the II of their
// schedules.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_ESTIMATE_DESIGNFACTS_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_ESTIMATE_DESIGNFACTS_H

#include "lib/Codegen/HLS/Estimate/Operators.h"
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tilewright::hls {

/// Returns number / by, rounded up; neither is negative. This folder is free of LLVM, which has divideCeil.
inline int64_t ceilDiv(int64_t number, int64_t by) { return (number + by - 1) / by; }

/// Number of instances of each operator, by its name.
using OperatorCounts = std::map<std::string, int64_t>;

/// An array: `banks` memories of `words` words of `bits`.
struct ArrayFacts {
  /// Port: outside of the design. Channel: between two tasks, so it is two arrays that are used alternately. Held: an
  /// element is taken from a queue and used only by the iterations right after that. Unread: no hardware.
  enum class Kind { Port, Local, Channel, Rom, Register, Held, Unread };
  Kind kind = Kind::Local;
  int64_t banks = 1, words = 0, bits = 32;
};

/// Parallel queues that are read and written together.
struct QueueFacts {
  int64_t lanes = 1, depth = 2, bits = 32;
};

/// A condition on an iteration: the sum of the terms (coefficient times loop counter) and the constant is zero, or with
/// `orMore` at least zero.
struct Condition {
  std::vector<std::pair<size_t, int64_t>> terms; ///< loop of the nest, coefficient
  int64_t constant = 0;
  bool orMore = false;
};

struct QueueAccess {
  size_t queue = 0;
  bool writes = false;
  int64_t count = 1; ///< per lane and iteration
  std::vector<Condition> when;
};

/// Accesses of one array per iteration, in the bank with the most accesses.
struct ArrayAccess {
  size_t array = 0;
  int64_t loads = 0, stores = 0, together = 0;
  int64_t ports = 2; ///< of the bank, for this task; one if several tasks use an array outside of the design
};

/// An element that is written and read again `distance` iterations later. `path` has the operators in between; a sum's
/// operators are counted in source order.
struct Recurrence {
  int64_t distance = 1;
  OperatorCounts path;
};

/// Parallel sums in an unrolled loop, which is the only loop inside the one that adds their terms.
struct SumColumns {
  int64_t count = 0;
  bool lastIndex = false;  ///< its counter is the last index of the elements
  bool conditions = false; ///< each term has a separate condition
};

/// A product in the computation of an address: an index that depends on counters of the flattened nest, times a
/// constant that is not a power of two. A counter of an outer loop needs no product, because synthesis keeps it as a
/// running sum.
struct AddressProduct {
  int64_t factor = 1; ///< the constant: words of a bank between two rows
  int64_t sums = 0;   ///< number of addresses in which it is added to something else
  /// True if the product is known before the rest of the sum. If conditions split the iteration into blocks, synthesis
  /// moves products that do not depend on the innermost counter out of the innermost loop, and so away from the
  /// addition. It does not do so after a queue that is read under a condition.
  bool ahead = false;
};

/// A flattened, pipelined loop nest; loops inside the pipelined one are unrolled. Without trips, straight-line code.
struct NestFacts {
  std::vector<int64_t> trips;
  int64_t ii = 1; ///< requested II
  bool pipelined = true;
  bool asked = true;              ///< the II is a directive, and quick additions are used to reach it
  OperatorCounts operators, path; ///< of all copies; of the longest path
  std::vector<AddressProduct> products;
  std::vector<int64_t> quotients; ///< bits of indices that are divided by a number of banks that is not a power of two
  std::vector<Recurrence> recurrences;
  SumColumns columns;
  std::vector<ArrayAccess> arrays;
  std::vector<QueueAccess> queues;
};

/// A step of a task, which runs its steps in order: a nest, or a loop or call around other steps.
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
  bool reassociates = false; ///< sums may be added as a tree
  std::vector<ArrayFacts> arrays;
  std::vector<QueueFacts> queues;
  std::vector<TaskFacts> tasks;
};

} // namespace tilewright::hls

#endif
