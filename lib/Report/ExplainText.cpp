//===- ExplainText.cpp - a record as text for a terminal -----------------------------===//
//
// Test: test/Tools/explain.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Interfaces/NumberText.h"
#include "lib/Interfaces/OperationText.h"
#include "lib/Report/Record.h"
#include "tilewright/Explain.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

namespace tilewright {
namespace {

using llvm::json::Array;
using llvm::json::Object;

/// Returns the string member `name` of `object`, or an empty string if there is none.
llvm::StringRef text(const Object &object, llvm::StringRef name) { return object.getString(name).value_or(""); }
int64_t integer(const Object &object, llvm::StringRef name) { return object.getInteger(name).value_or(0); }
double number(const Object &object, llvm::StringRef name) { return object.getNumber(name).value_or(0); }

template <typename Visit> void each(const Object &record, llvm::StringRef name, Visit visit) {
  if (const Array *array = record.getArray(name))
    for (const llvm::json::Value &value : *array)
      if (const Object *object = value.getAsObject())
        visit(*object);
}

/// Returns the time `name` of `kernel` times `launches`, such as "9.3 us", or "-" if the time is missing.
std::string timeOf(const Object &kernel, llvm::StringRef name, int64_t launches) {
  std::optional<double> microseconds = kernel.getNumber(name);
  if (!microseconds)
    return "-";
  std::string result;
  llvm::raw_string_ostream(result) << numberText("%.1f us", *microseconds * double(launches));
  return result;
}

void printKernels(const Object &record, llvm::raw_ostream &os) {
  os << "kernels (launches, expected"
     << (record.getBoolean("measured").value_or(false) ? ", measured, share of roof" : "")
     << ", schedule, operations)\n";
  each(record, "kernels", [&](const Object &kernel) {
    const int64_t launches = integer(kernel, "launches");
    os << "  " << llvm::left_justify(text(kernel, "name"), 12) << " "
       << llvm::right_justify(kernel.getBoolean("once").value_or(false) ? "once" : std::to_string(launches), 5) << " "
       << llvm::right_justify(timeOf(kernel, "expected_us", launches), 11);
    if (record.getBoolean("measured").value_or(false)) {
      os << " " << llvm::right_justify(timeOf(kernel, "measured_us", 1), 11) << " ";
      const double measured = number(kernel, "measured_us");
      if (measured > 0 && kernel.getNumber("roof_us"))
        os << numberText("%4.0f%%", 100 * number(kernel, "roof_us") / measured);
      else
        os << "    -";
    }
    llvm::StringRef schedule = text(kernel, "schedule");
    os << "  " << (schedule.empty() ? "-" : schedule) << "; " << shortOperations(text(kernel, "operations")) << "\n";
  });
}

/// Prints the missed optimizations (decisions not to apply an optimization), grouped by kind.
void printMissed(const Object &record, llvm::raw_ostream &os) {
  for (auto [kind, title] : {std::pair("fusion", "not fused"),
                             {"quantize", "not in integers"},
                             {"pack", "not packed"},
                             {"vectorize", "not vectorized"}}) {
    bool first = true;
    each(record, "edges", [&, kind = kind, title = title](const Object &edge) {
      if (text(edge, "kind") != kind || edge.getBoolean("done").value_or(true))
        return;
      os << (std::exchange(first, false) ? title + std::string("\n") : "") << "  " << text(edge, "subject") << ": "
         << text(edge, "reason");
      if (!text(edge, "where").empty())
        os << " [" << text(edge, "where") << "]";
      os << "\n";
    });
  }
}

/// Prints how many steps only copy, and for which reasons.
void printCopies(const Object &plan, llvm::raw_ostream &os) {
  llvm::MapVector<std::pair<llvm::StringRef, llvm::StringRef>, int64_t> copies;
  for (llvm::StringRef list : {"once", "steps"})
    each(plan, list, [&](const Object &step) {
      if (!text(step, "reason").empty())
        ++copies[{text(step, "kernel"), text(step, "reason")}];
    });
  if (!copies.empty())
    os << "steps that only copy\n";
  for (const auto &[copy, count] : copies)
    os << "  " << (copy.first.empty() ? "copy" : copy.first) << (count > 1 ? " x" + std::to_string(count) : "") << ": "
       << copy.second << "\n";
}

} // namespace

llvm::Expected<std::string> explainText(llvm::StringRef json) {
  llvm::Expected<Object> record = explain::readRecord(json);
  if (!record)
    return record.takeError();
  std::string result;
  llvm::raw_string_ostream os(result);
  os << text(*record, "model") << ": " << record->getArray("origins")->size() << " operations, "
     << record->getArray("kernels")->size() << " distinct kernels, target " << text(*record, "target") << ", "
     << text(*record, "cpu") << (text(*record, "machine").empty() ? "" : " (" + text(*record, "machine").str() + ")")
     << ", " << integer(*record, "threads") << " threads\n";
  printKernels(*record, os);
  printMissed(*record, os);
  if (const Object *plan = record->getObject("plan")) {
    printCopies(*plan, os);
    os << "memory of a call: " << integer(*plan, "arena_bytes")
       << " bytes in addition to inputs and results; packed parameters: " << integer(*plan, "packed_bytes")
       << " bytes\n";
  }
  os << "compiled in";
  double total = 0;
  each(*record, "stages", [&](const Object &stage) {
    if (number(stage, "ms") > 0)
      os << " " << text(stage, "name") << numberText(" %.1f,", number(stage, "ms"));
    total += number(stage, "ms");
  });
  os << numberText(" in all %.1f ms\n", total);
  return result;
}

} // namespace tilewright
