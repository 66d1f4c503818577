//===- Schedule.cpp - how a kernel is mapped to a grid, as data ------------------------===//
#include "lib/Codegen/GPU/Schedule.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "tilewright/AttributeNames.h"

using namespace mlir;

namespace tilewright::cuda {

static StringRef nameOf(Schedule::Kind kind) {
  switch (kind) {
  case Schedule::Kind::Elements:
    return "elements";
  case Schedule::Kind::Rows:
    return "rows";
  case Schedule::Kind::Scatter:
    return "scatter";
  case Schedule::Kind::Mma:
    return "mma";
  case Schedule::Kind::Wgmma:
    return "wgmma";
  case Schedule::Kind::Fma:
    return "fma";
  case Schedule::Kind::Attention:
    return "attention";
  }
  return "";
}

void setSchedule(func::FuncOp kernel, const Schedule &schedule) {
  Builder builder(kernel.getContext());
  NamedAttrList parts;
  parts.append("kind", builder.getStringAttr(nameOf(schedule.kind)));
  parts.append("threads", builder.getI64IntegerAttr(schedule.threads));
  if (schedule.kind == Schedule::Kind::Mma) {
    parts.append("block", builder.getDenseI64ArrayAttr({schedule.m, schedule.n, schedule.k}));
    parts.append("warps", builder.getDenseI64ArrayAttr({schedule.warpsM, schedule.warpsN}));
    parts.append("stages", builder.getI64IntegerAttr(schedule.stages));
  } else if (schedule.kind == Schedule::Kind::Wgmma) {
    parts.append("block", builder.getDenseI64ArrayAttr({schedule.m, schedule.n, schedule.k}));
    parts.append("consumers", builder.getI64IntegerAttr(schedule.consumers));
    parts.append("stages", builder.getI64IntegerAttr(schedule.stages));
  } else if (schedule.kind == Schedule::Kind::Fma) {
    parts.append("block", builder.getDenseI64ArrayAttr({schedule.m, schedule.n, schedule.k}));
    parts.append("tile", builder.getDenseI64ArrayAttr({schedule.tileM, schedule.tileN}));
  } else if (schedule.kind == Schedule::Kind::Attention) {
    parts.append("block", builder.getDenseI64ArrayAttr({schedule.m, schedule.n}));
    if (schedule.consumers > 0)
      parts.append("consumers", builder.getI64IntegerAttr(schedule.consumers));
    parts.append("stages", builder.getI64IntegerAttr(schedule.stages));
  } else {
    parts.append("vector", builder.getI64IntegerAttr(schedule.vector));
  }
  if (schedule.kind == Schedule::Kind::Rows)
    parts.append("group", builder.getI64IntegerAttr(schedule.group));
  if (schedule.tileRowsPerBand > 1)
    parts.append("tile_rows_per_band", builder.getI64IntegerAttr(schedule.tileRowsPerBand));
  if (schedule.tilesPerBlock > 1)
    parts.append("tiles_per_block", builder.getI64IntegerAttr(schedule.tilesPerBlock));
  if (schedule.cluster > 1)
    parts.append("cluster", builder.getI64IntegerAttr(schedule.cluster));
  if (schedule.rowsAcrossLanes)
    parts.append("rows_across_lanes", builder.getUnitAttr());
  kernel->setAttr(scheduleAttrName, parts.getDictionary(kernel.getContext()));
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
  auto parts = kernel->getAttrOfType<DictionaryAttr>(scheduleAttrName);
  auto kind = parts ? parts.getAs<StringAttr>("kind") : StringAttr();
  Schedule schedule;
  auto number = [&](StringRef name, int64_t &into) {
    auto value = parts.getAs<IntegerAttr>(name);
    if (value)
      into = value.getInt();
    return value && into > 0;
  };
  auto numbers = [&](StringRef name, std::initializer_list<int64_t *> into) {
    auto values = parts.getAs<DenseI64ArrayAttr>(name);
    if (!values || values.size() != int64_t(into.size()))
      return false;
    for (auto [value, to] : llvm::zip_equal(values.asArrayRef(), into))
      *to = value;
    return llvm::all_of(values.asArrayRef(), [](int64_t value) { return value > 0; });
  };
  bool whole = false;
  constexpr int64_t mostAdjacent = 32; // the code for adjacent elements is unrolled
  if (kind && number("threads", schedule.threads)) {
    if ((kind == "elements" || kind == "scatter") && number("vector", schedule.vector)) {
      schedule.kind = kind == "elements" ? Schedule::Kind::Elements : Schedule::Kind::Scatter;
      whole = schedule.threads % warpSize == 0 && schedule.threads <= 1024 && inVectors(kernel, schedule.vector) &&
              schedule.vector <= mostAdjacent;
    } else if (kind == "rows" && number("vector", schedule.vector) && number("group", schedule.group)) {
      schedule.kind = Schedule::Kind::Rows;
      schedule.rowsAcrossLanes = parts.contains("rows_across_lanes");
      whole = schedule.rowsAcrossLanes ? schedule.group * warpSize == schedule.threads
                                       : schedule.group == warpSize || schedule.group == schedule.threads;
      whole &= schedule.threads % warpSize == 0 && schedule.threads <= 1024 && schedule.vector <= mostAdjacent;
    } else if (kind == "mma" && numbers("block", {&schedule.m, &schedule.n, &schedule.k}) &&
               numbers("warps", {&schedule.warpsM, &schedule.warpsN}) && number("stages", schedule.stages)) {
      schedule.kind = Schedule::Kind::Mma;
      whole = true;
    } else if (kind == "wgmma" && numbers("block", {&schedule.m, &schedule.n, &schedule.k}) &&
               number("consumers", schedule.consumers) && number("stages", schedule.stages)) {
      schedule.kind = Schedule::Kind::Wgmma;
      whole = true;
    } else if (kind == "fma" && numbers("block", {&schedule.m, &schedule.n, &schedule.k}) &&
               numbers("tile", {&schedule.tileM, &schedule.tileN})) {
      schedule.kind = Schedule::Kind::Fma;
      whole = true;
    } else if (kind == "attention" && numbers("block", {&schedule.m, &schedule.n}) &&
               number("stages", schedule.stages)) {
      schedule.kind = Schedule::Kind::Attention;
      whole = !parts.contains("consumers") || number("consumers", schedule.consumers);
    }
  }
  if (parts && parts.contains("tile_rows_per_band"))
    whole &= number("tile_rows_per_band", schedule.tileRowsPerBand);
  if (parts && parts.contains("cluster"))
    whole &=
        number("cluster", schedule.cluster) &&
        (schedule.kind == Schedule::Kind::Wgmma ||
         (schedule.kind == Schedule::Kind::Rows && !schedule.rowsAcrossLanes && schedule.group == schedule.threads &&
          (schedule.cluster == 2 || schedule.cluster == 4 || schedule.cluster == 8)));
  if (parts && parts.contains("tiles_per_block"))
    whole &= number("tiles_per_block", schedule.tilesPerBlock) && schedule.kind == Schedule::Kind::Wgmma;
  if (whole)
    return schedule;
  kernel.emitOpError(
      "has no schedule of the target cuda: expected tw.schedule = {kind = \"elements\", \"rows\" or "
      "\"mma\", threads = ..., ...}, threads up to 1024 in warps of 32, and a vector up to 32 that divides rows");
  return std::nullopt;
}

} // namespace tilewright::cuda
