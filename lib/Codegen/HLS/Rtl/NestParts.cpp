//===- NestParts.cpp - hardware parts of the operations of a nest ---------------------------===//
//
// RtlParts.cpp has a rule for the lookup tables of each kind of part, such as an adder, a comparison or a multiplexer.
// This file maps operations to parts and computes their widths in bits. If a sum is stored as a byte, for example, its
// upper bits are unused, and synthesis removes them.
//
// Test: test/Conformance/hls (rtl)
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/Rtl/NestParts.h"
#include "lib/Codegen/HLS/Cost.h"
#include "lib/Codegen/HLS/Rtl/IndexText.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::hls {

NestParts::NestParts(const PipelineNest &nest, RtlParts &parts) : nest(nest), parts(parts) { findWanted(); }

bool NestParts::isConstant(const Step &step, size_t operand) const {
  return nest.steps[step.operands[operand]].kind == Step::Kind::Constant;
}
bool NestParts::isZero(const Step &step, size_t operand) const {
  return isConstant(step, operand) && nest.steps[step.operands[operand]].constant.isZero();
}

int64_t NestParts::zeros(const Step &step, size_t operand) const {
  const Step &its = nest.steps[step.operands[operand]];
  return its.kind == Step::Kind::Compute && isa<arith::ShLIOp>(its.op) && isConstant(its, 1)
             ? nest.steps[its.operands[1]].constant.getSExtValue()
             : 0;
}

/// Computes how many low bits of each step's result are used, from the last step to the first.
void NestParts::findWanted() {
  wanted.assign(nest.steps.size(), 0);
  for (size_t number = nest.steps.size(); number-- > 0;) {
    const Step &step = nest.steps[number];
    wanted[number] = std::min<int64_t>(wanted[number], step.bits);
    auto want = [&](size_t operand, int64_t bits) {
      const size_t its = step.operands[operand];
      wanted[its] = std::max(wanted[its], std::min<int64_t>(bits, nest.steps[its].bits));
    };
    const int64_t bits = wanted[number];
    auto constant = [&](size_t operand) { return nest.steps[step.operands[operand]].constant.getSExtValue(); };
    for (size_t operand = 0; operand < step.operands.size(); ++operand) {
      if (step.kind != Step::Kind::Compute)
        want(operand, nest.steps[step.operands[operand]].bits); // a store uses all bits
      else if (isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp,
                   arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::IndexCastOp>(step.op) ||
               (isa<arith::SelectOp>(step.op) && operand > 0))
        want(operand, bits);
      else if (isa<arith::ShLIOp>(step.op) && operand == 0 && isConstant(step, 1))
        want(operand, std::max<int64_t>(0, bits - constant(1)));
      else if (isa<arith::ShRSIOp, arith::ShRUIOp>(step.op) && operand == 0 && isConstant(step, 1))
        want(operand, bits + constant(1));
      else
        want(operand, nest.steps[step.operands[operand]].bits);
    }
  }
}

int64_t NestParts::operation(size_t number) {
  const Step &step = nest.steps[number];
  const int64_t bits = wanted[number];
  auto wide = [&](size_t operand) { return wanted[step.operands[operand]]; };
  int64_t inside = 0;
  llvm::TypeSwitch<Operation *>(step.op)
      .Case<arith::AddIOp, arith::SubIOp>([&](auto) {
        int64_t sum = std::min(bits, std::max(wide(0), wide(1)) + 1);
        // The low bits that a left shift sets to zero need no adder: the result has the bits of the other operand.
        const int64_t lowest = std::max(isa<arith::AddIOp>(step.op) ? zeros(step, 0) : 0, zeros(step, 1));
        sum -= std::min(sum, lowest);
        if (isConstant(step, 1))
          parts.addConstant(sum);
        else
          parts.adder(sum);
      })
      .Case([&](arith::MulIOp op) {
        const int64_t multipliers = operatorCost(op).dsp;
        parts.product(std::max(wide(0), wide(1)), bits, multipliers);
        inside = multipliers > 0 ? 2 : 0;
      })
      .Case<arith::AndIOp, arith::OrIOp, arith::XOrIOp>([&](auto) { parts.gates(isConstant(step, 1) ? 0 : bits); })
      .Case<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>([&](auto) {
        if (!isConstant(step, 1))
          parts.shift(bits);
      })
      .Case([&](arith::SelectOp) {
        const bool isGate = isConstant(step, 1) || isConstant(step, 2); // a select with a constant is one gate per bit
        if (!isGate || !absorbing.count(step.operands[isConstant(step, 1) ? 2 : 1]))
          parts.select(2, bits);
      })
      .Case<arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp>([&](auto) {
        if (isZero(step, 1)) // for max(x, 0) and min(x, 0), the sign bit of x resets the result's register
          return parts.gates(step.latency > 0 ? 1 : bits);
        parts.lessThan(isConstant(step, 1) ? bits / 2 : bits);
        parts.select(2, bits);
      })
      .Case([&](arith::CmpIOp compare) {
        const int64_t both = std::max(wide(0), wide(1));
        const bool equality =
            compare.getPredicate() == arith::CmpIPredicate::eq || compare.getPredicate() == arith::CmpIPredicate::ne;
        if (equality && isConstant(step, 1))
          parts.equalConstant(wide(0));
        else if (equality)
          parts.equal(both);
        else if (!isZero(step, 1))
          parts.lessThan(isConstant(step, 1) ? both / 2 : both);
      });
  return inside;
}

/// Each term is a counter or a quotient that is shifted left by `bit`, so its lowest `bit` bits are zero. An adder
/// needs no logic for these bits.
void NestParts::sum(const IndexSum &sum, const std::string &prefix, int64_t stage) {
  const int64_t bits = bitsUpTo(std::max<int64_t>(1, rangeOf(nest, sum).second)) + 1;
  std::string key = prefix + "sum at " + std::to_string(stage);
  std::optional<int64_t> lowest;
  for (auto [number, factor] : llvm::enumerate(sum.factors))
    for (int64_t bit = 0; factor != 0 && (std::abs(factor) >> bit); ++bit) {
      if (!(std::abs(factor) >> bit & 1))
        continue;
      key += " " + std::to_string(number) + "<<" + std::to_string(bit);
      if (lowest && parts.first(key))
        parts.adder(std::max<int64_t>(1, bits - std::max(*lowest, bit)));
      lowest = std::min(lowest.value_or(bit), bit);
    }
  if (lowest && sum.constant != 0 && parts.first(key + " + " + std::to_string(sum.constant)))
    parts.addConstant(bits - llvm::countr_zero(uint64_t(sum.constant)));
}

} // namespace tilewright::hls
