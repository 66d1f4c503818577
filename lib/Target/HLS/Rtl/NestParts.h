//===- NestParts.h - what the operations of a nest are made of ------------------------------===//
#ifndef TILEWRIGHT_TARGET_HLS_RTL_NESTPARTS_H
#define TILEWRIGHT_TARGET_HLS_RTL_NESTPARTS_H

#include "lib/Target/HLS/Rtl/PipelineNest.h"
#include "lib/Target/HLS/Rtl/RtlParts.h"

namespace tilewright::hls {

/// Of a nest, counted into `parts`.
class NestParts {
public:
  NestParts(const PipelineNest &nest, RtlParts &parts);

  /// Bits of a step's result that anything depends on: tools leave the others out.
  int64_t bitsOf(size_t number) const { return wanted[number]; }

  /// A multiplexer makes the step's result, and its lookup tables have room for a gate behind it: where a sum begins.
  void hasRoom(size_t number) { roomy.insert(number); }

  /// Counts an operation; returns how many of the registers behind it lie within multipliers.
  int64_t operation(size_t number);

  /// Counts the adders of a place, in the stage where it is needed. `prefix` is the nest's.
  void place(const IndexSum &place, const std::string &prefix, int64_t stage);

private:
  void findWanted();
  bool isConstant(const Step &step, size_t operand) const;
  bool isZero(const Step &step, size_t operand) const;
  /// The lowest bits of an operand that are known to be 0: of what is shifted up.
  int64_t zeros(const Step &step, size_t operand) const;

  const PipelineNest &nest;
  RtlParts &parts;
  std::vector<int64_t> wanted;
  std::set<size_t> roomy;
};

} // namespace tilewright::hls

#endif
