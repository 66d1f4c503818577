//===- Operators.h - costs of the operators of a design ----------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_ESTIMATE_OPERATORS_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_ESTIMATE_OPERATORS_H

#include <cstdint>
#include <string_view>

namespace tilewright::hls {

/// One operator in hardware: cycles from operands to result if pipelined; multipliers, lookup tables, flip-flops.
struct OperatorCost {
  int64_t latency = 0, dsp = 0, lut = 0, ff = 0;
};

/// Returns the cost of the operator for the op `name` of MLIR on numbers of `width` bits. The table has float
/// operators. An operator that is not in the table takes one cycle of logic.
OperatorCost floatOperator(std::string_view name, unsigned width);

/// Returns the cost of a product of integers of this width.
OperatorCost integerProduct(unsigned width);

/// Returns the cost of any other integer operator of this width: an adder, a comparison, a shift.
OperatorCost integerOperator(unsigned width);

/// Returns the cost of an addition with a short latency and more logic, for sums whose next term waits for it.
OperatorCost quickAddition();

/// Returns the cost of a product by a double literal that is not exact in float (`x * 0.1`): widen, multiply in f64,
/// narrow.
OperatorCost productByDouble();

/// Returns the cost of the product in an address whose row length is not a power of two.
OperatorCost addressProduct();
/// Returns the cost of the product in an address that is computed in logic without a DSP.
OperatorCost addressInLogic();
/// Returns the cost of the product of 64 by 66 bits that replaces a division of a 64-bit index.
OperatorCost wideQuotient();

/// Return the costs of accesses of arrays and queues.
OperatorCost loadOperator();
OperatorCost storeOperator();
OperatorCost queueOperator();

/// Return the costs of logic around operators: counters and states of a nest, the selection of operands for a shared
/// operator, and one of several parallel queues.
OperatorCost nestControl();
OperatorCost sharedOperand();
OperatorCost queueLane();

} // namespace tilewright::hls

#endif
