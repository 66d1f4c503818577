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
                                      bool rowsAcrossLanes) {
  constexpr int64_t warp = 32, mostThreads = 1024, mostAdjacent = 32;
  const bool mma = kind == GpuKind::Mma, wgmma = kind == GpuKind::Wgmma, fma = kind == GpuKind::Fma,
             rows = kind == GpuKind::Rows, attention = kind == GpuKind::Attention;
  const bool adjacent = rows || kind == GpuKind::Elements || kind == GpuKind::Scatter;
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
      failed(numbers("warps", warps, mma ? 2 : 0)) || failed(numbers("tile", tile, fma ? 2 : 0)) ||
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
  if (getRowsAcrossLanes())
    stream << ", rows_across_lanes";
  return text;
}

} // namespace tilewright::schedule
