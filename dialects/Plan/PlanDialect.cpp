//===- PlanDialect.cpp - the tw_plan dialect --------------------------------===//
#include "dialects/Plan/PlanDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;

#include "dialects/Plan/PlanDialect.cpp.inc"
#include "dialects/Plan/PlanEnums.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Plan/PlanOps.cpp.inc"

namespace tilewright::plan {
void PlanDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Plan/PlanOps.cpp.inc"
      >();
}

LogicalResult ProgramOp::verify() {
  int64_t buffers = 0;
  for (auto buffer : getBody().getOps<BufferOp>())
    if (static_cast<int64_t>(buffer.getNumber()) != buffers++)
      return buffer.emitOpError("program_c1: expected number ") << buffers - 1 << ", got " << buffer.getNumber();
  auto known = [&](int64_t number) { return number >= 0 && number < buffers; };
  for (Operation &op : getBody().front()) {
    if (auto launch = dyn_cast<LaunchOp>(op))
      for (int64_t number : launch.getBuffers())
        if (!known(number))
          return launch.emitOpError("program_c2: no buffer ") << number;
    if (auto copy = dyn_cast<CopyOp>(op))
      if (!known(copy.getFrom()) || !known(copy.getTo()))
        return copy.emitOpError("program_c2: no buffer ") << (known(copy.getFrom()) ? copy.getTo() : copy.getFrom());
  }
  return success();
}
} // namespace tilewright::plan
