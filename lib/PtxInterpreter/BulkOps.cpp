//===- BulkOps.cpp - cp.async.bulk, with and without tensor maps ----------------------------------------===//
//
// Bulk copies are executed as late as possible. A load (from global to shared memory) is executed when no thread can
// continue without it, or when threads only poll for it. A store is executed when its thread waits for the store's
// group, or when the block ends. If the wait has .read, only the source is read then. Until a copy is executed, its
// source and its destination are marked as in use. The destination of a reduction is not marked, because a reduction is
// a relaxed atomic operation. All accesses go through the async proxy. The agent of a load is its mbarrier: a thread
// that has observed the completion of the phase is ordered after the load. A tensor map is a ptx::TensorMap.
//
//===----------------------------------------------------------------------===//
#include "lib/PtxInterpreter/Bulk.h"
#include "lib/PtxInterpreter/Lanes.h"
#include "lib/PtxInterpreter/Table.h"

#include <algorithm>

namespace tilewright::ptx {
namespace {

enum : uint32_t {
  Tensor = ModUser,
  Multicast = ModUser * 2,
  StoreBit = ModUser * 4,
  ReadOnly = ModUser * 8,
  Windows = ModUser * 16,
  OperationUnit = ModUser * 32
};

Accessor accessorOf(const Exec &e, const BulkCopy &copy, uint16_t flags) {
  Accessor who = {copy.issuer, &e.warp.clock};
  who.epoch.flags = flags;
  return who;
}

/// Records that the copy's accesses are in progress. Returns false if the copy is invalid.
bool begin(Exec &e, uint32_t lane, const BulkCopy &copy) {
  bool load = copy.direction == BulkCopy::Direction::Load;
  if (!e.inShared(lane, copy.shared, copy.bytes, copy.tensor ? 128 : 16, "the shared side of the copy"))
    return false;
  bool good = true;
  forPieces(copy, [&](const BulkPiece &piece) {
    if (!piece.inside || !good)
      return;
    Space space = Space::Global;
    uint64_t address = piece.global;
    GlobalObject *object = e.objectAt(address, piece.bytes);
    if (!object || (!load && object->allocation->constant)) {
      // Check only one byte, because a piece is possibly not aligned to its size.
      uint64_t last = address + piece.bytes - 1;
      good = e.locate(lane, space, last, 1, load ? Access::Read : Access::Write) != nullptr && object;
      return;
    }
    uint64_t at = address - object->begin;
    Accessor who = accessorOf(e, copy, Epoch::Async | Epoch::Proxy);
    if (copy.direction == BulkCopy::Direction::Reduce)
      return; // reductions do not race, because they are relaxed atomic operations
    const Epoch *other = load ? object->shadow.read(who, at, piece.bytes) : object->shadow.write(who, at, piece.bytes);
    if (other)
      e.noteRace(lane, Space::Global, address, *other, !load, load);
    if (load && !object->written.empty() && std::memchr(object->written.data() + at, 0, piece.bytes))
      e.find(Kind::UninitialisedMemory, lane,
             "copies bytes of '" + object->allocation->name + "' that nothing has written");
  });
  if (!good)
    return false;
  Accessor who = accessorOf(e, copy, Epoch::Async | Epoch::Proxy);
  Shadow &shadow = copy.block->shadow;
  const Epoch *other = load ? shadow.write(who, copy.shared, copy.bytes) : shadow.read(who, copy.shared, copy.bytes);
  if (other)
    e.noteRace(lane, Space::Shared, copy.shared, *other, load, !load);
  return true;
}

bool readMap(Exec &e, const Instr &in, uint32_t lane, uint32_t operand, uint32_t number, BulkCopy &copy) {
  Space space = Space::Generic;
  uint64_t address = e.address(in, operand, lane, number);
  const uint8_t *data = nullptr;
  if (address % 64) {
    e.find(Kind::Misaligned, lane, "the address of a tensor map must be a multiple of 64");
    return false;
  }
  // Access the 128-byte map in two halves: an access must be aligned to its size, but the map is aligned to 64 bytes.
  if (!(data = e.locate(lane, space, address, 64, Access::Read)) ||
      !e.locate(lane, space, address += 64, 64, Access::Read))
    return false;
  std::memcpy(static_cast<void *>(&copy.map), data, sizeof(TensorMap));
  std::string problem = copy.map.problem();
  if (problem.empty() && copy.map.rank != in.count)
    problem = "the tensor map has " + std::to_string(copy.map.rank) + " dimensions, but the instruction has " +
              std::to_string(in.count);
  if (problem.empty() && bool(copy.map.windows) != bool(in.mods & Windows))
    problem = in.mods & Windows ? "the instruction has the mode im2col, but the tensor map is tiled"
                                : "the tensor map has the mode im2col, but the instruction has not";
  if (!problem.empty()) {
    e.find(Kind::BadOperand, lane, problem);
    return false;
  }
  for (uint32_t i = 0; i < in.count; ++i)
    copy.at[i] = int32_t(e.row<uint32_t>(in, operand + 1 + i)[lane]);
  copy.tensor = true;
  copy.bytes = copy.map.boxBytes();
  return true;
}

bool checkMbarrier(Exec &e, uint32_t lane, const BulkCopy &copy) {
  if (!e.inShared(lane, copy.mbarrier, 8, 8, "an mbarrier"))
    return false;
  auto found = copy.block->mbarriers.find(copy.mbarrier);
  if (found == copy.block->mbarriers.end()) {
    e.find(Kind::MbarrierMisuse, lane, "the copy's mbarrier is not initialised");
    return false;
  }
  Accessor who = e.accessor(lane, Epoch::Strong);
  if (const Epoch *other = copy.block->shadow.write(who, copy.mbarrier, 8))
    e.noteRace(lane, Space::Shared, copy.mbarrier, *other, true, true);
  // The shadow may contain a later strong access instead of the initialization.
  else if (!who.isAfter(found->second.init))
    e.noteRace(lane, Space::Shared, copy.mbarrier, found->second.init, true, true);
  if (!found->second.shown)
    e.find(Kind::MissingProxyFence, lane,
           "the copy's mbarrier was initialised, but no fence.mbarrier_init or fence.proxy.async follows",
           &found->second.init);
  return true;
}

/// Reads the offsets of a load with a map of windows. `operand` is the index of the first offset. The first pixel of
/// the load must be inside of the bounding box, at one of the map's steps.
bool readOffsets(Exec &e, const Instr &in, uint32_t lane, uint32_t operand, BulkCopy &copy) {
  const TensorMap &map = copy.map;
  const uint32_t limit = map.rank == 3 ? 1u << 16 : map.rank == 4 ? 1u << 8 : 1u << 5;
  for (uint32_t i = 0; i + 2 < map.rank; ++i) {
    const uint32_t offset = e.row<uint32_t>(in, operand + i)[lane] & 0xffff;
    const int64_t at = copy.at[i + 1], last = int64_t(map.dims[i + 1]) - 1 + map.upper[i];
    if (offset >= limit) {
      e.find(Kind::BadOperand, lane,
             "an im2col offset is " + std::to_string(offset) + ", but must be less than " + std::to_string(limit));
      return false;
    }
    if (at < map.lower[i] || at > last || (at - map.lower[i]) % map.elementStrides[i + 1]) {
      e.find(Kind::BadOperand, lane,
             "the first window of the copy is at " + std::to_string(at) + " in dimension " + std::to_string(i + 1) +
                 ", but the windows of the tensor map are from " + std::to_string(map.lower[i]) + " to " +
                 std::to_string(last) + " in steps of " + std::to_string(map.elementStrides[i + 1]));
      return false;
    }
    copy.offsets[i] = uint16_t(offset);
  }
  return true;
}

/// Starts a load for each block in the mask `ranks`. All blocks use the same shared memory addresses.
void loadInto(Exec &e, uint32_t lane, const BulkCopy &copy, uint32_t ranks) {
  const std::vector<Block *> &blocks = e.block.cluster->blocks;
  if (!ranks || ranks >> blocks.size())
    e.find(Kind::BadOperand, lane,
           "the mask of blocks is " + std::to_string(ranks) + ", but the number of blocks in the cluster is " +
               std::to_string(blocks.size()));
  for (size_t rank = 0; rank < blocks.size(); ++rank) {
    if (!(ranks >> rank & 1))
      continue;
    BulkCopy one = copy;
    one.block = blocks[rank];
    if (one.block->ended)
      e.find(Kind::ExitedBlock, lane, "the block with rank " + std::to_string(rank) + " has exited");
    else if (checkMbarrier(e, lane, one) && begin(e, lane, one)) {
      if (e.grid.timing)
        one.time = e.grid.timing->bulk(e, one);
      e.grid.loads.push_back(std::move(one));
    }
  }
}

void copyBulk(Exec &e, const Instr &in) {
  bool tensor = in.mods & Tensor, store = in.mods & StoreBit;
  forLanes(e.mask, [&](uint32_t lane) {
    BulkCopy copy;
    copy.block = &e.block;
    copy.operation = in.mods / OperationUnit;
    copy.direction = !store           ? BulkCopy::Direction::Load
                     : copy.operation ? BulkCopy::Direction::Reduce
                                      : BulkCopy::Direction::Store;
    copy.issuer = e.accessor(lane).epoch;
    uint32_t coordinates = tensor ? in.count : 0, next;
    if (tensor) {
      if (!readMap(e, in, lane, store ? 0 : 1, store ? 0 : 1, copy))
        return;
      copy.shared = store ? e.address(in, 1 + coordinates, lane, 1) : e.address(in, 0, lane, 0);
      next = 2 + coordinates;
    } else {
      copy.shared = e.address(in, store ? 1 : 0, lane, store ? 1 : 0);
      copy.global = e.address(in, store ? 0 : 1, lane, store ? 0 : 1);
      copy.bytes = e.row<uint32_t>(in, 2)[lane];
      next = 3;
      if (copy.global % 16 || copy.bytes % 16) {
        e.find(Kind::Misaligned, lane, "the global address and the size of a bulk copy must be multiples of 16");
        return;
      }
      if (!copy.bytes)
        return;
    }
    copy.block = e.ownerOf(lane, copy.shared, !store);
    if (!copy.block)
      return;
    if (in.bytes)
      copy.map.element = TensorMap::Element(in.bytes - 1);
    if (copy.operation && !canReduce(copy.map.element, copy.operation)) {
      e.find(Kind::BadOperand, lane, "this reduction is not defined for the element type of the tensor map");
      return;
    }
    if (!store) {
      copy.mbarrier = e.address(in, next, lane, 2);
      Block *owner = e.ownerOf(lane, copy.mbarrier, true);
      if (!owner)
        return;
      if (owner != copy.block) {
        e.find(Kind::BadOperand, lane,
               "the copy writes the shared memory of one block, but its mbarrier is in another block");
        return;
      }
      ++next;
    }
    if (in.mods & Windows) {
      if (!readOffsets(e, in, lane, next, copy))
        return;
      next += in.count - 2u;
    }
    if (tensor && copy.map.swizzle && copy.shared % (8u * copy.map.swizzle))
      e.find(Kind::Misaligned, lane,
             "the shared address is not a multiple of the " + std::to_string(8 * copy.map.swizzle) +
                 " bytes after which the swizzle repeats");
    if (!store)
      return loadInto(e, lane, copy,
                      in.mods & Multicast ? e.row<uint32_t>(in, next)[lane] & 0xffff : 1u << copy.block->rank);
    if (!begin(e, lane, copy))
      return;
    if (e.grid.timing)
      e.warp.times.stores = std::max(e.warp.times.stores, e.grid.timing->bulk(e, copy));
    e.warp.lanes[lane].bulk.push_back(std::move(copy));
  });
}

void prefetchTensor(Exec &e, const Instr &in) {
  forLanes(e.mask, [&](uint32_t lane) {
    BulkCopy copy;
    readMap(e, in, lane, 0, 0, copy);
  });
}
void prefetch(Exec &, const Instr &) {}

/// Reads the source of a store, so that the store can be executed later.
void capture(Exec &e, uint32_t lane, BulkCopy &copy) {
  if (copy.read)
    return;
  copy.read = true;
  const uint8_t *from = e.block.shared.data() + copy.shared;
  copy.captured.assign(from, from + copy.bytes);
  if (std::memchr(e.block.sharedWritten.data() + copy.shared, 0, copy.bytes))
    e.find(Kind::UninitialisedMemory, lane, "the copy stores bytes of shared memory that nothing has written",
           &copy.issuer);
  Accessor who = e.accessor(lane, Epoch::Proxy);
  who.epoch.pc = copy.issuer.pc;
  e.block.shadow.finishRead(who, copy.shared, copy.bytes);
}

void store(Exec &e, uint32_t lane, BulkCopy &copy) {
  capture(e, lane, copy);
  Accessor who = e.accessor(lane, Epoch::Proxy);
  who.epoch.pc = copy.issuer.pc;
  forPieces(copy, [&](const BulkPiece &piece) {
    if (!piece.inside)
      return;
    GlobalObject *object = e.objectAt(piece.global, piece.bytes);
    uint8_t *to = reinterpret_cast<uint8_t *>(piece.global);
    const uint8_t *from = copy.captured.data() + (piece.shared - copy.shared);
    if (copy.direction == BulkCopy::Direction::Reduce) {
      reduceBytes(copy, to, from, piece.bytes);
      return;
    }
    std::memcpy(to, from, piece.bytes);
    object->shadow.finishWrite(who, piece.global - object->begin, piece.bytes);
    if (!object->written.empty())
      std::memset(object->written.data() + (piece.global - object->begin), 1, piece.bytes);
  });
}

void commitBulkGroup(Exec &e, const Instr &) {
  forLanes(e.mask, [&](uint32_t lane) {
    Lane &state = e.warp.lanes[lane];
    state.bulkGroups.push_back(std::move(state.bulk));
    state.bulk.clear();
  });
}
void waitBulkGroup(Exec &e, const Instr &in) {
  uint32_t allowed = e.row<uint32_t>(in, 0)[0];
  forLanes(e.mask, [&](uint32_t lane) {
    auto &groups = e.warp.lanes[lane].bulkGroups;
    if (in.mods & ReadOnly) {
      for (size_t i = 0; i + allowed < groups.size(); ++i)
        for (BulkCopy &copy : groups[i])
          capture(e, lane, copy);
      return;
    }
    for (; groups.size() > allowed; groups.pop_front())
      for (BulkCopy &copy : groups.front())
        store(e, lane, copy);
  });
}

void deliver(Grid &grid, BulkCopy &copy) {
  Block &block = *copy.block;
  Exec e{grid, block, block.warps[copy.issuer.warp], nullptr};
  e.pc = copy.issuer.pc;
  auto found = block.mbarriers.find(copy.mbarrier);
  Accessor agent = accessorOf(e, copy, Epoch::Proxy);
  agent.epoch.block = block.serial;
  if (found == block.mbarriers.end()) {
    e.find(Kind::MbarrierMisuse, copy.issuer.lane, "the copy's mbarrier was invalidated before the copy completed");
  } else {
    agent.epoch.warp = uint8_t(found->second.agent);
    agent.epoch.clock = ++block.agentClocks[found->second.agent];
    found->second.lastLoad = copy.issuer;
    found->second.arriving.own[found->second.agent] = agent.epoch.clock;
  }
  forPieces(copy, [&](const BulkPiece &piece) {
    uint8_t *to = block.shared.data() + piece.shared;
    if (!piece.inside) {
      fillOutside(copy.map, to, piece.bytes);
      return;
    }
    loadElements(copy.map, to, reinterpret_cast<const uint8_t *>(piece.global), piece.bytes);
    GlobalObject *object = e.objectAt(piece.global, piece.bytes);
    object->shadow.finishRead(copy.issuer, agent.epoch, piece.global - object->begin, piece.bytes);
  });
  std::memset(block.sharedWritten.data() + copy.shared, 1, copy.bytes);
  block.shadow.finishWrite(agent, copy.shared, copy.bytes);
  if (found == block.mbarriers.end())
    return;
  found->second.gathered = std::max(found->second.gathered, copy.time);
  completeBytes(block, found->second, copy.bytes);
}

/// Executes a load, or an arrival that is numbered after the loads.
bool deliverNumber(Grid &grid, size_t chosen) {
  if (chosen >= grid.loads.size()) {
    auto at = grid.arrivals.begin() + std::ptrdiff_t(chosen - grid.loads.size());
    AsyncArrival arrival = std::move(*at);
    grid.arrivals.erase(at);
    arriveAsync(grid, arrival);
    return true;
  }
  BulkCopy copy = std::move(grid.loads[chosen]);
  grid.loads.erase(grid.loads.begin() + std::ptrdiff_t(chosen));
  deliver(grid, copy);
  return true;
}

double timeOfDelivery(const Grid &grid, size_t number) {
  return number < grid.loads.size() ? grid.loads[number].time : grid.arrivals[number - grid.loads.size()].time;
}

/// Returns the number of the load or arrival that completes first.
size_t firstDelivery(const Grid &grid) {
  size_t first = 0;
  for (size_t number = 1; number < grid.loads.size() + grid.arrivals.size(); ++number)
    if (timeOfDelivery(grid, number) < timeOfDelivery(grid, first))
      first = number;
  return first;
}

} // namespace

bool deliverLoad(Grid &grid) {
  if (grid.loads.empty() && grid.arrivals.empty())
    return false;
  return deliverNumber(grid,
                       grid.timing ? firstDelivery(grid) : grid.draw() % (grid.loads.size() + grid.arrivals.size()));
}

bool deliverLoad(Grid &grid, double time) {
  if (grid.loads.empty() && grid.arrivals.empty())
    return false;
  const size_t first = firstDelivery(grid);
  return timeOfDelivery(grid, first) <= time && deliverNumber(grid, first);
}

/// Reports a completed load if no thread has observed the completion of the phase of the load's mbarrier.
static void findUnseen(Exec &e) {
  for (const auto &[address, mbarrier] : e.block.mbarriers) {
    bool seen = !mbarrier.lastLoad.block;
    for (const Warp &warp : e.block.warps)
      seen |= warp.clock.own[mbarrier.agent] >= e.block.agentClocks[mbarrier.agent];
    if (seen)
      continue;
    e.pc = mbarrier.lastLoad.pc;
    e.find(Kind::AsyncNotWaited, mbarrier.lastLoad.lane, "the block ends, but no thread has waited for the copy");
  }
}

void endBulk(Exec &e) {
  if (!e.warp.index)
    findUnseen(e);
  std::erase_if(e.grid.loads, [&](const BulkCopy &copy) {
    if (copy.block != &e.block || copy.issuer.warp != e.warp.index)
      return false;
    e.pc = copy.issuer.pc;
    e.find(Kind::AsyncNotWaited, copy.issuer.lane,
           "the block ends before the copy completes: no thread waits for the copy");
    return true;
  });
  std::erase_if(e.grid.arrivals, [&](const AsyncArrival &arrival) { return arrival.block == &e.block; });
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    Lane &state = e.warp.lanes[lane];
    state.bulkGroups.push_back(std::move(state.bulk));
    for (auto &group : state.bulkGroups)
      for (BulkCopy &copy : group) {
        e.pc = copy.issuer.pc;
        if (!copy.read)
          e.find(Kind::AsyncNotWaited, lane, "the block ends before the copy has read shared memory: no wait_group");
        store(e, lane, copy);
      }
    state.bulkGroups.clear();
  }
}

