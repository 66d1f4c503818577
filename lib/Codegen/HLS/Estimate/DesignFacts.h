//===- DesignFacts.h - the facts about a design that the estimator uses -------------------===//
//
// The facts describe the loops of a design, the numbers of operators, and the connections between tasks, but not the
// ops themselves. Public designs are described in this form (test/Conformance/hls/public). Designs of Tilewright are
// estimated from their IR (Cost.cpp), with the same table of operators and with the II of their schedules.
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

/// Returns number / by, rounded up. Both must not be negative. LLVM has such a function, divideCeil(), but this folder
/// does not depend on LLVM.
inline int64_t ceilDiv(int64_t number, int64_t by) { return (number + by - 1) / by; }

/// Number of instances of each operator, by its name.
using OperatorCounts = std::map<std::string, int64_t>;

/// An array: `banks` memories, each of `words` words of `bits` bits.
struct ArrayFacts {
  /// Port: an array outside of the design. Channel: an array between two tasks, implemented as two arrays that are used
  /// alternately. Held: an element that an iteration reads from a queue, and that only later iterations use. Unread: an
  /// array without loads, which needs no hardware.
  enum class Kind { Port, Local, Channel, Rom, Register, Held, Unread };
  Kind kind = Kind::Local;
  int64_t banks = 1, words = 0, bits = 32;
};

/// A group of parallel queues (lanes) that are read and written at the same time.
struct QueueFacts {
  int64_t lanes = 1, depth = 2, bits = 32;
};

/// A condition on the loop counters of an iteration: the sum of the terms (coefficient times counter) and the constant
/// is zero. With `orMore`, the condition is that this sum is at least zero.
struct Condition {
  std::vector<std::pair<size_t, int64_t>> terms; ///< pairs of a loop of the nest and its coefficient
  int64_t constant = 0;
  bool orMore = false;
};

struct QueueAccess {
  size_t queue = 0;
  bool writes = false;
  int64_t count = 1; ///< number per lane and iteration
  std::vector<Condition> when;
};

/// The number of accesses of one array per iteration, in the bank that has the most accesses.
struct ArrayAccess {
  size_t array = 0;
  int64_t loads = 0, stores = 0, together = 0;
  /// Number of the bank's ports for this task; one if several tasks use an array outside of the design.
  int64_t ports = 2;
};

/// An element that is written, and read again `distance` iterations later. `path` contains the operators between this
/// read and the next write of the element. The operators of a sum are counted as if the sum were computed in source
/// order.
struct Recurrence {
  int64_t distance = 1;
  OperatorCounts path;
};

/// Parallel sums in an unrolled loop, which is the only loop inside the loop that adds the terms of the sums.
struct SumColumns {
  int64_t count = 0;
  bool lastIndex = false;  ///< true: the counter of the unrolled loop is the last index of the elements
  bool conditions = false; ///< true: each term has a separate condition
};

/// A product in the computation of an address: an index that depends on counters of the flattened nest, times a
/// constant that is not a power of two. If an index depends only on counters of outer loops, synthesis replaces the
/// product by a running sum.
struct AddressProduct {
  int64_t factor = 1; ///< the constant, which is the number of words of a bank between two rows
  int64_t sums = 0;   ///< number of addresses in which the product is added to something else
  /// True if the product is available before the other operand of the sum. If conditions split the iteration into basic
  /// blocks, synthesis hoists products that do not depend on the innermost counter out of the innermost loop. These
  /// products are then separate from the addition. Synthesis does not hoist products that come after a conditional read
  /// of a queue.
  bool ahead = false;
};

/// A flattened loop nest, which is pipelined if `pipelined` is true. Loops inside the pipelined loop are unrolled. A
/// nest without loops is straight-line code.
struct NestFacts {
  std::vector<int64_t> trips;
  int64_t ii = 1; ///< requested II
  bool pipelined = true;
  bool asked = true;              ///< true: the II comes from a directive, and quick additions are used to reach it
  OperatorCounts operators, path; ///< operators of all copies; operators on the longest path
  std::vector<AddressProduct> products;
  /// For each index that is divided by a number of banks other than a power of two: its bits.
  std::vector<int64_t> quotients;
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
  bool reassociates = false; ///< true: sums may be added as a tree
  std::vector<ArrayFacts> arrays;
  std::vector<QueueFacts> queues;
  std::vector<TaskFacts> tasks;
};

} // namespace tilewright::hls

#endif
