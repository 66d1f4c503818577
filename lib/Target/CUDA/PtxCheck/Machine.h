//===- Machine.h - the state of a running grid ------------------------------------------===//
//
// A warp is one or more fragments: lanes that stand at the same instruction. They part at a divergent branch and meet
// again when they come to the same place; the lowest place runs first. An instruction that wants more lanes than its
// fragment has waits for the others.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_TARGET_CUDA_PTXCHECK_MACHINE_H
#define TILEWRIGHT_LIB_TARGET_CUDA_PTXCHECK_MACHINE_H

#include "lib/Target/CUDA/PtxCheck/Code.h"
#include "lib/Target/CUDA/PtxCheck/Shadow.h"
#include "tilewright/PtxChecker.h"
#include "tilewright/PtxTensorMap.h"

#include <cstring>
#include <deque>
#include <map>

namespace tilewright::ptx {

/// Where the windows of the other spaces lie among generic addresses; all else is global.
inline constexpr uint64_t kSharedWindow = uint64_t(1) << 56, kLocalWindow = uint64_t(2) << 56,
                          kParamWindow = uint64_t(3) << 56, kWindowMask = uint64_t(255) << 56;
/// Above these bits an address in shared memory has the number of a block of the cluster, its rank plus one. 0 is the
/// own one, and so is kOwnBlock, which the names of variables have in kernels of clusters: a GPU's have the rank there,
/// so that no kernel may count on zeros.
inline constexpr uint32_t kRankShift = 24, kMaxCluster = 16, kOwnBlock = 255;
inline constexpr uint64_t kSharedBase = 1024; ///< of the first shared variable, so that null is none

struct Block;
struct Warp;

struct Frame {
  uint32_t returnPc, base, call;
  uint64_t localBase;
};

struct Fragment {
  enum class State : uint8_t { Ready, Converging, AtBarrier, Waiting }; ///< Waiting: until wake()
  uint32_t pc = 0, mask = 0;
  uint32_t base = 0;      ///< of its registers
  uint64_t localBase = 0; ///< of its function's local memory
  uint32_t function = 0;
  State state = State::Ready;
  uint8_t barrier = 0;
  std::vector<Frame> frames;
};

/// A cp.async that has not been waited for.
struct PendingCopy {
  uint64_t from = 0, to = 0;
  uint32_t bytes = 0, read = 0; ///< to write; of these to read, the rest are zeroes
  uint32_t pc = 0;
  std::shared_ptr<uint32_t> done = nullptr; ///< if an mbarrier waits for it: the clock when it took place, from 1
};

/// A cp.async.mbarrier.arrive: it comes when the thread's copies before it have.
struct AsyncArrival {
  Block *block = nullptr;
  uint32_t warp = 0, lane = 0, pc = 0;
  uint64_t mbarrier = 0;
  std::vector<PendingCopy> copies;
  VectorClock clock; ///< of the warp, when it was asked for
};

/// A cp.async.bulk, with or without a tensor map, that has not taken place.
struct BulkCopy {
  enum class Direction : uint8_t { Load, Store, Reduce };
  Direction direction = Direction::Load;
  Block *block = nullptr;            ///< whose shared memory it is
  uint64_t shared = 0;               ///< address of its first byte
  uint64_t global = 0;               ///< without a map
  uint32_t bytes = 0;                ///< in shared memory
  uint64_t mbarrier = 0;             ///< of a load
  uint32_t operation = 0;            ///< of a reduction: a Reduction
  bool tensor = false, read = false; ///< read: a store whose source has been captured
  TensorMap map;
  std::array<int32_t, 5> at = {};
  std::vector<uint8_t> captured; ///< by byte of the box
  Epoch issuer;                  ///< without Epoch::Async
};

struct Lane {
  std::vector<uint8_t> local;
  std::vector<BulkCopy> bulk;                   ///< not yet in a group
  std::deque<std::vector<BulkCopy>> bulkGroups; ///< oldest first
  std::vector<PendingCopy> copies;              ///< not yet in a group
  std::deque<std::vector<PendingCopy>> groups;  ///< oldest first
};

/// A wgmma.mma_async that has not been waited for: the quarter of it that is this warp's.
struct MatrixJob {
  void (*run)(Exec &, const MatrixJob &) = nullptr;
  const Instr *in = nullptr;
  uint64_t a = 0, b = 0; ///< descriptors
  uint32_t pc = 0, base = 0;
  bool accumulate = false;
  int8_t scaleA = 1, scaleB = 1;
  bool transposeA = false, transposeB = false;
};

struct Warp {
  Block *block = nullptr;
  uint32_t index = 0;
  uint32_t existing = 0, exited = 0; ///< lanes
  std::vector<Fragment> fragments;   ///< the one that runs is the last
  std::vector<uint32_t> registers;   ///< rows of 32 words
  std::vector<uint32_t> written;     ///< by row: the lanes that have a value
  std::array<Lane, kLanes> lanes;
  VectorClock clock;
  VectorClock released, acquired; ///< at the last fence; seen by strong reads since
  bool hasReleased = false, hasAcquired = false;
  std::vector<MatrixJob> jobs;                  ///< not yet in a group
  std::deque<std::vector<MatrixJob>> jobGroups; ///< oldest first
  std::vector<uint8_t> inFlight;                ///< by row, when jobs are: 1 an accumulator, 2 a part of A
  std::vector<uint8_t> unfenced; ///< by row: written since the last wgmma.fence; empty before the first one
  uint32_t jobCount = 0, registerLimit = 0;
  uint32_t atCluster = 0, pastCluster = 0; ///< lanes that have arrived at the cluster's barrier; that may pass it

