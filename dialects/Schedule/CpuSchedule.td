//===- CpuSchedule.td - schedules of the target cpu --------------------------===//
#ifndef TILEWRIGHT_DIALECTS_SCHEDULE_CPUSCHEDULE
#define TILEWRIGHT_DIALECTS_SCHEDULE_CPUSCHEDULE

include "dialects/Schedule/ScheduleInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def CpuSchedule_Dialect : Dialect {
  let name = "tw_cpu";
  let cppNamespace = "::tilewright::schedule";
  let summary = "Schedules of kernels for CPUs";
  let description = [{
    The attributes of this dialect are values of a kernel's attribute `tw.schedule`. `--tw-select-schedule` selects a
    schedule by the cost model, `--tw-apply-records` replaces this schedule by a measured one, and
    `--tw-override-schedules` replaces it by that of the user's file. The later passes of the tiled stage and the passes
    of the vector stage generate code according to the schedule.
  }];
  let useDefaultAttributePrinterParser = 1;
}

def CpuSchedule_ScheduleAttr : AttrDef<CpuSchedule_Dialect, "CpuSchedule",
    [DeclareAttrInterfaceMethods<ScheduleAttrInterface,
     ["getPrediction", "getTileSizes", "isTunable", "withKnobs", "withRecord", "withoutOrigin"]>]> {
  let mnemonic = "schedule";
  let summary = "How a kernel is tiled into tasks, and how the code of a task is generated";
  let description = [{
    For example, `#tw_cpu.schedule<tiles = [64, 48], k_block = 512, nanoseconds = 9300, bound = L2>`.

    - `tiles` has at most one size per row dimension of the kernel (`dialects/Tile/Rows.h`): the number of indices of
      this dimension in one task. A size of 0 means that the dimension is not tiled. If the list is empty, the kernel is
      one task.
    - `order`, 0 or 1: with 1, consecutive tasks belong to the same column of tiles; with 0, to the same row.
    - `k_block`, the K-block of a product, which is summed in registers. It counts steps along K: elements, or groups of
      elements that one instruction multiplies.
    - `block`, the number of rows in a product's register block; 16 means the largest number that the registers and the
      L1 cache allow.
    - `unroll`, the largest number of vectors over which a loop is fully unrolled.
    - `accumulators`, the number of independent accumulator vectors of a long reduction.
    - `keys`, the number of keys per block of attention; `scores`, the number of rows per block of its scores.
    - `nanoseconds` and `bound` are the cost model's prediction: the time of one launch, and the resource that takes
      most of it.
    - `record` is the key of the tuning record that has this schedule.

    If a knob other than `order` is 0 or absent, the pass that uses it chooses its value.

    1. (schedule_c1) sizes of `tiles` are not negative.
    2. (schedule_c2) a knob that is not 0 is in the range of its row in `cpuKnobs()` (CpuSchedule.cpp).
  }];
  let parameters = (ins "::mlir::DenseI64ArrayAttr":$tiles,
    DefaultValuedParameter<"int64_t", "0">:$order,
    DefaultValuedParameter<"int64_t", "0">:$k_block,
    DefaultValuedParameter<"int64_t", "0">:$block,
    DefaultValuedParameter<"int64_t", "0">:$unroll,
    DefaultValuedParameter<"int64_t", "0">:$accumulators,
    DefaultValuedParameter<"int64_t", "0">:$keys,
    DefaultValuedParameter<"int64_t", "0">:$scores,
    DefaultValuedParameter<"int64_t", "0">:$nanoseconds,
    DefaultValuedParameter<"::tilewright::schedule::Bound", "::tilewright::schedule::Bound::Compute">:$bound,
    StringRefParameter<"key of a tuning record", "\"\"">:$record);
  let builders = [AttrBuilder<(ins "::llvm::ArrayRef<int64_t>":$tiles)>];
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns this schedule with these tiles and otherwise unchanged.
    CpuScheduleAttr withTiles(::llvm::ArrayRef<int64_t> tiles) const;
    /// Returns this schedule with a prediction; std::nullopt removes it.
    CpuScheduleAttr withPrediction(std::optional<Prediction> prediction) const;
  }];
}

def CpuSchedule_ScriptAttr : AttrDef<CpuSchedule_Dialect, "CpuScript",
    [DeclareAttrInterfaceMethods<ScheduleAttrInterface>]> {
  let mnemonic = "script";
  let summary = "A kernel that a script of the transform dialect has tiled";
  let description = [{
    For example, `#tw_cpu.script<"rows">`. The name is that of the `transform.named_sequence`
    (`--tw-apply-scripts`).
  }];
  let parameters = (ins StringRefParameter<"name of the sequence">:$sequence);
  let assemblyFormat = "`<` $sequence `>`";
}

#endif
