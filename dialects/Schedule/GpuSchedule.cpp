//===- GpuSchedule.cpp - schedules of GPU targets ------------------------------===//
//
// Test: test/Dialects/Schedule/gpu-schedule.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Schedule/GpuParameters.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "dialects/Schedule/GpuScheduleDialect.cpp.inc"
#include "dialects/Schedule/GpuScheduleEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Schedule/GpuScheduleAttributes.cpp.inc"

namespace tilewright::schedule {

void GpuScheduleDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Schedule/GpuScheduleAttributes.cpp.inc"
      >();
}

LogicalResult GpuScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError, GpuKind kind, int64_t threads,
                                      int64_t vector, int64_t group, DenseI64ArrayAttr block, DenseI64ArrayAttr warps,
                                      DenseI64ArrayAttr tile, int64_t consumers, int64_t stages,
                                      int64_t tileRowsPerBand, int64_t tilesPerBlock, int64_t cluster, int64_t splitK,
                                      bool swapped, bool rowsAcrossLanes, StringRef record) {
  GpuParameters made;
  made.kind = kind;
  made.threads = threads;
  made.vector = vector;
  made.group = group;
  made.tileRowsPerBand = tileRowsPerBand;
  made.tilesPerBlock = tilesPerBlock;
  made.cluster = cluster;
  made.splitK = splitK;
  made.swapped = swapped;
  made.rowsAcrossLanes = rowsAcrossLanes;
  const bool mma = kind == GpuKind::Mma, wgmma = kind == GpuKind::Wgmma, fma = kind == GpuKind::Fma,
             rows = kind == GpuKind::Rows, attention = kind == GpuKind::Attention, windows = kind == GpuKind::Windows;
  const bool adjacent = rows || windows || kind == GpuKind::Elements || kind == GpuKind::Scatter;
  auto number = [&](StringRef name, int64_t value, bool needed, bool allowed) -> LogicalResult {
    if (value < 0 || (needed && value == 0))
      return emitError() << "(schedule_c2) " << stringifyGpuKind(kind) << " has a positive " << name << ", not "
                         << value;
    if (value != 0 && !allowed)
      return emitError() << "(schedule_c2) " << stringifyGpuKind(kind) << " has no " << name;
    return success();
  };
  auto numbers = [&](StringRef name, DenseI64ArrayAttr values, int64_t count) -> LogicalResult {
    if (count == 0 && values)
      return emitError() << "(schedule_c2) " << stringifyGpuKind(kind) << " has no " << name;
    if (count > 0 && (!values || values.size() != count ||
                      llvm::any_of(values.asArrayRef(), [](int64_t value) { return value < 1; })))
      return emitError() << "(schedule_c2) " << stringifyGpuKind(kind) << " has " << count << " positive sizes of "
                         << name;
    return success();
  };
  if (failed(number("vector", vector, adjacent, adjacent)) || failed(number("group", group, rows, rows)) ||
      failed(numbers("block", block,
                     mma || wgmma || fma ? 3
                     : attention         ? 2
                                         : 0)) ||
      failed(numbers("warps", warps, mma ? 2 : 0)) || failed(numbers("tile", tile, fma || windows ? 2 : 0)) ||
      failed(number("consumers", consumers, wgmma, wgmma || attention)) ||
      failed(number("stages", stages, mma || wgmma || attention, mma || wgmma || attention)))
    return failure();
  if (rowsAcrossLanes && !rows)
    return emitError() << "(schedule_c2) " << stringifyGpuKind(kind) << " has no rows_across_lanes";
  if (std::string why = whyInvalid(made); !why.empty())
    return emitError() << why;
  return success();
}

bool GpuScheduleAttr::isTunable() const { return true; }

/// Returns a copy of `schedule` with the record `record`.
static GpuScheduleAttr replaceRecord(GpuScheduleAttr schedule, StringRef record) {
  return GpuScheduleAttr::get(schedule.getContext(), schedule.getKind(), schedule.getThreads(), schedule.getVector(),
                              schedule.getGroup(), schedule.getBlock(), schedule.getWarps(), schedule.getTile(),
                              schedule.getConsumers(), schedule.getStages(), schedule.getTileRowsPerBand(),
                              schedule.getTilesPerBlock(), schedule.getCluster(), schedule.getSplitK(),
                              schedule.getSwapped(), schedule.getRowsAcrossLanes(), record);
}

Attribute GpuScheduleAttr::withRecord(StringRef record) const { return replaceRecord(*this, record); }
Attribute GpuScheduleAttr::withoutOrigin() const { return replaceRecord(*this, ""); }

Attribute GpuScheduleAttr::withKnobs(KnobValues values) const {
  const std::optional<GpuParameters> made = schedule::withKnobs(parametersOf(*this), values);
  return made && whyInvalid(*made).empty() ? attributeOf(getContext(), *made) : GpuScheduleAttr();
}

std::string GpuScheduleAttr::describe() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto numbers = [&](StringRef name, DenseI64ArrayAttr values) {
    if (!values)
      return;
    stream << ", " << name << " ";
    llvm::interleave(values.asArrayRef(), stream, "x");
  };
  auto number = [&](StringRef name, int64_t value, int64_t usual) {
    if (value != usual)
      stream << ", " << name << " " << value;
  };
  stream << stringifyGpuKind(getKind()) << ", threads " << getThreads();
  number("vector", getVector(), 0);
  number("group", getGroup(), 0);
  numbers("block", getBlock());
  numbers("warps", getWarps());
  numbers("tile", getTile());
  number("consumers", getConsumers(), 0);
  number("stages", getStages(), 0);
  number("tile_rows_per_band", getTileRowsPerBand(), 1);
  number("tiles_per_block", getTilesPerBlock(), 1);
  number("cluster", getCluster(), 1);
  number("split_k", getSplitK(), 1);
  if (getSwapped())
    stream << ", swapped";
  if (getRowsAcrossLanes())
    stream << ", rows_across_lanes";
  return text;
}

} // namespace tilewright::schedule