  bool done() const { return fragments.empty(); }
};

struct Barrier {
  uint32_t arrived = 0, expected = 0;
  bool counted = false; ///< the number was given; else all threads of the block
  uint32_t pc = 0;      ///< of the first that came
  uint32_t firstWarp = 0;
  VectorClock clock;
  uint32_t trueCount = 0;
  bool all = true, any = false;
};

struct Mbarrier {
  uint32_t expected = 0; ///< arrivals of the next phase
  uint32_t pending = 0;  ///< arrivals that this phase lacks
  int64_t bytes = 0;     ///< that it still expects
  uint32_t phase = 0;    ///< this one, from 0
  uint32_t agent = 0;    ///< of its copies, an index of VectorClock::own
  bool shown = false;    ///< its initialisation, to the async proxy
  Epoch init, lastLoad;
  VectorClock arriving, completed;
};

/// Blocks that run together and reach each other's shared memory.
struct Cluster {
  std::vector<Block *> blocks;                  ///< by rank
  Dimensions index = {0, 0, 0};                 ///< of the cluster in the grid
  std::vector<VectorClock> arriving, completed; ///< by rank: what the barrier's threads bring, and brought last
  uint32_t live = 0;                            ///< blocks that have not ended
  bool waited = false;                          ///< a thread has arrived since the barrier was last completed
};

struct Block {
  std::shared_ptr<Cluster> cluster;
  uint32_t rank = 0; ///< in its cluster
  bool ended = false;
  uint32_t endPc = 0;                     ///< where its last thread left
  std::map<uint64_t, Epoch> visitors;     ///< the last access of a warp of another block to its shared memory
  std::map<uint64_t, Mbarrier> mbarriers; ///< by address
  std::array<uint32_t, kAgents> agentClocks = {};
  uint32_t mbarriersMade = 0;
  std::map<std::pair<uint32_t, uint32_t>, std::pair<MatrixJob, uint32_t>>
      groupJobs;       ///< by warp group and number: the first warp's, and how many warps came
  uint32_t serial = 0; ///< from 1, in the order of starting
  Dimensions index = {0, 0, 0};
  std::vector<Warp> warps;
  std::vector<uint8_t> shared, sharedWritten;
  Shadow shadow;
  std::array<Barrier, 16> barriers;
  uint32_t doneWarps = 0;
};

/// A global allocation or variable.
struct GlobalObject {
  uint64_t begin = 0, bytes = 0;
  const Memory::Allocation *allocation = nullptr;
  Shadow shadow;
  std::vector<uint8_t> written; ///< empty: all of it is
};

struct Cost {
  uint64_t executions = 0, extraWavefronts = 0, sectors = 0, leastSectors = 0;
};

struct Grid {
  const Code &code;
  const Launch &launch;
  Report &report;
  std::vector<GlobalObject> objects = {}; ///< by address
  size_t lastObject = 0;
  std::vector<uint8_t> parameters = {};
  std::vector<Cost> costs = {}; ///< by program counter
  std::vector<std::unique_ptr<Block>> running = {};
  std::vector<BulkCopy> loads = {};        ///< in flight
  std::vector<AsyncArrival> arrivals = {}; ///< likewise
  Dimensions cluster = {1, 1, 1};          ///< blocks of one
  uint64_t random = 1, steps = 0, polls = 0;
  uint32_t nextBlock = 0;
  std::unordered_map<uint64_t, std::pair<VectorClock, uint32_t>> released =
      {}; ///< by address of a strong write: clock, block
  std::unordered_map<std::string, size_t> findings = {};

  uint64_t draw() {
    random ^= random << 13;
    random ^= random >> 7;
    return random ^= random << 17;
  }
};

enum class Access : uint8_t { Read, Write, ReadWrite };

/// An instruction at work: what its handler sees.
struct Exec {
  Grid &grid;
  Block &block;
  Warp &warp;
  Fragment *fragment;
  uint32_t mask = 0;
  uint32_t *registers = nullptr; ///< of the present function
  const uint32_t *operands = nullptr;
  uint32_t pc = 0;
  bool again = false;       ///< set by a control handler that has to wait: the fragment stays
  Block *reached = nullptr; ///< by locate(): whose shared memory it was

