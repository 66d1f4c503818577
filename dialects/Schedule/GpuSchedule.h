//===- GpuSchedule.h - schedules of GPU targets --------------------------------===//
#ifndef TILEWRIGHT_DIALECTS_SCHEDULE_GPUSCHEDULE_H
#define TILEWRIGHT_DIALECTS_SCHEDULE_GPUSCHEDULE_H

#include "dialects/Schedule/Schedule.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"

#include "dialects/Schedule/GpuScheduleDialect.h.inc"
#include "dialects/Schedule/GpuScheduleEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Schedule/GpuScheduleAttributes.h.inc"

#endif
