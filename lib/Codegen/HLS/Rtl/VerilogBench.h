//===- VerilogBench.h - the test bench of a design in Verilog --------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_RTL_VERILOGBENCH_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_RTL_VERILOGBENCH_H

#include "lib/Codegen/HLS/Rtl/VerilogNest.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <memory>

namespace tilewright::hls {

/// Prints a module `test_bench` that reads ../data/input_N.bin, calls the design, and compares every element with
/// ../data/output_N.bin. It prints the cycles of the call, then PASS or FAIL.
std::string printVerilogBench(mlir::func::FuncOp top, const std::vector<std::unique_ptr<RtlPort>> &ports);

} // namespace tilewright::hls

#endif
