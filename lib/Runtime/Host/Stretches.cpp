//===- Stretches.cpp - a long call in parts between which memory changes hands --===//
#include "lib/Runtime/Host/Stretches.h"

#include <algorithm>

namespace tilewright::runtime {
namespace {

/// Which steps touch a tensor of the caller, and how much of it.
struct Use {
  size_t first = SIZE_MAX, last = 0;
  int64_t bytes = 0;
  bool used() const { return first != SIZE_MAX; }
};

struct Uses {
  std::vector<Use> inputs, outputs;

  Uses(const Frame &frame, int32_t numInputs, int32_t numOutputs)
      : inputs(size_t(numInputs)), outputs(size_t(numOutputs)) {
    for (size_t step = 0; step < frame.steps.size(); ++step) {
      size_t end = step + 1 < frame.steps.size() ? frame.steps[step + 1].firstOperand : frame.operands.size();
      for (size_t i = frame.steps[step].firstOperand; i < end; ++i) {
        const Frame::Operand &operand = frame.operands[i];
        if (operand.space != Frame::Space::Input && operand.space != Frame::Space::Output)
          continue;
        Use &use = (operand.space == Frame::Space::Input ? inputs : outputs)[operand.index];
        use.first = std::min(use.first, step);
        use.last = step;
        use.bytes = std::max(use.bytes, operand.offset + operand.bytes);
      }
    }
  }
};

} // namespace

std::vector<Frame::Stretch> cutIntoStretches(const Frame &frame, int32_t numInputs, int32_t numOutputs,
                                             int64_t worthwhile) {
  const Uses uses(frame, numInputs, numOutputs);
  std::vector<int64_t> freed(frame.steps.size(), 0), made(frame.steps.size(), 0); // by step
  for (const Use &use : uses.inputs)
    if (use.used())
      freed[use.last] += use.bytes;
  int64_t toCome = 0;
  for (const Use &use : uses.outputs)
    if (use.used()) {
      made[use.first] += use.bytes;
      toCome += use.bytes;
    }

  std::vector<Frame::Stretch> stretches(1);
  int64_t given = 0;
  for (size_t step = 0; step < frame.steps.size(); ++step) {
    if (frame.steps[step].barrierBefore && given >= worthwhile && toCome >= worthwhile) {
      stretches.back().end = step;
      stretches.emplace_back().begin = step;
      given = 0;
    }
    given += freed[step];
    toCome -= made[step];
  }
  stretches.back().end = frame.steps.size();

  auto at = [&](size_t step) -> Frame::Stretch & {
    return *std::find_if(stretches.begin(), stretches.end(), [&](const Frame::Stretch &s) { return step < s.end; });
  };
  for (int32_t i = 0; i < numOutputs; ++i)
    (uses.outputs[i].used() ? at(uses.outputs[i].first) : stretches.front()).outputs.push_back(i);
  for (int32_t i = 0; i < numInputs; ++i)
    if (uses.inputs[i].used())
      at(uses.inputs[i].last).inputs.push_back(i);
  return stretches;
}

} // namespace tilewright::runtime
