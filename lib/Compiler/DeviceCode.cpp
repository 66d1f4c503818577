//===- DeviceCode.cpp - kernels of a GPU and their plan, for tenants -------------------===//
//
// The image is HostArtifact's: the plan, a line per kernel of it ("name threads shared maps..."), and the PTX.
//
// Tests: test/Target/CUDA, test/Python/test_cuda.py
//
//===----------------------------------------------------------------------===//
#include "tilewright/DeviceCode.h"
#include "lib/Compiler/HostArtifact.h"
#include "lib/Compiler/PlanFromIR.h"
#include "lib/Runtime/CUDA/EmulatedDevice.h"
#include "lib/Runtime/Plan/Plan.h"
#include "llvm/ADT/StringExtras.h"
#include <numeric>

using namespace mlir;

namespace tilewright {
namespace {

class EmulatedProgram final : public Program {
public:
  explicit EmulatedProgram(std::unique_ptr<runtime::EmulatedDevice> device) : device(std::move(device)) {}

  bool run(const void *const *inputs, void *const *outputs, const int64_t *symbols, const uint64_t *, int,
           std::string &error, CallersMemory *memory) override {
    if (memory) { // all results at once: what is emulated spares no memory
      std::vector<int32_t> all(size_t(device->numOutputs()));
      std::iota(all.begin(), all.end(), 0);
      if (!memory->take(all, error))
        return false;
    }
    return device->run(inputs, outputs, symbols, error) || withLine(error, report.stepLines);
  }
  void repack() override {} // packs are made anew at every call

private:
  std::unique_ptr<runtime::EmulatedDevice> device;
};

} // namespace

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

llvm::Expected<std::shared_ptr<Program>> loadDeviceArtifact(StringRef artifact, const Options &options) {
  if (options.device != "emulated")
    return llvm::createStringError("target '%s' cannot run on a GPU yet: device \"emulated\" runs its kernels on the "
                                   "CPU, checked (options={\"device\": \"emulated\"}, --device=emulated)",
                                   options.target.c_str());
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
      return llvm::createStringError("the compiled table of kernels cannot be read");
    kernels.push_back(std::move(kernel));
  }
  std::string ptx = parts->objects.empty() ? "" : parts->objects.front().str();
  std::string error;
  auto device = runtime::EmulatedDevice::create(std::move(*plan), std::move(kernels), std::move(ptx), error);
  if (!device)
    return llvm::createStringError("the compiled program cannot be loaded: %s", error.c_str());
  return std::make_shared<EmulatedProgram>(std::move(device));
}

} // namespace tilewright
