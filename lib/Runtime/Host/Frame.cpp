//===- Frame.cpp - a plan with its symbols filled in ----------------------===//
#include "lib/Runtime/Host/Frame.h"
#include "lib/Runtime/Host/GuardedOperands.h"
#include "lib/Runtime/Host/TileClaims.h"
#include "lib/Runtime/Plan/ArenaPlanner.h"

#include <algorithm>

namespace tilewright::runtime {
namespace {

/// Only thread 0 performs copies of fewer bytes, because a barrier would take longer than the copy.
constexpr int64_t parallelCopyBytes = 256 * 1024;

class FrameResolver {
public:
  FrameResolver(const plan::Plan &plan, const std::vector<const plan::Step *> &steps, const int64_t *symbols,
                Frame &frame, std::string &error)
      : plan(plan), steps(steps), symbols(symbols), frame(frame), error(error) {}

  bool run() {
    frame = Frame();
    if (!plan.symbols.empty() && symbols)
      frame.symbols.assign(symbols, symbols + plan.symbols.size());
    if (!resolveBuffers())
      return false;
    mayAlias.assign(size_t(plan.numInputs), false);
    for (const plan::Buffer &buffer : plan.buffers)
      if (buffer.inPlace)
        mayAlias[buffer.index] = true;
    for (const plan::Step *step : steps)
      if (!resolveStep(*step))
        return false;
    placeBarriers(frame, writes, mayAlias);
    sortUnique(frame.neededInputs);
    sortUnique(frame.neededOutputs);
    return true;
  }

private:
  static void sortUnique(std::vector<int32_t> &numbers) {
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  }

  /// Returns the value of `expr`. Returns -1 and sets `error` if the value is negative or cannot be computed.
  int64_t value(const plan::Expr &expr, const std::string &where, const char *what) {
    std::string problem;
    int64_t result = plan::evaluate(expr, symbols, problem);
    if (problem.empty() && result >= 0)
      return result;
    if (problem.empty())
      problem = "it is negative: " + std::to_string(result);
    error = where + ": " + what + ": " + problem;
    return -1;
  }

  bool resolveBuffers() {
    slots = bufferSlots(plan);
    bytes.assign(plan.buffers.size(), 0);
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      // Frames of `once` steps have no symbols; the buffers that such steps use depend on none.
      if (!symbols && !plan.buffers[i].bytes.isSymbolFree())
        continue;
      bytes[i] = value(plan.buffers[i].bytes, "buffer " + std::to_string(i), "size in bytes");
      if (bytes[i] < 0)
        return false;
    }
    std::vector<plan::LiveRange> live = plan::liveRanges(steps, plan.buffers.size());
    std::vector<plan::ArenaRequest> requests(plan.buffers.size());
    const plan::LiveRange everywhere{0, INT32_MAX}; // with guard pages, buffers must not share memory
    for (size_t i = 0; i < plan.buffers.size(); ++i)
      if (plan.buffers[i].kind == plan::Buffer::Kind::Arena)
        requests[i] = {bytes[i], GuardedOperands::wanted() && !live[i].empty() ? everywhere : live[i]};
    if (!plan::planArena(requests, layout, error))
      return false;
    frame.arenaBytes = layout.total;
    return true;
  }

  bool resolveOperand(const plan::Step &step, size_t i, const std::string &where) {
    int32_t number = step.operands[i].buffer;
    const plan::Buffer &buffer = plan.buffers[number];
    int64_t offset = value(step.operands[i].offset, where, "operand offset");
    if (offset < 0)
      return false;
    if (offset > bytes[number]) {
      error = where + ": operand " + std::to_string(i) + " starts at byte " + std::to_string(offset) +
              " of a buffer of " + std::to_string(bytes[number]) + " bytes";
      return false;
    }
    Frame::Operand operand{Frame::Space::Arena, slots[number], offset, bytes[number] - offset};
    switch (buffer.kind) {
    case plan::Buffer::Kind::Input:
      operand.space = Frame::Space::Input;
      if (bytes[number] != 0)
        frame.neededInputs.push_back(operand.index);
      break;
    case plan::Buffer::Kind::Output:
      operand.space = Frame::Space::Output;
      if (bytes[number] != 0)
        frame.neededOutputs.push_back(operand.index);
      break;
    case plan::Buffer::Kind::Packed:
      operand.space = Frame::Space::Packed;
      break;
    case plan::Buffer::Kind::Arena:
      operand.offset += layout.offsets[number];
      break;
    case plan::Buffer::Kind::Constant:
      operand.space = Frame::Space::Constant;
      operand.offset += buffer.index;
      break;
    }
    frame.operands.push_back(operand);
    writes.push_back(plan::writesOperand(step, i));
    return true;
  }

