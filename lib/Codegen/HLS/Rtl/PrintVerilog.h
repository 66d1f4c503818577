//===- PrintVerilog.h - a design as Verilog ------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_RTL_PRINTVERILOG_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_RTL_PRINTVERILOG_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace tilewright::hls {

/// A design and its test bench in Verilog.
struct Verilog {
  std::string model, bench;
  int64_t lut = 0, ff = 0; ///< lookup tables and registers, estimated from this text (RtlParts.h)
};

/// Prints a design that computes only on integers. The error lists ports, arrays and ops that cannot be printed as
/// Verilog, with the source lines of arrays and ops.
llvm::Expected<Verilog> printVerilog(mlir::func::FuncOp top);

} // namespace tilewright::hls

#endif
