//===- Schedule.cpp - how a kernel is mapped to a grid, as data ------------------------===//
#include "lib/Codegen/GPU/Schedule.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace tilewright::gpu {

void setSchedule(func::FuncOp kernel, const Schedule &chosen) {
  using Kind = Schedule::Kind;
  MLIRContext *context = kernel.getContext();
  auto sizes = [&](ArrayRef<int64_t> values) { return DenseI64ArrayAttr::get(context, values); };
  const Kind kind = chosen.kind;
  const bool mma = kind == Kind::Mma, wgmma = kind == Kind::Wgmma, fma = kind == Kind::Fma, rows = kind == Kind::Rows,
             attention = kind == Kind::Attention, windows = kind == Kind::Windows;
  const bool adjacent = rows || windows || kind == Kind::Elements || kind == Kind::Scatter;
  const DenseI64ArrayAttr block = attention             ? sizes({chosen.m, chosen.n})
                                  : mma || wgmma || fma ? sizes({chosen.m, chosen.n, chosen.k})
                                                        : DenseI64ArrayAttr();
  kernel->setAttr(scheduleAttrName,
                  schedule::GpuScheduleAttr::get(
                      context, kind, chosen.threads, adjacent ? chosen.vector : 0, rows ? chosen.group : 0, block,
                      mma ? sizes({chosen.warpsM, chosen.warpsN}) : DenseI64ArrayAttr(),
                      fma || windows ? sizes({chosen.tileM, chosen.tileN}) : DenseI64ArrayAttr(),
                      wgmma || attention ? chosen.consumers : 0, mma || wgmma || attention ? chosen.stages : 0,
                      chosen.tileRowsPerBand, chosen.tilesPerBlock, chosen.cluster, chosen.swapped,
                      chosen.rowsAcrossLanes, /*record=*/""));
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
  Attribute attribute = kernel->getAttr(scheduleAttrName);
  auto chosen = dyn_cast_or_null<schedule::GpuScheduleAttr>(attribute);
  if (!chosen) {
    InFlightDiagnostic error = kernel.emitOpError("has no schedule of the target cuda: expected tw.schedule = "
                                                  "#tw_gpu.schedule<kind = ..., threads = ..., ...>");
    if (attribute)
      error << ", not " << attribute;
    return std::nullopt;
  }
  Schedule values;
  values.kind = chosen.getKind();
  values.threads = chosen.getThreads();
  values.vector = std::max<int64_t>(1, chosen.getVector());
  if (chosen.getGroup() > 0)
    values.group = chosen.getGroup();
  auto copy = [](DenseI64ArrayAttr from, ArrayRef<int64_t *> into) {
    if (from)
      for (auto [value, to] : llvm::zip(from.asArrayRef(), into))
        *to = value;
  };
  copy(chosen.getBlock(), {&values.m, &values.n, &values.k});
  copy(chosen.getWarps(), {&values.warpsM, &values.warpsN});
  copy(chosen.getTile(), {&values.tileM, &values.tileN});
  values.consumers = chosen.getConsumers();
  values.stages = chosen.getStages();
  values.tileRowsPerBand = chosen.getTileRowsPerBand();
  values.tilesPerBlock = chosen.getTilesPerBlock();
  values.cluster = chosen.getCluster();
  values.swapped = chosen.getSwapped();
  values.rowsAcrossLanes = chosen.getRowsAcrossLanes();
  const bool adjacent = values.kind == Schedule::Kind::Elements || values.kind == Schedule::Kind::Scatter ||
                        values.kind == Schedule::Kind::Windows;
  if (!adjacent || inVectors(kernel, values.vector))
    return values;
  kernel.emitOpError("has the schedule ") << attribute << ", whose vector does not divide the rows of its results";
  return std::nullopt;
}

} // namespace tilewright::gpu
