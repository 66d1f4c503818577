//===- Schedule.cpp - how a kernel is mapped to a grid, as data ------------------------===//
#include "lib/Codegen/GPU/Schedule.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace tilewright::gpu {

void setSchedule(func::FuncOp kernel, const Schedule &chosen) {
  kernel->setAttr(scheduleAttrName, schedule::attributeOf(kernel.getContext(), chosen));
}

/// Returns true if the row length of every result is a multiple of `vector`.
static bool inVectors(func::FuncOp kernel, int64_t vector) {
  return vector == 1 || llvm::all_of(kernel.getResultTypes(), [&](Type type) {
           auto shaped = dyn_cast<ShapedType>(type);
           return shaped && shaped.getRank() > 0 && !shaped.isDynamicDim(shaped.getRank() - 1) &&
                  shaped.getShape().back() % vector == 0;
         });
}

std::optional<Schedule> getSchedule(func::FuncOp kernel) {
  Attribute attribute = kernel->getAttr(scheduleAttrName);
  auto chosen = dyn_cast_or_null<schedule::GpuScheduleAttr>(attribute);
  if (!chosen) {
    InFlightDiagnostic error = kernel.emitOpError("has no schedule of the target cuda: expected tw.schedule = "
                                                  "#tw_gpu.schedule<kind = ..., threads = ..., ...>");
    if (attribute)
      error << ", not " << attribute;
    return std::nullopt;
  }
  const Schedule values = schedule::parametersOf(chosen);
  const bool adjacent = values.kind == Schedule::Kind::Elements || values.kind == Schedule::Kind::Scatter ||
                        values.kind == Schedule::Kind::Windows;
  if (!adjacent || inVectors(kernel, values.vector))
    return values;
  kernel.emitOpError("has the schedule ") << attribute << ", whose vector does not divide the rows of its results";
  return std::nullopt;
}

bool hasScheduleExcept(func::FuncOp kernel, Schedule::Kind kind) {
  Attribute attribute = kernel->getAttr(scheduleAttrName);
  auto known = dyn_cast_or_null<schedule::GpuScheduleAttr>(attribute);
  return attribute && !(known && known.getKind() == kind);
}

} // namespace tilewright::gpu
