//===- Explain.h - what a compile did, for people ----------------------------------===//
//
//   explainCompile: model -> record (JSON): source, operations, every stage's text with the operations each line comes
//                   from, kernels and what was expected of them, fusion, memory plan, times
//   explainText, explainPage: a record as text for a terminal, as one page of HTML
//
// docs/how-to/explain.md tells how to read them.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_EXPLAIN_H
#define TILEWRIGHT_EXPLAIN_H

#include "tilewright/Compiler.h"
#include "tilewright/HostCode.h"

namespace tilewright {

/// Calls of the compiled model, timed step by step.
struct ExplainMeasurement {
  std::vector<KernelTime> steps; ///< Program::times()
  int64_t calls = 0;
  int threads = 1;
  HostPeaks peaks; ///< of these threads
};

struct ExplainOptions {
  std::string model;  ///< what to call it
  std::string source; ///< the MLIR file it was read from; empty: another kind of file
  std::vector<int64_t>
      symbols; ///< values of the symbolic sizes, in order; those that are missing: 8, within their ranges
  std::optional<ExplainMeasurement> measured;
};

/// Compiles `module`, which is consumed, and tells how, as JSON in UTF-8. Python files that the operations come from
/// are read for the lines in question, where they are there. The module may be a stage's (Options::startAt). Errors are
/// those of compiling, and measurements of another model.
llvm::Expected<std::string> explainCompile(Session &session, mlir::ModuleOp module, const Options &options,
                                           const ExplainOptions &explain);

/// A few lines on each kernel, each edge that was not fused, and where the time of compiling went.
llvm::Expected<std::string> explainText(llvm::StringRef record);

/// One HTML file that shows the records and loads nothing; `against`, when not empty, is the record that the first one
/// is compared with. An error for what is no record, or of another format.
llvm::Expected<std::string> explainPage(llvm::ArrayRef<std::string> records, llvm::StringRef against);

} // namespace tilewright

#endif
