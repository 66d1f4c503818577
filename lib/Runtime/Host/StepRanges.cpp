//===- StepRanges.cpp - parts of a long call between which memory is released ----===//
#include "lib/Runtime/Host/StepRanges.h"

#include <algorithm>

namespace tilewright::runtime {
namespace {

/// The first and the last step that access a buffer, and the end of the accessed bytes in the buffer.
struct Use {
  size_t first = SIZE_MAX, last = 0;
  int64_t bytes = 0;
  bool used() const { return first != SIZE_MAX; }
};

struct Uses {
  std::vector<Use> inputs, outputs, packed;

  Uses(const Frame &frame, size_t numInputs, size_t numOutputs, size_t numPacked)
      : inputs(numInputs), outputs(numOutputs), packed(numPacked) {
    for (size_t step = 0; step < frame.steps.size(); ++step)
      for (size_t i = frame.operandsOf(step); i < frame.operandsOf(step + 1); ++i)
        if (Use *use = of(frame.operands[i])) {
          use->first = std::min(use->first, step);
          use->last = step;
          use->bytes = std::max(use->bytes, frame.operands[i].offset + frame.operands[i].bytes);
        }
  }

private:
  Use *of(const Frame::Operand &operand) {
    switch (operand.space) {
    case Frame::Space::Input:
      return &inputs[operand.index];
    case Frame::Space::Output:
      return &outputs[operand.index];
    case Frame::Space::Packed:
      return &packed[operand.index];
    default:
      return nullptr;
    }
  }
};

} // namespace

std::vector<Frame::StepRange> cutIntoStepRanges(const Frame &frame, const std::vector<bool> &stay, int32_t numOutputs,
                                                int32_t numPacked, int64_t worthwhile) {
  Uses uses(frame, stay.size(), size_t(numOutputs), size_t(numPacked));
  for (size_t i = 0; i < stay.size(); ++i)
    if (stay[i])
      uses.inputs[i] = {};
  std::vector<int64_t> freed(frame.steps.size(), 0), made(frame.steps.size(), 0); // bytes, by step
  for (const std::vector<Use> *list : {&uses.inputs, &uses.packed})
    for (const Use &use : *list)
      if (use.used())
        freed[use.last] += use.bytes;
  int64_t toCome = 0;
  for (const std::vector<Use> *list : {&uses.outputs, &uses.packed})
    for (const Use &use : *list)
      if (use.used()) {
        made[use.first] += use.bytes;
        toCome += use.bytes;
      }

  std::vector<Frame::StepRange> stepRanges(1);
  int64_t given = 0;
  for (size_t step = 0; step < frame.steps.size(); ++step) {
    if (frame.steps[step].barrierBefore && given >= worthwhile && toCome >= worthwhile) {
      stepRanges.back().end = step;
      stepRanges.emplace_back().begin = step;
      given = 0;
    }
    given += freed[step];
    toCome -= made[step];
  }
  stepRanges.back().end = frame.steps.size();

  auto at = [&](size_t step) -> Frame::StepRange & {
    return *std::find_if(stepRanges.begin(), stepRanges.end(), [&](const Frame::StepRange &s) { return step < s.end; });
  };
  for (int32_t i = 0; i < numOutputs; ++i)
    (uses.outputs[i].used() ? at(uses.outputs[i].first) : stepRanges.front()).outputs.push_back(i);
  for (size_t i = 0; i < uses.inputs.size(); ++i)
    if (uses.inputs[i].used())
      at(uses.inputs[i].last).inputs.push_back(int32_t(i));
  for (int32_t i = 0; i < numPacked; ++i)
    if (uses.packed[i].used()) {
      at(uses.packed[i].first).packed.push_back(i);
      at(uses.packed[i].last).unpacked.push_back(i);
    }
  return stepRanges;
}

} // namespace tilewright::runtime