  uint32_t operand(const Instr &in, uint32_t i) const { return operands[in.operands + i]; }
  /// The row of an operand: results first, then sources.
  template <class Cell> Cell *row(const Instr &in, uint32_t i) const { return rowAt<Cell>(operand(in, i)); }
  template <class Cell> Cell *rowAt(uint32_t row) const {
    uint32_t *words = row & kPool ? const_cast<uint32_t *>(grid.code.pool.data()) + size_t(row & ~kPool) * kLanes
                                  : registers + size_t(row) * kLanes;
    return reinterpret_cast<Cell *>(words);
  }
  uint32_t &written(uint32_t row) const { return warp.written[fragment->base + row]; }

  void find(Kind kind, uint32_t lane, const std::string &message, const Epoch *other = nullptr);
  Accessor accessor(uint32_t lane, uint16_t flags = 0) const;

  /// The bytes at an address, after all checks and notes of the access; null, with a finding, where there are none.
  uint8_t *reach(uint32_t lane, Space space, uint64_t address, uint32_t bytes, Access access, bool strong);
  /// Bounds and alignment only; `space` and `address` become those behind a generic address.
  uint8_t *locate(uint32_t lane, Space &space, uint64_t &address, uint32_t bytes, Access access);
  /// The block of the cluster whose shared memory an address is of; the address loses the number of the block. Null,
  /// with a finding, where there is none, where it has exited, or where the instruction reaches the own one only.
  Block *ownerOf(uint32_t lane, uint64_t &address, bool anyBlock);
  GlobalObject *objectAt(uint64_t address, uint64_t bytes);
  /// The address of the memory operand at `operand`, the instruction's first or second one, for a lane.
  uint64_t address(const Instr &in, uint32_t operand, uint32_t lane, uint32_t number = 0) const;
  void noteRace(uint32_t lane, Space space, uint64_t address, const Epoch &other, bool write, bool read);

  void release();                 ///< what came before is seen by who acquires
  void acquire();                 ///< what strong reads have seen is before what follows
  void publish(uint64_t address); ///< a strong write
  void observe(uint64_t address); ///< a strong read
  void finish(uint32_t lane, const PendingCopy &copy);
  void finish(const Accessor &who, const PendingCopy &copy);
  /// Whether the bytes of shared memory lie in one variable, at a multiple of `align`; else a finding.
  bool inShared(uint32_t lane, uint64_t address, uint64_t bytes, uint32_t align, const std::string &what);
  void countShared(const uint64_t *addresses, uint32_t bytes);
  void countGlobal(const uint64_t *addresses, uint32_t bytes);
};

/// Runs all blocks to their end, or until no warp can go on.
void runGrid(Grid &grid);
/// Ends lanes of the running fragment.
void exitLanes(Exec &e, uint32_t mask);
/// The lanes of the fragment that stay, and a fragment for those that leave, at another place.
void leave(Exec &e, uint32_t mask, uint32_t pc);
/// Threads that wait for something look again.
void wake(Block &block);
/// One of the bulk loads in flight takes place. False: there is none.
bool deliverLoad(Grid &grid);
/// What the block leaves behind: copies and products that nobody waited for.
void endBlock(Grid &grid, Block &block);
void endBulk(Exec &e);
void endMatrixJobs(Exec &e);
/// What holds a waiting fragment up, for the report of a deadlock.
std::string describeWait(Exec &e, const Instr &in);
/// What keeps a thread at the cluster's barrier; "" for another instruction.
std::string describeClusterWait(Exec &e, const Instr &in);
/// Threads wait at the cluster's barrier no longer for those that have exited.
void settleCluster(Cluster &cluster);
/// Notes as found what other blocks did to the shared memory of one that ends, where nothing makes it wait for them.
void checkVisitors(Exec &e);
/// The mbarrier at an operand, in any block of the cluster where the instruction says so. Null after a finding.
Mbarrier *mbarrierAt(Exec &e, const Instr &in, uint32_t operand, uint32_t lane, uint64_t &address, Block *&owner);
/// An arrival that waited for copies.
void arriveAsync(Grid &grid, AsyncArrival &arrival);
/// Bytes have arrived for the present phase (negative: are expected).
void completeBytes(Block &block, Mbarrier &mbarrier, int64_t bytes);
/// The registers that products in flight hold: a finding when the instruction touches them.
void checkInFlight(Exec &e, const Instr &in);
/// All of the barrier's threads are there: those that wait go on.
void completeBarrier(Grid &grid, Block &block, uint32_t number);

} // namespace tilewright::ptx

#endif
