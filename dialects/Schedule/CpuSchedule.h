//===- CpuSchedule.h - schedules of the target cpu -----------------------------===//
#ifndef TILEWRIGHT_DIALECTS_SCHEDULE_CPUSCHEDULE_H
#define TILEWRIGHT_DIALECTS_SCHEDULE_CPUSCHEDULE_H

#include "dialects/Schedule/Schedule.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"

#include "dialects/Schedule/CpuScheduleDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Schedule/CpuScheduleAttributes.h.inc"

namespace tilewright::schedule {

/// A parameter of CpuScheduleAttr that schedule files, schedule spaces and tuning records may set.
struct CpuKnob {
  llvm::StringLiteral name;
  int64_t least, most;
  llvm::StringLiteral meaning; ///< for messages
  int64_t (CpuScheduleAttr::*get)() const;
};

/// Returns all knobs in the order of the attribute's parameters.
llvm::ArrayRef<CpuKnob> cpuKnobs();
/// Returns the knob with this name, or null.
const CpuKnob *findCpuKnob(llvm::StringRef name);

/// Value of `block` for the largest number of rows that the registers and the L1 cache allow.
inline constexpr int64_t wholeBlocks = 16;

/// The number of steps of a K-block of the innermost reduction, unless the knob `k_block` of a schedule sets another
/// number. Each block is summed separately and then added to C. A block of B has 24 KiB for a panel of 48 columns in
/// f32. It fits in the L1 cache together with the rows of A by which it is multiplied. The bound on the error of a long
/// sum is proportional to the size of a block plus the number of blocks. Without blocks, it would be proportional to K,
/// the product of these numbers.
inline constexpr int64_t defaultKBlock = 128;

/// Returns the value of a knob of the schedule of `kernel`, for example by `knobOr(kernel, &CpuScheduleAttr::getKBlock,
/// defaultKBlock)`. Returns `otherwise` if the kernel is null or its schedule does not set the knob.
int64_t knobOr(mlir::func::FuncOp kernel, int64_t (CpuScheduleAttr::*knob)() const, int64_t otherwise);

} // namespace tilewright::schedule

#endif
