//===- WriteRecord.cpp - a record as JSON --------------------------------------------===//
//
// The texts of a record come from untrusted files and may contain any bytes. This file converts them to UTF-8.
//
// Test: test/Python/test_explain_html.py
//
//===----------------------------------------------------------------------===//
#include "lib/Interfaces/NumberText.h"
#include "lib/Report/Record.h"
#include "llvm/Support/JSON.h"

namespace tilewright::explain {
namespace {

class Writer {
public:
  Writer(const Record &record, const Origins &origins, llvm::json::OStream &json)
      : record(record), origins(origins), json(json) {}

  void write() {
    json.object([&] {
      json.attribute("format", recordFormat);
      text("model", record.model);
      json.attributeObject("versions", [&] {
        json.attribute("tilewright", TILEWRIGHT_VERSION_STRING);
        json.attribute("llvm", LLVM_VERSION_STRING);
      });
      text("target", record.options.target);
      text("cpu", record.options.cpu);
      text("machine", record.machine);
      json.attribute("threads", record.options.threads);
      text("rounding", record.options.rounding);
      text("start_at", record.options.startAt);
      writeOptions();
      json.attribute("measured", record.measured);
      json.attribute("codegen_ms", record.codegenMilliseconds);
      writeOrigins();
      json.attributeArray("stages", [&] { llvm::for_each(record.stages, [&](const auto &one) { write(one); }); });
      json.attributeArray("kernels", [&] { llvm::for_each(record.kernels, [&](const auto &one) { write(one); }); });
      json.attributeArray("edges", [&] { llvm::for_each(record.edges, [&](const auto &one) { write(one); }); });
      writePlan();
    });
  }

private:
  void text(llvm::StringRef name, llvm::StringRef value) { json.attribute(name, llvm::json::fixUTF8(value)); }
  void number(llvm::StringRef name, std::optional<double> value) {
    if (value)
      json.attribute(name, *value);
  }
  void numbers(llvm::StringRef name, llvm::ArrayRef<int> values) {
    json.attributeArray(name, [&] {
      for (int value : values)
        json.value(value);
    });
  }

  /// Writes the options of the user that affect the compiled code, by their names in torch.compile's `options=`, and
  /// the stage at which the compilation started.
  void writeOptions() {
    const Options &options = record.options;
    json.attributeObject("options", [&] {
      text("target", options.target);
      text("cpu", options.cpu);
      text("threads", std::to_string(options.threads));
      text("rounding", options.rounding);
      text("schedule_file", options.scheduleFile);
      text("tune", options.tune);
      text("records", options.records);
      text("deterministic", options.deterministic ? "yes" : "no");
      text("check", options.check);
      text("start_at", options.startAt);
      for (const auto &[name, value] : options.own)
        text(name, value);
    });
  }

  void writeOrigins() {
    json.attributeArray("sources", [&] {
      for (const SourceFile &file : record.sources)
        json.object([&] {
          text("name", file.name);
          text("problem", file.problem);
          json.attributeArray("lines", [&] {
            for (const SourceLine &line : file.lines)
              json.object([&] {
                json.attribute("number", line.number);
                text("text", line.text);
              });
          });
        });
    });
    json.attributeArray("origins", [&] {
      for (const Origin &origin : origins.all())
        json.object([&] {
          text("operation", origin.operation);
          text("label", origin.label);
          text("file", origin.file);
          json.attribute("line", origin.line);
        });
    });
    json.attributeArray("sets", [&] {
      for (const std::vector<int> &set : origins.sets())
        json.array([&] {
          for (int origin : set)
            json.value(origin);
        });
    });
  }

  void write(const StageRecord &stage) {
    json.object([&] {
      text("name", stage.text.name);
      json.attribute("ms", stage.milliseconds);
      json.attributeArray("passes", [&] {
        for (const PassTime &pass : stage.passes)
          json.object([&] {
            text("name", pass.name);
            json.attribute("ms", pass.milliseconds);
            json.attribute("runs", pass.runs);
          });
      });
      json.attributeArray("functions", [&] {
        for (const StageText::Function &function : stage.text.functions)
          json.object([&] {
            text("name", function.name);
            json.attribute("first", function.first);
            json.attribute("last", function.last);
          });
      });
      numbers("sets", stage.text.sets);
      json.attributeArray("lines", [&] {
        for (const std::string &line : stage.text.lines)
          json.value(llvm::json::fixUTF8(line));
      });
    });
  }

  void write(const KernelRecord &kernel) {
    json.object([&] {
      text("name", kernel.name);
      text("operations", kernel.operations);
      text("schedule", kernel.schedule);
      json.attribute("once", kernel.once);
      json.attribute("launches", kernel.launches);
      number("expected_us", kernel.expectedMicroseconds);
      text("bound", kernel.bound);
      text("dtype", kernel.dtype);
      json.attribute("flops", kernel.flops);
      json.attribute("bytes", kernel.bytes);
      json.attribute("code_bytes", kernel.codeBytes);
      numbers("origins", kernel.origins);
      number("measured_us", kernel.measuredMicroseconds);
      number("roof_us", kernel.roofMicroseconds);
    });
  }

  void write(const EdgeRecord &edge) {
    json.object([&] {
      json.attribute("kind", edge.decision.kind);
      json.attribute("done", edge.decision.done);
      text("subject", edge.decision.subject);
      text("reason", edge.decision.reason);
      text("where", edge.decision.where);
      json.attribute("set", edge.set);
    });
  }

  void writeSteps(llvm::StringRef name, llvm::ArrayRef<StepRecord> steps) {
    json.attributeArray(name, [&] {
      for (const StepRecord &step : steps)
        json.object([&] {
          text("kernel", step.kernel);
          text("operations", step.operations);
          text("reason", step.reason);
          json.attribute("set", step.set);
        });
    });
  }

  void writePlan() {
    const PlanRecord &plan = record.plan;
    json.attributeObject("plan", [&] {
      json.attributeArray("symbols", [&] {
        for (const SymbolRecord &symbol : plan.symbols)
          json.object([&] {
            text("name", symbol.name);
            json.attribute("value", symbol.value);
            json.attribute("min", symbol.min);
            json.attribute("max", symbol.max == INT64_MAX ? llvm::json::Value(nullptr) : llvm::json::Value(symbol.max));
          });
      });
      writeSteps("once", plan.once);
      writeSteps("steps", plan.steps);
      json.attributeArray("arena", [&] {
        for (const BufferRecord &buffer : plan.arena)
          json.object([&] {
            json.attribute("number", buffer.number);
            json.attribute("offset", buffer.offset);
            json.attribute("bytes", buffer.bytes);
            json.attribute("first", buffer.first);
            json.attribute("last", buffer.last);
          });
      });
      json.attribute("arena_bytes", plan.arenaBytes);
      json.attribute("input_bytes", plan.inputBytes);
      json.attribute("output_bytes", plan.outputBytes);
      json.attribute("packed_bytes", plan.packedBytes);
      json.attribute("constant_bytes", plan.constantBytes);
      text("problem", plan.problem);
    });
  }

  const Record &record;
  const Origins &origins;
  llvm::json::OStream &json;
};

} // namespace

std::string writeRecord(const Record &record, const Origins &origins) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  PlainNumbers numbers;
  llvm::json::OStream json(stream);
  Writer(record, origins, json).write();
  return text;
}

} // namespace tilewright::explain