/// Adds cp.reduce.async.bulk without a tensor map. Form::bytes contains the value of TensorMap::Element plus one.
static void addReductions(Table &table) {
  using Element = TensorMap::Element;
  struct {
    const char *operation;
    uint32_t number;
    std::vector<std::pair<const char *, Element>> types;
  } const all[] = {{".add",
                    ReduceAdd,
                    {{".u32", Element::U32},
                     {".s32", Element::S32},
                     {".u64", Element::U64},
                     {".f32", Element::F32},
                     {".f64", Element::F64},
                     {".noftz.f16", Element::F16},
                     {".noftz.bf16", Element::BF16}}},
                   {".min",
                    ReduceMin,
                    {{".u32", Element::U32},
                     {".s32", Element::S32},
                     {".u64", Element::U64},
                     {".s64", Element::S64},
                     {".f16", Element::F16},
                     {".bf16", Element::BF16}}},
                   {".max",
                    ReduceMax,
                    {{".u32", Element::U32},
                     {".s32", Element::S32},
                     {".u64", Element::U64},
                     {".s64", Element::S64},
                     {".f16", Element::F16},
                     {".bf16", Element::BF16}}},
                   {".and", ReduceAnd, {{".b32", Element::U32}, {".b64", Element::U64}}},
                   {".or", ReduceOr, {{".b32", Element::U32}, {".b64", Element::U64}}},
                   {".xor", ReduceXor, {{".b32", Element::U32}, {".b64", Element::U64}}}};
  for (const auto &each : all)
    for (const auto &[type, element] : each.types)
      for (const char *hint : {"", ".L2::cache_hint"}) {
        Form form;
        form.run = copyBulk;
        form.mods = StoreBit | each.number * OperationUnit;
        form.signature = *hint ? "mmwd" : "mmw";
        form.bytes = uint8_t(element) + 1;
        table.add(std::string("cp.reduce.async.bulk.global.shared::cta.bulk_group") + hint + each.operation + type,
                  form);
      }
}

