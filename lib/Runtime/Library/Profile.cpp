//===- Profile.cpp - times of the steps of runs ---------------------------===//
//
// Test: test/Python/test_library.py
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Library/Model.h"

using namespace tilewright;
using namespace tilewright::library;

void tilewright_model::profile(bool on) { busy.reset(on ? new std::atomic<int64_t>[plan.steps.size()]() : nullptr); }

int32_t tilewright_model::timesOfSteps(CallerStep *steps, int32_t capacity) const {
  if (!busy)
    return 0;
  for (size_t i = 0; i < plan.steps.size() && int64_t(i) < capacity; ++i)
    steps[i] = {plan.steps[i].label.c_str(), double(busy[i].load(std::memory_order_relaxed)) * 1e-9};
  return int32_t(plan.steps.size());
}

int tilewright_library_profile(tilewright_model *model, int32_t on) {
  if (!model)
    return 1;
  tilewright_model::Turn turn(*model);
  model->profile(on != 0);
  return 0;
}

int32_t tilewright_library_steps(tilewright_model *model, CallerStep *steps, int32_t capacity) {
  if (!model)
    return 0;
  tilewright_model::Turn turn(*model);
  return model->timesOfSteps(steps, steps ? capacity : 0);
}
