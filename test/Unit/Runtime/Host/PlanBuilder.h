//===- PlanBuilder.h - short plans for tests ------------------------------===//
#ifndef TILEWRIGHT_TEST_UNIT_HOST_PLANBUILDER_H
#define TILEWRIGHT_TEST_UNIT_HOST_PLANBUILDER_H

#include "lib/Runtime/Plan/Plan.h"

namespace tilewright::plan {

inline Expr operator*(Expr lhs, int64_t rhs) {
  lhs.items.push_back({Expr::Op::Const, rhs});
  lhs.items.push_back({Expr::Op::Mul, 0});
  return lhs;
}

inline int32_t addBuffer(Plan &plan, Buffer::Kind kind, int64_t index, Expr bytes) {
  Buffer buffer;
  buffer.kind = kind;
  buffer.index = index;
  buffer.bytes = std::move(bytes);
  plan.buffers.push_back(buffer);
  return int32_t(plan.buffers.size()) - 1;
}

inline Step launchStep(int32_t kernel, std::vector<int32_t> buffers, uint64_t writes, Expr grid,
                       std::vector<Expr> sizes = {}) {
  Step step;
  step.callee = kernel;
  for (int32_t buffer : buffers)
    step.operands.push_back({buffer, {}});
  step.writes = writes;
  step.grid = std::move(grid);
  step.sizes = std::move(sizes);
  return step;
}

} // namespace tilewright::plan

#endif
