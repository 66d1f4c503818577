//===- Operators.h - costs of the operators of a design ----------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_ESTIMATE_OPERATORS_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_ESTIMATE_OPERATORS_H

#include <cstdint>
#include <string_view>

namespace tilewright::hls {

/// The cost of one hardware operator: the latency in cycles if it is pipelined, and the numbers of DSP slices, lookup
/// tables and flip-flops.
struct OperatorCost {
  int64_t latency = 0, dsp = 0, lut = 0, ff = 0;
};

/// Returns the cost of the float op `name` of MLIR (such as "addf") on operands of `width` bits. An op without a row in
/// the table has the cost of a function of C's math library if it is one of these functions. Otherwise it is assumed to
/// take one cycle of logic.
OperatorCost floatOperator(std::string_view name, unsigned width);

/// Returns the cost of a product of integers of this width.
OperatorCost integerProduct(unsigned width);

/// Returns the cost of any other integer operator of this width, such as an adder, a comparison or a shift.
OperatorCost integerOperator(unsigned width);

/// Returns the cost of a "quick addition": an addition with a shorter latency and more logic. HLS tools use it if the
/// next addition of a sum waits for the result.
OperatorCost quickAddition();

/// Returns the cost of a product of a float and a double literal that float cannot represent, such as `x * 0.1`: an
/// extension to f64, a product in f64, and a truncation.
OperatorCost productByDouble();

/// Returns the cost of a product in an address (AddressProducts.cpp) that a DSP slice computes.
OperatorCost addressProduct();
/// Returns the cost of a product in an address that lookup tables compute, without a DSP slice.
OperatorCost addressInLogic();
/// Returns the cost of the product of a 64-bit and a 66-bit operand that replaces a division of a 64-bit index.
OperatorCost wideQuotient();

/// Return the costs of accesses to arrays and queues.
OperatorCost loadOperator();
OperatorCost storeOperator();
OperatorCost queueOperator();

/// Return the costs of logic around operators: the counters and states of a nest (nestControl), the multiplexer of an
/// operand of a shared operator (sharedOperand), and one lane of a queue (queueLane).
OperatorCost nestControl();
OperatorCost sharedOperand();
OperatorCost queueLane();

} // namespace tilewright::hls

#endif
