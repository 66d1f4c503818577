//===- GpuSchedule.cpp - schedules of GPU targets ------------------------------===//
//
// Test: test/Dialects/Schedule/gpu-schedule.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Schedule/GpuSchedule.h"
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
                                      int64_t tileRowsPerBand, int64_t tilesPerBlock, int64_t cluster, bool swapped,
                                      bool rowsAcrossLanes, StringRef record) {
  constexpr int64_t warp = 32, mostThreads = 1024, mostAdjacent = 32;
  const bool mma = kind == GpuKind::Mma, wgmma = kind == GpuKind::Wgmma, fma = kind == GpuKind::Fma,
             rows = kind == GpuKind::Rows, attention = kind == GpuKind::Attention, windows = kind == GpuKind::Windows;
  const bool adjacent = rows || windows || kind == GpuKind::Elements || kind == GpuKind::Scatter;
  if (threads < 1 || (adjacent && (threads % warp != 0 || threads > mostThreads)))
    return emitError() << "(schedule_c1) it has " << threads << " threads; warps have " << warp
                       << " threads, and a block at most " << mostThreads;
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
  if (vector > mostAdjacent)
    return emitError() << "(schedule_c3) a vector of " << vector
                       << " elements; the code for each element is unrolled, and the limit is " << mostAdjacent;
  if (rowsAcrossLanes && !rows)
    return emitError() << "(schedule_c2) " << stringifyGpuKind(kind) << " has no rows_across_lanes";
  if (rows && (rowsAcrossLanes ? group * warp != threads : group != warp && group != threads))
    return emitError() << "(schedule_c4) a group of " << group << " threads in a block of " << threads;
  if (tileRowsPerBand < 1 || tilesPerBlock < 1 || cluster < 1 || (tileRowsPerBand > 1 && !mma && !wgmma) ||
      (tilesPerBlock > 1 && !wgmma))
    return emitError() << "(schedule_c5) " << stringifyGpuKind(kind) << " with tile_rows_per_band = " << tileRowsPerBand
                       << ", tiles_per_block = " << tilesPerBlock;
  if (swapped && !wgmma)
    return emitError() << "(schedule_c5) " << stringifyGpuKind(kind) << " has no swapped operands";
  const bool clusterOfRows = rows && !rowsAcrossLanes && group == threads && llvm::is_contained({2, 4, 8}, cluster);
  if (cluster > 1 && !wgmma && !clusterOfRows)
    return emitError() << "(schedule_c5) a cluster of " << cluster << " blocks; wgmma may have one, and rows of 2, 4 "
                       << "or 8 blocks whose threads all share a row";
  return success();
}

bool GpuScheduleAttr::isTunable() const { return getKind() == GpuKind::Mma || getKind() == GpuKind::Wgmma; }

/// Returns `schedule` with another record.
static GpuScheduleAttr replaceRecord(GpuScheduleAttr schedule, StringRef record) {
  return GpuScheduleAttr::get(schedule.getContext(), schedule.getKind(), schedule.getThreads(), schedule.getVector(),
                              schedule.getGroup(), schedule.getBlock(), schedule.getWarps(), schedule.getTile(),
                              schedule.getConsumers(), schedule.getStages(), schedule.getTileRowsPerBand(),
                              schedule.getTilesPerBlock(), schedule.getCluster(), schedule.getSwapped(),
                              schedule.getRowsAcrossLanes(), record);
}

Attribute GpuScheduleAttr::withRecord(StringRef record) const { return replaceRecord(*this, record); }
Attribute GpuScheduleAttr::withoutOrigin() const { return replaceRecord(*this, ""); }

Attribute GpuScheduleAttr::withKnobs(KnobValues values) const {
  if (!isTunable())
    return {};
  constexpr int64_t warp = 32, warpGroup = 128;
  const bool mma = getKind() == GpuKind::Mma;
  // The numbers of warps, or of consumer warp groups, along the rows and columns of the block's tile.
  int64_t rowParts = mma ? getWarps()[0] : getConsumers(), columnParts = mma ? getWarps()[1] : 1;
  int64_t rows = getBlock()[0] / rowParts, columns = getBlock()[1] / columnParts, depth = getBlock()[2];
  int64_t stages = getStages(), band = getTileRowsPerBand(), tiles = getTilesPerBlock(), cluster = getCluster();
  using Knob = std::pair<StringRef, int64_t *>;
  const SmallVector<Knob> knobs =
      mma ? SmallVector<Knob>{{"warp_m", &rows},
                              {"warp_n", &columns},
                              {"warps_m", &rowParts},
                              {"warps_n", &columnParts},
                              {"k", &depth},
                              {"stages", &stages},
                              {"tile_rows_per_band", &band}}
          : SmallVector<Knob>{{"consumer_rows", &rows}, {"consumers", &rowParts},      {"n", &columns},
                              {"stages", &stages},      {"tile_rows_per_band", &band}, {"tiles_per_block", &tiles},
                              {"cluster", &cluster}};
  for (const auto &[name, value] : values) {
    const Knob *knob = llvm::find_if(knobs, [&](const Knob &known) { return known.first == name; });
    if (knob == knobs.end() || value < 1)
      return {};
    *knob->second = value;
  }
  auto sizes = [&](ArrayRef<int64_t> of) { return DenseI64ArrayAttr::get(getContext(), of); };
  const int64_t threads = mma ? rowParts * columnParts * warp : (rowParts + 1) * warpGroup;
  return GpuScheduleAttr::get(getContext(), getKind(), threads, getVector(), getGroup(),
                              sizes({rows * rowParts, columns * columnParts, depth}),
                              mma ? sizes({rowParts, columnParts}) : DenseI64ArrayAttr(), getTile(), mma ? 0 : rowParts,
                              stages, band, tiles, cluster, getSwapped(), getRowsAcrossLanes(), "");
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
  if (getSwapped())
    stream << ", swapped";
  if (getRowsAcrossLanes())
    stream << ", rows_across_lanes";
  return text;
}

} // namespace tilewright::schedule
