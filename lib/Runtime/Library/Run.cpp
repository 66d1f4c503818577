//===- Run.cpp - a call of a model -------------------------------------------===//
#include "lib/Runtime/Host/CallMemory.h"
#include "lib/Runtime/Host/FloatingPointMode.h"
#include "lib/Runtime/Library/Model.h"

#include <algorithm>
#include <new>

using namespace tilewright;
using namespace tilewright::library;

/// Reinitializes the data that the parent's call was changing when this process was forked. The old objects are
/// leaked, because they may be partly freed.
void tilewright_model::forgetTornCall() {
  const size_t count = plan.symbols.size();
  new (&error) std::string;
  new (&memory) runtime::Memory;
  new (&frames) decltype(frames);
  new (&symbols) std::vector<int64_t>(count);
}

/// Returns the frame for the call's symbols, or null with a reason in `error`.
const runtime::Frame *tilewright_model::frameOf() {
  for (size_t i = 0; i < frames.size(); ++i)
    if (frames[i]->symbols == symbols) {
      std::rotate(frames.begin(), frames.begin() + i, frames.begin() + i + 1);
      return frames.front().get();
    }
  auto fresh = std::make_unique<runtime::Frame>();
  if (RunError failure; !runtime::resolveFrame(plan, symbols.data(), *fresh, failure)) {
    error = std::move(failure.text);
    return nullptr;
  }
  if (frames.size() == maxFrames)
    frames.pop_back();
  frames.insert(frames.begin(), std::move(fresh));
  return frames.front().get();
}

bool tilewright_model::walk(const runtime::Frame &frame, const void *const *inputs, void *const *outputs) {
  const int useful = runtime::CallMemory::usefulThreads(frame, threads);
  runtime::CallMemory layout(frame, useful);
  if (layout.bytes() < 0 || (layout.bytes() > memory.size() && !runtime::Memory::allocate(layout.bytes(), memory)))
    return fail(layout.shortage().text);
  runtime::CallContext call{plan,    kernels.data(), nullptr,   inputs, outputs, packed.pointers.data(),
                            nullptr, &team,          busy.get()};
  RunError failure; // the error contains the source line, which is in the step's label
  return layout.walk(memory.data(), 0, frame.steps.size(), call, failure) || fail(std::move(failure.text));
}

bool tilewright_model::run(const CallerTensor *inputs, const CallerTensor *outputs) {
  if (!checkSizes(inputs))
    return false;
  if (!outputs && description.numOutputs != 0)
    return fail("the model has " + std::to_string(description.numOutputs) +
                " outputs, but the list of outputs is a null pointer");
  for (size_t i = 0; i < description.numInputs; ++i) {
    if (!checkMemory(i, false, inputs[i]))
      return false;
    inputPointers[size_t(description.inputs[i].number)] = inputs[i].data;
  }
  for (size_t i = 0; i < description.numOutputs; ++i) {
    if (!checkOutput(i, outputs[i]))
      return false;
    outputPointers[size_t(description.outputs[i].number)] = outputs[i].data;
  }
  if (!checkOverlap(inputs, outputs))
    return false;
  const runtime::Frame *frame = frameOf();
  return frame && walk(*frame, inputPointers.data(), outputPointers.data());
}

int tilewright_library_shape(tilewright_model *model, const CallerTensor *inputs, CallerTensor *outputs) {
  if (!model)
    return 1;
  tilewright_model::Turn turn(*model);
  return model->shape(inputs, outputs) ? 0 : 1;
}

int tilewright_library_run(tilewright_model *model, const CallerTensor *inputs, const CallerTensor *outputs) {
  if (!model)
    return 1;
  tilewright_model::Turn turn(*model);
  runtime::NoFloatingPointTraps quiet;
  return model->run(inputs, outputs) ? 0 : 1;
}
