//===- PipelineNest.h - a loop nest as a pipeline of stages -------------------------------===//
#ifndef TILEWRIGHT_TARGET_HLS_RTL_PIPELINENEST_H
#define TILEWRIGHT_TARGET_HLS_RTL_PIPELINENEST_H

#include "dialects/HLS/HLS.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "llvm/ADT/APInt.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace tilewright::hls {

/// A place along one dimension: multiples of the nest's counters and of the quotients made of them, and a constant.
struct IndexSum {
  std::vector<int64_t> factors; ///< none beyond its end
  int64_t constant = 0;

  int64_t factor(size_t number) const { return number < factors.size() ? factors[number] : 0; }
  bool operator==(const IndexSum &other) const;
};

/// A sum that is not negative, divided by a constant: its quotient, or what is left.
struct Quotient {
  IndexSum of;
  int64_t by = 1;
  bool isRest = false;
  bool operator==(const Quotient &other) const = default;
};

/// One operation of an iteration, of one copy of the body where loops are unrolled. It begins `start` cycles behind the
/// iteration, and its result is there `latency` cycles later.
struct Step {
  enum class Kind { Constant, Counter, Compute, Load, Store, Read, Write };
  Kind kind = Kind::Compute;
  mlir::Operation *op = nullptr;
  mlir::Value memory;           ///< the array or queue
  std::vector<IndexSum> at;     ///< of an element of it; of a Counter its one value
  std::vector<size_t> operands; ///< numbers of other steps; a store's or write's one is what it puts there
  llvm::APInt constant;
  unsigned width = 0, bits = 0; ///< of the type, and of the numbers it can be: what was widened keeps its bits
  int64_t start = 0, latency = 0;
  bool overwritten = false; ///< a store that a later one of the same iteration makes vain
  bool bypassed = false;    ///< a load that may come in the cycle in which its element is written
  int64_t ready() const { return start + latency; }
};

struct Counter {
  std::string name;
  int64_t from = 0, trips = 1;
};

/// Counters from the outermost; iterations begin `ii` cycles apart and take `depth` cycles each.
struct PipelineNest {
  std::string label;
  std::vector<Counter> counters;
  std::vector<Quotient> quotients; ///< numbered behind the counters; each of those before it
  std::vector<Step> steps;
  int64_t ii = 1, depth = 0, iterations = 1;
};

/// A sum where counters and quotients have these values.
int64_t valueOf(const IndexSum &place, llvm::ArrayRef<int64_t> counters);

/// Puts the values of all quotients behind those of the counters.
void fillQuotients(const PipelineNest &nest, llvm::MutableArrayRef<int64_t> counters);

/// Calls `visit` with the values of all counters and quotients, in order; false, and no call, if that took too long.
bool forEachIteration(const PipelineNest &nest, llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit);

/// The least and the largest value of a sum.
std::pair<int64_t, int64_t> rangeOf(const PipelineNest &nest, const IndexSum &place);

/// The nest that begins with `loop`. Problems, each with its line, are added; the nest is of no use then.
PipelineNest pipelineNest(mlir::affine::AffineForOp loop, std::vector<std::string> &problems);

/// "matmul (model.mlir:3): ": what a problem is about.
std::string whereOf(mlir::Operation *op);

} // namespace tilewright::hls

#endif
