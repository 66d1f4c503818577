//===- CallMemory.cpp - the memory of one call of a frame ----------------===//
#include "lib/Runtime/Host/CallMemory.h"
#include "lib/Runtime/Host/GuardedOperands.h"

#include <algorithm>
#include <optional>

namespace tilewright::runtime {

int CallMemory::usefulThreads(const Frame &frame, int threads) {
  return int(std::min<int64_t>({threads, frame.parallelism, ThreadTeam::maxThreads}));
}

CallMemory::CallMemory(const Frame &frame, int threads) : frame(frame), threads(threads) {
  arenaBytes = (frame.arenaBytes + 127) / 128 * 128;
  claimBytes = threads == 1 ? 0 : TileClaims::bytes(int64_t(frame.steps.size()), threads);
  int64_t fixedBytes = arenaBytes + claimBytes + int64_t(frame.operands.size() * sizeof(void *));
  if (__builtin_mul_overflow(frame.scratchBytes, int64_t(threads), &scratchBytes) ||
      __builtin_add_overflow(fixedBytes, scratchBytes, &totalBytes))
    totalBytes = -1;
}

RunError CallMemory::shortage() const {
  return {RunError::Kind::OutOfMemory,
          "out of memory: this call needs an arena of " + std::to_string(frame.arenaBytes) + " bytes and " +
              std::to_string(frame.scratchBytes) + " bytes of scratch for each of " + std::to_string(threads) +
              " threads, which cannot be allocated; use smaller inputs (a smaller batch)"};
}

bool CallMemory::walk(uint8_t *block, size_t begin, size_t end, const CallContext &call, RunError &error) const {
  if (begin == end)
    return true;
  uint8_t *arenaBase = block, *constantBase = call.constants;
  void *const *spaces[Frame::numSpaces] = {const_cast<void *const *>(call.inputs), call.outputs, call.packed,
                                           reinterpret_cast<void *const *>(&arenaBase),
                                           reinterpret_cast<void *const *>(&constantBase)};
  uint8_t *scratch = block + arenaBytes, *claims = scratch + scratchBytes;
  auto **pointers = reinterpret_cast<void **>(claims + claimBytes);
  for (size_t i = frame.operandsOf(begin); i < frame.operandsOf(end); ++i) {
    const Frame::Operand &operand = frame.operands[i];
    pointers[i] = static_cast<uint8_t *>(spaces[size_t(operand.space)][operand.index]) + operand.offset;
  }
  std::optional<GuardedOperands> guarded;
  if (GuardedOperands::wanted()) {
    guarded.emplace(frame, frame.operandsOf(begin), frame.operandsOf(end), pointers);
    if (!guarded->isReady(error))
      return false;
  }
  Walk walk{frame, begin, end, call.kernels, call.hostFunctions, pointers, scratch};
  walk.profile(call.busy);
  walk.observe(call.observer, call.plan);
  bool ok = threads == 1 ? walk.alone()
                         : walk.together(*call.team, threads, TileClaims(claims, int64_t(frame.steps.size()), threads));
  if (!ok)
    error = walk.error(call.plan);
  return ok && (!guarded || guarded->finish(error));
}

} // namespace tilewright::runtime
