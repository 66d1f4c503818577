//===- ScheduleEnums.td - the enumeration of resources that limit a kernel -----------===//
#ifndef TILEWRIGHT_DIALECTS_SCHEDULE_SCHEDULEENUMS
#define TILEWRIGHT_DIALECTS_SCHEDULE_SCHEDULEENUMS

include "mlir/IR/EnumAttr.td"

def Schedule_Bound : I32EnumAttr<"Bound", "the resource that takes most of a kernel's predicted time", [
    I32EnumAttrCase<"Compute", 0, "compute">, I32EnumAttrCase<"L2", 1, "L2">, I32EnumAttrCase<"L3", 2, "L3">,
    I32EnumAttrCase<"Dram", 3, "DRAM">, I32EnumAttrCase<"Tasks", 4, "tasks">]> {
  let cppNamespace = "::tilewright::schedule";
  let genSpecializedAttr = 0;
}

#endif
