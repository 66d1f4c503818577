//===- Record.h - the record of a compile as plain data ------------------------------===//
//
// This file defines the contents of a record, and WriteRecord.cpp defines the names of the fields in JSON. Times are in
// milliseconds or, for kernels, in microseconds; "set" is an index into Origins::sets(), or -1 for none.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_REPORT_RECORD_H
#define TILEWRIGHT_LIB_REPORT_RECORD_H

#include "lib/Report/CompileEvents.h"
#include "lib/Report/StageText.h"
#include "tilewright/Compiler.h"
#include "llvm/Support/JSON.h"
#include <optional>

namespace tilewright::explain {

/// The version of the format, which is incremented when a field of a record changes its name or meaning.
inline constexpr int recordFormat = 1;

struct SourceLine {
  int64_t number = 0;
  std::string text;
};

/// Lines of a source file of the user.
struct SourceFile {
  std::string name;
  std::vector<SourceLine> lines; ///< the lines of operations, and the lines around them
  std::string problem;           ///< why there is no text, or empty
};

struct StageRecord {
  StageText text;
  double milliseconds = 0;
  std::vector<PassTime> passes;
};

/// A distinct kernel, with all its launches in a call.
struct KernelRecord {
  std::string name, operations, schedule;
  bool once = false;                          ///< a `once` step launches the kernel, which packs parameters
  int64_t launches = 0;                       ///< number of launches in the `once` steps and in one call
  std::optional<double> expectedMicroseconds; ///< predicted by the cost model, for one launch
  std::string bound;                          ///< the limiting resource in the cost model: compute, L2, ...
  std::string dtype;                          ///< dtype of the contraction's operands; empty without a contraction
  int64_t flops = 0;                          ///< operations of the contractions, summed over `launches`
  int64_t bytes = 0;                          ///< bytes of the buffers that it reads and writes, summed over `launches`
  int64_t codeBytes = -1;                     ///< -1 if unknown
  std::vector<int> origins;                   ///< sorted
  /// Measured time of all launches in a call, mean over threads (and measured.calls).
  std::optional<double> measuredMicroseconds;
  std::optional<double> roofMicroseconds; ///< time of all launches in a call at the machine's peak rates
};

struct EdgeRecord {
  Decision decision;
  int set = -1;
};

struct StepRecord {
  std::string kernel, operations; ///< kernel: empty for a copy
  std::string reason;             ///< why a step that only copies exists; empty for other steps
  int set = -1;
};

/// A buffer in the arena. It is live from the step with the index `first` to the step with the index `last`.
struct BufferRecord {
  int64_t number = 0, offset = 0, bytes = 0;
  int first = 0, last = 0;
};

struct SymbolRecord {
  std::string name;
  int64_t value = 0, min = 0, max = 0;
};

struct PlanRecord {
  std::vector<SymbolRecord> symbols;
  std::vector<StepRecord> once, steps;
  std::vector<BufferRecord> arena;
  int64_t arenaBytes = 0, inputBytes = 0, outputBytes = 0, packedBytes = 0, constantBytes = 0;
  std::string problem; ///< why sizes are missing, or empty
};

struct Record {
  std::string model;
  Options options;     ///< completed by the target
  std::string machine; ///< LLVM's name of the CPU; empty if unknown
  std::vector<SourceFile> sources;
  std::vector<StageRecord> stages; ///< the imported model ("model"), then each stage, then "assembly"
  std::vector<KernelRecord> kernels;
  std::vector<EdgeRecord> edges;
  PlanRecord plan;
  double codegenMilliseconds = 0;
  bool measured = false;
};

/// Returns the record as JSON.
std::string writeRecord(const Record &record, const Origins &origins);

/// Reads a record that writeRecord() wrote, perhaps on another machine. Returns an error for other data or formats.
llvm::Expected<llvm::json::Object> readRecord(llvm::StringRef json);

/// Returns the source lines to which `origins` refer, in `modelFile` and in Python files.
std::vector<SourceFile> readSources(const Origins &origins, llvm::StringRef modelFile);

} // namespace tilewright::explain

#endif
