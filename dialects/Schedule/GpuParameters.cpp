//===- GpuParameters.cpp - the parameters of a schedule for GPUs, as numbers ---===//
//
// Tests: test/Dialects/Schedule/gpu-schedule.mlir, test/Codegen/GPU/Schedule/spaces.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Schedule/GpuParameters.h"

using namespace mlir;

namespace tilewright::schedule {
namespace {
constexpr int64_t warp = 32, warpGroup = 128;
/// The query rows of a warp, and of a warp group, in attention.
constexpr int64_t warpRows = 16, warpGroupRows = 64;
} // namespace

GpuParameters parametersOf(GpuScheduleAttr schedule) {
  GpuParameters values;
  values.kind = schedule.getKind();
  values.threads = schedule.getThreads();
  values.vector = std::max<int64_t>(1, schedule.getVector());
  if (schedule.getGroup() > 0)
    values.group = schedule.getGroup();
  auto copy = [](DenseI64ArrayAttr from, ArrayRef<int64_t *> into) {
    if (from)
      for (auto [value, to] : llvm::zip(from.asArrayRef(), into))
        *to = value;
  };
  copy(schedule.getBlock(), {&values.m, &values.n, &values.k});
  copy(schedule.getWarps(), {&values.warpsM, &values.warpsN});
  copy(schedule.getTile(), {&values.tileM, &values.tileN});
  values.consumers = schedule.getConsumers();
  values.stages = schedule.getStages();
  values.tileRowsPerBand = schedule.getTileRowsPerBand();
  values.tilesPerBlock = schedule.getTilesPerBlock();
  values.cluster = schedule.getCluster();
  values.swapped = schedule.getSwapped();
  values.rowsAcrossLanes = schedule.getRowsAcrossLanes();
  return values;
}

GpuScheduleAttr attributeOf(MLIRContext *context, const GpuParameters &parameters) {
  auto sizes = [&](ArrayRef<int64_t> values) { return DenseI64ArrayAttr::get(context, values); };
  const GpuParameters &p = parameters;
  const bool mma = p.kind == GpuKind::Mma, wgmma = p.kind == GpuKind::Wgmma, fma = p.kind == GpuKind::Fma,
             rows = p.kind == GpuKind::Rows, attention = p.kind == GpuKind::Attention,
             windows = p.kind == GpuKind::Windows;
  const bool adjacent = rows || windows || p.kind == GpuKind::Elements || p.kind == GpuKind::Scatter;
  const DenseI64ArrayAttr block = attention             ? sizes({p.m, p.n})
                                  : mma || wgmma || fma ? sizes({p.m, p.n, p.k})
                                                        : DenseI64ArrayAttr();
  return GpuScheduleAttr::get(context, p.kind, p.threads, adjacent ? p.vector : 0, rows ? p.group : 0, block,
                              mma ? sizes({p.warpsM, p.warpsN}) : DenseI64ArrayAttr(),
                              fma || windows ? sizes({p.tileM, p.tileN}) : DenseI64ArrayAttr(),
                              wgmma || attention ? p.consumers : 0, mma || wgmma || attention ? p.stages : 0,
                              p.tileRowsPerBand, p.tilesPerBlock, p.cluster, p.swapped, p.rowsAcrossLanes,
                              /*record=*/"");
}

std::string whyInvalid(const GpuParameters &parameters) {
  constexpr int64_t mostThreads = 1024, mostAdjacent = 32;
  const GpuParameters &p = parameters;
  const StringRef kind = stringifyGpuKind(p.kind);
  const bool wgmma = p.kind == GpuKind::Wgmma, rows = p.kind == GpuKind::Rows;
  const bool adjacent = rows || p.kind == GpuKind::Windows || p.kind == GpuKind::Elements || p.kind == GpuKind::Scatter;
  std::string text;
  llvm::raw_string_ostream why(text);
  if (p.threads < 1 || (adjacent && (p.threads % warp != 0 || p.threads > mostThreads)))
    why << "(schedule_c1) it has " << p.threads << " threads; warps have " << warp << " threads, and a block at most "
        << mostThreads;
  else if (p.vector > mostAdjacent)
    why << "(schedule_c3) a vector of " << p.vector
        << " elements; the code for each element is unrolled, and the limit is " << mostAdjacent;
  else if (rows && (p.rowsAcrossLanes ? p.group * warp != p.threads : p.group != warp && p.group != p.threads))
    why << "(schedule_c4) a group of " << p.group << " threads in a block of " << p.threads;
  else if (p.tileRowsPerBand < 1 || p.tilesPerBlock < 1 || p.cluster < 1 ||
           (p.tileRowsPerBand > 1 && p.kind != GpuKind::Mma && !wgmma) || (p.tilesPerBlock > 1 && !wgmma))
    why << "(schedule_c5) " << kind << " with tile_rows_per_band = " << p.tileRowsPerBand
        << ", tiles_per_block = " << p.tilesPerBlock;
  else if (p.swapped && !wgmma)
    why << "(schedule_c5) " << kind << " has no swapped operands";
  else if (p.cluster > 1 && !wgmma &&
           !(rows && !p.rowsAcrossLanes && p.group == p.threads && llvm::is_contained({2, 4, 8}, p.cluster)))
    why << "(schedule_c5) a cluster of " << p.cluster
        << " blocks; wgmma may have one, and rows of 2, 4 or 8 blocks whose threads all share a row";
  return text;
}

SmallVector<NamedKnob, 8> knobsOf(const GpuParameters &parameters) {
  const GpuParameters &p = parameters;
  switch (p.kind) {
  case GpuKind::Elements:
  case GpuKind::Scatter:
    return {{"threads", p.threads}, {"vector", p.vector}};
  case GpuKind::Rows:
    if (p.rowsAcrossLanes)
      return {{"group", p.group}};
    return {{"group", p.group}, {"rows_per_block", p.threads / p.group}, {"vector", p.vector}, {"cluster", p.cluster}};
  case GpuKind::Windows:
    return {{"threads", p.threads}, {"vector", p.vector}, {"tile_lines", p.tileM}, {"tile_pixels", p.tileN}};
  case GpuKind::Fma:
    return {{"tile_m", p.tileM},
            {"tile_n", p.tileN},
            {"threads_m", p.m / p.tileM},
            {"threads_n", p.n / p.tileN},
            {"k", p.k}};
  case GpuKind::Mma:
    return {{"warp_m", p.m / p.warpsM},
            {"warp_n", p.n / p.warpsN},
            {"warps_m", p.warpsM},
            {"warps_n", p.warpsN},
            {"k", p.k},
            {"stages", p.stages},
            {"tile_rows_per_band", p.tileRowsPerBand}};
  case GpuKind::Wgmma:
    return {{"consumer_rows", p.m / p.consumers},
            {"consumers", p.consumers},
            {"n", p.n},
            {"stages", p.stages},
            {"tile_rows_per_band", p.tileRowsPerBand},
            {"tiles_per_block", p.tilesPerBlock},
            {"cluster", p.cluster}};
  case GpuKind::Attention:
    if (p.consumers > 0)
      return {{"consumers", p.consumers}, {"n", p.n}, {"stages", p.stages}};
    return {{"warps", p.threads / warp}, {"n", p.n}, {"stages", p.stages}};
  }
  llvm_unreachable("a kind of schedule");
}

std::optional<GpuParameters> withKnobs(GpuParameters p, KnobValues values) {
  SmallVector<NamedKnob, 8> knobs = knobsOf(p);
  for (const auto &[name, value] : values) {
    auto *knob = llvm::find_if(knobs, [&, &name = name](const NamedKnob &known) { return known.first == name; });
    if (knob == knobs.end() || value < 1)
      return std::nullopt;
    knob->second = value;
  }
  auto value = [&](StringRef name) {
    return llvm::find_if(knobs, [&](const NamedKnob &known) { return known.first == name; })->second;
  };
  switch (p.kind) {
  case GpuKind::Elements:
  case GpuKind::Scatter:
    p.threads = value("threads");
    p.vector = value("vector");
    break;
  case GpuKind::Rows:
    p.group = value("group");
    p.threads = p.group * (p.rowsAcrossLanes ? warp : value("rows_per_block"));
    if (!p.rowsAcrossLanes) {
      p.vector = value("vector");
      p.cluster = value("cluster");
    }
    break;
  case GpuKind::Windows:
    p.threads = value("threads");
    p.vector = value("vector");
    p.tileM = value("tile_lines");
    p.tileN = value("tile_pixels");
    break;
  case GpuKind::Fma:
    p.tileM = value("tile_m");
    p.tileN = value("tile_n");
    p.m = p.tileM * value("threads_m");
    p.n = p.tileN * value("threads_n");
    p.threads = value("threads_m") * value("threads_n");
    p.k = value("k");
    break;
  case GpuKind::Mma:
    p.warpsM = value("warps_m");
    p.warpsN = value("warps_n");
    p.m = value("warp_m") * p.warpsM;
    p.n = value("warp_n") * p.warpsN;
    p.threads = p.warpsM * p.warpsN * warp;
    p.k = value("k");
    p.stages = value("stages");
    p.tileRowsPerBand = value("tile_rows_per_band");
    break;
  case GpuKind::Wgmma:
    p.consumers = value("consumers");
    p.m = value("consumer_rows") * p.consumers;
    p.n = value("n");
    p.threads = (p.consumers + 1) * warpGroup;
    p.stages = value("stages");
    p.tileRowsPerBand = value("tile_rows_per_band");
    p.tilesPerBlock = value("tiles_per_block");
    p.cluster = value("cluster");
    break;
  case GpuKind::Attention:
    if (p.consumers > 0) {
      p.consumers = value("consumers");
      p.m = p.consumers * warpGroupRows;
      p.threads = (p.consumers + 1) * warpGroup;
    } else {
      p.m = value("warps") * warpRows;
      p.threads = value("warps") * warp;
    }
    p.n = value("n");
    p.stages = value("stages");
    break;
  }
  return p;
}

} // namespace tilewright::schedule
