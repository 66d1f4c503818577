//===- OnceSteps.cpp - pack all packed buffers of a plan once ---------------===//
#include "lib/Runtime/Host/OnceSteps.h"
#include "lib/Runtime/Host/CallMemory.h"
#include "lib/Runtime/Host/FloatingPointMode.h"

namespace tilewright::runtime {

static bool allocatePacked(const plan::Plan &plan, PackedBuffers &packed, std::string &error) {
  std::vector<int64_t> offsets;
  int64_t total = 0;
  for (const plan::Buffer &buffer : plan.buffers) {
    if (buffer.kind != plan::Buffer::Kind::Packed)
      continue;
    std::string problem;
    const int64_t bytes = plan::fixedBytes(buffer, problem); // verify() guarantees that the size depends on no symbol
    if (bytes < 0) {
      error = "a packed buffer has an impossible size: " + problem;
      return false;
    }
    offsets.push_back(total);
    packed.bytes.push_back(bytes);
    total += (bytes + 63) / 64 * 64;
  }
  if (!Memory::allocate(total, packed.memory)) {
    error = "out of memory: packed parameters need " + std::to_string(total) + " bytes";
    return false;
  }
  for (int64_t offset : offsets)
    packed.pointers.push_back(packed.memory.data() + offset);
  return true;
}

bool runOnceSteps(const plan::Plan &plan, const Kernel *kernels, const void *const *inputs, ThreadTeam &team,
                  int threads, PackedBuffers &packed, std::string &error) {
  NoFloatingPointTraps quiet;
  packed = PackedBuffers();
  std::vector<const plan::Step *> steps;
  for (const plan::Step &step : plan.once)
    steps.push_back(&step);
  Frame frame;
  if (!allocatePacked(plan, packed, error) || !resolveFrame(plan, steps, nullptr, frame, error))
    return false;
  CallMemory layout(frame, CallMemory::usefulThreads(frame, threads));
  Memory block;
  if (layout.bytes() < 0 || !Memory::allocate(layout.bytes(), block)) {
    error = layout.shortage().text;
    return false;
  }
  CallContext call{plan, kernels, nullptr, inputs, nullptr, packed.pointers.data(), nullptr, &team};
  RunError failure;
  if (layout.walk(block.data(), 0, frame.steps.size(), call, failure))
    return true;
  error = std::move(failure.text);
  return false;
}

} // namespace tilewright::runtime
