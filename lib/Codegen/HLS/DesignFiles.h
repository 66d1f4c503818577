//===- DesignFiles.h - files of a design in addition to kernel.cpp -------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_DESIGNFILES_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_DESIGNFILES_H

#include "lib/Codegen/HLS/Cost.h"
#include "tilewright/Target.h"
#include "llvm/Support/JSON.h"

namespace tilewright::hls {

/// Returns kernel.h, which declares the functions of kernel.cpp and, for a fixed-point model, the formats of its ports.
std::string printHeader(mlir::func::FuncOp top);
/// Returns weights.h, which defines the constant arrays. Returns an empty string if there are none.
std::string printWeights(mlir::func::FuncOp top);
/// Returns test_bench.cpp, which calls the top function on data/input_N.bin and compares the outputs with
/// data/output_N.bin.
std::string printBench(mlir::func::FuncOp top);
/// Returns check/dataflow_check.cpp, which runs the top function with a thread for each task.
std::string printDataflowCheck(mlir::func::FuncOp top);
/// Returns run_hls.tcl for the vendor's tool: commands for simulation and synthesis, and commented-out commands for
/// co-simulation and export.
std::string printScript(llvm::StringRef device);
/// Return report.md, for users, and report.json, for programs.
std::string printReport(const DesignEstimate &design, const Part &part, const Resources &budget);
std::string printJson(const DesignEstimate &design, const Part &part, const Resources &budget, mlir::ModuleOp module);
/// Return the fixed-point parts of report.md and report.json. For a model that does not use fixed-point numbers, return
/// "" and null.
std::string printFixed(mlir::ModuleOp module);
llvm::json::Value fixedJson(mlir::ModuleOp module);
/// Returns the headers of CheckHeaders/, which are part of every design, with their paths in the design.
std::vector<DesignFile> checkHeaders();

} // namespace tilewright::hls

#endif
