//===- PlanRecord.cpp - kernels, steps and memory of a plan --------------------------===//
//
// Test: test/Python/test_explain_html.py
//
//===----------------------------------------------------------------------===//
#include "lib/Report/PlanRecord.h"
#include "dialects/Schedule/Schedule.h"
#include "dialects/Tile/CopyReason.h"
#include "lib/Driver/HostArtifact.h"
#include "lib/Plan/PlanFromIR.h"
#include "lib/Runtime/Plan/ArenaPlanner.h"
#include "tilewright/AttributeNames.h"
#include "llvm/Object/ELFObjectFile.h"
#include <algorithm>

using namespace mlir;

namespace tilewright::explain {
namespace {

/// Visits the `once` steps of the program in `module`, or with `once` = false its other steps, in the order of the
/// plan.
template <typename Visit> void eachStep(ModuleOp module, bool once, Visit visit) {
  for (auto program : module.getOps<plan::ProgramOp>())
    for (Operation &op : program.getBody().front()) {
      auto launch = dyn_cast<plan::LaunchOp>(op);
      if (!isa<plan::BufferOp, plan::GuardOp>(op) && (launch && launch.getOnce()) == once)
        visit(op);
    }
}

/// Records the sizes of the buffers in the arena and the total sizes of the other kinds of buffers. If a size or the
/// layout of the arena cannot be computed, returns false and stores the reason in the record.
bool recordMemory(const plan::Plan &plan, const std::vector<int64_t> &symbols, PlanRecord &record) {
  std::vector<const plan::Step *> steps;
  for (const plan::Step &step : plan.steps)
    steps.push_back(&step);
  std::vector<plan::LiveRange> live = plan::liveRanges(steps, plan.buffers.size());
  std::vector<plan::ArenaRequest> requests(plan.buffers.size());
  for (auto [number, buffer] : llvm::enumerate(plan.buffers)) {
    int64_t bytes = plan::evaluate(buffer.bytes, symbols.data(), record.problem);
    if (!record.problem.empty())
      return false;
    switch (buffer.kind) {
    case plan::Buffer::Kind::Input:
      record.inputBytes += bytes;
      break;
    case plan::Buffer::Kind::Output:
      record.outputBytes += bytes;
      break;
    case plan::Buffer::Kind::Packed:
      record.packedBytes += bytes;
      break;
    case plan::Buffer::Kind::Constant:
      record.constantBytes += bytes;
      break;
    case plan::Buffer::Kind::Arena:
      requests[number] = {bytes, live[number]};
    }
  }
  plan::ArenaLayout layout;
  if (!plan::planArena(requests, layout, record.problem))
    return false;
  record.arenaBytes = layout.total;
  for (auto [number, request] : llvm::enumerate(requests))
    if (request.bytes > 0 && !request.live.empty())
      record.arena.push_back(
          {int64_t(number), layout.offsets[number], request.bytes, request.live.first, request.live.last});
  return true;
}

} // namespace

/// Returns why a step that only copies exists. This is the reason that a pass has stored in the step's location.
/// Without such a reason, the step is part of an operation of the model, such as a concatenation.
static std::string reasonOfCopy(Operation &step, bool once, int set, const Origins &origins) {
  std::string reason = tile::copyReason(step.getLoc()).str();
  if (!reason.empty())
    return reason + (once ? "; copied once for each version of the parameter" : "");
  std::string names;
  if (set >= 0)
    for (int number : origins.sets()[set]) {
      const Origin &origin = origins.all()[number];
      names += (names.empty() ? ": " : ", ") + (origin.label.empty() ? origin.operation : origin.label);
    }
  return "an operation of the model moves elements" + names;
}

PlanRecord recordPlan(ModuleOp module, const plan::Plan &plan, llvm::ArrayRef<int64_t> symbols,
                      const llvm::StringSet<> &copies, Origins &origins) {
  PlanRecord record;
  std::vector<int64_t> values;
  for (auto [number, symbol] : llvm::enumerate(plan.symbols)) {
    values.push_back(number < symbols.size() ? symbols[number] : std::clamp<int64_t>(8, symbol.min, symbol.max));
    record.symbols.push_back({symbol.name, values.back(), symbol.min, symbol.max});
  }
  for (bool once : {true, false})
    eachStep(module, once, [&](Operation &op) {
      StepRecord step;
      if (auto launch = dyn_cast<plan::LaunchOp>(op))
        step.kernel = launch.getKernel().str();
      if (auto operations = op.getAttrOfType<StringAttr>(opsAttrName))
        step.operations = operations.str();
      step.set = origins.setOf(op.getLoc());
      if (isa<plan::CopyOp>(op) || copies.contains(step.kernel))
        step.reason = reasonOfCopy(op, once, step.set, origins);
      (once ? record.once : record.steps).push_back(std::move(step));
    });
  if (!recordMemory(plan, values, record))
    record.arena.clear();
  return record;
}

std::vector<KernelRecord> recordKernels(ModuleOp module, const plan::Plan &plan, const PlanRecord &steps,
                                        const llvm::StringMap<std::string> &dtypes, const Origins &origins) {
  std::vector<KernelRecord> kernels(plan.kernels.size());
  std::vector<int64_t> values;
  for (const SymbolRecord &symbol : steps.symbols)
    values.push_back(symbol.value);
  for (bool once : {true, false}) {
    size_t number = 0;
    eachStep(module, once, [&](Operation &op) {
      const plan::Step &step = (once ? plan.once : plan.steps)[number];
      const StepRecord &record = (once ? steps.once : steps.steps)[number++];
      auto launch = dyn_cast<plan::LaunchOp>(op);
      if (!launch)
        return;
      KernelRecord &kernel = kernels[step.callee];
      if (kernel.launches++ == 0) {
        kernel.name = record.kernel;
        kernel.operations = record.operations;
        kernel.schedule = describeSchedule(launch);
        kernel.once = once;
        kernel.dtype = dtypes.lookup(record.kernel);
        if (auto selected = schedule::scheduleOf(launch))
          if (auto prediction = selected.getPrediction()) {
            kernel.expectedMicroseconds = double(prediction->nanoseconds) / 1000;
            kernel.bound = stringifyBound(prediction->bound).str();
          }
      }
      std::string problem;
      kernel.flops += plan::evaluate(step.flops, values.data(), problem);
      for (const plan::Operand &operand : step.operands)
        kernel.bytes += plan::evaluate(plan.buffers[operand.buffer].bytes, values.data(), problem);
      if (record.set >= 0)
        llvm::append_range(kernel.origins, origins.sets()[record.set]);
    });
  }
  for (KernelRecord &kernel : kernels) {
    llvm::sort(kernel.origins);
    kernel.origins.erase(llvm::unique(kernel.origins), kernel.origins.end());
  }
  return kernels;
}

llvm::Error addMeasurement(std::vector<KernelRecord> &kernels, const plan::Plan &plan,
                           const ExplainMeasurement &measured) {
  if (measured.steps.size() != plan.steps.size() || measured.calls <= 0 || measured.threads <= 0)
    return llvm::createStringError("%zu steps were measured, but the plan has %zu: this is the measurement of another "
                                   "compile",
                                   measured.steps.size(), plan.steps.size());
  const HostPeaks &peaks = measured.peaks;
  int64_t kept = 0;
  for (const KernelTime &time : measured.steps)
    kept += time.kept;
  const bool fromMemory = peaks.dram > 0 && peaks.l3Bytes > 0 && kept > 2 * peaks.l3Bytes;
  for (const auto &[step, time] : llvm::zip_equal(plan.steps, measured.steps)) {
    if (step.kind != plan::Step::Kind::Launch)
      continue;
    KernelRecord &kernel = kernels[step.callee];
    kernel.measuredMicroseconds = kernel.measuredMicroseconds.value_or(0) +
                                  double(time.nanoseconds) / 1000 / double(measured.calls) / measured.threads;
    // Compute the bound of the roofline model, as python/tilewright/bench/roof.py does. The model uses the bandwidth of
    // L2 if the buffers fit into L2, otherwise that of the last-level cache. For bytes that no step writes (weights,
    // constants, arguments), it uses the bandwidth of DRAM if their sum over all steps exceeds twice the size of the
    // last-level cache.
    double peak = kernel.dtype == "i8" ? peaks.int8 : kernel.dtype == "bf16" || kernel.dtype == "f16" ? peaks.bf16 : 0;
    if (peak == 0)
      peak = peaks.f32;
    const double bandwidth = time.bytes <= peaks.l2Bytes ? peaks.l2 : peaks.l3;
    if (peak <= 0 || bandwidth <= 0)
      continue;
    const int64_t streamed = fromMemory ? time.kept : 0;
    double reading = double(time.bytes - streamed) / bandwidth;
    if (streamed > 0)
      reading += double(streamed) / peaks.dram;
    kernel.roofMicroseconds = kernel.roofMicroseconds.value_or(0) + std::max(double(time.flops) / peak, reading) * 1e6;
  }
  return llvm::Error::success();
}

void addCodeSizes(std::vector<KernelRecord> &kernels, llvm::StringRef artifact) {
  llvm::Expected<HostArtifact> parts = readHostArtifact(artifact);
  if (!parts)
    return llvm::consumeError(parts.takeError());
  for (llvm::StringRef object : parts->objects) {
    auto aligned = llvm::MemoryBuffer::getMemBufferCopy(object, "kernels"); // in the artifact it may be unaligned
    auto file = llvm::object::ObjectFile::createObjectFile(*aligned);
    if (!file) {
      llvm::consumeError(file.takeError());
      continue;
    }
    for (const llvm::object::SymbolRef &symbol : (*file)->symbols()) {
      llvm::Expected<llvm::StringRef> name = symbol.getName();
      if (!name) {
        llvm::consumeError(name.takeError());
        continue;
      }
      auto kernel = llvm::find_if(kernels, [&](const KernelRecord &one) { return one.name == *name; });
      if (kernel != kernels.end() && isa<llvm::object::ELFObjectFileBase>(**file))
        kernel->codeBytes = int64_t(llvm::object::ELFSymbolRef(symbol).getSize());
    }
  }
}

} // namespace tilewright::explain
