//===- Weights.cpp - data of a library's plan that its caller does not provide ------===//
//
// Before:                                   After, with packHere (the `once` steps have run):
//   inputs: 0 x, 1 w (bound)                  inputs: 0 x, 1 nothing, 2 constant 0, 3 packed 0
//   constant 0, packed 0                      weights: 2, 3
//   once: packed 0 = pack(w)
//   step: y = kernel(x, packed 0, constant 0) step: y = kernel(x, input 3, input 2)
//
// Without packHere, the `once` steps remain, and w is a weight instead of packed 0.
//
// Therefore, all weights are inputs in the plan of a library. The runtime reads them without copying, and processes
// share their pages.
//
//===----------------------------------------------------------------------===//
#include "lib/AOT/Weights.h"
#include "lib/Runtime/Host/Affinity.h"
#include "lib/Runtime/Host/OnceSteps.h"
#include "lib/Runtime/Jit/Jit.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"

namespace tilewright::library {
namespace {

class WeightTaker {
public:
  WeightTaker(plan::Plan &plan, llvm::ArrayRef<BoundInput> bound, VariantContents &variant, WeightStore &store)
      : plan(plan), bound(bound), variant(variant), store(store), constants(std::move(plan.constants)) {
    plan.constants.clear();
  }

  llvm::Error run(const HostArtifact &artifact, bool packHere) {
    for (const BoundInput &weight : bound)
      parts.push_back({int64_t(weight.input), weight.bytes.data(), weight.bytes.size()});
    for (plan::Buffer &buffer : plan.buffers) {
      if (buffer.kind != plan::Buffer::Kind::Constant)
        continue;
      std::string problem;
      const int64_t bytes = plan::evaluate(buffer.bytes, nullptr, problem); // cannot fail, because the plan is verified
      parts.push_back({plan.numInputs, constants.data() + buffer.index, size_t(bytes)});
      becomeInput(buffer);
    }
    if (llvm::Error failed = checkOnceSteps())
      return failed;
    variant.packed = plan.once.empty() || packHere;
    if (!plan.once.empty() && packHere)
      if (llvm::Error failed = pack(artifact))
        return failed;
    keep();
    return llvm::Error::success();
  }

private:
  struct Part {
    int64_t number; ///< index among the plan's inputs
    const void *data;
    size_t bytes;
  };

  void becomeInput(plan::Buffer &buffer) {
    buffer.kind = plan::Buffer::Kind::Input;
    buffer.index = plan.numInputs++;
  }

  /// Checks that no `once` step reads a caller's tensor, which may change with every call.
  llvm::Error checkOnceSteps() {
    for (const plan::Step &step : plan.once)
      for (const plan::Operand &operand : step.operands) {
        const plan::Buffer &buffer = plan.buffers[operand.buffer];
        if (buffer.kind == plan::Buffer::Kind::Input &&
            llvm::none_of(parts, [&](const Part &part) { return part.number == buffer.index; }))
          return llvm::createStringError("internal error: step '%s' packs an input of the caller only once; please "
                                         "report this bug",
                                         step.label.c_str());
      }
    return llvm::Error::success();
  }

  llvm::Error pack(const HostArtifact &artifact) {
    auto jit = runtime::Jit::create();
    if (!jit)
      return jit.takeError();
    for (llvm::StringRef object : artifact.objects)
      if (llvm::Error failed = (*jit)->addObject(llvm::MemoryBuffer::getMemBufferCopy(object, "kernels")))
        return failed;
    std::vector<runtime::Kernel> kernels(plan.kernels.size());
    for (const plan::Step &step : plan.once) {
      if (step.kind != plan::Step::Kind::Launch || kernels[step.callee].function)
        continue;
      llvm::Expected<void *> code = (*jit)->lookup(plan.kernels[step.callee]);
      if (!code)
        return code.takeError();
      kernels[step.callee].function = reinterpret_cast<tilewright_kernel_fn>(*code);
    }
    std::vector<const void *> inputs(plan.numInputs, nullptr);
    for (const Part &part : parts)
      inputs[part.number] = part.data;
    std::string problem;
    const int threads = runtime::clipThreads(0);
    if (!runtime::runOnceSteps(plan, kernels.data(), inputs.data(), runtime::ThreadTeam::process(), threads, packed,
                               problem))
      return llvm::createStringError("the weights cannot be packed: %s", problem.c_str());
    plan.once.clear();
    size_t slot = 0;
    for (plan::Buffer &buffer : plan.buffers)
      if (buffer.kind == plan::Buffer::Kind::Packed) {
        parts.push_back({plan.numInputs, packed.pointers[slot], size_t(packed.bytes[slot])});
        becomeInput(buffer);
        ++slot;
      }
    return llvm::Error::success();
  }

  /// Adds those constants, bound inputs and packed results that the plan still reads to the library's weights.
  void keep() {
    std::vector<bool> read(plan.numInputs, false);
    for (const std::vector<plan::Step> *steps : {&plan.once, &plan.steps})
      for (const plan::Step &step : *steps)
        for (const plan::Operand &operand : step.operands)
          if (const plan::Buffer &buffer = plan.buffers[operand.buffer]; buffer.kind == plan::Buffer::Kind::Input)
            read[buffer.index] = true;
    for (const Part &part : parts)
      if (read[part.number])
        variant.weights.push_back(
            {part.number, store.add({static_cast<const uint8_t *>(part.data), part.bytes}), int64_t(part.bytes)});
  }

  plan::Plan &plan;
  llvm::ArrayRef<BoundInput> bound;
  VariantContents &variant;
  WeightStore &store;
  std::vector<uint8_t> constants;
  runtime::PackedBuffers packed;
  std::vector<Part> parts;
};

} // namespace

int64_t WeightStore::add(llvm::ArrayRef<uint8_t> bytes) {
  const uint64_t hash = llvm::xxh3_64bits(bytes);
  auto [first, last] = stored.equal_range(hash);
  for (auto [offset, size] : llvm::make_second_range(llvm::make_range(first, last)))
    if (llvm::ArrayRef(data).slice(offset, size) == bytes)
      return int64_t(offset);
  data.resize(llvm::alignTo(data.size(), 64));
  const size_t offset = data.size();
  data.insert(data.end(), bytes.begin(), bytes.end());
  stored.insert({hash, {offset, bytes.size()}});
  return int64_t(offset);
}

llvm::Error takeWeights(plan::Plan &plan, llvm::ArrayRef<BoundInput> bound, const HostArtifact &artifact, bool packHere,
                        VariantContents &variant, WeightStore &store) {
  return WeightTaker(plan, bound, variant, store).run(artifact, packHere);
}

} // namespace tilewright::library
