//===- Operators.h - what each operator of a design costs --------------------------------===//
#ifndef TILEWRIGHT_TARGET_HLS_ESTIMATE_OPERATORS_H
#define TILEWRIGHT_TARGET_HLS_ESTIMATE_OPERATORS_H

#include <cstdint>
#include <string_view>

namespace tilewright::hls {

/// One operator in hardware: cycles from operands to result when pipelined; multipliers, lookup tables, flip-flops.
struct OperatorCost {
  int64_t latency = 0, dsp = 0, lut = 0, ff = 0;
};

/// An operator by the name that its op has in MLIR, on numbers of `width` bits; names of the table's rows are float
/// operators. What is not in the table is a line of logic: one cycle.
OperatorCost floatOperator(std::string_view name, unsigned width);

/// A product of integers of that width.
OperatorCost integerProduct(unsigned width);

/// Any other integer operator of that width: an adder, a comparison, a shift.
OperatorCost integerOperator(unsigned width);

/// An addition that is slow to place and quick to finish, which a sum takes whose next term waits for it.
OperatorCost quickAddition();

/// A product by a literal that is a double and has no exact float (`x * 0.1`): widened, multiplied in f64, narrowed.
OperatorCost productByDouble();

/// A place in an array that rows of a length other than a power of two need: one product.
OperatorCost addressProduct();
/// The same without a DSP, and the product of 64 by 66 bits that a division of an index in 64 bits takes.
OperatorCost addressInLogic();
OperatorCost wideQuotient();

/// Accesses of arrays and queues.
OperatorCost loadOperator();
OperatorCost storeOperator();
OperatorCost queueOperator();

/// What is around operators: the counters and states of a nest, a choice between operands of an operator that several
/// use in turn, one of several queues side by side.
OperatorCost nestControl();
OperatorCost sharedOperand();
OperatorCost queueLane();

} // namespace tilewright::hls

#endif
