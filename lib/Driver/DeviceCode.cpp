//===- DeviceCode.cpp - kernels of a GPU and their plan, for targets -------------------===//
//
// This file creates and loads the artifact of a program for a GPU. The artifact has the format of HostArtifact. It
// contains the plan, one line per kernel ("name threads shared maps..."), and the PTX.
//
// Tests: test/Codegen/NVPTX, test/Python/test_cuda.py
//
//===----------------------------------------------------------------------===//
#include "tilewright/DeviceCode.h"
#include "lib/Driver/AssemblePtx.h"
#include "lib/Driver/HostArtifact.h"
#include "lib/Plan/PlanFromIR.h"
#include "lib/Runtime/CUDA/DriverProgram.h"
#include "lib/Runtime/CUDA/DriverTimer.h"
#include "lib/Runtime/CUDA/EmulatedDevice.h"
#include "lib/Runtime/Plan/Plan.h"
#include "lib/Runtime/Plan/StepWork.h"
#include "llvm/ADT/StringExtras.h"
#include <numeric>

using namespace mlir;

namespace tilewright {

char DeviceError::ID;

namespace {

bool takeAll(int32_t outputs, CallersMemory *memory, RunError &error) {
  std::vector<int32_t> all(size_t(outputs), 0);
  std::iota(all.begin(), all.end(), 0);
  return !memory || memory->take(all, error);
}

class EmulatedProgram final : public Program {
public:
  explicit EmulatedProgram(std::unique_ptr<runtime::EmulatedDevice> device) : device(std::move(device)) {}

  bool run(const void *const *inputs, void *const *outputs, const int64_t *symbols, const uint64_t *, int,
           RunError &error, CallersMemory *memory) override {
    // Allocate all results at once, because the emulated device need not save memory.
    return takeAll(device->numOutputs(), memory, error) &&
           (device->run(inputs, outputs, symbols, error) || withLine(error, report.stepLines));
  }
  void repack() override {} // every call packs the parameters again

private:
  std::unique_ptr<runtime::EmulatedDevice> device;
};

class TimerOfDriver final : public DeviceTimer {
public:
  explicit TimerOfDriver(std::unique_ptr<runtime::DriverTimer> timer) : timer(std::move(timer)) {}

  void *allocate(int64_t bytes, RunError &error) override { return timer->allocate(size_t(bytes), error); }
  bool copyIn(void *to, const void *from, int64_t bytes, RunError &error) override {
    return timer->copyIn(to, from, size_t(bytes), error);
  }
  bool copyOut(void *to, const void *from, int64_t bytes, RunError &error) override {
    return timer->copyOut(to, from, size_t(bytes), error);
  }
  bool time(const std::function<bool(RunError &)> &call, double &nanoseconds, RunError &error) override {
    return timer->time(call, nanoseconds, error);
  }

private:
  std::unique_ptr<runtime::DriverTimer> timer;
};

class DriverProgram final : public Program {
public:
  explicit DriverProgram(std::unique_ptr<runtime::DriverProgram> program) : program(std::move(program)) {}

  bool run(const void *const *inputs, void *const *outputs, const int64_t *symbols, const uint64_t *versions, int,
           RunError &error, CallersMemory *memory) override {
    return takeAll(program->numOutputs(), memory, error) &&
           (program->run(inputs, outputs, symbols, versions, memory, error) || withLine(error, report.stepLines));
  }
  void repack() override { program->repack(); }
  int64_t packedBytes() override { return program->packedBytes(); }

  void profile(bool on) override { program->profile(on); }
  std::vector<KernelTime> times(const int64_t *symbols) override {
    std::vector<KernelTime> result;
    const plan::Plan &plan = program->planOf();
    std::string error;
    for (auto [step, nanoseconds] : llvm::zip(plan.steps, program->times())) {
      const plan::StepWork work = plan::workOf(plan, step, symbols, error);
      const bool launches = step.kind == plan::Step::Kind::Launch;
      result.push_back({launches ? plan.kernels[size_t(step.callee)] : "", step.label, step.schedule, nanoseconds,
                        work.flops, work.bytes, work.kept});
    }
    return result;
  }

