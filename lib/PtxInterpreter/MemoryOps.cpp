//===- MemoryOps.cpp - ld, st, fences, prefetch ----------------------------------------------------------===//
//
// Modifiers of loads and stores that only control caches (.nc, .cg, eviction priorities, prefetch sizes) have no
// effect. A strong access does not race with another strong access. With .acquire or .release, or together with a
// fence, strong accesses establish an order between the accesses of different warps.
//
//===----------------------------------------------------------------------===//
#include "lib/PtxInterpreter/Lanes.h"
#include "lib/PtxInterpreter/Table.h"

namespace tilewright::ptx {
namespace {

constexpr uint64_t kInactive = ~uint64_t(0);

uint64_t extended(uint64_t value, uint32_t bytes) {
  uint32_t unused = 64 - 8 * bytes;
  return uint64_t(int64_t(value << unused) >> unused);
}

void count(Exec &e, const Instr &in, const uint64_t *addresses, uint32_t bytes, bool write) {
  Space space = in.space;
  for (uint32_t lane = 0; lane < kLanes && space == Space::Generic; ++lane)
    if (addresses[lane] != kInactive)
      space = spaceOf(addresses[lane]);
  if (space == Space::Shared || space == Space::Cluster)
    e.countShared(addresses, bytes);
  else if (space == Space::Global)
    e.countGlobal(addresses, bytes, write);
}

/// Reads only the bytes that a pragma marks as used, because the other bytes may be outside of the allocation.
void readUsed(Exec &e, const Instr &in, uint32_t lane, uint64_t address, uint32_t bytes, uint8_t *values) {
  for (uint32_t begin = 0; begin < bytes;) {
    if (!(in.usedBytes >> begin & 1)) {
      ++begin;
      continue;
    }
    uint32_t end = begin;
    while (end < bytes && in.usedBytes >> end & 1)
      ++end;
    uint8_t *data = e.reach(lane, in.space, address + begin, end - begin, Access::Read, /*strong=*/false);
    if (data)
      std::memcpy(values + begin, data, end - begin);
    begin = end;
  }
}

void loadFromMemory(Exec &e, const Instr &in) {
  uint32_t bytes = uint32_t(in.bytes) * in.count;
  uint64_t addresses[kLanes];
  std::fill_n(addresses, kLanes, kInactive);
  bool strong = in.mods & ModStrong;
  uint8_t values[kLanes][32];
  uint32_t valid = 0;
  forLanes(e.mask, [&](uint32_t lane) {
    uint64_t address = e.address(in, in.results, lane);
    addresses[lane] = address;
    std::memset(values[lane], 0, bytes);
    if (in.usedBytes != ~0u && address % bytes == 0) {
      readUsed(e, in, lane, address, bytes, values[lane]);
    } else {
      uint8_t *data = e.reach(lane, in.space, address, bytes, Access::Read, strong);
      if (!data)
        return;
      std::memcpy(values[lane], data, bytes);
    }
    valid |= 1u << lane;
    if (strong)
      e.observe(address);
  });
  if (in.mods & ModAcquire)
    e.acquire();
  const uint32_t *wides = &e.operands[in.operands + in.results + in.sources + 1];
  for (uint32_t i = 0; i < in.count; ++i) {
    if (e.operand(in, i) == kNoRow)
      continue;
    auto valueOf = [&](uint32_t lane) {
      uint64_t value = 0;
      std::memcpy(&value, values[lane] + i * in.bytes, std::min<uint32_t>(in.bytes, 8));
      return in.isSigned ? extended(value, in.bytes) : value;
    };
    if (in.bytes == 16) {
      uint8_t *to = reinterpret_cast<uint8_t *>(e.row<uint32_t>(in, i));
      forLanes(e.mask, [&](uint32_t lane) { std::memcpy(to + lane * 16, values[lane] + i * 16, 16); });
    } else if (wides[i] || in.bytes == 8) {
      uint64_t *to = e.row<uint64_t>(in, i);
      forLanes(e.mask, [&](uint32_t lane) { to[lane] = valueOf(lane); });
    } else {
      uint32_t *to = e.row<uint32_t>(in, i);
      forLanes(e.mask, [&](uint32_t lane) { to[lane] = uint32_t(valueOf(lane)); });
    }
  }
  count(e, in, addresses, bytes, /*write=*/false);
}

void storeToMemory(Exec &e, const Instr &in) {
  uint32_t bytes = uint32_t(in.bytes) * in.count;
  uint64_t addresses[kLanes];
  std::fill_n(addresses, kLanes, kInactive);
  bool strong = in.mods & ModStrong;
  if (in.mods & ModRelease)
    e.release();
  forLanes(e.mask, [&](uint32_t lane) {
    uint64_t address = e.address(in, 0, lane);
    addresses[lane] = address;
    uint8_t value[32];
    for (uint32_t i = 0; i < in.count; ++i) {
      const uint8_t *row = reinterpret_cast<const uint8_t *>(e.row<uint32_t>(in, 1 + i));
      std::memcpy(value + i * in.bytes, row + lane * std::max<uint32_t>(4, in.bytes), in.bytes);
    }
    uint8_t *data = e.reach(lane, in.space, address, bytes, Access::Write, strong);
    if (!data)
      return;
    std::memcpy(data, value, bytes);
    if (strong)
      e.publish(address);
  });
  count(e, in, addresses, bytes, /*write=*/true);
}

void memoryFence(Exec &e, const Instr &) {
  e.acquire();
  e.release();
}
void ignoreHint(Exec &, const Instr &) {}

struct SpaceName {
  const char *text;
  Space space;
};

void addAccess(Table &table, bool isLoad, const std::string &stem, SpaceName space, const std::string &type,
               uint32_t bytes, bool isSigned, uint32_t mods) {
  for (uint32_t count : {1, 2, 4, 8}) {
    if (count * bytes > 32 || (count == 8 && bytes != 4))
      continue;
    Form form;
    form.run = isLoad ? loadFromMemory : storeToMemory;
    std::string lanes = count == 1 ? "" : std::to_string(count);
    std::string letter = isLoad ? "x" : bytes == 8 ? "d" : bytes == 16 ? "q" : "n";
    form.signature = isLoad ? lanes + letter + "=m" : "m" + lanes + letter;
    form.space = space.space;
    form.bytes = uint8_t(bytes);
    form.count = uint8_t(count);
    form.isSigned = isSigned;
    form.mods = mods;
    table.add(stem + (count == 1 ? "" : ".v" + std::to_string(count)) + type, form);
  }
}

} // namespace

void addMemoryForms(Table &table) {
  const SpaceName spaces[] = {{"", Space::Generic},
                              {".global", Space::Global},
                              {".shared", Space::Shared},
                              {".shared::cta", Space::Shared},
                              {".shared::cluster", Space::Cluster},
                              {".local", Space::Local},
                              {".const", Space::Const},
                              {".param", Space::Param},
                              {".param::entry", Space::Param},
                              {".param::func", Space::Param}};
  struct {
    const char *type;
    uint32_t bytes;
    bool isSigned;
  } const types[] = {{".b8", 1, false},  {".u8", 1, false}, {".s8", 1, true},   {".b16", 2, false},
                     {".u16", 2, false}, {".s16", 2, true}, {".f16", 2, false}, {".b32", 4, false},
                     {".u32", 4, false}, {".s32", 4, true}, {".f32", 4, false}, {".b64", 8, false},
                     {".u64", 8, false}, {".s64", 8, true}, {".f64", 8, false}, {".b128", 16, false}};
  std::vector<Choice> orders = {{"", 0},
                                {".weak", 0},
                                {".volatile", ModStrong},
                                {".relaxed.cta", ModStrong},
                                {".relaxed.cluster", ModStrong},
                                {".relaxed.gpu", ModStrong},
                                {".relaxed.sys", ModStrong}};
  std::vector<std::string>
      caches = {""},
      loadCaches = {"",
                    ".ca",
                    ".cg",
                    ".cs",
                    ".lu",
                    ".cv",
                    ".nc",
                    ".nc.L1::no_allocate",
                    ".nc.L1::evict_last",
                    ".nc.L1::evict_first",
                    ".L1::no_allocate",
                    ".L1::evict_last",
                    ".L1::evict_first",
                    ".nc.L1::no_allocate.L2::128B",
                    ".nc.L1::no_allocate.L2::256B",
                    ".nc.L2::128B",
                    ".nc.L2::256B",
                    ".L2::128B",
                    ".L2::256B"},
      storeCaches = {"", ".wb", ".cg", ".cs", ".wt", ".L1::no_allocate", ".L1::evict_last", ".L1::evict_first"};
  for (const SpaceName &space : spaces)
    for (const auto &type : types)
      for (bool isLoad : {true, false}) {
        if (space.space == Space::Const && !isLoad)
          continue;
        std::string stem = isLoad ? "ld" : "st";
        for (const Choice &order : orders)
          addAccess(table, isLoad, stem + order.text + space.text, space, type.type, type.bytes, type.isSigned,
                    order.mods);
        for (const char *scope : {".cta", ".cluster", ".gpu", ".sys"})
          addAccess(table, isLoad, stem + (isLoad ? ".acquire" : ".release") + scope + space.text, space, type.type,
                    type.bytes, type.isSigned, ModStrong | (isLoad ? ModAcquire : ModRelease));
        if (space.space == Space::Global || space.space == Space::Generic)
          for (const std::string &cache : isLoad ? loadCaches : storeCaches)
            if (!cache.empty())
              addAccess(table, isLoad, stem + space.text + cache, space, type.type, type.bytes, type.isSigned, 0);
      }
  for (const char *opcode : {"membar.cta", "membar.gl", "membar.sys", "fence.cta", "fence.gpu", "fence.sys",
                             "fence.sc.cta", "fence.sc.gpu", "fence.sc.sys", "fence.sc.cluster", "fence.acq_rel.cta",
                             "fence.acq_rel.gpu", "fence.acq_rel.sys", "fence.acq_rel.cluster"})
    table.add(opcode, "", memoryFence);
  for (const char *opcode : {"prefetch.global.L1", "prefetch.global.L2", "prefetch.L1", "prefetch.L2",
                             "prefetch.local.L1", "prefetchu.L1", "discard.global.L2"})
    table.add(opcode, "m?w", ignoreHint);
  table.add("nanosleep.u32", "w", ignoreHint);
}

} // namespace tilewright::ptx
