//===- Report.cpp - reports of a design's costs as text and as JSON -------===//
#include "lib/Codegen/HLS/DesignFiles.h"
#include "lib/Interfaces/JsonText.h"
#include "lib/Interfaces/NumberText.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace tilewright::hls {

std::string printReport(const DesignEstimate &design, const Part &part, const Resources &budget) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "# Estimate for " << part.name << ", 300 MHz\n\n"
      << "Latency " << design.latency << " cycles, " << design.kernelLatency << " without ports, interval "
      << design.interval << " cycles. DSP " << design.total.dsp << " of " << budget.dsp << ", BRAM (18 kbit) "
      << design.total.bram << " of " << budget.bram;
  if (design.total.uram > 0)
    out << ", URAM " << design.total.uram << " of " << budget.uram;
  out << ". Operators and their control: LUT " << design.lut << ", FF " << design.ff << ".\n\n";
  if (design.macs > 0 && design.total.dsp > 0)
    out << numberText("DSP efficiency: %lld multiply-accumulates per call, %.3f per DSP and cycle for consecutive "
                      "calls (%.3f for one call, without ports).\n\n",
                      (long long)design.macs, design.dspEfficiency(), design.dspEfficiencyOfOneCall());
  if (design.rtl)
    out << "The Verilog has DSP " << design.total.dsp << ", BRAM " << design.oneCallBram << ", LUT " << design.rtl->lut
        << ", FF " << design.rtl->ff
        << ". These numbers are counted in the Verilog text, and include memories in LUT. Each use of an operator "
           "counts as a separate operator, although HLS tools share operators between the cycles of an II.\n\n";
  out << "| task | cycles | DSP | BRAM | LUT | FF |\n|---|---|---|---|---|---|\n";
  for (const TaskEstimate &task : design.tasks)
    out << "| " << task.name << " | " << task.cycles << " | " << task.dsp << " | " << task.bram << " | " << task.lut
        << " | " << task.ff << " |\n";
  out << "| channels between tasks | | | " << design.channelBram << " | | |\n";
  if (design.romBram > 0)
    out << "| weights and constants in ROMs | | | " << design.romBram << " | | |\n";
  out << "\n| loop nest | iterations | II | copies | cycles | DSP |\n|---|---|---|---|---|---|\n";
  for (const TaskEstimate &task : design.tasks)
    for (const NestEstimate &nest : task.nests)
      out << "| " << task.name << ": " << nest.label << " | " << nest.iterations << " | " << nest.ii << " | "
          << nest.copies << " | " << nest.cycles << " | " << nest.dsp << " |\n";
  if (!design.queues.empty())
    out << "\n| queue | depth | type | from | to | BRAM |\n|---|---|---|---|---|---|\n";
  for (const QueueEstimate &queue : design.queues)
    out << "| " << queue.name << " | " << queue.depth << " | `" << queue.type << "` | " << queue.from << " | "
        << queue.to << " | " << queue.bram << " |\n";
  return text;
}

std::string printJson(const DesignEstimate &design, const Part &part, const Resources &budget, mlir::ModuleOp module) {
  llvm::json::Array tasks;
  for (const TaskEstimate &task : design.tasks) {
    llvm::json::Array nests;
    for (const NestEstimate &nest : task.nests)
      nests.push_back(llvm::json::Object{{"label", nest.label},
                                         {"iterations", nest.iterations},
                                         {"ii", nest.ii},
                                         {"copies", nest.copies},
                                         {"cycles", nest.cycles},
                                         {"dsp", nest.dsp}});
    tasks.push_back(llvm::json::Object{{"name", task.name},
                                       {"cycles", task.cycles},
                                       {"dsp", task.dsp},
                                       {"bram", task.bram},
                                       {"lut", task.lut},
                                       {"ff", task.ff},
                                       {"nests", std::move(nests)}});
  }
  llvm::json::Array queues;
  for (const QueueEstimate &queue : design.queues)
    queues.push_back(llvm::json::Object{{"name", queue.name},
                                        {"depth", queue.depth},
                                        {"type", queue.type},
                                        {"from", queue.from},
                                        {"to", queue.to},
                                        {"bram", queue.bram}});
  llvm::json::Object report{
      {"made_by", "tilewright hls"},
      {"part", part.name},
      {"latency", design.latency},
      {"kernel_latency", design.kernelLatency},
      {"interval", design.interval},
      {"macs", design.macs},
      {"dsp_efficiency", design.dspEfficiency()},
      {"dsp_efficiency_of_one_call", design.dspEfficiencyOfOneCall()},
      {"dsp", design.total.dsp},
      {"bram", design.total.bram},
      {"uram", design.total.uram},
      {"rom_bram", design.romBram},
      {"one_call_bram", design.oneCallBram},
      {"lut", design.lut},
      {"ff", design.ff},
      {"budget", llvm::json::Object{{"dsp", budget.dsp}, {"bram", budget.bram}, {"uram", budget.uram}}},
      {"tasks", std::move(tasks)},
      {"queues", std::move(queues)}};
  if (design.rtl)
    report["rtl"] = llvm::json::Object{{"lut", design.rtl->lut}, {"ff", design.rtl->ff}};
  if (llvm::json::Value fixed = fixedJson(module); fixed.getAsObject())
    report["fixed"] = std::move(fixed);
  std::string text;
  llvm::raw_string_ostream(text) << jsonText(llvm::json::Value(std::move(report)), 2) << "\n";
  return text;
}

} // namespace tilewright::hls
