//===- MoveOps.cpp - mov, cvta, special registers ------------------------------------------------------===//
#include "lib/PtxInterpreter/Handlers.h"
#include "lib/PtxInterpreter/Lanes.h"
#include "lib/PtxInterpreter/Table.h"

#include <chrono>

namespace tilewright::ptx {
namespace {

/// Copies registers; the width in 32-bit words comes from Instr::bytes.
void copyRows(Exec &e, const Instr &in) {
  uint32_t words = std::max(1u, in.bytes / 4u);
  uint32_t *to = e.row<uint32_t>(in, 0);
  const uint32_t *from = e.row<uint32_t>(in, 1);
  if (e.mask == ~0u) {
    std::memmove(to, from, size_t(words) * kLanes * 4);
    return;
  }
  forLanes(e.mask, [&](uint32_t lane) {
    for (uint32_t word = 0; word < words; ++word)
      to[lane * words + word] = from[lane * words + word];
  });
}

template <uint64_t window, bool toGeneric> void convertAddress(Exec &e, const Instr &in) {
  uint64_t *to = e.row<uint64_t>(in, 0);
  const uint64_t *from = e.row<uint64_t>(in, 1);
  forLanes(e.mask, [&](uint32_t lane) {
    if (toGeneric) {
      to[lane] = from[lane] | window;
      return;
    }
    uint64_t found = from[lane] & kWindowMask;
    if (found != window && from[lane])
      e.find(Kind::BadOperand, lane, "the generic address is not in the space that it is converted to");
    to[lane] = from[lane] & ~kWindowMask;
  });
}

/// Executes isspacep.shared, which returns true for addresses in the shared memory of the thread's block.
void isOwnShared(Exec &e, const Instr &in) {
  uint32_t *to = e.row<uint32_t>(in, 0);
  const uint64_t *from = e.row<uint64_t>(in, 1);
  forLanes(e.mask, [&](uint32_t lane) {
    const uint64_t number = (from[lane] & ~kWindowMask) >> kRankShift;
    to[lane] = (from[lane] & kWindowMask) == kSharedWindow && (!number || number == kOwnBlock);
  });
}

template <uint64_t window> void isSpace(Exec &e, const Instr &in) {
  uint32_t *to = e.row<uint32_t>(in, 0);
  const uint64_t *from = e.row<uint64_t>(in, 1);
  forLanes(e.mask, [&](uint32_t lane) { to[lane] = (from[lane] & kWindowMask) == window; });
}

enum Special : uint32_t {
  None,
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  NwarpId,
  MaskEq,
  MaskLe,
  MaskLt,
  MaskGe,
  MaskGt,
  Clock,
  Clock64,
  GlobalTimer,
  SmId,
  NsmId,
  GridId,
  DynamicShared,
  TotalShared,
  ClusterIdX,
  ClusterIdY,
  ClusterIdZ,
  NclusterIdX,
  NclusterIdY,
  NclusterIdZ,
  ClusterCtaIdX,
  ClusterCtaIdY,
  ClusterCtaIdZ,
  ClusterNctaIdX,
  ClusterNctaIdY,
  ClusterNctaIdZ,
  ClusterRank,
  ClusterRankCount,
  IsExplicitCluster,
};

uint64_t specialValue(const Exec &e, uint32_t which, uint32_t lane) {
  const Launch &launch = e.grid.launch;
  uint32_t thread = e.warp.index * kLanes + lane;
  switch (which) {
  case TidX:
    return thread % launch.block[0];
  case TidY:
    return thread / launch.block[0] % launch.block[1];
  case TidZ:
    return thread / launch.block[0] / launch.block[1];
  case NtidX:
  case NtidY:
  case NtidZ:
    return launch.block[which - NtidX];
  case CtaidX:
  case CtaidY:
  case CtaidZ:
    return e.block.index[which - CtaidX];
  case NctaidX:
  case NctaidY:
  case NctaidZ:
    return launch.grid[which - NctaidX];
  case LaneId:
    return lane;
  case WarpId:
    return e.warp.index;
  case NwarpId:
    return e.block.warps.size();
  case MaskEq:
    return 1u << lane;
  case MaskLe:
    return (2u << lane) - 1;
  case MaskLt:
    return (1u << lane) - 1;
  case MaskGe:
    return ~((1u << lane) - 1);
  case MaskGt:
    return ~((2u << lane) - 1);
  case Clock:
  case Clock64:
  case GlobalTimer:
    return e.grid.steps * 32;
  case SmId:
    return e.block.serial % e.grid.launch.residentBlocks;
  case NsmId:
    return e.grid.launch.residentBlocks;
  case DynamicShared:
    return e.grid.code.shared.back().bytes;
  case TotalShared:
    return e.grid.code.staticShared;
  case ClusterIdX:
  case ClusterIdY:
  case ClusterIdZ:
    return e.block.cluster->index[which - ClusterIdX];
  case NclusterIdX:
  case NclusterIdY:
  case NclusterIdZ:
    return launch.grid[which - NclusterIdX] / e.grid.cluster[which - NclusterIdX];
  case ClusterCtaIdX:
  case ClusterCtaIdY:
  case ClusterCtaIdZ:
    return e.block.index[which - ClusterCtaIdX] % e.grid.cluster[which - ClusterCtaIdX];
  case ClusterNctaIdX:
  case ClusterNctaIdY:
  case ClusterNctaIdZ:
    return e.grid.cluster[which - ClusterNctaIdX];
  case ClusterRank:
    return e.block.rank;
  case ClusterRankCount:
    return e.block.cluster->blocks.size();
  case IsExplicitCluster:
    return launch.cluster[0] != 0 || !e.grid.code.functions[0].syntax->requiredCluster.empty();
  default:
    return 0;
  }
}

} // namespace

uint32_t specialRegister(const std::string &name) {
  static const std::unordered_map<std::string, uint32_t> names = {{"%tid.x", TidX},
                                                                  {"%tid.y", TidY},
                                                                  {"%tid.z", TidZ},
                                                                  {"%ntid.x", NtidX},
                                                                  {"%ntid.y", NtidY},
                                                                  {"%ntid.z", NtidZ},
                                                                  {"%ctaid.x", CtaidX},
                                                                  {"%ctaid.y", CtaidY},
                                                                  {"%ctaid.z", CtaidZ},
                                                                  {"%nctaid.x", NctaidX},
                                                                  {"%nctaid.y", NctaidY},
                                                                  {"%nctaid.z", NctaidZ},
                                                                  {"%laneid", LaneId},
                                                                  {"%warpid", WarpId},
                                                                  {"%nwarpid", NwarpId},
                                                                  {"%lanemask_eq", MaskEq},
                                                                  {"%lanemask_le", MaskLe},
                                                                  {"%lanemask_lt", MaskLt},
                                                                  {"%lanemask_ge", MaskGe},
                                                                  {"%lanemask_gt", MaskGt},
                                                                  {"%clock", Clock},
                                                                  {"%clock64", Clock64},
                                                                  {"%globaltimer", GlobalTimer},
                                                                  {"%smid", SmId},
                                                                  {"%nsmid", NsmId},
                                                                  {"%gridid", GridId},
                                                                  {"%clusterid.x", ClusterIdX},
                                                                  {"%clusterid.y", ClusterIdY},
                                                                  {"%clusterid.z", ClusterIdZ},
                                                                  {"%nclusterid.x", NclusterIdX},
                                                                  {"%nclusterid.y", NclusterIdY},
                                                                  {"%nclusterid.z", NclusterIdZ},
                                                                  {"%cluster_ctaid.x", ClusterCtaIdX},
                                                                  {"%cluster_ctaid.y", ClusterCtaIdY},
                                                                  {"%cluster_ctaid.z", ClusterCtaIdZ},
                                                                  {"%cluster_nctaid.x", ClusterNctaIdX},
                                                                  {"%cluster_nctaid.y", ClusterNctaIdY},
                                                                  {"%cluster_nctaid.z", ClusterNctaIdZ},
                                                                  {"%cluster_ctarank", ClusterRank},
                                                                  {"%cluster_nctarank", ClusterRankCount},
                                                                  {"%is_explicit_cluster", IsExplicitCluster},
                                                                  {"%dynamic_smem_size", DynamicShared},
                                                                  {"%total_smem_size", TotalShared}};
  auto found = names.find(name);
  return found == names.end() ? uint32_t(None) : found->second;
}

void readSpecial(Exec &e, const Instr &in) {
  if (in.bytes == 8) {
    uint64_t *to = e.row<uint64_t>(in, 0);
    forLanes(e.mask, [&](uint32_t lane) { to[lane] = specialValue(e, in.target, lane); });
    return;
  }
  uint32_t *to = e.row<uint32_t>(in, 0);
  forLanes(e.mask, [&](uint32_t lane) { to[lane] = uint32_t(specialValue(e, in.target, lane)); });
}

void invertPredicate(Exec &e, const Instr &in) {
  uint32_t *to = e.row<uint32_t>(in, 0);
  const uint32_t *from = e.row<uint32_t>(in, 1);
  forLanes(e.mask, [&](uint32_t lane) { to[lane] = !(from[lane] & 1); });
}

void lowWord(Exec &e, const Instr &in) {
  uint32_t *to = e.row<uint32_t>(in, 0);
  const uint64_t *from = e.row<uint64_t>(in, 1);
  forLanes(e.mask, [&](uint32_t lane) { to[lane] = uint32_t(from[lane]); });
}

void frameAddress(Exec &e, const Instr &in) {
  uint64_t *to = e.row<uint64_t>(in, 0);
  forLanes(e.mask, [&](uint32_t lane) { to[lane] = e.fragment->localBase + uint64_t(in.offset); });
}

void packVector(Exec &e, const Instr &in) {
  uint32_t part = in.bytes / in.sources;
  uint8_t *to = reinterpret_cast<uint8_t *>(e.row<uint32_t>(in, 0));
  uint32_t size = std::max<uint32_t>(4, in.bytes), step = std::max<uint32_t>(4, part);
  forLanes(e.mask, [&](uint32_t lane) {
    for (uint32_t i = 0; i < in.sources; ++i)
      std::memcpy(to + lane * size + i * part, reinterpret_cast<uint8_t *>(e.row<uint32_t>(in, 1 + i)) + lane * step,
                  part);
  });
}

void unpackVector(Exec &e, const Instr &in) {
  uint32_t part = in.bytes / in.results;
  const uint8_t *from = reinterpret_cast<uint8_t *>(e.row<uint32_t>(in, in.results));
  uint32_t size = std::max<uint32_t>(4, in.bytes), step = std::max<uint32_t>(4, part);
  forLanes(e.mask, [&](uint32_t lane) {
    for (uint32_t i = 0; i < in.results; ++i) {
      if (e.operand(in, i) == kNoRow)
        continue;
      uint8_t *to = reinterpret_cast<uint8_t *>(e.row<uint32_t>(in, i)) + lane * step;
      std::memset(to, 0, step);
      std::memcpy(to, from + lane * size + i * part, part);
    }
  });
}

void addMoveForms(Table &table) {
  auto move = [&](const std::string &type, uint8_t bytes) {
    Form form;
    form.run = copyRows;
    form.signature = "move";
    form.flags = FlagMove;
    form.bytes = bytes;
    table.add("mov" + type, form);
  };
  move(".pred", 0);
  for (unsigned bits : {16, 32, 64, 128})
    for (const char *kind : {".b", ".u", ".s", ".f"})
      if (bits < 128 || kind[1] == 'b')
        move(kind + std::to_string(bits), uint8_t(bits / 8));
  for (const char *type : {".u64", ".s64", ".b64"}) {
    std::string bits = type;
    table.add("cvta.shared" + bits, "d=d", convertAddress<kSharedWindow, true>);
    table.add("cvta.shared::cta" + bits, "d=d", convertAddress<kSharedWindow, true>);
    table.add("cvta.shared::cluster" + bits, "d=d", convertAddress<kSharedWindow, true>);
    table.add("cvta.to.shared::cluster" + bits, "d=d", convertAddress<kSharedWindow, false>);
    table.add("cvta.local" + bits, "d=d", convertAddress<kLocalWindow, true>);
    table.add("cvta.param" + bits, "d=d", convertAddress<kParamWindow, true>);
    table.add("cvta.global" + bits, "d=d", convertAddress<0, true>);
    table.add("cvta.const" + bits, "d=d", convertAddress<0, true>);
    table.add("cvta.to.shared" + bits, "d=d", convertAddress<kSharedWindow, false>);
    table.add("cvta.to.shared::cta" + bits, "d=d", convertAddress<kSharedWindow, false>);
    table.add("cvta.to.local" + bits, "d=d", convertAddress<kLocalWindow, false>);
    table.add("cvta.to.param" + bits, "d=d", convertAddress<kParamWindow, false>);
    table.add("cvta.to.global" + bits, "d=d", convertAddress<0, false>);
    table.add("cvta.to.const" + bits, "d=d", convertAddress<0, false>);
  }
  table.add("isspacep.shared", "p=d", isOwnShared);
  table.add("isspacep.shared::cta", "p=d", isOwnShared);
  table.add("isspacep.shared::cluster", "p=d", isSpace<kSharedWindow>);
  table.add("isspacep.local", "p=d", isSpace<kLocalWindow>);
  table.add("isspacep.param", "p=d", isSpace<kParamWindow>);
  table.add("isspacep.global", "p=d", isSpace<0>);
}

} // namespace tilewright::ptx
