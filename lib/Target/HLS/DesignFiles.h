//===- DesignFiles.h - what lies in a design's folder beside kernel.cpp --------------------===//
#ifndef TILEWRIGHT_TARGET_HLS_DESIGNFILES_H
#define TILEWRIGHT_TARGET_HLS_DESIGNFILES_H

#include "lib/Target/HLS/Cost.h"
#include "tilewright/Target.h"
#include "llvm/Support/JSON.h"

namespace tilewright::hls {

/// kernel.h: the functions of kernel.cpp.
std::string printHeader(mlir::func::FuncOp top);
/// weights.h: the arrays that never change; empty if there are none.
std::string printWeights(mlir::func::FuncOp top);
/// test_bench.cpp: calls the top function on data/input_N.bin and compares with data/output_N.bin.
std::string printBench(mlir::func::FuncOp top);
/// check/dataflow_check.cpp: the top function with a thread for each task.
std::string printDataflowCheck(mlir::func::FuncOp top);
/// run_hls.tcl for the vendor's tool: simulation, synthesis, co-simulation where asked for.
std::string printScript(llvm::StringRef device);
/// report.md for people, report.json for programs.
std::string printReport(const DesignEstimate &design, const Part &part, const Resources &budget);
std::string printJson(const DesignEstimate &design, const Part &part, const Resources &budget, mlir::ModuleOp module);
/// What both say of a design of fixed point; "" and null of others.
std::string printFixed(mlir::ModuleOp module);
llvm::json::Value fixedJson(mlir::ModuleOp module);
/// Headers that every design brings along, by their paths in it.
std::vector<DesignFile> checkHeaders();

} // namespace tilewright::hls

#endif
