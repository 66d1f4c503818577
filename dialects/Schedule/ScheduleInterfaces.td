//===- ScheduleInterfaces.td - the interface of all schedules ----------------===//
#ifndef TILEWRIGHT_DIALECTS_SCHEDULE_SCHEDULEINTERFACES
#define TILEWRIGHT_DIALECTS_SCHEDULE_SCHEDULEINTERFACES

include "mlir/IR/Interfaces.td"

def ScheduleAttrInterface : AttrInterface<"ScheduleAttrInterface"> {
  let cppNamespace = "::tilewright::schedule";
  let description = [{
    The schedule of a kernel, in its attribute `tw.schedule`. Each target has a separate attribute with different
    parameters. Passes and libraries that do not belong to a target (the plan, the report, the tuner, records) use a
    schedule through this interface only.
  }];
  let methods = [
    InterfaceMethod<"Returns the schedule in one line, without its prediction: \"tiles 64x48, k_block 512\".",
                    "std::string", "describe">,
    InterfaceMethod<"Returns the time that the cost model predicts, or nullopt.",
                    "std::optional<::tilewright::schedule::Prediction>", "getPrediction", (ins), [{}],
                    [{ return std::nullopt; }]>,
    InterfaceMethod<"Returns the tile sizes that a schedule file lists as `tiles`; empty if the target has no such list.",
                    "::llvm::ArrayRef<int64_t>", "getTileSizes", (ins), [{}], [{ return {}; }]>,
    InterfaceMethod<"Returns true if withKnobs() is supported.",
                    "bool", "isTunable", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
        Returns this schedule with other values of some knobs (ScheduleSpace.h): `tile0`, `tile1`, ... or a parameter.
        The prediction is removed. Returns null if `knobs` contains a name that is not a knob of the schedule, or a
        value that the knob does not accept.
      }], "::mlir::Attribute", "withKnobs", (ins "::tilewright::schedule::KnobValues":$knobs), [{}],
      [{ return {}; }]>,
    InterfaceMethod<"Returns this schedule with the key of the tuning record that it was made from.",
                    "::mlir::Attribute", "withRecord", (ins "::llvm::StringRef":$record), [{}], [{ return $_attr; }]>,
    InterfaceMethod<"Returns this schedule without its prediction and its record: equal results generate equal code.",
                    "::mlir::Attribute", "withoutOrigin", (ins), [{}], [{ return $_attr; }]>,
  ];
}

#endif