  bool resolveStep(const plan::Step &step) {
    auto number = int32_t(position);
    std::string where = "step " + std::to_string(position++) + (step.label.empty() ? "" : " (" + step.label + ")");
    Frame::Step resolved{};
    resolved.kind = step.kind;
    resolved.callee = step.callee;
    resolved.number = number;
    resolved.checks = step.checks;
    resolved.firstOperand = uint32_t(frame.operands.size());
    resolved.firstSize = uint32_t(frame.sizes.size());
    resolved.grid = 1;
    if (step.kind == plan::Step::Kind::Launch && (resolved.grid = value(step.grid, where, "grid")) < 0)
      return false;
    if (step.kind == plan::Step::Kind::Copy && (resolved.copyBytes = value(step.bytes, where, "bytes to copy")) < 0)
      return false;
    int64_t scratch = value(step.scratchBytes, where, "scratch bytes");
    if (scratch < 0)
      return false;
    if (step.checks)
      scratch = std::max<int64_t>(scratch, 64);
    if (scratch > int64_t(1) << 40) {
      error = where + ": it needs " + std::to_string(scratch) + " bytes of scratch memory for each thread";
      return false;
    }
    if (resolved.grid == 0)
      return true;
    for (size_t i = 0; i < step.operands.size(); ++i)
      if (!resolveOperand(step, i, where))
        return false;
    for (const plan::Expr &size : step.sizes) {
      std::string problem;
      frame.sizes.push_back(plan::evaluate(size, symbols, problem));
      if (!problem.empty()) {
        error = where + ": size argument: " + problem;
        return false;
      }
    }
    if (step.kind == plan::Step::Kind::Copy && !resolveCopy(resolved, where))
      return false;
    resolved.serial = resolved.grid == 1 || resolved.grid > TileClaims::maxGrid;
    frame.scratchBytes = std::max(frame.scratchBytes, (scratch + 127) / 128 * 128);
    frame.parallelism = std::max(frame.parallelism, resolved.grid);
    frame.steps.push_back(resolved);
    return true;
  }

  bool resolveCopy(Frame::Step &step, const std::string &where) {
    Frame::Operand &from = frame.operands[step.firstOperand], &to = frame.operands[step.firstOperand + 1];
    if (step.copyBytes > from.bytes || step.copyBytes > to.bytes) {
      error = where + ": it copies " + std::to_string(step.copyBytes) + " bytes from " + std::to_string(from.bytes) +
              " to " + std::to_string(to.bytes);
      return false;
    }
    from.bytes = to.bytes = step.copyBytes;
    auto mayAliasAny = [&](const Frame::Operand &operand) {
      return operand.space == Frame::Space::Input && mayAlias[operand.index];
    };
    bool overlap = from.space == to.space && from.index == to.index && from.offset < to.offset + step.copyBytes &&
                   to.offset < from.offset + step.copyBytes;
    if (!overlap && !mayAliasAny(from) && !mayAliasAny(to) && step.copyBytes >= parallelCopyBytes)
      step.grid = (step.copyBytes + parallelCopyBytes / 4 - 1) / (parallelCopyBytes / 4);
    return true;
  }

  const plan::Plan &plan;
  const std::vector<const plan::Step *> &steps;
  const int64_t *symbols;
  Frame &frame;
  std::string &error;
  std::vector<int32_t> slots;
  std::vector<int64_t> bytes;
  std::vector<bool> writes;
  std::vector<bool> mayAlias; ///< one flag per input: it is written in place
  plan::ArenaLayout layout;
  size_t position = 0;
};

} // namespace

std::vector<int32_t> bufferSlots(const plan::Plan &plan) {
  std::vector<int32_t> slots(plan.buffers.size(), 0);
  int32_t packed = 0;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const plan::Buffer &buffer = plan.buffers[i];
    if (buffer.kind == plan::Buffer::Kind::Input || buffer.kind == plan::Buffer::Kind::Output)
      slots[i] = int32_t(buffer.index);
    else if (buffer.kind == plan::Buffer::Kind::Packed)
      slots[i] = packed++;
  }
  return slots;
}

bool resolveFrame(const plan::Plan &plan, const std::vector<const plan::Step *> &steps, const int64_t *symbols,
                  Frame &frame, std::string &error) {
  return FrameResolver(plan, steps, symbols, frame, error).run();
}

bool resolveFrame(const plan::Plan &plan, const int64_t *symbols, Frame &frame, RunError &error) {
  std::vector<const plan::Step *> steps;
  for (const plan::Step &step : plan.steps)
    steps.push_back(&step);
  const int64_t none = 0; // used instead of a null pointer, which would mean that the symbols are unknown
  if (std::string broken = plan::brokenGuard(plan, symbols); !broken.empty()) {
    error = {RunError::Kind::SizesDoNotFit, std::move(broken)};
    return false;
  }
  return resolveFrame(plan, steps, symbols ? symbols : &none, frame, error.text);
}

} // namespace tilewright::runtime
