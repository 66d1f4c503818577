//===- StepWork.h - the operations and bytes of a step, for profiles ------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_PLAN_STEPWORK_H
#define TILEWRIGHT_LIB_RUNTIME_PLAN_STEPWORK_H

#include "lib/Runtime/Plan/Plan.h"

namespace tilewright::plan {

/// The work of a step in one call.
struct StepWork {
  int64_t flops = 0; ///< number of operations of the step's contractions
  int64_t bytes = 0; ///< bytes of the accessed buffers; a gathered table counts at most as many bytes as the result
  int64_t kept = 0;  ///< the part of `bytes` that no step of the call wrote: packed weights, constants, arguments
};

/// Returns the work of `step`, a step of `plan`, for these values of the symbols. If a size cannot be computed, sets
/// `error`, and the work is incomplete.
StepWork workOf(const Plan &plan, const Step &step, const int64_t *symbols, std::string &error);

} // namespace tilewright::plan

#endif