  std::unique_ptr<DeviceTimer> deviceTimer(RunError &error) override {
    std::unique_ptr<runtime::DriverTimer> timer = runtime::DriverTimer::create(program->contextOf(), error);
    return timer ? std::make_unique<TimerOfDriver>(std::move(timer)) : nullptr;
  }

private:
  std::unique_ptr<runtime::DriverProgram> program;
};

llvm::Error refused(const std::string &why) {
  return llvm::createStringError("the compiled program cannot be loaded: %s", why.c_str());
}

/// Returns the device ordinal in a text such as "cuda:1". Returns 0 for "cuda" and "", and nullopt for other texts.
std::optional<int> ordinalOf(StringRef device) {
  int ordinal = 0;
  if (device.empty() || device == "cuda")
    return ordinal;
  if (device.consume_front("cuda:") && !device.getAsInteger(10, ordinal) && ordinal >= 0)
    return ordinal;
  return std::nullopt;
}

} // namespace

llvm::Error checkDevice(StringRef device) {
  if (device == "emulated" || ordinalOf(device))
    return llvm::Error::success();
  return llvm::createStringError(
      "target cuda has no device '%s'; supported are \"cuda\", \"cuda:1\", ..., and \"emulated\"",
      device.str().c_str());
}

int deviceCapability(StringRef device) {
  std::optional<int> ordinal = ordinalOf(device);
  return ordinal ? runtime::DriverContext::capabilityOf(*ordinal) : 0;
}

std::string deviceName(StringRef device) {
  std::optional<int> ordinal = ordinalOf(device);
  return ordinal ? runtime::DriverContext::nameOf(*ordinal) : "";
}

llvm::Expected<std::string> emitDeviceArtifact(ModuleOp module, StringRef ptx, ArrayRef<DeviceKernel> kernels) {
  llvm::Expected<plan::Plan> plan = planOf(module);
  if (!plan)
    return plan.takeError();
  std::string table;
  for (const std::string &name : plan->kernels) {
    const auto *kernel = llvm::find_if(kernels, [&](const DeviceKernel &each) { return each.name == name; });
    if (kernel == kernels.end())
      return llvm::createStringError("kernel %s of the plan has no code", name.c_str());
    table += name + " " + std::to_string(kernel->threads) + " " + std::to_string(kernel->shared);
    for (const TensorMapRecipe &map : kernel->maps)
      table += " " + map.text();
    table += "\n";
  }
  std::vector<uint8_t> image = plan::serialize(*plan);
  return packHostArtifact({StringRef(reinterpret_cast<const char *>(image.data()), image.size()), table, {ptx}});
}

llvm::Error assembleDeviceArtifact(StringRef artifact, const DeviceOptions &options) {
  llvm::Expected<HostArtifact> parts = readHostArtifact(artifact);
  if (!parts)
    return parts.takeError();
  if (int capability = deviceCapability(options.device); capability && options.cache && !parts->objects.empty())
    assemblePtx(parts->objects.front(), capability, options.cache);
  return llvm::Error::success();
}

llvm::Expected<std::shared_ptr<Program>> loadDeviceArtifact(StringRef artifact, const DeviceOptions &options) {
  llvm::Expected<HostArtifact> parts = readHostArtifact(artifact);
  if (!parts)
    return parts.takeError();
  llvm::Expected<plan::Plan> plan = planOf(*parts);
  if (!plan)
    return plan.takeError();
  std::vector<runtime::GridKernel> kernels;
  for (StringRef line : llvm::split(parts->kernelNames.rtrim('\n'), '\n')) {
    if (line.empty())
      continue;
    SmallVector<StringRef> words(llvm::split(line, ' '));
    runtime::GridKernel kernel;
    kernel.name = words.front().str();
    bool whole =
        words.size() >= 3 && !words[1].getAsInteger(10, kernel.threads) && !words[2].getAsInteger(10, kernel.shared);
    for (StringRef map : ArrayRef(words).drop_front(std::min<size_t>(3, words.size())))
      whole &= TensorMapRecipe::read(map, kernel.maps.emplace_back());
    if (!whole)
      return llvm::createStringError("the table of kernels in the compiled program cannot be read");
    kernels.push_back(std::move(kernel));
  }
  std::string ptx = parts->objects.empty() ? "" : parts->objects.front().str();
  std::string error;
  std::unique_ptr<runtime::GridPlan> grids = runtime::GridPlan::create(std::move(*plan), std::move(kernels), error);
  if (!grids)
    return refused(error);
  if (options.device == "emulated") {
    auto device = runtime::EmulatedDevice::create(std::move(grids), std::move(ptx), error);
    if (!device)
      return refused(error);
    return std::make_shared<EmulatedProgram>(std::move(device));
  }
  if (llvm::Error unknown = checkDevice(options.device))
    return unknown;
  auto context = runtime::DriverContext::of(*ordinalOf(options.device), error);
  if (!context)
    return llvm::make_error<DeviceError>("target 'cuda' cannot run: " + error);
  PtxAssembly made = assemblePtx(ptx, context->capability, options.cache);
  std::string cubinRefused;
  auto program = runtime::DriverProgram::create(std::move(grids), ptx, made.cubin, std::move(context), options.graph,
                                                cubinRefused, error);
  if (!program)
    return llvm::make_error<DeviceError>("the compiled program cannot be loaded: " + error);
  auto loaded = std::make_shared<DriverProgram>(std::move(program));
  if (!made.stage.empty())
    loaded->report.stageMilliseconds.push_back({made.stage, made.milliseconds});
  if (!made.warning.empty())
    loaded->report.warnings.push_back(made.warning);
  if (!cubinRefused.empty())
    loaded->report.warnings.push_back(
        "the NVIDIA driver compiles the kernels, because it rejects the code that ptxas generated: " + cubinRefused +
        "; set TILEWRIGHT_PTXAS to another ptxas, or to \"off\"");
  return loaded;
}

} // namespace tilewright
