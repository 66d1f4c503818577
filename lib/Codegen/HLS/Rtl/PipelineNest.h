//===- PipelineNest.h - a loop nest as a pipeline of stages -------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_RTL_PIPELINENEST_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_RTL_PIPELINENEST_H

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

/// An index along one dimension: a sum of multiples of the nest's counters and of the nest's quotients, plus a
/// constant.
struct IndexSum {
  std::vector<int64_t> factors; ///< factors of the counters, then of the quotients; missing factors are zero
  int64_t constant = 0;

  int64_t factor(size_t number) const { return number < factors.size() ? factors[number] : 0; }
  bool operator==(const IndexSum &other) const;
};

/// The quotient or the remainder of a non-negative sum and a constant.
struct Quotient {
  IndexSum of;
  int64_t by = 1;
  bool isRest = false;
  bool operator==(const Quotient &other) const = default;
};

/// One operation of an iteration. Each unrolled copy of an operation is a separate step. A step begins `start` cycles
/// after the iteration begins, and its result is ready `latency` cycles later.
struct Step {
  enum class Kind { Constant, Counter, Compute, Load, Store, Read, Write };
  Kind kind = Kind::Compute;
  mlir::Operation *op = nullptr;
  mlir::Value memory;           ///< array or queue that the step accesses
  std::vector<IndexSum> at;     ///< indices of the accessed element; for a Counter, the value of the step
  std::vector<size_t> operands; ///< indices of other steps; for a store or write, the step that computes the value
  llvm::APInt constant;
  /// `width` is the number of bits of the type, and `bits` is a number of low bits that represent every value. A sign
  /// extension increases only `width`.
  unsigned width = 0, bits = 0;
  int64_t start = 0, latency = 0;
  bool overwritten = false; ///< a later store of the same iteration overwrites this store
  bool bypassed = false;    ///< this load may be in the cycle in which its element is written
  int64_t ready() const { return start + latency; }
};

struct Counter {
  std::string name;
  int64_t from = 0, trips = 1;
};

/// A pipelined nest. The first counter is that of the outermost loop. An iteration begins every `ii` cycles and takes
/// `depth` cycles.
struct PipelineNest {
  std::string label;
  std::vector<Counter> counters;
  std::vector<Quotient> quotients; ///< quotients are numbered after the counters; each may use earlier ones
  std::vector<Step> steps;
  int64_t ii = 1, depth = 0, iterations = 1;
};

/// Returns the value of `index` for the given values of counters and quotients.
int64_t valueOf(const IndexSum &index, llvm::ArrayRef<int64_t> counters);

/// Writes the values of all quotients into `counters`, after the values of the counters.
void fillQuotients(const PipelineNest &nest, llvm::MutableArrayRef<int64_t> counters);

/// Calls `visit` for every iteration, in order, with the values of all counters and quotients. If there are too many
/// iterations to enumerate, returns false and does not call `visit`.
bool forEachIteration(const PipelineNest &nest, llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit);

/// Returns a lower and an upper bound of the values of `index` in all iterations.
std::pair<int64_t, int64_t> rangeOf(const PipelineNest &nest, const IndexSum &index);

/// Returns the nest that begins with `loop`. Adds problems with their source lines to `problems`; the nest is then
/// invalid.
PipelineNest pipelineNest(mlir::affine::AffineForOp loop, std::vector<std::string> &problems);

/// Returns the location of `op` as the prefix of an error message, such as "matmul (model.mlir:3): ".
std::string locationText(mlir::Operation *op);

} // namespace tilewright::hls

#endif
