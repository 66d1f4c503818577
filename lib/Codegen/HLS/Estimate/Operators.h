//===- Operators.h - costs of the operators of a design ----------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_ESTIMATE_OPERATORS_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_ESTIMATE_OPERATORS_H

#include <cstdint>
#include <string_view>

namespace tilewright::hls {

/// One operator in hardware: cycles from operands to result when pipelined; multipliers, lookup tables, flip-flops.
struct OperatorCost {
  int64_t latency = 0, dsp = 0, lut = 0, ff = 0;
};

/// Returns an operator by the name of its op in MLIR, on numbers of `width` bits; the table has float operators. An
/// operator that is not in the table takes one cycle of logic.
OperatorCost floatOperator(std::string_view name, unsigned width);

/// Returns a product of integers of that width.
OperatorCost integerProduct(unsigned width);

/// Returns any other integer operator of that width: an adder, a comparison, a shift.
OperatorCost integerOperator(unsigned width);

/// An addition with a short latency and more logic, for sums whose next term waits for it.
OperatorCost quickAddition();

/// A product by a double literal that is not exact in float (`x * 0.1`): widened, multiplied in f64, narrowed.
OperatorCost productByDouble();

/// The product in an address whose row length is not a power of two.
OperatorCost addressProduct();
/// The product in an address, computed in logic without a DSP.
OperatorCost addressInLogic();
/// The product of 64 by 66 bits that replaces a division of a 64-bit index.
OperatorCost wideQuotient();

/// Accesses of arrays and queues.
OperatorCost loadOperator();
OperatorCost storeOperator();
OperatorCost queueOperator();

/// Logic around operators: counters and states of a nest, the selection of operands for a shared operator, and one of
/// several parallel queues.
OperatorCost nestControl();
OperatorCost sharedOperand();
OperatorCost queueLane();

} // namespace tilewright::hls

#endif
