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
  values.splitK = schedule.getSplitK();
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
                              p.tileRowsPerBand, p.tilesPerBlock, p.cluster, p.splitK, p.swapped, p.rowsAcrossLanes,
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
  else if (rows && (p.rowsAcrossLanes ? p.group * warp != p.threads
                                      : !llvm::is_contained({4, 8, 16, 32}, p.group) && p.group != p.threads))
    why << "(schedule_c4) a group of " << p.group << " threads in a block of " << p.threads;
  else if (p.tileRowsPerBand < 1 || p.tilesPerBlock < 1 || p.cluster < 1 ||
           (p.tileRowsPerBand > 1 && p.kind != GpuKind::Mma && !wgmma) || (p.tilesPerBlock > 1 && !wgmma))
    why << "(schedule_c5) " << kind << " with tile_rows_per_band = " << p.tileRowsPerBand
        << ", tiles_per_block = " << p.tilesPerBlock;
  else if (p.splitK != 1 &&
           (!wgmma || !llvm::is_contained({2, 4, 8}, p.splitK) || p.cluster > 1 || p.tilesPerBlock > 1))
    why << "(schedule_c5) " << kind << " with split_k = " << p.splitK << ", cluster = " << p.cluster
        << ", tiles_per_block = " << p.tilesPerBlock
        << "; wgmma with one tile per block may have a split_k of 2, 4 or 8 instead of a cluster";
  else if (p.swapped && !wgmma)
    why << "(schedule_c5) " << kind << " has no swapped operands";
  else if (p.cluster > 1 && !wgmma &&
           !(rows && (p.rowsAcrossLanes || p.group == p.threads) && llvm::is_contained({2, 4, 8}, p.cluster)))
    why << "(schedule_c5) a cluster of " << p.cluster
        << " blocks; wgmma may have one, and rows of 2, 4 or 8 blocks if the group is the whole block or with "
           "rows_across_lanes";
  return text;
}

namespace {

/// The knobs of a schedule, and the variables that have their values. A variable is a parameter, or a number from which
/// parameters are computed.
class KnobVariables {
public:
  explicit KnobVariables(const GpuParameters &of) : p(of) { bind(); }
  KnobVariables(const KnobVariables &) = delete; // `knobs` has pointers to members

  /// Returns the parameters for the present values of the knobs.
  GpuParameters parameters() const {
    GpuParameters made = p;
    switch (p.kind) {
    case GpuKind::Elements:
    case GpuKind::Scatter:
    case GpuKind::Windows:
      break;
    case GpuKind::Rows:
      made.threads = p.group * rows;
      break;
    case GpuKind::Fma:
      made.m = p.tileM * rows;
      made.n = p.tileN * columns;
      made.threads = rows * columns;
      break;
    case GpuKind::Mma:
      made.m = rows * p.warpsM;
      made.n = columns * p.warpsN;
      made.threads = p.warpsM * p.warpsN * warp;
      break;
    case GpuKind::Wgmma:
      made.m = rows * p.consumers;
      made.threads = (p.consumers + 1) * warpGroup;
      break;
    case GpuKind::Attention:
      made.m = usesWarpGroups() ? p.consumers * warpGroupRows : warps * warpRows;
      made.threads = usesWarpGroups() ? (p.consumers + 1) * warpGroup : warps * warp;
      break;
    }
    return made;
  }

  SmallVector<std::pair<llvm::StringLiteral, int64_t *>, 8> knobs;

private:
  void bind() {
    switch (p.kind) {
    case GpuKind::Elements:
    case GpuKind::Scatter:
      knobs = {{"threads", &p.threads}, {"vector", &p.vector}};
      break;
    case GpuKind::Rows:
      rows = p.rowsAcrossLanes ? warp : p.threads / p.group;
      knobs = {{"group", &p.group}};
      if (!p.rowsAcrossLanes)
        knobs.append({{"rows_per_block", &rows}, {"vector", &p.vector}});
      knobs.push_back({"cluster", &p.cluster});
      break;
    case GpuKind::Windows:
      knobs = {{"threads", &p.threads}, {"vector", &p.vector}, {"tile_lines", &p.tileM}, {"tile_pixels", &p.tileN}};
      break;
    case GpuKind::Fma:
      rows = p.m / p.tileM;
      columns = p.n / p.tileN;
      knobs = {{"tile_m", &p.tileM}, {"tile_n", &p.tileN}, {"threads_m", &rows}, {"threads_n", &columns}, {"k", &p.k}};
      break;
    case GpuKind::Mma:
      rows = p.m / p.warpsM;
      columns = p.n / p.warpsN;
      knobs = {{"warp_m", &rows},
               {"warp_n", &columns},
               {"warps_m", &p.warpsM},
               {"warps_n", &p.warpsN},
               {"k", &p.k},
               {"stages", &p.stages},
               {"tile_rows_per_band", &p.tileRowsPerBand}};
      break;
    case GpuKind::Wgmma:
      rows = p.m / p.consumers;
      knobs = {{"consumer_rows", &rows},
               {"consumers", &p.consumers},
               {"n", &p.n},
               {"stages", &p.stages},
               {"tile_rows_per_band", &p.tileRowsPerBand},
               {"tiles_per_block", &p.tilesPerBlock},
               {"cluster", &p.cluster},
               {"split_k", &p.splitK}};
      break;
    case GpuKind::Attention:
      warps = p.threads / warp;
      if (usesWarpGroups())
        knobs = {{"consumers", &p.consumers}};
      else
        knobs = {{"warps", &warps}};
      knobs.append({{"n", &p.n}, {"stages", &p.stages}});
      break;
    }
  }

  bool usesWarpGroups() const { return p.consumers > 0; } // for attention; no knob has the value 0

  GpuParameters p;
  /// For the kind `rows`, the number of rows per block. For `fma`, the numbers of threads along m and n. For `mma`, the
  /// rows and columns of a warp's tile. For `wgmma`, the rows of a warp group's tile.
  int64_t rows = 0, columns = 0;
  int64_t warps = 0; ///< number of warps, for attention without consumers
};

} // namespace

SmallVector<NamedKnob, 8> knobsOf(const GpuParameters &parameters) {
  const KnobVariables variables(parameters);
  SmallVector<NamedKnob, 8> knobs;
  for (const auto &[name, variable] : variables.knobs)
    knobs.emplace_back(name, *variable);
  return knobs;
}

std::optional<GpuParameters> withKnobs(const GpuParameters &parameters, KnobValues values) {
  KnobVariables variables(parameters);
  for (const auto &[name, value] : values) {
    auto *knob = llvm::find_if(variables.knobs, [&, &name = name](const auto &known) { return known.first == name; });
    if (knob == variables.knobs.end() || value < 1)
      return std::nullopt;
    *knob->second = value;
  }
  return variables.parameters();
}

} // namespace tilewright::schedule