void addBulkForms(Table &table) {
  auto addForm = [&](const std::string &opcode, const std::string &signature, Handler run, uint32_t mods,
                     uint32_t count) {
    Form form;
    form.run = run;
    form.mods = mods;
    form.count = uint8_t(count);
    form.signature = signature;
    table.add(opcode, form);
    form.signature += "d";
    table.add(opcode + ".L2::cache_hint", form);
  };
  for (const char *to : {".shared::cluster", ".shared::cta"}) {
    std::string complete = ".mbarrier::complete_tx::bytes";
    addForm("cp.async.bulk" + std::string(to) + ".global" + complete, "mmwm", copyBulk, 0, 1);
    addForm("cp.async.bulk" + std::string(to) + ".global" + complete + ".multicast::cluster", "mmwmh", copyBulk,
            Multicast, 1);
    for (uint32_t rank = 1; rank <= 5; ++rank)
      for (const char *tile : {"", ".tile"}) {
        std::string digit = std::to_string(rank);
        std::string stem = "cp.async.bulk.tensor." + digit + "d" + to + ".global" + tile + complete;
        addForm(stem, "m" + digit + "tm", copyBulk, Tensor, rank);
        addForm(stem + ".multicast::cluster", "m" + digit + "tmh", copyBulk, Tensor | Multicast, rank);
      }
    for (uint32_t rank = 3; rank <= 5; ++rank) {
      std::string digit = std::to_string(rank), operands = "m" + digit + "tm" + std::to_string(rank - 2) + "h";
      std::string stem = "cp.async.bulk.tensor." + digit + "d" + to + ".global.im2col" + complete;
      addForm(stem, operands, copyBulk, Tensor | Windows, rank);
      addForm(stem + ".multicast::cluster", operands + "h", copyBulk, Tensor | Windows | Multicast, rank);
    }
  }
  struct {
    const char *name;
    uint32_t operation;
  } const operations[] = {{".add", ReduceAdd}, {".min", ReduceMin}, {".max", ReduceMax}, {".and", ReduceAnd},
                          {".or", ReduceOr},   {".xor", ReduceXor}, {".inc", 0},         {".dec", 0}};
  for (uint32_t rank = 1; rank <= 5; ++rank)
    for (const char *tile : {"", ".tile"}) {
      std::string digit = std::to_string(rank), dims = digit + "d.global.shared::cta";
      addForm("cp.async.bulk.tensor." + dims + tile + ".bulk_group", digit + "tm", copyBulk, Tensor | StoreBit, rank);
      for (const auto &operation : operations)
        if (operation.operation)
          addForm("cp.reduce.async.bulk.tensor." + dims + operation.name + tile + ".bulk_group", digit + "tm", copyBulk,
                  Tensor | StoreBit | operation.operation * OperationUnit, rank);
      addForm("cp.async.bulk.prefetch.tensor." + digit + "d.L2.global" + tile, digit + "t", prefetchTensor, Tensor,
              rank);
    }
  addForm("cp.async.bulk.global.shared::cta.bulk_group", "mmw", copyBulk, StoreBit, 1);
  addReductions(table);
  addForm("cp.async.bulk.prefetch.L2.global", "mw", prefetch, 0, 1);
  for (const char *space : {"", ".param", ".const"})
    table.add(std::string("prefetch") + space + ".tensormap", "m", prefetch);
  table.add("cp.async.bulk.commit_group", "", commitBulkGroup);
  table.add("cp.async.bulk.wait_group", "w", waitBulkGroup);
  table.add("cp.async.bulk.wait_group.read", "w", waitBulkGroup, ReadOnly);
}

} // namespace tilewright::ptx
