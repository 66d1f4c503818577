//===- NestParts.h - hardware parts of the operations of a nest -----------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_RTL_NESTPARTS_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_RTL_NESTPARTS_H

#include "lib/Codegen/HLS/Rtl/PipelineNest.h"
#include "lib/Codegen/HLS/Rtl/RtlParts.h"

namespace tilewright::hls {

/// Counts the hardware parts of a nest (adders, multiplexers, ...) in `parts`.
class NestParts {
public:
  NestParts(const PipelineNest &nest, RtlParts &parts);

  /// Returns how many bits of a step's result are used. Synthesis tools remove the other bits.
  int64_t bitsOf(size_t number) const { return wanted[number]; }

  /// Records that the multiplexer that computes the step's result can also implement the gate after it, such as the
  /// gate that replaces an element by 0 in the first iteration of a sum.
  void markAbsorbing(size_t number) { absorbing.insert(number); }

  /// Counts an operation. Returns how many of the pipeline registers of its result are inside multipliers.
  int64_t operation(size_t number);

  /// Counts the adders that compute an index in stage `stage`. `prefix` is the prefix of the names in the nest.
  void sum(const IndexSum &sum, const std::string &prefix, int64_t stage);

private:
  void findWanted();
  bool isConstant(const Step &step, size_t operand) const;
  bool isZero(const Step &step, size_t operand) const;
  /// Returns the number of lowest bits of an operand that are known to be 0 because it was shifted left.
  int64_t zeros(const Step &step, size_t operand) const;

  const PipelineNest &nest;
  RtlParts &parts;
  std::vector<int64_t> wanted;
  std::set<size_t> absorbing;
};

} // namespace tilewright::hls

#endif
