//===- Access.cpp - checks of a lane's memory access --------------------------------------===//
//
// This file contains the checks of memory accesses: the space of a generic address, the bounds of the accessed object,
// alignment, uninitialized memory and races. The kernel continues after an error is reported: an invalid load returns
// zero, and an invalid store has no effect.
//
//===----------------------------------------------------------------------===//
#include "lib/PtxInterpreter/Machine.h"

#include <algorithm>
#include <bit>

namespace tilewright::ptx {
namespace {

std::string hex(uint64_t value) {
  char text[24];
  snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}
const char *nameOf(Space space) {
  constexpr const char *names[] = {"generic", "global", "shared", "local", "const", "param", "shared"};
  return names[size_t(space)];
}
const char *verb(Access access) {
  return access == Access::Read ? "read" : access == Access::Write ? "write" : "atomic access";
}
std::string count(uint64_t bytes) { return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes"); }

} // namespace

Accessor Exec::accessor(uint32_t lane, uint16_t flags) const {
  Epoch epoch;
  epoch.block = block.serial;
  epoch.clock = warp.clock.own[warp.index];
  epoch.pc = pc;
  epoch.warp = uint8_t(warp.index);
  epoch.lane = uint8_t(lane);
  epoch.flags = flags;
  return {epoch, &warp.clock};
}

uint64_t Exec::address(const Instr &in, uint32_t i, uint32_t lane, uint32_t number) const {
  uint32_t row = operand(in, i);
  bool wide = operand(in, uint32_t(in.results) + in.sources + number);
  uint64_t base = wide ? rowAt<uint64_t>(row)[lane] : rowAt<uint32_t>(row)[lane];
  return base + uint64_t(number == 0 ? in.offset : number == 1 ? in.secondOffset : in.thirdOffset);
}

Block *Exec::ownerOf(uint32_t lane, uint64_t &address, bool anyBlock) {
  address &= ~kWindowMask;
  uint64_t number = address >> kRankShift;
  if (!number)
    return &block;
  if (number == kOwnBlock) {
    address &= (uint64_t(1) << kRankShift) - 1;
    return &block;
  }
  const std::vector<Block *> &blocks = block.cluster->blocks;
  std::string where = "shared memory at " + hex(address) + ": ";
  address &= (uint64_t(1) << kRankShift) - 1;
  if (number > blocks.size()) {
    find(Kind::OutOfBounds, lane, where + "the cluster has " + std::to_string(blocks.size()) + " blocks");
    return nullptr;
  }
  Block *owner = blocks[number - 1];
  if (owner == &block)
    return owner;
  if (!anyBlock) {
    find(Kind::OutOfBounds, lane,
         where + "the address is in the block with rank " + std::to_string(number - 1) +
             ", but the instruction can access only its own block (.shared::cta)");
    return nullptr;
  }
  if (owner->ended) {
    find(Kind::ExitedBlock, lane, where + "the block with rank " + std::to_string(number - 1) + " has exited");
    return nullptr;
  }
  owner->visitors[uint64_t(block.serial) * kAgents + warp.index] = accessor(lane).epoch;
  return owner;
}

GlobalObject *Exec::objectAt(uint64_t address, uint64_t bytes) {
  auto holds = [&](const GlobalObject &object) {
    return address >= object.begin && address - object.begin < object.bytes &&
           object.bytes - (address - object.begin) >= bytes;
  };
  if (grid.lastObject < grid.objects.size() && holds(grid.objects[grid.lastObject]))
    return &grid.objects[grid.lastObject];
  auto next = std::upper_bound(grid.objects.begin(), grid.objects.end(), address,
                               [](uint64_t value, const GlobalObject &object) { return value < object.begin; });
  if (next == grid.objects.begin())
    return nullptr;
  --next;
  if (!holds(*next))
    return nullptr;
  grid.lastObject = size_t(next - grid.objects.begin());
  return &*next;
}

uint8_t *Exec::locate(uint32_t lane, Space &space, uint64_t &address, uint32_t bytes, Access access) {
  bool anyBlock = space == Space::Cluster;
  if (space == Space::Generic) {
    space = spaceOf(address);
    if (space != Space::Global && space != Space::Shared)
      address &= ~kWindowMask;
    anyBlock = true;
  } else if (space == Space::Cluster)
    space = Space::Shared;
  reached = &block;
  if (space == Space::Shared && !(reached = ownerOf(lane, address, anyBlock)))
    return nullptr;
  auto refuse = [&](Kind kind, const std::string &why) -> uint8_t * {
    find(kind, lane,
         std::string(verb(access)) + " of " + count(bytes) + " at " + hex(address) + " in " + nameOf(space) +
             " memory: " + why);
    return nullptr;
  };
  if (address & (bytes - 1) && std::has_single_bit(bytes))
    return refuse(Kind::Misaligned, "the address is not a multiple of " + std::to_string(bytes));
  switch (space) {
  case Space::Shared: {
    const auto &objects = grid.code.shared;
    auto next = std::upper_bound(objects.begin(), objects.end(), address,
                                 [](uint64_t value, const SharedObject &object) { return value < object.begin; });
    if (next == objects.begin())
      return refuse(Kind::OutOfBounds, "no variable is stored there");
    const SharedObject &object = *--next;
    uint64_t at = address - object.begin;
    if (at >= object.bytes || object.bytes - at < bytes)
      return refuse(Kind::OutOfBounds, "'" + object.name + "' has " + count(object.bytes) +
                                           ", the access begins at byte " + std::to_string(at));
    return reached->shared.data() + address;
  }
  case Space::Local: {
    std::vector<uint8_t> &local = warp.lanes[lane].local;
    if (address >= local.size() || local.size() - address < bytes)
      return refuse(Kind::OutOfBounds, "the thread's local memory has " + count(local.size()));
    return local.data() + address;
  }
  case Space::Param: {
    if (access != Access::Read)
      return refuse(Kind::ReadOnly, "the kernel's parameters cannot be written");
    if (address >= grid.parameters.size() || grid.parameters.size() - address < bytes)
      return refuse(Kind::OutOfBounds, "the kernel's parameters have " + count(grid.parameters.size()));
    return grid.parameters.data() + address;
  }
  case Space::Global:
  case Space::Const:
  case Space::Generic:
  case Space::Cluster:
    break;
  }
  GlobalObject *object = objectAt(address, bytes);
  if (!object) {
    if (address < 4096)
      return refuse(Kind::OutOfBounds, "a null pointer");
    auto next = std::upper_bound(grid.objects.begin(), grid.objects.end(), address,
                                 [](uint64_t value, const GlobalObject &other) { return value < other.begin; });
    std::string near = "no allocation contains these bytes";
    uint64_t before = ~uint64_t(0);
    if (next != grid.objects.begin()) {
      const GlobalObject &left = *(next - 1);
      before = address - left.begin;
      near += "; '" + left.allocation->name + "' has " + count(left.bytes) + ", the access begins at byte " +
              std::to_string(before);
    }
    if (next != grid.objects.end() && next->begin - address < before && next->begin - address < (1u << 20))
      near = "no allocation contains these bytes; '" + next->allocation->name + "' begins " +
             count(next->begin - address) + " later";
    return refuse(Kind::OutOfBounds, near);
  }
  if (object->allocation->constant && access != Access::Read)
    return refuse(Kind::ReadOnly, "'" + object->allocation->name + "' cannot be written");
  return reinterpret_cast<uint8_t *>(address);
}

void Exec::noteRace(uint32_t lane, Space space, uint64_t address, const Epoch &other, bool write, bool isRead) {
  bool async = other.flags & Epoch::Async, ordered = !async && accessor(lane).isAfter(other);
  std::string what = std::string(isRead && !write ? "read" : "write") + " of " + nameOf(space) + " memory";
  if (space == Space::Shared) {
    for (const SharedObject &object : grid.code.shared)
      if (address >= object.begin && address - object.begin < object.bytes)
        what += " ('" + object.name + "' at byte " + std::to_string(address - object.begin) + ")";
  } else if (GlobalObject *object = objectAt(address, 1))
    what += " ('" + object->allocation->name + "' at byte " + std::to_string(address - object->begin) + ")";
  if (async)
    find(Kind::AsyncNotWaited, lane,
         what + " while an asynchronous operation may still access it: no instruction waits for the operation", &other);
  else if (ordered)
    find(Kind::MissingProxyFence, lane,
         what + " by the async proxy, but no fence.proxy.async follows the ordinary write", &other);
  else
    find(Kind::Race, lane,
         what + " that is not ordered after an access by " +
             (other.block != block.serial ? "another block"
              : other.warp != warp.index  ? "another warp"
                                          : "another lane of the same warp"),
         &other);
}

bool Exec::inShared(uint32_t lane, uint64_t address, uint64_t bytes, uint32_t align, const std::string &what) {
  std::string where = what + " at " + hex(address) + " in shared memory: ";
  if (address % align) {
    find(Kind::Misaligned, lane, where + "the address is not a multiple of " + std::to_string(align));
    return false;
  }
  for (const SharedObject &object : grid.code.shared)
    if (address >= object.begin && address - object.begin < object.bytes) {
      if (object.bytes - (address - object.begin) >= bytes)
        return true;
      where += "'" + object.name + "' has " + count(object.bytes) + ", the " + count(bytes) + " begin at byte " +
               std::to_string(address - object.begin);
      find(Kind::OutOfBounds, lane, where);
      return false;
    }
  find(Kind::OutOfBounds, lane, where + "no variable is stored there");
  return false;
}

uint8_t *Exec::reach(uint32_t lane, Space space, uint64_t address, uint32_t bytes, Access access, bool strong) {
  uint8_t *data = locate(lane, space, address, bytes, access);
  if (!data)
    return nullptr;
  bool reads = access != Access::Write, writes = access != Access::Read;
  if (space == Space::Local || space == Space::Param || space == Space::Const)
    return data;
  if (space == Space::Shared && !reached->mbarriers.empty()) {
    auto next = reached->mbarriers.lower_bound(address + bytes);
    if (next != reached->mbarriers.begin())
      if (auto barrier = std::prev(next); barrier->first + 8 > address)
        find(Kind::MbarrierMisuse, lane, std::string(verb(access)) + " of the bytes of an mbarrier that is in use",
             &barrier->second.init);
  }
  Shadow *shadow = &reached->shadow;
  uint8_t *written = reached->sharedWritten.data() + address;
  uint64_t at = address;
  if (space == Space::Global || space == Space::Generic) {
    GlobalObject &object = grid.objects[grid.lastObject];
    shadow = &object.shadow;
    at = address - object.begin;
    written = object.written.empty() ? nullptr : object.written.data() + at;
  }
  Accessor who = accessor(lane, strong ? Epoch::Strong : 0);
  const Epoch *other = writes ? shadow->write(who, at, bytes) : shadow->read(who, at, bytes);
  if (other)
    noteRace(lane, space, address, *other, writes, reads);
  if (written && reads && std::memchr(written, 0, bytes) && !(other && other->flags & Epoch::Async)) {
    std::string where =
        space == Space::Shared ? "shared memory" : "'" + grid.objects[grid.lastObject].allocation->name + "'";
    find(Kind::UninitialisedMemory, lane,
         "read of " + count(bytes) + " of " + where + " at " + hex(address) + " that nothing has written");
  }
  if (written && writes)
    std::memset(written, 1, bytes);
  return data;
}

void Exec::release() {
  warp.released = warp.clock;
  warp.hasReleased = true;
  ++warp.clock.own[warp.index];
}

void Exec::acquire() {
  if (warp.hasAcquired)
    warp.clock.join(warp.acquired, true, block.serial);
  warp.hasAcquired = false;
  warp.acquired = VectorClock();
}

/// Returns the key of an address in Grid::released. The key of an address in shared memory contains the block's number,
/// because shared memory has the same addresses in every block.
static uint64_t releaseKey(const Block &block, uint64_t address) {
  if ((address & kWindowMask) == kSharedWindow)
    address &= ~kWindowMask;
  if (address >> 32)
    return address;
  uint64_t number = address >> kRankShift;
  uint32_t serial =
      number && number <= block.cluster->blocks.size() ? block.cluster->blocks[number - 1]->serial : block.serial;
  return (address & ((uint64_t(1) << kRankShift) - 1)) | uint64_t(serial) << 32 | kSharedWindow;
}

void Exec::publish(uint64_t address) {
  if (!warp.hasReleased)
    return;
  address = releaseKey(block, address);
  auto [entry, fresh] = grid.released.try_emplace(address);
  auto &[clock, from] = entry->second;
  if (fresh || from == block.serial) {
    clock.join(warp.released, true, block.serial);
    from = block.serial;
    return;
  }
  // Another block last released a clock at this address. Join that clock.
  VectorClock joined = warp.released;
  joined.join(clock, false, from);
  clock = std::move(joined);
  from = block.serial;
}

void Exec::observe(uint64_t address) {
  auto found = grid.released.find(releaseKey(block, address));
  if (found == grid.released.end())
    return;
  const auto &[clock, from] = found->second;
  warp.acquired.join(clock, from == block.serial, from);
  // Other blocks have acquired clocks of this block. Add these clocks.
  for (uint32_t i = 0; i < kAgents; ++i) {
    auto mine = clock.others.find(uint64_t(block.serial) * kAgents + i);
    if (mine != clock.others.end())
      warp.acquired.own[i] = std::max(warp.acquired.own[i], mine->second);
  }
  warp.hasAcquired = true;
}

void Exec::countShared(const uint64_t *addresses, uint32_t bytes) {
  Cost &cost = grid.costs[pc];
  ++cost.executions;
  uint32_t lanes = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8, words = bytes <= 4 ? 1 : bytes / 4;
  for (uint32_t first = 0; first < kLanes; first += lanes) {
    uint64_t seen[32][8];
    uint32_t counts[32] = {}, most = 0;
    for (uint32_t lane = first; lane < first + lanes; ++lane) {
      if (addresses[lane] == ~uint64_t(0))
        continue;
      for (uint32_t word = 0; word < words; ++word) {
        uint64_t number = addresses[lane] / 4 + word;
        uint32_t bank = uint32_t(number & 31), i = 0;
        uint32_t kept = std::min(counts[bank], 8u);
        while (i < kept && seen[bank][i] != number)
          ++i;
        if (i == kept) {
          if (kept < 8)
            seen[bank][kept] = number;
          most = std::max(most, ++counts[bank]);
        }
      }
    }
    cost.extraWavefronts += most > 1 ? most - 1 : 0;
    if (grid.timing)
      grid.timing->sharedAccess(most);
  }
}

void Exec::countGlobal(const uint64_t *addresses, uint32_t bytes, bool write) {
  Cost &cost = grid.costs[pc];
  ++cost.executions;
  std::array<uint64_t, 2 * kLanes> sectors;
  uint32_t number = 0, active = 0;
  uint64_t begin = ~uint64_t(0), end = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if (addresses[lane] == ~uint64_t(0))
      continue;
    ++active;
    begin = std::min(begin, addresses[lane]);
    end = std::max(end, addresses[lane] + bytes);
    sectors[number++] = addresses[lane] / 32;
    if ((addresses[lane] + bytes - 1) / 32 != addresses[lane] / 32)
      sectors[number++] = (addresses[lane] + bytes - 1) / 32;
  }
  std::sort(sectors.begin(), sectors.begin() + number);
  const auto touched = uint64_t(std::unique(sectors.begin(), sectors.begin() + number) - sectors.begin());
  cost.sectors += touched;
  cost.leastSectors += std::min<uint64_t>(touched, (uint64_t(active) * bytes + 31) / 32);
  if (grid.timing && active > 0)
    grid.timing->access(*this, {sectors.data(), touched}, begin, end, uint64_t(active) * bytes, write);
}

} // namespace tilewright::ptx
