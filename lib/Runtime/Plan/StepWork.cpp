//===- StepWork.cpp - the operations and bytes of a step, for profiles ----------------------===//
//
// Tests: test/Python/test_bench.py, test/Python/test_cuda_tuning.py
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Plan/StepWork.h"

#include <algorithm>

namespace tilewright::plan {

StepWork workOf(const Plan &plan, const Step &step, const int64_t *symbols, std::string &error) {
  auto value = [&](const Expr &expr) { return error.empty() ? evaluate(expr, symbols, error) : 0; };
  StepWork work{value(step.flops), 0, 0};
  for (size_t k = 0; k < step.operands.size(); ++k) {
    const Buffer &buffer = plan.buffers[size_t(step.operands[k].buffer)];
    int64_t bytes = value(buffer.bytes);
    if (writesOperand(step, k)) {
      work.bytes += bytes;
      continue;
    }
    // Most kernels with checks are gathers. A gather reads at most as many bytes of its table as it writes to its
    // result. For other kernels with checks, the number is an estimate.
    if (step.checks)
      bytes = std::min(bytes, value(plan.buffers[size_t(step.operands.back().buffer)].bytes));
    work.bytes += bytes;
    if (buffer.kind != Buffer::Kind::Arena && buffer.kind != Buffer::Kind::Output)
      work.kept += bytes;
  }
  return work;
}

} // namespace tilewright::plan
