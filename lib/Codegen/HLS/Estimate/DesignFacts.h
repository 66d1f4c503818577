//===- DesignFacts.h - the facts about a design that the estimator uses -------------------===//
//
// The facts are loops, counts and connections, without the ops themselves. Public designs are described in this form
// (test/Conformance/hls/public). Our own designs use the same table of operators, but the II of their schedules.
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
  /// Port: outside of the design. Channel: between two tasks; two arrays are used alternately. Held: an element is
  /// taken from a queue, and only the iterations right after that use it. Unread: no hardware.
  enum class Kind { Port, Local, Channel, Rom, Register, Held, Unread };
  Kind kind = Kind::Local;
  int64_t banks = 1, words = 0, bits = 32;
};

/// Parallel queues that are read and written at the same time.
struct QueueFacts {
  int64_t lanes = 1, depth = 2, bits = 32;
};

/// A condition on an iteration. The sum of the terms (coefficient times loop counter) and the constant is zero, or,
/// with `orMore`, at least zero.
struct Condition {
  std::vector<std::pair<size_t, int64_t>> terms; ///< loop of the nest, coefficient
  int64_t constant = 0;
  bool orMore = false;
};

struct QueueAccess {
  size_t queue = 0;
  bool writes = false;
  int64_t count = 1; ///< number per lane and iteration
  std::vector<Condition> when;
};

/// Accesses of one array per iteration, in the bank with the most accesses.
struct ArrayAccess {
  size_t array = 0;
  int64_t loads = 0, stores = 0, together = 0;
  int64_t ports = 2; ///< ports of the bank for this task; one if several tasks use an array outside of the design
};

/// An element that is written, and read again `distance` iterations later. `path` has the operators between the two
/// accesses. The operators of a sum are counted in source order.
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

/// A product in the computation of an address. An index that depends on counters of the flattened nest is multiplied by
/// a constant that is not a power of two. A counter of an outer loop needs no product: synthesis replaces the product
/// by a running sum.
struct AddressProduct {
  int64_t factor = 1; ///< the constant: number of words of a bank between two rows
  int64_t sums = 0;   ///< number of addresses in which the product is added to something else
  /// True if the product is known before the rest of the sum. If conditions split the iteration into blocks, synthesis
  /// hoists products that do not depend on the innermost counter out of the innermost loop. They are then separate from
  /// the addition. Synthesis does not hoist them after a queue that is read under a condition.
  bool ahead = false;
};

/// A flattened, pipelined loop nest. Loops inside the pipelined one are unrolled. A nest without trips is straight-line
/// code.
struct NestFacts {
  std::vector<int64_t> trips;
  int64_t ii = 1; ///< requested II
  bool pipelined = true;
  bool asked = true;              ///< the II comes from a directive, and quick additions are used to reach it
  OperatorCounts operators, path; ///< operators of all copies; operators on the longest path
  std::vector<AddressProduct> products;
  std::vector<int64_t> quotients; ///< bits of indices divided by a number of banks that is not a power of two
  std::vector<Recurrence> recurrences;
  SumColumns columns;
  std::vector<ArrayAccess> arrays;
  std::vector<QueueAccess> queues;
};

/// A step of a task: a nest, or a loop or call around other steps. A task runs its steps in order.
struct StepFacts {
  enum class Kind { Nest, Loop, Call };
  Kind kind = Kind::Nest;
  NestFacts nest;
  int64_t trips = 1;
  std::vector<StepFacts> inside;
};

struct TaskFacts {
  std::string name;
  std::vector<size_t> reads, writes; ///< channels that the task reads and writes
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
