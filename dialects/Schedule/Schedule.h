//===- Schedule.h - the interface of all schedules -----------------------------===//
#ifndef TILEWRIGHT_DIALECTS_SCHEDULE_SCHEDULE_H
#define TILEWRIGHT_DIALECTS_SCHEDULE_SCHEDULE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectImplementation.h"
#include "tilewright/AttributeNames.h"
#include <optional>
#include <string>

#include "dialects/Schedule/ScheduleEnums.h.inc"

namespace tilewright::schedule {

/// The name and the value of each knob of a point in a schedule space.
using KnobValues = llvm::ArrayRef<std::pair<std::string, int64_t>>;

/// The time that a cost model predicts for one launch of a kernel, and the resource that takes most of it.
struct Prediction {
  int64_t nanoseconds = 0;
  Bound bound = Bound::Compute;
};

/// Returns the text for a range of sizes: "to 16", "17 to 128", or "from 129" if `most` is INT64_MAX.
std::string describeSizes(int64_t least, int64_t most);

/// Returns the text for a report: "9.3 us, L2", or "352 us, L3" from 10 us on.
std::string describePrediction(const Prediction &prediction);

} // namespace tilewright::schedule

#include "dialects/Schedule/ScheduleInterfaces.h.inc"

namespace tilewright::schedule {

/// Returns the schedule of a kernel or of its launch, or null if it has none.
inline ScheduleAttrInterface scheduleOf(mlir::Operation *kernel) {
  return kernel->getAttrOfType<ScheduleAttrInterface>(scheduleAttrName);
}

} // namespace tilewright::schedule

#endif
