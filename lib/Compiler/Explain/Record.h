//===- Record.h - what is told of a compile, as plain data ---------------------------===//
//
// The one place that says what a record holds; WriteRecord.cpp gives its parts their names in JSON. Times are in
// milliseconds or, of kernels, in microseconds; "set" is a number of Origins::sets(), -1: none.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_COMPILER_EXPLAIN_RECORD_H
#define TILEWRIGHT_LIB_COMPILER_EXPLAIN_RECORD_H

#include "lib/Compiler/Explain/CompileEvents.h"
#include "lib/Compiler/Explain/StageText.h"
#include "tilewright/Compiler.h"
#include "llvm/Support/JSON.h"
#include <optional>

namespace tilewright::explain {

/// Raised when a part of a record changes its name or its meaning.
inline constexpr int recordFormat = 1;

struct SourceLine {
  int64_t number = 0;
  std::string text;
};

/// Lines of a file of the user's.
struct SourceFile {
  std::string name;
  std::vector<SourceLine> lines; ///< those that operations come from, and their neighbours
  std::string problem;           ///< why there is no text; or empty
};

struct StageRecord {
  StageText text;
  double milliseconds = 0;
  std::vector<PassTime> passes;
};

/// A distinct kernel, all its launches in a call together.
struct KernelRecord {
  std::string name, operations, schedule;
  bool once = false;                          ///< it packs parameters, at the first call
  int64_t launches = 0;                       ///< per call
  std::optional<double> expectedMicroseconds; ///< by the cost model, of one launch
  std::string bound;                          ///< what limits it, by the cost model: compute, L2, ...
  std::string dtype;                          ///< of the operands of its contraction; empty: it has none
  int64_t flops = 0;                          ///< of its contractions
  int64_t bytes = 0;                          ///< of the buffers it reads and writes
  int64_t codeBytes = -1;                     ///< -1: not known
  std::vector<int> origins;                   ///< sorted
  std::optional<double> measuredMicroseconds; ///< mean over threads
  std::optional<double> roofMicroseconds;     ///< what it would take at the roof
};

struct EdgeRecord {
  Decision decision;
  int set = -1;
};

struct StepRecord {
  std::string kernel, operations; ///< kernel: empty for a copy
  int set = -1;
};

/// A buffer in the arena: it is there from step `first` to step `last`.
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
  std::string problem; ///< why sizes are missing; or empty
};

struct Record {
  std::string model;
  Options options;     ///< completed by the target
  std::string machine; ///< what LLVM calls the CPU; empty: not known
  std::vector<SourceFile> sources;
  std::vector<StageRecord> stages; ///< as it was read ("model"), then each stage, then "assembly"
  std::vector<KernelRecord> kernels;
  std::vector<EdgeRecord> edges;
  PlanRecord plan;
  double codegenMilliseconds = 0;
  bool measured = false;
};

/// As JSON.
std::string writeRecord(const Record &record, const Origins &origins);

/// What writeRecord() wrote, maybe long ago and elsewhere; an error for what is no record, or one of another format.
llvm::Expected<llvm::json::Object> readRecord(llvm::StringRef json);

/// The lines that `origins` come from: of `modelFile`, and of Python files.
std::vector<SourceFile> readSources(const Origins &origins, llvm::StringRef modelFile);

} // namespace tilewright::explain

#endif
