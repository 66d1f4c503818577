//===- Explain.h - a report about a compilation, for users -------------------------===//
//
//   explainCompile: model -> record (JSON): source, operations, every stage's text with the operations from which each
//                   line comes, kernels and their predicted times, fusion, memory plan, times
//   explainText, explainPage: a record as text for a terminal, as one page of HTML
//
// docs/how-to/explain.md explains how to read a report.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_EXPLAIN_H
#define TILEWRIGHT_EXPLAIN_H

#include "tilewright/Compiler.h"
#include "tilewright/HostCode.h"

namespace tilewright {

/// The measured times of the steps of a compiled model.
struct ExplainMeasurement {
  std::vector<KernelTime> steps; ///< Program::times()
  int64_t calls = 0;
  int threads = 1;
  HostPeaks peaks; ///< peak rates of this number of threads
};

struct ExplainOptions {
  std::string model;  ///< name of the model in the report
  std::string source; ///< MLIR file of the model; empty: the model has another format
  std::vector<int64_t>
      symbols; ///< values of the symbolic sizes, in order; a missing value is 8, or the nearest value in its range
  std::optional<ExplainMeasurement> measured;
};

/// Compiles `module`, which is consumed, and returns a report as JSON in UTF-8. The report quotes lines of the Python
/// files from which operations come, if the files exist. The module may be the result of a stage (Options::startAt).
/// Fails if the compilation fails, or if the measurements are of another model.
llvm::Expected<std::string> explainCompile(Session &session, mlir::ModuleOp module, const Options &options,
                                           const ExplainOptions &explain);

/// Returns `record` as text for a terminal: a line for each kernel, for each missed optimization and for each kind of
/// copy, the memory of a call, and the time of each stage of the compilation.
llvm::Expected<std::string> explainText(llvm::StringRef record);

/// Returns one self-contained HTML file that shows the records. `against`, if not empty, is the record with which the
/// first one is compared. `program`, if not empty, is a JSON object that describes the program to which the graphs
/// belong (Explanation.of_page in python/tilewright/reports/explanation.py). It is an error if `records` is empty, if a
/// text is not a record or has another format, or if `program` is not JSON.
llvm::Expected<std::string> explainPage(llvm::ArrayRef<std::string> records, llvm::StringRef against,
                                        llvm::StringRef program = "");

} // namespace tilewright

#endif
