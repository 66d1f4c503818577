//===- VerilogExpression.h - an operation on integers as a Verilog expression --------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_RTL_VERILOGEXPRESSION_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_RTL_VERILOGEXPRESSION_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <string>

namespace tilewright::hls {

/// Returns `op` as a Verilog expression. The callback `of(i)` returns operand i as a signed expression. The callback
/// `bits(i)` returns operand i as an unsigned expression of exactly the width of its type.
std::string expressionText(mlir::Operation *op, llvm::function_ref<std::string(size_t)> of,
                           llvm::function_ref<std::string(size_t)> bits);

} // namespace tilewright::hls

#endif
